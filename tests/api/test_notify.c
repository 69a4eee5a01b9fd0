/* SPDX-License-Identifier: MIT */
/* Goal: one notification wakes one that waits, or the next to come, but no more than one is remembered; to all reaches
 * all that wait and nobody else.
 * Method: notifications before and during waits of tasks and threads; a shield that a cancellation comes to while it
 * waits.
 */
#include "waits.h"

static cc_notify notify = CC_NOTIFY_INIT;
static _Atomic int notified;

static void *waits(void *arg) {
    cc_notify_wait(&notify);
    cc__add_relaxed(&notified, 1);
    return arg;
}

static void *one_is_kept(void *arg) {
    cc_notify_one(&notify);
    cc_notify_one(&notify);
    cc_notify_wait(&notify);
    CC_DEADLINE_MS(2) test_must(cc_notify_wait_cancellable(&notify) == -ETIMEDOUT); /* not two */
    cc_notify_all(&notify);                                                         /* not at all */
    CC_DEADLINE_MS(2) test_must(cc_notify_wait_cancellable(&notify) == -ETIMEDOUT);
    cc_notify_one(&notify);
    CC_DEADLINE_MS(0) test_must(cc_notify_wait_cancellable(&notify) == 0);
    return arg;
}
static void one_is_remembered(void **state) {
    (void)state;
    test_by_all_kinds(one_is_kept, NULL);
}

static void *notifies_one_then_all(void *arg) {
    enum { WAITERS = 4 };
    cc_task t[WAITERS];
    cc__store_relaxed(&notified, 0);
    for (int i = 0; i < WAITERS; i++) t[i] = cc_fiber_spawn_task(waits, NULL);
    pthread_t p = test_thread_start(waits, NULL);
    test_until_waiting(notify.priv_lock, WAITERS + 1);
    cc_notify_one(&notify);
    while (cc__load_relaxed(&notified) == 0) cc_yield();
    cc_sleep_ms(2);
    test_must(cc__load_relaxed(&notified) == 1);
    cc_notify_all(&notify);
    for (int i = 0; i < WAITERS; i++) test_must(cc_task_join(t[i], NULL) == 0);
    pthread_join(p, NULL);
    test_must(notify.priv_pending == 0);
    return arg;
}
static void one_and_all(void **state) {
    (void)state;
    test_on_all(notifies_one_then_all);
}

/* Cancelled outside a shield: the wait inside begins anew, and is notified all the same. */
CC_TASK(waits_in_a_shield) {
    int rc = -1;
    CC_SHIELD rc = cc_notify_wait_cancellable(&notify);
    test_must(rc == 0);
    return 0;
}
static void *cancels_a_shield(void *arg) {
    for (int i = 0; i < 100; i++) {
        CC_NURSERY(n) {
            test_must(cc_spawn(n, waits_in_a_shield) == 0);
            test_until_waiting(notify.priv_lock, 1);
            cc_nursery_cancel(n);
            if (i % 2 == 0)
                cc_notify_all(&notify);
            else
                cc_notify_one(&notify);
        }
    }
    return arg;
}
static void a_shield_holds(void **state) {
    (void)state;
    test_on_all(cancels_a_shield);
}

TEST_MAIN(cmocka_unit_test(one_is_remembered), cmocka_unit_test(one_and_all), cmocka_unit_test(a_shield_holds))
