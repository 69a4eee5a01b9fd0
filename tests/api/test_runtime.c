/* SPDX-License-Identifier: MIT */
/* Goal: runtimes of any number of workers start, run everything that was spawned, and end (lessons 22, 46, 48).
 * Method: 1, 2, 7, 64, 65 and 300 workers; start and stop again and again; trees spawned into each.
 * Timeout: 120
 */
#include "test.h"

#include "base/atomic.h"

#include <ccrt.h>

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

TEST_MAIN(cmocka_unit_test(any_number_of_workers), cmocka_unit_test(started_and_stopped_again_and_again),
          cmocka_unit_test(bad_options_are_refused))
