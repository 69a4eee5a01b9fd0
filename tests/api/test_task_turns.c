/* SPDX-License-Identifier: MIT */
/* Goal: priorities order tasks and starve none: high before normal but for one time in eight, low last, and all the
 * same while there is other work without end; and a task keeps its priority when it comes back from a wait.
 * Method: one worker, nobody who would start another; a task that yields, or several that keep each other busy, until
 * one of low priority has run; tasks of each priority that are held back, all made ready at once and noted in the order
 * they run.
 */
#include "runtimes.h"

#include <ccrt.h>

static const cc_runtime_attr alone = {.workers = 1, .max_workers = 1, .no_monitor = 1};
static _Atomic int done;

static cc_task spawn(int priority, void *(*fn)(void *), void *arg) {
    cc_task t;
    test_must(cc_task_spawn(&t, &(cc_task_attr){.priority = priority}, fn, arg) == 0);
    return t;
}

/* ---- low priority ---- */

static void *sets_done(void *arg) {
    for (int i = 0; i < 3; i++) cc_yield();
    cc__store_release(&done, 1);
    return arg;
}
static void *yields_until_done(void *arg) {
    while (cc__load_acquire(&done) == 0) cc_yield();
    return arg;
}
static void *one_yields(void *arg) {
    cc__store_relaxed(&done, 0);
    cc_task low = spawn(CC_PRIORITY_LOW, sets_done, NULL);
    yields_until_done(NULL);
    test_must(cc_task_join(low, NULL) == 0);
    return arg;
}
/* Normal work without end: there is always somebody else to run. */
static void *several_yield(void *arg) {
    cc_task t[4];
    cc__store_relaxed(&done, 0);
    for (int i = 0; i < 3; i++) t[i] = spawn(CC_PRIORITY_NORMAL, yields_until_done, NULL);
    t[3] = spawn(CC_PRIORITY_LOW, sets_done, NULL);
    for (int i = 0; i < 4; i++) test_must(cc_task_join(t[i], NULL) == 0);
    return arg;
}
/* One of low priority that yields gives way to the others of its kind. */
static void *low_ones_yield(void *arg) {
    cc_task t[3];
    cc__store_relaxed(&done, 0);
    for (int i = 0; i < 2; i++) t[i] = spawn(CC_PRIORITY_LOW, yields_until_done, NULL);
    t[2] = spawn(CC_PRIORITY_LOW, sets_done, NULL);
    for (int i = 0; i < 3; i++) test_must(cc_task_join(t[i], NULL) == 0);
    return arg;
}
/* Tasks that each spawn the next. */
static void *spawns_the_next(void *arg) {
    if (cc__load_acquire(&done) == 0) test_must(cc_task_detach(cc_fiber_spawn_task(spawns_the_next, NULL)) == 0);
    return arg;
}
static void *chain(void *arg) {
    cc__store_relaxed(&done, 0);
    cc_task low = spawn(CC_PRIORITY_LOW, sets_done, NULL);
    spawns_the_next(NULL);
    test_must(cc_task_join(low, NULL) == 0);
    return arg;
}
static void low_priority_comes_to_its_turn(void **state) {
    (void)state;
    test_on_attr(&alone, one_yields, NULL);
    test_on_attr(&alone, several_yield, NULL);
    test_on_attr(&alone, low_ones_yield, NULL);
    test_on_attr(&alone, chain, NULL);
}

TEST_MAIN(cmocka_unit_test(low_priority_comes_to_its_turn))
