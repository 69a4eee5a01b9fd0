/* SPDX-License-Identifier: MIT */
/* Goal: a task that outgrows its stack is named, with its size, and the program aborts, on whatever thread it runs
 * (lesson 85).
 * Method: each in a child process that dies: the first run of a task, and one that was parked before.
 */
#include "test.h"

#include <ccrt.h>

static __attribute__((noinline)) int recurse(int n) {
    volatile char frame[64];
    frame[0] = (char)n;
    return (n < 0 ? 0 : recurse(n + 1)) + frame[0];
}
static void *overflows(void *arg) {
    if (arg != NULL) cc_sleep_ms(5);
    return (void *)(intptr_t)recurse(0);
}
static void spawn_overflow(void *arg) {
    cc_task t;
    cc_task_attr attr = {.name = "parse", .stack_bytes = 65536};
    if (cc_task_spawn(&t, &attr, overflows, arg) == 0) cc_task_join(t, NULL);
}

static void overflow_is_reported(void **state) {
    (void)state;
    test_aborts(spawn_overflow, NULL, "\"parse\" overflowed its 65536-byte stack");
}
static void overflow_is_reported_after_a_wait(void **state) {
    (void)state;
    test_aborts(spawn_overflow, &errno, "\"parse\" overflowed its 65536-byte stack");
}

TEST_MAIN(cmocka_unit_test(overflow_is_reported), cmocka_unit_test(overflow_is_reported_after_a_wait))
