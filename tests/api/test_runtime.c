/* SPDX-License-Identifier: MIT */
/* Goal: runtimes of any number of workers start, run everything that was spawned, and end (lessons 22, 46, 48).
 * Method: 1, 2, 7, 64, 65 and 300 workers; start and stop again and again; trees spawned into each.
 * Timeout: 120
 */
#include "test.h"

#include "base/atomic.h"

#include <ccrt.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int ran;

static void *spawns_more(void *arg) {
    intptr_t depth = (intptr_t)arg;
    cc__add_relaxed(&ran, 1);
    if (depth == 0) return NULL;
    for (int i = 0; i < 3; i++) cc_task_detach(cc_fiber_spawn_task(spawns_more, (void *)(depth - 1)));
    cc_yield();
    return NULL;
}

static void any_number_of_workers(void **state) {
    (void)state;
    const unsigned counts[] = {1, 2, 3, 7, 16, 64, 65, 300};
    for (size_t i = 0; i < TEST_COUNT_OF(counts); i++) {
        cc_runtime *rt;
        cc_task t;
        if (counts[i] > 16 && (TEST_TSAN || getenv("CC_TEST_SLOW") != NULL)) continue;
        cc__store_relaxed(&ran, 0);
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = counts[i]}), 0);
        assert_int_equal(cc_runtime_workers(rt), counts[i]);
        assert_int_equal(cc_runtime_spawn(rt, &t, NULL, spawns_more, (void *)5), 0);
        assert_int_equal(cc_task_detach(t), 0);
        cc_runtime_destroy(rt); /* waits for all of them */
        assert_int_equal(cc__load_relaxed(&ran), 364);
    }
}

static void started_and_stopped_again_and_again(void **state) {
    (void)state;
    size_t rounds = test_scaled(1000);
    if (TEST_TSAN) rounds = 100;
    for (size_t i = 0; i < rounds; i++) {
        cc_runtime *rt;
        cc_task t;
        void *result;
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 2}), 0);
        assert_int_equal(cc_runtime_spawn(rt, &t, NULL, spawns_more, (void *)0), 0);
        if (i % 2 == 0) assert_int_equal(cc_task_join(t, &result), 0);
        cc_runtime_destroy(rt);
        if (i % 2 != 0) assert_int_equal(cc_task_join(t, &result), 0);
    }
}

static void bad_options_are_refused(void **state) {
    (void)state;
    cc_runtime *rt = NULL;
    assert_int_equal(cc_runtime_create(NULL, NULL), -EINVAL);
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1000000}), -EINVAL);
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.stack_bytes = SIZE_MAX}), -EINVAL);
    assert_null(rt);
    cc_task t;
    assert_int_equal(cc_runtime_spawn(NULL, &t, NULL, spawns_more, NULL), -EINVAL);
    assert_int_equal(cc_runtime_workers(NULL), 0);
    cc_runtime_destroy(NULL);
}

/* ---- options ---- */

static void *tells_worker(void *arg) {
    (void)arg;
    for (int i = 0; i < 50; i++) cc_yield();
    return (void *)(uintptr_t)cc_worker_self();
}

static void pinned_tasks_stay(void **state) {
    (void)state;
    enum { WORKERS = 3, TASKS = 60 };
    cc_runtime *rt;
    cc_task t[TASKS];
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = WORKERS}), 0);
    for (unsigned i = 0; i < TASKS; i++) {
        cc_task_attr attr = {.worker = 1 + i % WORKERS};
        assert_int_equal(cc_runtime_spawn(rt, &t[i], &attr, tells_worker, NULL), 0);
    }
    for (unsigned i = 0; i < TASKS; i++) {
        void *worker;
        assert_int_equal(cc_task_join(t[i], &worker), 0);
        assert_int_equal((uintptr_t)worker, 1 + i % WORKERS);
    }
    assert_int_equal(cc_runtime_spawn(rt, &t[0], &(cc_task_attr){.worker = WORKERS + 1}, tells_worker, NULL), -EINVAL);
    assert_int_equal(cc_worker_self(), 0);
    cc_runtime_destroy(rt);
}

static void every_way_to_place_runs_all(void **state) {
    (void)state;
    for (int way = 0; way < 8; way++) {
        cc_runtime_attr attr = {.workers = 3,
                                .spawn = way & 1 ? CC_SPAWN_ROUNDROBIN : CC_SPAWN_LOCAL,
                                .no_stealing = way & 2,
                                .queue = way & 4 ? 1 : 0,
                                .prewarm_tasks = 100,
                                .prewarm_stacks = 10,
                                .prefetch_pages = 2,
                                .name = "placed"};
        cc_runtime *rt;
        cc_task t;
        cc_runtime_stats stats;
        cc__store_relaxed(&ran, 0);
        assert_int_equal(cc_runtime_create(&rt, &attr), 0);
        for (int i = 0; i < 100; i++) { /* more than a queue of 16 holds */
            assert_int_equal(cc_runtime_spawn(rt, &t, NULL, spawns_more, (void *)2), 0);
            assert_int_equal(cc_task_detach(t), 0);
        }
        while (cc__load_relaxed(&ran) != 1300) cc_sleep_ms(1);
        do {
            cc_runtime_stats_get(rt, &stats);
        } while (stats.ended != 1300);
        assert_int_equal(stats.spawned, 1300);
        assert_int_equal(stats.queued_local + stats.queued_global, 0);
        cc_runtime_destroy(rt);
    }
}

