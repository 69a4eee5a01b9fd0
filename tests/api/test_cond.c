/* SPDX-License-Identifier: MIT */
/* Goal: a condition wait returns with the mutex, whatever ended it; a signal reaches one that waits, a broadcast all,
 * and none is lost to one that is cancelled.
 * Method: waiters that are signalled, cancelled and out of time; a queue of one place between two;
 * a wait without the mutex, in a child process.
 */
#include "waits.h"

static cc_mutex m = CC_MUTEX_INIT;
static cc_cond c = CC_COND_INIT;
static int ready, gone; /* guarded by m */

static bool locked_by_me(void) {
    return cc_mutex_trylock(&m) == -EAGAIN;
}

static void *waits_until_ready(void *arg) {
    cc_mutex_lock(&m);
    while (ready == 0) cc_cond_wait(&c, &m);
    test_must(locked_by_me());
    ready--;
    gone++;
    cc_mutex_unlock(&m);
    return arg;
}

static void give(int n, bool all) {
    cc_mutex_lock(&m);
    ready = n;
    if (all)
        cc_cond_broadcast(&c);
    else
        cc_cond_signal(&c);
    cc_mutex_unlock(&m);
}

static void *signals_one_by_one(void *arg) {
    enum { WAITERS = 5 };
    cc_task t[WAITERS];
    gone = ready = 0;
    cc_cond_signal(&c); /* to nobody */
    cc_cond_broadcast(&c);
    for (int i = 0; i < WAITERS; i++) t[i] = cc_fiber_spawn_task(waits_until_ready, NULL);
    pthread_t p = test_thread_start(waits_until_ready, NULL);
    test_until_waiting(c.priv_lock, WAITERS + 1);
    give(1, false);
    for (int done = 0; done < 1; cc_sleep_ms(1)) {
        cc_mutex_lock(&m);
        done = gone;
        cc_mutex_unlock(&m);
    }
    test_until_waiting(c.priv_lock, WAITERS); /* one went, the others wait on */
    give(WAITERS, true);
    for (int i = 0; i < WAITERS; i++) test_must(cc_task_join(t[i], NULL) == 0);
    pthread_join(p, NULL);
    test_must(gone == WAITERS + 1 && ready == 0 && c.priv_waiters[0] == NULL);
    return arg;
}
static void a_signal_wakes_one_a_broadcast_all(void **state) {
    (void)state;
    test_on_all(signals_one_by_one);
}

/* ---- a queue of one place ---- */

static int place; /* 0: empty; guarded by m */
static cc_cond empty = CC_COND_INIT, full = CC_COND_INIT;
static void *produces(void *arg) {
    int n = (int)test_rounds(20000);
    for (int i = 1; i <= n; i++) {
        cc_mutex_lock(&m);
        while (place != 0) cc_cond_wait(&empty, &m);
        place = i;
        cc_mutex_unlock(&m);
        cc_cond_signal(&full); /* without the mutex */
    }
    return arg;
}
static void *consumes(void *arg) {
    int n = (int)test_rounds(20000);
    for (int i = 1; i <= n; i++) {
        cc_mutex_lock(&m);
        while (place == 0) cc_cond_wait(&full, &m);
        test_must(place == i);
        place = 0;
        cc_cond_signal(&empty); /* with it */
        cc_mutex_unlock(&m);
    }
    return arg;
}
static void *produce_and_consume(void *arg) {
    cc_task t = cc_fiber_spawn_task(produces, NULL);
    consumes(NULL);
    test_must(cc_task_join(t, NULL) == 0);
    pthread_t p = test_thread_start(produces, NULL);
    consumes(NULL);
    pthread_join(p, NULL);
    return arg;
}
static void no_signal_is_lost(void **state) {
    (void)state;
    test_on_all(produce_and_consume);
}

/* ---- cancellation ---- */

CC_TASK(waits_cancellably) {
    cc_mutex_lock(&m);
    int rc = 0;
    while (ready == 0 && rc == 0) rc = cc_cond_wait_cancellable(&c, &m);
    test_must(locked_by_me());
    if (rc == 0) ready--;
    gone++;
    cc_mutex_unlock(&m);
    return rc;
}
static void *cancels_the_first(void *arg) {
    gone = ready = 0;
    cc_task second;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, waits_cancellably) == 0);
        test_until_waiting(c.priv_lock, 1);
        second = cc_fiber_spawn_task(waits_until_ready, NULL);
        test_until_waiting(c.priv_lock, 2);
        cc_nursery_cancel(n);
        test_must(cc_nursery_wait(n) == -ECANCELED);
    }
    test_must(gone == 1);
    give(1, false);
    test_must(cc_task_join(second, NULL) == 0);
    return arg;
}
static void who_is_cancelled_has_the_mutex(void **state) {
    (void)state;
    test_on_all(cancels_the_first);
}

static void *runs_out_of_time(void *arg) {
    cc_mutex_lock(&m);
    CC_DEADLINE_MS(5) {
        int rc = 0;
        while (rc == 0) rc = cc_cond_wait_cancellable(&c, &m);
        test_must(rc == -ETIMEDOUT && locked_by_me());
    }
    cc_mutex_unlock(&m);
    return arg;
}
static void who_is_out_of_time_has_the_mutex(void **state) {
    (void)state;
    test_by_all_kinds(runs_out_of_time, NULL);
    assert_null(c.priv_waiters[0]);
}

/* What is cancelled outside a shield does not end a wait inside it. */
CC_TASK(waits_in_a_shield) {
    int rc = 0;
    CC_SHIELD {
        cc_mutex_lock(&m);
        while (ready == 0 && rc == 0) rc = cc_cond_wait_cancellable(&c, &m);
        cc_mutex_unlock(&m);
    }
    test_must(rc == 0);
    return 0;
}
static void *cancels_a_shield(void *arg) {
    ready = 0;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, waits_in_a_shield) == 0);
        test_until_waiting(c.priv_lock, 1);
        cc_nursery_cancel(n);
        test_until_waiting(c.priv_lock, 1);
        give(1, false);
    }
    return arg;
}
static void a_shield_holds(void **state) {
    (void)state;
    test_on_all(cancels_a_shield);
}

static void waits_without_it(void *arg) {
    (void)arg;
    cc_cond_wait(&c, &m);
}
static void a_wait_without_the_mutex_aborts(void **state) {
    (void)state;
    test_aborts(waits_without_it, NULL, "a condition was waited for without its mutex");
}

TEST_MAIN(cmocka_unit_test(a_wait_without_the_mutex_aborts), cmocka_unit_test(a_signal_wakes_one_a_broadcast_all),
          cmocka_unit_test(no_signal_is_lost), cmocka_unit_test(who_is_cancelled_has_the_mutex),
          cmocka_unit_test(who_is_out_of_time_has_the_mutex), cmocka_unit_test(a_shield_holds))
