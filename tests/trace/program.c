/* SPDX-License-Identifier: MIT */
/* A program whose trace check.py looks at: program WHAT. It prints a line for each runtime it ended: its number and how
 * many tasks it had. */
#include <ccrt.h>

#include "base/atomic.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 50, BATCH = 300, TURNS = 200 };

static void *yields(void *arg) {
    for (long i = 0; i < (long)arg; i++) cc_yield();
    return NULL;
}
/* By turns from the first on: a task that is alone does not leave when it yields. */
static void *two_yield(void *arg) {
    cc_task t[2];
    if (cc_task_spawn_many(t, 2, yields, (void *[]){arg, arg}) != 0) abort();
    for (int i = 0; i < 2; i++) cc_task_join(t[i], NULL);
    return NULL;
}
CC_TASK(sleeper, (int, ms)) {
    return cc_sleep_ms((unsigned)ms);
}
CC_ASYNC(long, square, (long, x)) {
    cc_yield();
    return x * x;
}

/* ---- two that wake each other, and a plain thread that wakes a third ---- */

static struct {
    _Atomic int turn;
    cc_parker player[2];
    _Atomic int ready;
} table;

static void *plays(void *arg) {
    int me = (int)(long)arg;
    table.player[me] = cc_parker_self();
    cc__add_acq_rel(&table.ready, 1);
    while (cc__load_acquire(&table.ready) < 2) cc_yield();
    for (int i = 0; i < TURNS; i++) {
        while (cc__load_acquire(&table.turn) != me) cc_park_if(&table.turn, 1 - me);
        cc__store_release(&table.turn, 1 - me);
        cc_unpark(table.player[1 - me]);
    }
    return NULL;
}

static struct {
    _Atomic int balls, over;
    cc_parker catcher;
    _Atomic int ready;
} wall;

static void *catches(void *arg) {
    wall.catcher = cc_parker_self();
    cc__store_release(&wall.ready, 1);
    while (cc__load_acquire(&wall.over) == 0) {
        cc_park_if(&wall.balls, 0);
        cc__store_release(&wall.balls, 0);
    }
    return arg;
}
static void *throws(void *arg) {
    while (cc__load_acquire(&wall.ready) == 0) usleep(100);
    for (int i = 0; i < 20; i++) {
        cc__store_release(&wall.balls, 1);
        cc_unpark(wall.catcher);
        usleep(200);
    }
    cc__store_release(&wall.over, 1);
    cc__store_release(&wall.balls, 1);
    cc_unpark(wall.catcher);
    return arg;
}

/* ---- all of it, in one task ---- */

/* Workers take each other's tasks, sooner or later. */
static void until_stolen(cc_runtime *rt) {
    cc_runtime_stats stats;
    cc_task batch[100];
    do {
        if (cc_task_spawn_many(batch, 100, yields, NULL) != 0) abort();
        for (int i = 0; i < 100; i++) cc_task_join(batch[i], NULL);
        cc_runtime_stats_get(rt, &stats);
    } while (stats.stolen == 0 && cc_runtime_workers(rt) > 1);
}

static void *everything(void *arg) {
    cc_task t, batch[BATCH], player[2], catcher;
    pthread_t thrower;
    CC_RESULT(long) f;
    CC_NURSERY(n) {
        for (int i = 0; i < CHILDREN; i++) cc_spawn(n, sleeper, i % 5);
        cc_async(n, f, square, 7);
        if (cc_await(f) != 49) abort();
    }
    until_stolen(arg);
    if (cc_task_spawn_many(batch, BATCH, yields, NULL) != 0) abort();
    for (int i = 0; i < BATCH; i++) cc_task_join(batch[i], NULL);
    cc_task_attr odd = {.name =
                            "a \"name\" with \\ and \n and \xff and \xc3\xa9, longer than any that anyone would use"};
    if (cc_task_spawn(&t, &odd, yields, (void *)3) != 0) abort();
    cc_task_join(t, NULL);
    for (long i = 0; i < 2; i++) player[i] = cc_fiber_spawn_task(plays, (void *)i);
    for (int i = 0; i < 2; i++) cc_task_join(player[i], NULL);
    catcher = cc_fiber_spawn_task(catches, NULL);
    if (pthread_create(&thrower, NULL, throws, NULL) != 0) abort();
    cc_task_join(catcher, NULL);
    pthread_join(thrower, NULL);
    cc_task_attr pinned = {.name = "pinned", .worker = 1};
    if (cc_task_spawn(&t, &pinned, yields, (void *)5) != 0) abort();
    cc_task_join(t, NULL);
    return arg;
}

static void one_runtime(unsigned number, unsigned workers, void *(*fn)(void *)) {
    cc_runtime *rt;
    cc_task t;
    cc_runtime_stats stats;
    memset(&table, 0, sizeof table);
    memset(&wall, 0, sizeof wall);
    if (cc_runtime_create(&rt, &(cc_runtime_attr){.workers = workers, .idle_ms = 10, .name = "traced"}) != 0) abort();
    if (cc_runtime_spawn(rt, &t, NULL, fn, rt) != 0) abort();
    cc_task_join(t, NULL);
    cc_runtime_stats_get(rt, &stats);
    printf("runtime %u tasks %llu\n", number, (unsigned long long)stats.spawned);
    fflush(stdout);
    cc_runtime_destroy(rt);
}

/* The only worker sleeps in the kernel while a task waits: another comes for it, and goes when it is idle. */
static void *grows(void *arg) {
    cc_task t = cc_fiber_spawn_task(yields, (void *)1);
    usleep(200000);
    cc_task_join(t, NULL);
    cc_sleep_ms(100);
    return arg;
}

static void *exits(void *arg) {
    for (int i = 0; i < CHILDREN; i++) cc_task_detach(cc_fiber_spawn_task(yields, (void *)1000000000));
    yields((void *)100);
    exit((int)(long)arg);
}

/* A child of fork() that ends by exit(): the trace is its parent's. */
static void *forks(void *arg) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) exit(0);
    if (waitpid(pid, NULL, 0) != pid) abort();
    return arg;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "all") == 0) {
        one_runtime(1, 1, everything);
        one_runtime(2, 3, everything); /* after the first was written */
    } else if (strcmp(what, "killed") == 0) {
        one_runtime(1, 2, everything);
        _exit(0); /* what ran is written all the same */
    } else if (strcmp(what, "exit") == 0) {
        cc_task_join(cc_fiber_spawn_task(exits, (void *)0), NULL);
    } else if (strcmp(what, "fork") == 0) {
        one_runtime(1, 2, forks);
    } else if (strcmp(what, "grow") == 0) {
        one_runtime(1, 1, grows);
    } else if (strcmp(what, "lost") == 0) { /* more than there is room for */
        cc_runtime *rt;
        cc_task t;
        if (cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1}) != 0) abort();
        if (cc_runtime_spawn(rt, &t, NULL, two_yield, (void *)1200000) != 0) abort();
        cc_task_join(t, NULL);
        exit(0); /* with the runtime */
    } else {
        return 2;
    }
    return 0;
}
