/* SPDX-License-Identifier: MIT */
/* Goal: nobody passes a barrier before all have come, round after round; one is told that it was last; who is cancelled
 * has not come.
 * Method: parties that count rounds and compare; tasks, more than workers, and threads; one that is cancelled.
 */
#include "waits.h"

enum { PARTIES = 6 };
static cc_barrier barrier;
static _Atomic int at[PARTIES], lasts;

static void *marches(void *arg) {
    int self = (int)(intptr_t)arg, rounds = (int)test_rounds(500);
    for (int round = 1; round <= rounds; round++) {
        cc__store_relaxed(&at[self], round);
        int last = cc_barrier_wait(&barrier);
        test_must(last == 0 || last == 1);
        cc__add_relaxed(&lasts, last);
        for (int i = 0; i < PARTIES; i++) {
            int there = cc__load_relaxed(&at[i]);
            test_must(there == round || there == round + 1);
        }
    }
    return NULL;
}
static void *all_march(void *arg) {
    cc_task t[PARTIES - 1];
    barrier = (cc_barrier)CC_BARRIER_INIT(PARTIES);
    cc__store_relaxed(&lasts, 0);
    for (int i = 0; i < PARTIES - 1; i++) t[i] = cc_fiber_spawn_task(marches, (void *)(intptr_t)i);
    pthread_t p = test_thread_start(marches, (void *)(intptr_t)(PARTIES - 1));
    for (int i = 0; i < PARTIES - 1; i++) test_must(cc_task_join(t[i], NULL) == 0);
    pthread_join(p, NULL);
    test_must(cc__load_relaxed(&lasts) == (int)test_rounds(500));
    return arg;
}
static void nobody_passes_before_all(void **state) {
    (void)state;
    test_on_all(all_march);
}

static void alone(void **state) {
    (void)state;
    cc_barrier one = CC_BARRIER_INIT(1);
    assert_int_equal(cc_barrier_wait(&one), 1);
    assert_int_equal(cc_barrier_wait_cancellable(&one), 1);
}

CC_TASK(comes_cancellably) {
    return cc_barrier_wait_cancellable(&barrier);
}
static void *comes(void *arg) {
    return (void *)(intptr_t)(cc_barrier_wait(&barrier) + (arg != NULL));
}
static void *cancels_who_came(void *arg) {
    void *last;
    barrier = (cc_barrier)CC_BARRIER_INIT(2);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, comes_cancellably) == 0);
        test_until_waiting(barrier.priv_lock, 1);
        cc_nursery_cancel(n);
        test_must(cc_nursery_wait(n) == -ECANCELED);
    }
    CC_DEADLINE_MS(2) test_must(cc_barrier_wait_cancellable(&barrier) == -ETIMEDOUT);
    cc_task t = cc_fiber_spawn_task(comes, NULL);
    test_until_waiting(barrier.priv_lock, 1); /* two have left: it waits for another */
    test_must(cc_barrier_wait(&barrier) == 1);
    test_must(cc_task_join(t, &last) == 0 && last == NULL);
    return arg;
}
static void who_is_cancelled_has_not_come(void **state) {
    (void)state;
    test_on_all(cancels_who_came);
}

static void waits_at_none(void *arg) {
    cc_barrier none = CC_BARRIER_INIT(0);
    (void)arg;
    cc_barrier_wait(&none);
}
static void one_without_parties_aborts(void **state) {
    (void)state;
    test_aborts(waits_at_none, NULL, "a barrier without parties was waited for");
}

TEST_MAIN(cmocka_unit_test(one_without_parties_aborts), cmocka_unit_test(alone),
          cmocka_unit_test(nobody_passes_before_all), cmocka_unit_test(who_is_cancelled_has_not_come))
