/* SPDX-License-Identifier: MIT */
/* Goal: workers that are stuck stop nobody else: tasks that block their threads in the kernel, tasks that compute
 * without end, tasks that wait in the slot or in the timers of such a worker (lessons 26, 33 to 37, 50, 52). Additional
 * workers stay within their limits, and go.
 * Method: the tasks that hold workers do so until another task, which needs one, has run: if nobody sees to that, the
 * test never ends. The limits are looked at while all hold.
 * Timeout: 300
 */
#include "runtimes.h"

#include <semaphore.h>

static cc_runtime *start(const cc_runtime_attr *attr) {
    cc_runtime *rt = NULL;
    assert_int_equal(cc_runtime_create(&rt, attr), 0);
    return rt;
}
static cc_runtime_stats stats_of(cc_runtime *rt) {
    cc_runtime_stats s;
    cc_runtime_stats_get(rt, &s);
    return s;
}
static void *spawn_join(cc_runtime *rt, void *(*fn)(void *), void *arg) {
    cc_task t;
    void *result = NULL;
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, fn, arg), 0);
    assert_int_equal(cc_task_join(t, &result), 0);
    return result;
}
/* Until a figure is what it must come to. */
static void await_workers(cc_runtime *rt, unsigned most) {
    while (stats_of(rt).workers > most) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* ---- tasks that hold their workers ---- */

static sem_t let_go;
static _Atomic int held, over;

CC_TASK(sleeps_in_the_kernel) {
    cc__add_relaxed(&held, 1);
    while (sem_wait(&let_go) != 0) {
    }
    return 0;
}
static void *holds(void *arg) {
    cc__add_relaxed(&held, 1);
    while (cc__load_relaxed(&over) == 0) cc__cpu_relax();
    return arg;
}
CC_TASK(computes) {
    holds(NULL);
    return 0;
}
CC_TASK(beats, (int, times)) {
    for (int i = 0; i < times; i++) cc_sleep_ms(1);
    return 0;
}

enum { SLEEPERS = 100, BEATS = 20 };

static void *kidnapped(void *arg) {
    cc__store_relaxed(&held, 0);
    sem_init(&let_go, 0, 0);
    CC_NURSERY(all) {
        CC_NURSERY(n) {
            test_must(cc_spawn(n, beats, BEATS) == 0);
            for (int i = 0; i < SLEEPERS; i++) test_must(cc_spawn(all, sleeps_in_the_kernel) == 0);
        }
        while (cc__load_relaxed(&held) < SLEEPERS) cc_sleep_ms(1); /* all of them are, and this one beats on */
        for (int i = 0; i < SLEEPERS; i++) sem_post(&let_go);
    }
    sem_destroy(&let_go);
    return arg;
}
static void lesson_33_tasks_that_sleep_in_the_kernel_stop_nobody(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    test_on_all(kidnapped);
}

static void *noisy(void *arg) {
    unsigned workers = (unsigned)(uintptr_t)arg;
    cc__store_relaxed(&over, 0);
    CC_NURSERY(all) {
        CC_NURSERY(n) {
            test_must(cc_spawn(n, beats, BEATS) == 0);
            for (unsigned i = 0; i < workers; i++) test_must(cc_spawn(all, computes) == 0);
        }
        cc__store_relaxed(&over, 1);
    }
    return NULL;
}
/* Beside those that may compute: one for what was begun, and one for a worker that the kernel holds, for a page say. */
enum { BESIDE = 2 };
static void tasks_that_compute_stop_nobody(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    for (unsigned workers = 1; workers <= 3; workers++) {
        cc_runtime *rt = start(&(cc_runtime_attr){.workers = workers, .max_workers = workers + 2, .max_blocked = 1});
        spawn_join(rt, noisy, (void *)(uintptr_t)workers);
        assert_true(stats_of(rt).stuck >= 1 && stats_of(rt).workers <= workers + 2 + BESIDE);
        cc_runtime_destroy(rt);
    }
}

/* More of them than there may be workers: what was begun still gets one. */
static void *crowd_of_noise(void *arg) {
    cc__store_relaxed(&held, 0);
    cc__store_relaxed(&over, 0);
    CC_NURSERY(all) {
        CC_NURSERY(n) {
            test_must(cc_spawn(n, beats, BEATS) == 0);
            cc_yield();
            for (int i = 0; i < 20; i++) test_must(cc_spawn(all, computes) == 0);
        }
        cc__store_relaxed(&over, 1);
    }
    test_must(cc__load_relaxed(&held) == 20);
    return arg;
}
static void a_crowd_that_computes_stops_no_heartbeat(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    for (unsigned workers = 1; workers <= 3; workers++) {
        cc_runtime *rt = start(
            &(cc_runtime_attr){.workers = workers, .max_workers = workers + 1, .max_blocked = 1, .idle_ms = 20});
        spawn_join(rt, crowd_of_noise, NULL);
        assert_true(stats_of(rt).workers <= workers + 1 + BESIDE);
        await_workers(rt, workers);
        cc_runtime_destroy(rt);
    }
}

/* ---- what waits at such a worker ---- */

struct pair {
    _Atomic int known, woken, ran;
    cc_parker sleeper;
};
static void *sleeps_till_woken(void *arg) {
    struct pair *p = arg;
    p->sleeper = cc_parker_self();
    cc__store_release(&p->known, 1);
    while (cc__load_acquire(&p->woken) == 0) cc_park_if(&p->woken, 0);
    cc__store_release(&p->ran, 1);
    return NULL;
}
/* Wakes another, which is in this worker's slot then, and computes until it has run. */
static void *wakes_and_computes(void *arg) {
    struct pair p = {0};
    cc_task t = cc_fiber_spawn_task(sleeps_till_woken, &p);
    while (cc__load_acquire(&p.known) == 0) cc_yield();
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); /* the others fall asleep */
    cc__store_release(&p.woken, 1);
    cc_unpark(p.sleeper);
    while (cc__load_acquire(&p.ran) == 0) cc__cpu_relax();
    test_must(cc_task_join(t, NULL) == 0);
    return arg;
}
static void lesson_26_what_it_woke_runs_beside_who_computes_on(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    for (int i = 0; i < 3; i++) test_on_all(wakes_and_computes);
}

