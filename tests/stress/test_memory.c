/* SPDX-License-Identifier: MIT */
/* Goal: what ends gives back all it had: after ten million spawns the process is as large as after the first few
 * (lessons 75, 83, 84).
 * Method: spawned and joined, detached, as children of one nursery, from a plain thread, with names and long
 * arguments, on 1, 2, 7 and 16 workers; the resident size after the first tenth and at the end. CC_TEST_SPAWNS
 * says how many in all, if not ten million.
 * Not with: address thread
 * Timeout: 200
 */
#include "runtimes.h"

enum { SLACK_KB = 16 * 1024 }; /* what caches, and stacks whose numbers go up and down, may differ by */

static long resident_kb(void) {
    long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    test_must(f != NULL && fscanf(f, "%ld %ld", &size, &resident) == 2);
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static long all_spawns(void) {
    const char *given = getenv("CC_TEST_SPAWNS");
    return (long)test_scaled(given != NULL ? strtoul(given, NULL, 10) : 10000000);
}

static _Atomic long ran;
static void *runs(void *arg) {
    cc__add_relaxed(&ran, 1);
    return arg;
}
typedef struct long_argument {
    char text[100];
} long_argument;
CC_TASK(child, (int, one)) {
    cc__add_relaxed(&ran, one);
    return 0;
}
CC_TASK(child_of_long, (long_argument, l)) {
    cc__add_relaxed(&ran, l.text[0]);
    return 0;
}

static void joined(long n) {
    for (long i = 0; i < n; i++) test_must(cc_task_join(cc_fiber_spawn_task(runs, NULL), NULL) == 0);
}
static void joined_by_hundreds(long n) {
    cc_task t[100];
    for (long i = 0; i < n; i += 100) {
        for (int k = 0; k < 100; k++) t[k] = cc_fiber_spawn_task(runs, NULL);
        for (int k = 0; k < 100; k++) test_must(cc_task_join(t[k], NULL) == 0);
    }
}
static void detached(long n) {
    for (long i = 0; i < n; i++) {
        test_must(cc_task_detach(cc_fiber_spawn_task(runs, NULL)) == 0);
        if (i % 64 == 0) cc_yield();
    }
}
static void named(long n) {
    for (long i = 0; i < n; i++) {
        cc_task t;
        test_must(cc_task_spawn(&t, &(cc_task_attr){.name = "a name that is copied"}, runs, NULL) == 0);
        test_must(cc_task_join(t, NULL) == 0);
    }
}
/* One nursery for all: what has ended is not kept until its wait (lesson 75). */
static void in_one_nursery(long n) {
    long_argument l = {{1}};
    CC_NURSERY(all) {
        for (long i = 0; i < n; i++) {
            test_must((i % 16 == 0 ? cc_spawn(all, child_of_long, l) : cc_spawn(all, child, 1)) == 0);
            if (i % 64 == 0) cc_yield();
        }
    }
}
static void in_many_nurseries(long n) {
    for (long i = 0; i < n; i += 4) {
        CC_NURSERY(few) {
            for (int k = 0; k < 4; k++) test_must(cc_spawn(few, child, 1) == 0);
        }
    }
}

static void (*const ways[])(long) = {joined, joined_by_hundreds, detached, named, in_one_nursery, in_many_nurseries};

static void *spawns_in_all_ways(void *arg) {
    long each = *(long *)arg / (long)TEST_COUNT_OF(ways) / 400 * 400;
    for (size_t i = 0; i < TEST_COUNT_OF(ways); i++) ways[i](each);
    return (void *)(each * (long)TEST_COUNT_OF(ways));
}
/* Three tasks and a thread at once; returns when all they spawned have run. */
static void *spawns_from_all_sides(void *arg) {
    long share = *(long *)arg / 4, expected = 0, from_thread = share / 8;
    cc_task t[3];
    pthread_t thread;
    void *did = NULL;
    cc__store_release(&ran, 0);
    test_must(pthread_create(&thread, NULL, spawns_in_all_ways, &from_thread) == 0);
    for (int i = 0; i < 3; i++) t[i] = cc_fiber_spawn_task(spawns_in_all_ways, &share);
    for (int i = 0; i < 3; i++) {
        test_must(cc_task_join(t[i], &did) == 0);
        expected += (long)(intptr_t)did;
    }
    pthread_join(thread, &did);
    expected += (long)(intptr_t)did;
    while (cc__load_acquire(&ran) < expected) cc_yield(); /* the detached */
    test_must(cc__load_relaxed(&ran) == expected);
    return NULL;
}

static void lesson_75_83_84_memory_is_flat(void **state) {
    (void)state;
    long per_runtime = all_spawns() / (long)TEST_COUNT_OF(test_workers), first = per_runtime / 10;
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++) {
        cc_runtime *rt;
        cc_task t;
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = test_workers[w]}), 0);
        assert_int_equal(cc_runtime_spawn(rt, &t, NULL, spawns_from_all_sides, &first), 0);
        assert_int_equal(cc_task_join(t, NULL), 0);
        long before = resident_kb();
        assert_int_equal(cc_runtime_spawn(rt, &t, NULL, spawns_from_all_sides, &per_runtime), 0);
        assert_int_equal(cc_task_join(t, NULL), 0);
        long after = resident_kb();
        print_message("%u workers: %ld spawns, %ld KiB, then %ld KiB\n", test_workers[w], per_runtime, before, after);
        assert_true(after <= before + SLACK_KB);
        cc_runtime_destroy(rt);
    }
}

TEST_MAIN(cmocka_unit_test(lesson_75_83_84_memory_is_flat))
