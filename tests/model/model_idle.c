/* SPDX-License-Identifier: MIT */
/* Goal: sleeping workers (src/sched/idle.c): nobody sleeps while there is work that nobody else looks for, however
 * publishers, searchers and sleepers meet [ID1]; shutdown wakes all.
 * Method: workers that look for tasks in one counter, search and sleep as sched/worker.c does, on real futexes; threads
 * that publish tasks and notify. Whoever runs the last task ends the runtime. A worker that sleeps too long is a
 * deadlock. Tasks that need each other: each waits until the other has begun, so one worker is not enough, and the
 * one that was woken must have woken the next.
 * One worker with one publisher is exhausted, with two tasks it takes --full; the rest has too many executions for that
 * and is a part of them, or at random, with a seed.
 * Sources: src/sched/idle.c src/base/bits.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Weaken: src/sched/idle.c: notify: fence_full -> nothing
 * Weaken: src/sched/idle.c: cc__idle_sleep: fence_full -> nothing
 * Weaken: src/sched/idle.c: cc__idle_stop_searching: fence_full -> nothing
 * Break: src/sched/idle.c: if (timer || cc__steal_visible(w)) notify(rt); => (void)timer;
 * Break: src/sched/idle.c: || wake_one(rt)) return; => || wake_one(rt) || cc__sub_acq_rel(&rt->searching, 1)) return;
 */
#include "sched/sched.h"

#include "ccmc.h"

#include <stdio.h>

enum { WORKERS = 2 };

_Thread_local struct cc__worker *cc__current_worker; /* as in src/fiber/current.c */

static struct cc__runtime rt;
static struct cc__worker workers[WORKERS];
static _Atomic uint64_t idle_words[1];
static _Atomic int queue; /* tasks that wait.  W: publishers, workers */
static _Atomic int begun, ended;
static int tasks;
static bool need_each_other, sleepy;

/* ---- what surrounds it ---- */

bool cc__steal_anything(struct cc__worker *w) {
    mc_assert(w->runtime == &rt);
    return cc__load_relaxed(&queue) > 0;
}

bool cc__steal_visible(struct cc__worker *w) {
    return cc__steal_anything(w);
}

static bool take(void) {
    int n = cc__load_relaxed(&queue);
    while (n > 0)
        if (cc__cas_acq_rel(&queue, &n, n - 1)) return true;
    return false;
}

static void run(void) {
    if (need_each_other) {
        cc__add_relaxed(&begun, 1);
        while (cc__load_relaxed(&begun) < tasks) mc_yield();
    }
    if (cc__add_acq_rel(&ended, 1) + 1 < tasks) return;
    cc__store_release(&rt.stopping, 1); /* the last one */
    cc__idle_wake_all(&rt);
}

static void worker(struct cc__worker *w) {
    for (;;) {
        bool found = take();
        if (!found && cc__idle_start_searching(w)) found = take();
        if (found) {
            cc__idle_stop_searching(w, true);
            run();
        } else if (!cc__idle_sleep(w)) {
            cc__idle_stop_searching(w, false);
            return;
        }
    }
}
static void first_worker(void) {
    worker(&workers[0]);
}
static void second_worker(void) {
    worker(&workers[1]);
}

/* The only worker, which ends with the last task: fewer steps. */
static void lone_worker(void) {
    struct cc__worker *w = &workers[0];
    if (sleepy) mc_assert(cc__idle_sleep(w));
    for (int done = 0; done < tasks;) {
        if (take()) {
            cc__idle_stop_searching(w, true);
            done++;
            cc__add_relaxed(&ended, 1);
        } else {
            mc_assert(cc__idle_sleep(w));
        }
    }
}

static void publish(int n) {
    cc__add_acq_rel(&queue, n);
    cc__idle_notify(&rt);
}
static void publishes_one(void) {
    publish(1);
}
static void notifies(void) {
    cc__idle_notify(&rt);
}
static void publishes_two(void) {
    publish(1);
    publish(1);
}