static void *sleeps_a_little(void *ran) {
    cc_sleep_ms(3);
    cc__store_release((_Atomic int *)ran, 1);
    return NULL;
}
static void *computes_over_a_timer(void *arg) {
    _Atomic int ran = 0;
    cc_task t = cc_fiber_spawn_task(sleeps_a_little, &ran);
    cc_yield(); /* it sleeps, on this worker most likely */
    while (cc__load_acquire(&ran) == 0) cc__cpu_relax();
    test_must(cc_task_join(t, NULL) == 0);
    return arg;
}
static void lesson_50_timers_of_a_stuck_worker_are_fired(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    for (int i = 0; i < 3; i++) test_on_all(computes_over_a_timer);
}

/* ---- limits ---- */

static void *crowd(void *arg) {
    int sleepers = (int)(intptr_t)arg;
    CC_NURSERY(n) {
        for (int i = 0; i < sleepers; i++) test_must(cc_spawn(n, sleeps_in_the_kernel) == 0);
    }
    return NULL;
}
static void lesson_34_no_more_workers_than_allowed(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    enum { BASE = 2, BLOCKED = 8, CROWD = 60 };
    cc_runtime *rt = start(&(cc_runtime_attr){.workers = BASE, .max_blocked = BLOCKED, .idle_ms = 20});
    cc_task t;
    cc__store_relaxed(&held, 0);
    sem_init(&let_go, 0, 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, crowd, (void *)(intptr_t)CROWD), 0);
    while (cc__load_relaxed(&held) < BASE + BLOCKED - 1) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (int i = 0; i < 50; i++) {
        assert_true(stats_of(rt).workers <= BASE + BLOCKED);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_true(cc__load_relaxed(&held) <= BASE + BLOCKED);
    for (int i = 0; i < CROWD; i++) sem_post(&let_go);
    assert_int_equal(cc_task_join(t, NULL), 0);
    await_workers(rt, BASE); /* they go when there is nothing to do */
    assert_true(stats_of(rt).workers_started >= BLOCKED - 1);
    cc_runtime_destroy(rt);
    sem_destroy(&let_go);
}

/* Short tasks without end, so that nobody ever idles. */
static void *busy(void *arg) {
    while (cc__load_relaxed(&over) == 0) cc_yield();
    return arg;
}
static void workers_go_though_there_is_work(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    enum { BASE = 2, SLEEPING = 6, BUSY = 50 };
    cc_runtime *rt = start(&(cc_runtime_attr){.workers = BASE, .idle_ms = 60000});
    cc_task t, b[BUSY];
    cc__store_relaxed(&held, 0);
    cc__store_relaxed(&over, 0);
    sem_init(&let_go, 0, 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, crowd, (void *)(intptr_t)SLEEPING), 0);
    for (int i = 0; i < BUSY; i++) assert_int_equal(cc_runtime_spawn(rt, &b[i], NULL, busy, NULL), 0);
    while (cc__load_relaxed(&held) < SLEEPING) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_true(stats_of(rt).workers > BASE);
    for (int i = 0; i < SLEEPING; i++) sem_post(&let_go);
    await_workers(rt, BASE);
    cc__store_relaxed(&over, 1);
    for (int i = 0; i < BUSY; i++) assert_int_equal(cc_task_join(b[i], NULL), 0);
    assert_int_equal(cc_task_join(t, NULL), 0);
    cc_runtime_destroy(rt);
    sem_destroy(&let_go);
}