static void *runs(void *arg) {
    for (int i = 0; i < 10; i++) cc_task_detach(cc_fiber_spawn_task(spawns_more, (void *)1));
    return arg;
}

static void one_call_runs_it_all(void **state) {
    (void)state;
    void *result;
    cc_runtime_stats stats;
    cc__store_relaxed(&ran, 0);
    assert_int_equal(cc_run(&(cc_runtime_attr){.workers = 2, .max_workers = 2}, runs, &ran, &result), 0);
    assert_ptr_equal(result, (void *)&ran);
    assert_int_equal(cc__load_relaxed(&ran), 40);
    assert_int_equal(cc_run(&(cc_runtime_attr){.workers = 3, .max_workers = 2}, runs, NULL, NULL), -EINVAL);
    assert_int_equal(cc_run(&(cc_runtime_attr){.spawn = 7}, runs, NULL, NULL), -EINVAL);
    assert_int_equal(cc_run(&(cc_runtime_attr){.queue = SIZE_MAX}, runs, NULL, NULL), -EINVAL);
    assert_int_equal(cc_run(NULL, NULL, NULL, NULL), -EINVAL);
    cc_runtime_stats_get(NULL, &stats); /* the default one */
    assert_true(stats.ended <= stats.spawned);
}

/* ---- the end ---- */

static void *until_cancelled(void *arg) {
    _Atomic int *seen = arg;
    if (cc_sleep_ms(1000000) == -ECANCELED) cc__add_relaxed(seen, 1);
    cc_task t;
    return (void *)(intptr_t)cc_task_spawn(&t, NULL, runs, NULL); /* too late */
}

static _Atomic int stubborn_may_end;
static void *stubborn(void *arg) {
    while (cc__load_acquire(&stubborn_may_end) == 0) cc_sleep_ms(1);
    return arg;
}

static void shutdown_cancels_and_reports(void **state) {
    (void)state;
    enum { TASKS = 100 };
    cc_runtime *rt;
    cc_task t[TASKS], s, late;
    _Atomic int seen = 0;
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 2}), 0);
    for (int i = 0; i < TASKS; i++) assert_int_equal(cc_runtime_spawn(rt, &t[i], NULL, until_cancelled, &seen), 0);
    cc_task_attr attr = {.name = "stubborn"};
    assert_int_equal(cc_runtime_spawn(rt, &s, &attr, stubborn, NULL), 0);
    assert_int_equal(cc_runtime_shutdown(rt, 0, 20), -ETIMEDOUT);
    assert_int_equal(cc_runtime_spawn(rt, &late, NULL, stubborn, NULL), -ESHUTDOWN);
    assert_int_equal(cc_task_valid(late), 0);
    cc__store_release(&stubborn_may_end, 1);
    assert_int_equal(cc_runtime_shutdown(rt, 0, -1), 0);
    assert_int_equal(cc_task_join(s, NULL), 0);
    assert_int_equal(cc__load_relaxed(&seen), TASKS);
    for (int i = 0; i < TASKS; i++) {
        void *result;
        assert_int_equal(cc_task_join(t[i], &result), 0);
        assert_int_equal((intptr_t)result, -ESHUTDOWN);
    }
    assert_int_equal(cc_runtime_shutdown(NULL, 0, 0), -EINVAL);
}

static void leaves_a_stubborn_one(void *arg) {
    (void)arg;
    cc_runtime *rt;
    cc_task t;
    cc_task_attr attr = {.name = "the stubborn one"};
    if (cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1}) != 0) _exit(2);
    if (cc_runtime_spawn(rt, &t, &attr, stubborn, NULL) != 0) _exit(3);
    if (cc_runtime_shutdown(rt, 1, 1) == -ETIMEDOUT) abort(); /* so that what it said is looked at */
}

static void what_did_not_end_is_named(void **state) {
    (void)state;
    test_aborts(leaves_a_stubborn_one, NULL, "\"the stubborn one\"");
}

static void *exits(void *arg) {
    exit((int)(intptr_t)arg);
}

/* exit() from a task ends the process, and does not wait for itself. */
static void a_task_may_exit(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        cc_task_join(cc_fiber_spawn_task(exits, (void *)7), NULL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void spawns_after_fork(void *arg) {
    (void)arg;
    cc_fiber_spawn_task(exits, NULL);
}
static void parks_after_fork(void *arg) {
    (void)arg;
    (void)cc_parker_self();
}

static void a_child_may_call_nothing(void **state) {
    (void)state;
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(spawns_more, (void *)0), NULL), 0);
    test_aborts(spawns_after_fork, NULL, "after fork()");
    test_aborts(parks_after_fork, NULL, "after fork()");
}

/* Those that need a runtime in a child of fork() come first. */
TEST_MAIN(cmocka_unit_test(what_did_not_end_is_named), cmocka_unit_test(a_task_may_exit),
          cmocka_unit_test(any_number_of_workers), cmocka_unit_test(started_and_stopped_again_and_again),
          cmocka_unit_test(bad_options_are_refused), cmocka_unit_test(pinned_tasks_stay),
          cmocka_unit_test(every_way_to_place_runs_all), cmocka_unit_test(one_call_runs_it_all),
          cmocka_unit_test(shutdown_cancels_and_reports), cmocka_unit_test(a_child_may_call_nothing))
