/* SPDX-License-Identifier: MIT */
/* Goal: workers are bound as the runtime's attributes say, and nothing else is: neither threads that the library
 *   starts nor child processes. Without hwloc: -ENOTSUP. Tiers: siblings sleep until all cores are at work, what is
 *   ready again is in the global queue, from where they take it. Steal orders and stacks of several nodes run. Huge
 *   stacks work, and say what they give up.
 * Method: tasks look at their thread's affinity, their worker's number and the queues. Machines that are not here are
 *   those of hwloc's own synthetic input.
 * Needs: hwloc
 * Not with: cross
 * Timeout: 120
 */
#include "test.h"

#include "base/atomic.h"
#include "fiber/stack.h"
#include "plat/topology.h"
#include "plat/vm.h"

#include <ccrt.h>
#include <sched.h>

enum { CORES = 16, CPUS = 32, MANY = 24 };

static void pretend(const char *machine) {
    if (machine != NULL)
        setenv("HWLOC_SYNTHETIC", machine, 1); /* NOLINT(concurrency-mt-unsafe): there is no other thread */
    else
        unsetenv("HWLOC_SYNTHETIC"); /* NOLINT(concurrency-mt-unsafe) */
}

static bool have_hwloc(void) {
    struct cc__topology t;
    int rc = cc__topology_read(&t);
    if (rc == 0) cc__topology_end(&t);
    return rc == 0;
}

static int cpus_of_this_thread(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
}

static cc_runtime *create(cc_runtime_attr attr) {
    cc_runtime *rt;
    assert_int_equal(cc_runtime_create(&rt, &attr), 0);
    return rt;
}

static void what_is_not_understood(void **state) {
    (void)state;
    cc_runtime *rt;
    for (int pin = CC_PIN_LINEAR; pin <= CC_PIN_TIERED; pin++) {
        int rc = cc_runtime_create(&rt, &(cc_runtime_attr){.pin = pin, .workers = 1});
        assert_int_equal(rc, have_hwloc() ? 0 : -ENOTSUP);
        if (rc == 0) cc_runtime_destroy(rt);
    }
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.pin = -1}), -EINVAL);
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.pin = CC_PIN_TIERED + 1}), -EINVAL);
    cc_runtime_destroy(create((cc_runtime_attr){.pin = CC_PIN_OFF})); /* wants nothing */
}

/* ---- who is bound ---- */

struct seen {
    int here, in_pool, in_child, cpu;
};

static int count_cpus(void *arg) {
    *(int *)arg = cpus_of_this_thread();
    return 0;
}

static void *look_around(void *arg) {
    struct seen *s = arg;
    s->here = cpus_of_this_thread();
    s->cpu = sched_getcpu();
    (void)cc_blocking(count_cpus, &s->in_pool);
    char text[16] = {0};
    int status;
    const char *const argv[] = {"nproc", NULL};
    if (cc_process_output(argv, text, sizeof text - 1, &status) > 0) s->in_child = atoi(text);
    return NULL;
}

static void workers_are_bound_and_nothing_else(void **state) {
    (void)state;
    pretend(NULL);
    if (!have_hwloc()) skip();
    int all = cpus_of_this_thread();
    for (int pin = CC_PIN_OFF; pin <= CC_PIN_TIERED; pin++) {
        cc_runtime *rt = create((cc_runtime_attr){.workers = (unsigned)all, .pin = pin});
        unsigned workers = cc_runtime_workers(rt);
        int cpus_used[4096] = {0};
        for (unsigned i = 1; i <= workers; i++) {
            struct seen s = {0};
            cc_task t;
            assert_int_equal(cc_runtime_spawn(rt, &t, &(cc_task_attr){.worker = i}, look_around, &s), 0);
            assert_int_equal(cc_task_join(t, NULL), 0);
            assert_int_equal(s.here, pin == CC_PIN_OFF ? all : 1);
            assert_int_equal(s.in_pool, all);
            assert_int_equal(s.in_child, all);
            if (pin != CC_PIN_OFF) assert_int_equal(cpus_used[s.cpu]++, 0); /* each has one of its own */
        }
        cc_runtime_destroy(rt);
        assert_int_equal(cpus_of_this_thread(), all);
    }
}

/* ---- tiers ---- */

static void wait_until_idle(cc_runtime *rt) {
    cc_runtime_stats s;
    do {
        usleep(1000);
        cc_runtime_stats_get(rt, &s);
    } while (s.workers_idle < cc_runtime_workers(rt));
}

static _Atomic unsigned running, together; /* W: tasks.  R: tasks, the test */
static _Atomic unsigned highest;           /* worker.  W: tasks.  R: the test */

static void note_worker(void) {
    unsigned me = cc_worker_self(), before = cc__load_relaxed(&highest);
    while (before < me && !cc__cas_relaxed(&highest, &before, me)) continue;
}

