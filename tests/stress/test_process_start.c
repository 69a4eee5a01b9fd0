/* SPDX-License-Identifier: MIT */
/* Goal: a process's first spawn, from a plain thread, runs: the default runtime starts itself in time for it, whoever
 * comes first (lesson 25).
 * Method: very many fresh processes, one after the other and some at a time, each of which spawns once from each of
 * its threads, joins, and exits. A process that has not ended after a minute is counted and killed.
 * Timeout: 200
 */
#include "test.h"

#include <ccrt.h>
#include <pthread.h>

enum { AT_ONCE = 8 };

static void *adds_one(void *arg) {
    return (void *)((uintptr_t)arg + 1);
}
static void *spawns_once(void *arg) {
    void *result = NULL;
    cc_task t = cc_fiber_spawn_task(adds_one, arg);
    if (cc_task_join(t, &result) != 0) return NULL;
    return (void *)(intptr_t)((uintptr_t)result == (uintptr_t)arg + 1);
}

/* The process: its main thread, or a few of its threads at once, have their first task. */
static _Noreturn void process(unsigned threads) {
    pthread_t thread[3];
    void *good = &good;
    if (threads == 0) _exit(spawns_once((void *)7) != NULL ? 0 : 3);
    for (uintptr_t i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, spawns_once, (void *)i) != 0) _exit(4);
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(thread[i], &good);
        if (good == NULL) _exit(5);
    }
    _exit(0);
}

static pid_t start(unsigned threads) {
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL); /* cmocka's handlers would go on with the tests */
        signal(SIGSEGV, SIG_DFL);
        process(threads);
    }
    return pid;
}

/* Whether it ended by itself, and well. */
static bool ends(pid_t pid) {
    int64_t give_up = cc_now_ns() + INT64_C(60) * 1000000000;
    int status;
    while (cc_now_ns() < give_up) {
        if (waitpid(pid, &status, WNOHANG) == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return false;
}

static void lesson_25_first_spawns_run(void **state) {
    (void)state;
    size_t processes = test_scaled(TEST_ASAN ? 100 : 1000), stuck = 0;
    if (TEST_TSAN) processes = 24; /* it sleeps for a second at every exit */
    for (size_t i = 0; i < processes; i += AT_ONCE) {
        pid_t pid[AT_ONCE];
        size_t n = i % 3 == 0 ? AT_ONCE : 1; /* some on a crowded machine, some with it for themselves */
        for (size_t k = 0; k < n; k++) pid[k] = start((unsigned)((i + k) % 4));
        for (size_t k = 0; k < n; k++) stuck += !ends(pid[k]);
        for (size_t k = n; k < AT_ONCE; k++) stuck += !ends(start((unsigned)((i + k) % 4)));
    }
    assert_int_equal(stuck, 0);
}

TEST_MAIN(cmocka_unit_test(lesson_25_first_spawns_run))
