/* SPDX-License-Identifier: MIT */
/* Goal: a task that is pinned and waits for a timer, or a descriptor, goes on. Its worker found that it was ready as
 * the last thing before it slept, put it on its own list of pinned tasks, and did not look there again: it slept on.
 * Method: a pinned task sleeps, and another reads from a pipe that is written later, with one worker and with two.
 * Not with: cross
 */
#include "test.h"

#include <ccrt.h>

static void *sleeps(void *arg) {
    for (int i = 0; i < 3; i++) cc_sleep_ms(2);
    return arg;
}

static void *reads(void *arg) {
    char c = 0;
    return (void *)(uintptr_t)(cc_read(*(int *)arg, &c, 1) == 1 ? c : 0);
}

static void a_pinned_task_is_not_slept_with(void **state) {
    (void)state;
    for (unsigned workers = 1; workers <= 2; workers++) {
        cc_runtime *rt;
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = workers}), 0);
        for (unsigned i = 0; i < 10; i++) {
            cc_task sleeper, reader;
            cc_task_attr pinned = {.worker = 1 + i % workers};
            int end[2];
            void *got;
            assert_int_equal(pipe(end), 0);
            assert_int_equal(cc_runtime_spawn(rt, &reader, &pinned, reads, &end[0]), 0);
            assert_int_equal(cc_runtime_spawn(rt, &sleeper, &pinned, sleeps, NULL), 0);
            assert_int_equal(cc_task_join(sleeper, NULL), 0);
            usleep(1000);
            assert_int_equal(write(end[1], "x", 1), 1);
            assert_int_equal(cc_task_join(reader, &got), 0);
            assert_int_equal((uintptr_t)got, 'x');
            assert_int_equal(cc_close(end[0]), 0);
            close(end[1]);
        }
        cc_runtime_destroy(rt);
    }
}

TEST_MAIN(cmocka_unit_test(a_pinned_task_is_not_slept_with))