/* Keeps its worker until so many run at once. */
static void *meets(void *arg) {
    (void)arg;
    note_worker();
    cc__add_relaxed(&running, 1);
    while (cc__load_relaxed(&running) < cc__load_relaxed(&together)) sched_yield();
    return NULL;
}

static void meet(cc_runtime *rt, unsigned n) {
    cc_task t[MANY];
    wait_until_idle(rt);
    cc__store_relaxed(&running, 0);
    cc__store_relaxed(&highest, 0);
    cc__store_relaxed(&together, n);
    for (unsigned i = 0; i < n; i++) assert_int_equal(cc_runtime_spawn(rt, &t[i], NULL, meets, NULL), 0);
    for (unsigned i = 0; i < n; i++) assert_int_equal(cc_task_join(t[i], NULL), 0);
}

static void siblings_sleep_until_all_cores_are_at_work(void **state) {
    (void)state;
    pretend("pack:2 [numa] core:8 pu:2");
    if (!have_hwloc()) skip();
    cc_runtime *rt = create((cc_runtime_attr){.workers = CPUS, .pin = CC_PIN_TIERED, .no_monitor = 1});
    assert_int_equal(cc_runtime_workers(rt), CPUS);
    for (int i = 0; i < 20; i++) {
        meet(rt, 4);
        assert_in_range(cc__load_relaxed(&highest), 1, CORES);
    }
    meet(rt, MANY); /* more than there are cores */
    assert_in_range(cc__load_relaxed(&highest), MANY, CPUS);
    cc_runtime_destroy(rt);
    pretend(NULL);
}

static _Atomic int parked, go; /* W: tasks.  R: tasks */
static cc_parker parkers[MANY];

static void *parks_then_meets(void *arg) {
    parkers[(uintptr_t)arg] = cc_parker_self();
    cc__add_acq_rel(&parked, 1);
    while (cc__load_acquire(&go) == 0) cc_park_if(&go, 0);
    return meets(NULL);
}

struct wake {
    cc_runtime *rt;
    unsigned n;
    cc_runtime_stats stats; /* when all are woken */
};

static void *wakes_all(void *arg) {
    struct wake *wake = arg;
    cc__store_release(&go, 1);
    for (unsigned i = 0; i < wake->n; i++) cc_unpark(parkers[i]);
    cc_runtime_stats_get(wake->rt, &wake->stats);
    return NULL;
}

/* n tasks that wait are woken by one; they run at once, on as many workers. */
static cc_runtime_stats wake_many(cc_runtime *rt, unsigned n) {
    struct wake wake = {.rt = rt, .n = n};
    cc_task t[MANY], waker;
    cc__store_relaxed(&parked, 0);
    cc__store_relaxed(&go, 0);
    cc__store_relaxed(&running, 0);
    cc__store_relaxed(&together, cc_runtime_workers(rt) < n ? 1 : n);
    for (uintptr_t i = 0; i < n; i++)
        assert_int_equal(cc_runtime_spawn(rt, &t[i], NULL, parks_then_meets, (void *)i), 0);
    cc_runtime_stats s;
    do cc_runtime_stats_get(rt, &s);
    while (cc__load_acquire(&parked) < (int)n || s.parked < n);
    wait_until_idle(rt);
    assert_int_equal(cc_runtime_spawn(rt, &waker, NULL, wakes_all, &wake), 0);
    assert_int_equal(cc_task_join(waker, NULL), 0);
    for (unsigned i = 0; i < n; i++) assert_int_equal(cc_task_join(t[i], NULL), 0);
    return wake.stats;
}

static void what_is_ready_again_is_seen_by_all_tiers(void **state) {
    (void)state;
    pretend("pack:2 core:8 pu:2");
    if (!have_hwloc()) skip();
    cc_runtime *rt = create((cc_runtime_attr){.pin = CC_PIN_TIERED, .no_monitor = 1});
    (void)wake_many(rt, MANY);
    cc_runtime_destroy(rt);
    for (int pin = CC_PIN_OFF; pin <= CC_PIN_TIERED; pin++) { /* who is alone finds them where they are */
        rt = create((cc_runtime_attr){.pin = pin, .workers = 1, .no_monitor = 1});
        cc_runtime_stats s = wake_many(rt, 3);
        assert_int_equal(s.queued_global, pin == CC_PIN_TIERED ? 3 : 0);
        assert_int_equal(s.queued_local, pin == CC_PIN_TIERED ? 0 : 3);
        cc_runtime_destroy(rt);
    }
    pretend(NULL);
}

