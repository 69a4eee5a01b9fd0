/* SPDX-License-Identifier: MIT */
/* Goal: sleeping lasts as long as it was told, never less, in tasks and threads, one or very many (lesson 31).
 * Method: the clock before and after; many sleepers of random lengths, who must wake in the order of their
 * instants as far as each can tell.
 */
#include "test.h"

#include "base/atomic.h"
#include "base/rng.h"

#include <ccrt.h>

static void *sleeps(void *arg) {
    int64_t begin = cc_now_ns(), ms = (intptr_t)arg;
    int rc = cc_sleep_ms(ms);
    return (void *)(intptr_t)(rc != 0 || cc_now_ns() - begin < ms * 1000000);
}

static void threads_and_tasks_sleep(void **state) {
    (void)state;
    void *wrong;
    assert_null(sleeps((void *)20));
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(sleeps, (void *)20), &wrong), 0);
    assert_null(wrong);
    assert_int_equal(cc_sleep_ms(0), 0);
    assert_int_equal(cc_sleep_ms(-5), 0);
    assert_int_equal(cc_sleep_until_ns(-1), 0);
    assert_int_equal(cc_sleep_until_ns(cc_now_ns() - 1000), 0);
}

static void many_sleepers(void **state) {
    (void)state;
    enum { MOST = 20000 };
    size_t count = test_scaled(MOST);
    if (TEST_TSAN || TEST_ASAN) count = 1000;
    static cc_task t[MOST];
    struct cc__rng rng;
    cc__rng_seed(&rng, test_seed());
    for (size_t i = 0; i < count; i++) t[i] = cc_fiber_spawn_task(sleeps, (void *)(uintptr_t)cc__rng_below(&rng, 100));
    for (size_t i = 0; i < count; i++) {
        void *wrong;
        assert_int_equal(cc_task_join(t[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* A later sleeper that is due earlier: idle workers must hear of it. */
static void *long_then_short(void *arg) {
    cc_task t = cc_fiber_spawn_task(sleeps, (void *)300);
    cc_sleep_ms(20); /* all workers sleep until the long one is due, or so they think */
    void *wrong;
    cc_task u = cc_fiber_spawn_task(sleeps, (void *)10);
    int64_t begin = cc_now_ns();
    cc_task_join(u, &wrong);
    int64_t took = cc_now_ns() - begin;
    cc_task_join(t, NULL);
    return (void *)(intptr_t)(took < 250000000 && arg == NULL && wrong == NULL);
}

static void earlier_timers_are_heard_of(void **state) {
    (void)state;
    void *good;
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(long_then_short, NULL), &good), 0);
    if (good == NULL) print_message("a busy machine, or a timer that nobody heard of\n");
}

TEST_MAIN(cmocka_unit_test(threads_and_tasks_sleep), cmocka_unit_test(many_sleepers),
          cmocka_unit_test(earlier_timers_are_heard_of))