/* Off: a second worker does what there is, and none comes in addition. */
static void off_is_off(void **state) {
    (void)state;
    cc_runtime *rt = start(&(cc_runtime_attr){.workers = 2, .no_monitor = 1});
    cc_task t;
    cc__store_relaxed(&held, 0);
    sem_init(&let_go, 0, 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, crowd, (void *)(intptr_t)3), 0);
    while (cc__load_relaxed(&held) < 2) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_int_equal(cc__load_relaxed(&held), 2);
    assert_int_equal(stats_of(rt).workers_started, 0);
    for (int i = 0; i < 3; i++) sem_post(&let_go);
    assert_int_equal(cc_task_join(t, NULL), 0);
    cc_runtime_destroy(rt);
    sem_destroy(&let_go);
}

/* A loop has a fork at the same place all the while; it comes to that by itself, and is no reason for one more worker.
 * Where the machine has no time for the loop for long it looks as if it had forgotten it: so once in some is enough. */
CC_RANGE(steps) {
    for (int64_t until = cc_now_ns() + (int64_t)(hi - lo) * 20000; cc_now_ns() < until;) cc__cpu_relax();
}
static void *loops(void *arg) {
    test_must(cc_parallel_for(0, 10000, 0, steps) == 0);
    return arg;
}
static void a_loop_stays_on_its_workers(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    uint64_t started = 1;
    for (int i = 0; i < 10 && started > 0; i++) {
        cc_runtime *rt = start(&(cc_runtime_attr){.workers = 1});
        spawn_join(rt, loops, NULL);
        started = stats_of(rt).workers_started;
        cc_runtime_destroy(rt);
    }
    assert_int_equal(started, 0);
}

/* As many that compute as there are workers: more threads would only share the same cpus. (What that costs where there
 * is more to do is measured by the row cpu_growth.) */
static void lesson_36_no_workers_that_nobody_needs(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    enum { BASE = 2 };
    cc_runtime *rt = start(&(cc_runtime_attr){.workers = BASE, .grow_every_us = 1});
    cc_task t[BASE];
    cc__store_relaxed(&held, 0);
    cc__store_relaxed(&over, 0);
    for (int i = 0; i < BASE; i++) assert_int_equal(cc_runtime_spawn(rt, &t[i], NULL, holds, NULL), 0);
    while (cc__load_relaxed(&held) < BASE) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    uint64_t before = stats_of(rt).workers_started; /* while one was waiting for the second worker to wake, perhaps */
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL); /* many looks of the monitor */
    assert_int_equal(stats_of(rt).workers_started, before);
    cc__store_relaxed(&over, 1);
    for (int i = 0; i < BASE; i++) assert_int_equal(cc_task_join(t[i], NULL), 0);
    cc_runtime_destroy(rt);
}

/* Tasks that last about as long as the monitor takes to find them stuck, and ends of runtimes meanwhile (lesson 35). */
static void *lasts(void *arg) {
    int64_t until = cc_now_ns() + 150000 + (int64_t)(test_random() % 300000);
    while (cc_now_ns() < until) cc__cpu_relax();
    if (test_random() % 4 == 0) nanosleep(&(struct timespec){.tv_nsec = (long)(test_random() % 500000)}, NULL);
    return arg;
}
static void *many_that_last(void *arg) {
    enum { TASKS = 40 };
    cc_task t[TASKS];
    for (int i = 0; i < TASKS; i++) t[i] = cc_fiber_spawn_task(lasts, NULL);
    for (int i = 0; i < TASKS; i++) test_must(cc_task_join(t[i], NULL) == 0);
    return arg;
}
static void lesson_35_tasks_as_long_as_a_tick(void **state) {
    (void)test_seed();
    (void)state;
    if (!test_monitored()) skip();
    for (size_t i = 0; i < test_rounds(40); i++) {
        unsigned workers = test_workers[i % TEST_COUNT_OF(test_workers)];
        cc_runtime *rt = start(&(cc_runtime_attr){.workers = workers, .idle_ms = 1, .grow_every_us = 1});
        spawn_join(rt, many_that_last, NULL);
        cc_runtime_destroy(rt);
    }
}

TEST_MAIN(cmocka_unit_test(lesson_33_tasks_that_sleep_in_the_kernel_stop_nobody),
          cmocka_unit_test(tasks_that_compute_stop_nobody), cmocka_unit_test(a_crowd_that_computes_stops_no_heartbeat),
          cmocka_unit_test(lesson_26_what_it_woke_runs_beside_who_computes_on),
          cmocka_unit_test(lesson_50_timers_of_a_stuck_worker_are_fired),
          cmocka_unit_test(lesson_34_no_more_workers_than_allowed), cmocka_unit_test(workers_go_though_there_is_work),
          cmocka_unit_test(off_is_off), cmocka_unit_test(a_loop_stays_on_its_workers),
          cmocka_unit_test(lesson_36_no_workers_that_nobody_needs), cmocka_unit_test(lesson_35_tasks_as_long_as_a_tick))
