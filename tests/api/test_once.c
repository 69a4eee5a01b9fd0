/* SPDX-License-Identifier: MIT */
/* Goal: what is done once is done by one, and is over when anybody goes on.
 * Method: many callers while it sleeps; one that is cancelled meanwhile; one that asks for itself.
 */
#include "waits.h"

static cc_once once;
static int done;
static _Atomic int begun; /* how often */

static void takes_a_while(void) {
    cc__add_relaxed(&begun, 1);
    cc_sleep_ms(5);
    done++; /* seen by all that go on */
}
static void *asks(void *arg) {
    cc_once_do(&once, takes_a_while);
    test_must(done == 1);
    test_must(cc_once_do_cancellable(&once, takes_a_while) == 0);
    return arg;
}
static void *many_ask(void *arg) {
    enum { EACH = 4 };
    cc_task t[EACH];
    pthread_t p[EACH];
    once = (cc_once)CC_ONCE_INIT;
    done = 0;
    cc__store_relaxed(&begun, 0);
    for (int i = 0; i < EACH; i++) t[i] = cc_fiber_spawn_task(asks, NULL);
    for (int i = 0; i < EACH; i++) p[i] = test_thread_start(asks, NULL);
    for (int i = 0; i < EACH; i++) test_must(cc_task_join(t[i], NULL) == 0);
    for (int i = 0; i < EACH; i++) pthread_join(p[i], NULL);
    test_must(done == 1 && cc__load_relaxed(&begun) == 1);
    return arg;
}
static void it_is_done_once(void **state) {
    (void)state;
    test_on_all(many_ask);
}

static _Atomic int gate;
static void waits_at_gate(void) {
    cc__store_release(&begun, 1);
    while (cc__load_acquire(&gate) == 0) cc_sleep_ms(1);
}
static void *does_it(void *arg) {
    cc_once_do(&once, waits_at_gate);
    return arg;
}
CC_TASK(waits_for_it) {
    return cc_once_do_cancellable(&once, waits_at_gate);
}
static void *cancels_who_waits(void *arg) {
    once = (cc_once)CC_ONCE_INIT;
    cc__store_relaxed(&begun, 0);
    cc__store_relaxed(&gate, 0);
    cc_task t = cc_fiber_spawn_task(does_it, NULL);
    while (cc__load_acquire(&begun) == 0) cc_yield();
    CC_NURSERY(n) {
        test_must(cc_spawn(n, waits_for_it) == 0);
        test_until_waiting(once.priv_lock, 1);
        cc_nursery_cancel(n);
        test_must(cc_nursery_wait(n) == -ECANCELED);
    }
    test_must(once.priv_waiters[0] == NULL);
    cc__store_release(&gate, 1);
    test_must(cc_task_join(t, NULL) == 0);
    return arg;
}
static void who_is_cancelled_leaves(void **state) {
    (void)state;
    test_on_all(cancels_who_waits);
}

static void asks_for_itself(void) {
    cc_once_do(&once, asks_for_itself);
}
static void does_what_asks_for_itself(void *arg) {
    (void)arg;
    asks_for_itself();
}
static void what_asks_for_itself_aborts(void **state) {
    (void)state;
    test_aborts(does_what_asks_for_itself, NULL, "what is done once asked for itself");
}

TEST_MAIN(cmocka_unit_test(what_asks_for_itself_aborts), cmocka_unit_test(it_is_done_once),
          cmocka_unit_test(who_is_cancelled_leaves))