static size_t global_seen; /* W: a task.  R: the test, after joining it */
static void *yields(void *arg) {
    cc_runtime_stats s;
    cc__add_relaxed(&running, 1);
    while (cc__load_relaxed(&running) < 3) cc_yield(); /* or one may be through before the others are there */
    for (int i = 0; i < 100; i++) {
        cc_yield();
        cc_runtime_stats_get(arg, &s);
        if (s.queued_global > global_seen) global_seen = s.queued_global;
    }
    return NULL;
}

static void who_yields_goes_there_too(void **state) {
    (void)state;
    pretend("pack:1 core:2 pu:2");
    if (!have_hwloc()) skip();
    for (int pin = CC_PIN_AVOID_SMT; pin <= CC_PIN_TIERED; pin++) {
        cc_runtime *rt = create((cc_runtime_attr){.pin = pin, .workers = 1, .no_monitor = 1});
        cc_task t[3];
        global_seen = 0;
        cc__store_relaxed(&running, 0);
        for (int i = 0; i < 3; i++) assert_int_equal(cc_runtime_spawn(rt, &t[i], NULL, yields, rt), 0);
        for (int i = 0; i < 3; i++) assert_int_equal(cc_task_join(t[i], NULL), 0);
        if (pin == CC_PIN_TIERED) assert_true(global_seen > 0);
        cc_runtime_destroy(rt);
    }
    pretend(NULL);
}

/* ---- nodes ---- */

static void *spreads(void *arg) {
    uintptr_t depth = (uintptr_t)arg;
    cc_task t[2];
    volatile char frame[4096];
    frame[0] = 1;
    cc_yield();
    for (int i = 0; depth > 0 && i < 2; i++) (void)cc_task_spawn(&t[i], NULL, spreads, (void *)(depth - 1));
    for (int i = 0; depth > 0 && i < 2; i++) (void)cc_task_join(t[i], NULL);
    return (void *)((uintptr_t)(unsigned char)frame[0] + depth);
}

static void several_nodes_at_work(void **state) {
    (void)state;
    if (!have_hwloc()) skip();
    const char *const machines[] = {"pack:2 [numa] core:8 pu:2", "pack:2 group:2 [numa] core:2 pu:1"};
    for (size_t i = 0; i < TEST_COUNT_OF(machines); i++) {
        pretend(machines[i]);
        for (int pin = CC_PIN_LINEAR; pin <= CC_PIN_TIERED; pin++) {
            cc_runtime *rt = create((cc_runtime_attr){.pin = pin, .prewarm_stacks = 40, .prefetch_pages = 1});
            cc_task t;
            void *result;
            for (int round = 0; round < 3; round++) {
                assert_int_equal(cc_runtime_spawn(rt, &t, NULL, spreads, (void *)(uintptr_t)8), 0);
                assert_int_equal(cc_task_join(t, &result), 0);
                assert_int_equal((uintptr_t)result, 9);
            }
            cc_runtime_stats s;
            cc_runtime_stats_get(rt, &s);
            assert_int_equal(s.ended, s.spawned);
            cc_runtime_destroy(rt);
        }
    }
    pretend(NULL);
    assert_int_equal(cc__stack_stats().in_use, 0); /* all went home */
}

/* ---- huge stacks ---- */

static void in_huge_stacks(void *arg) {
    size_t bytes = *(size_t *)arg;
    void *result;
    int rc = cc_run(&(cc_runtime_attr){.workers = 2, .huge_stacks = 1, .stack_bytes = bytes}, spreads,
                    (void *)(uintptr_t)(bytes >= (size_t)1 << 20 ? 3 : 7), &result);
    _Exit(rc != 0 || (uintptr_t)result != (bytes >= (size_t)1 << 20 ? 4u : 8u));
}

static void huge_stacks_say_that_they_have_no_guards(void **state) {
    (void)state;
    char said[4096];
    size_t few = (size_t)192 << 10, many = (size_t)2 << 20;
    assert_int_equal(test_in_child(in_huge_stacks, &few, said, sizeof said), 0);
    bool said_so = strstr(said, "ccrt: stacks of 192 KiB in huge pages have no guards: ") != NULL;
    assert_int_equal(said_so, cc__vm_huge_bytes() != 0);
    if (many < cc__vm_huge_bytes()) many = cc__vm_huge_bytes();
    assert_int_equal(test_in_child(in_huge_stacks, &many, said, sizeof said), 0);
    assert_null(strstr(said, "guards"));
}

/* The first of them is in a child that may use the library: there is no runtime yet. */
TEST_MAIN(cmocka_unit_test(huge_stacks_say_that_they_have_no_guards), cmocka_unit_test(what_is_not_understood),
          cmocka_unit_test(workers_are_bound_and_nothing_else),
          cmocka_unit_test(siblings_sleep_until_all_cores_are_at_work),
          cmocka_unit_test(what_is_ready_again_is_seen_by_all_tiers), cmocka_unit_test(who_yields_goes_there_too),
          cmocka_unit_test(several_nodes_at_work))