/* ---- before and after ---- */

static void begin(unsigned n, int expected) {
    rt.worker_count = n;
    rt.workers = workers;
    rt.idle_words = idle_words;
    cc__store_relaxed(&rt.sleeper_until, CC__NEVER);
    cc__bits_init(&rt.idle, idle_words, n);
    for (unsigned i = 0; i < n; i++) {
        workers[i].runtime = &rt;
        workers[i].id = i;
        cc__store_relaxed(&workers[i].timers.next_ns, CC__NEVER);
    }
    tasks = expected;
}
static void one_worker(void) {
    begin(1, 1);
}
static void one_worker_two_tasks(void) {
    begin(1, 2);
}
/* There is a task, and the worker missed it: it goes to sleep. */
static void one_worker_late(void) {
    begin(1, 2);
    cc__store_relaxed(&queue, 1);
    sleepy = true;
}
static void two_workers(void) {
    begin(2, 1);
}
static void two_workers_two_tasks(void) {
    begin(2, 2);
}
static void tasks_need_each_other(void) {
    begin(2, 2);
    need_each_other = true;
}

static void all_at_rest(void) {
    mc_assert(cc__load_relaxed(&ended) == tasks && cc__load_relaxed(&queue) == 0);
    mc_assert(cc__load_relaxed(&rt.searching) == 0);
    mc_assert(cc__bits_count(&rt.idle) == 0);
}

/* ---- too many executions to run them all ---- */

static const struct mc_scenario large[] = {
    {"2 workers, 1 publisher", two_workers, {first_worker, second_worker, publishes_one}, all_at_rest},
    {"2 workers, 2 publishers",
     two_workers_two_tasks,
     {first_worker, second_worker, publishes_one, publishes_one},
     all_at_rest},
    {"2 workers, a publisher, tasks need each other",
     tasks_need_each_other,
     {first_worker, second_worker, publishes_two},
     all_at_rest},
    {"2 workers, 2 publishers, tasks need each other",
     tasks_need_each_other,
     {first_worker, second_worker, publishes_one, publishes_one},
     all_at_rest},
};

static int at_random(const struct mc_options *o) {
    int failed = 0;
    for (size_t i = 0; i < CC__COUNT_OF(large); i++) {
        struct mc_options options = {
            .mode = MC_RANDOM, .max_execs = o->full ? 2000000 : 20000, .seed = o->seed, .sc_only = o->sc_only};
        struct mc_result r = mc_explore(&large[i], &options);
        printf("     %-46s %9llu random executions, seed %llu: %s\n", large[i].name, (unsigned long long)r.execs,
               (unsigned long long)o->seed, r.bug != 0 ? r.text : "no bug");
        if (r.bug != 0) {
            options.replay = r.replay;
            options.trace = true;
            struct mc_result told = mc_explore(&large[i], &options);
            mc_result_fini(&told);
        }
        failed += r.bug != 0;
        mc_result_fini(&r);
    }
    return failed > 0;
}

const struct mc_scenario mc_scenarios[] = {
    {"1 worker, 1 publisher", one_worker, {first_worker, publishes_one}, all_at_rest},
    {"1 worker, 1 publisher, spurious wake-ups",
     one_worker,
     {first_worker, publishes_one},
     all_at_rest,
     .full = true,
     .spurious = 1},
    {"lone worker, 1 publisher", one_worker, {lone_worker, publishes_one}, all_at_rest},
    {"lone worker, 1 publisher, spurious wake-ups",
     one_worker,
     {lone_worker, publishes_one},
     all_at_rest,
     .spurious = 2},
    {"lone worker, a publisher of two", one_worker_two_tasks, {lone_worker, publishes_two}, all_at_rest, .full = true},
    {"lone worker, a notifier, a publisher",
     one_worker_late,
     {lone_worker, notifies, publishes_one},
     all_at_rest,
     .bounded = true,
     .max_execs = 30000},
    {.name = "2 workers, at random", .run = at_random},
    {0},
};
