/* SPDX-License-Identifier: MIT */
/* Goal: never more are inside than there are permits; they are given out in the order they were asked for, many at once
 * too; who is cancelled takes none, and lets those behind go on; too many are told.
 * Method: each call from a thread, a task and a strand; waiters of one and of several permits in a known order.
 */
#include "waits.h"

static void *takes_and_gives(void *arg) {
    cc_sem *s = arg;
    cc_sem_acquire(s, 2);
    test_must(cc_sem_try_acquire(s, 2) == -EAGAIN && cc_sem_try_acquire(s, 1) == 0);
    test_must(cc_sem_try_acquire(s, 0) == 0);
    cc_sem_release(s, 3);
    test_must(cc_sem_acquire_cancellable(s, 3) == 0);
    cc_sem_release(s, 1);
    cc_sem_release(s, 2);
    return NULL;
}
static void by_everyone(void **state) {
    (void)state;
    cc_sem s = CC_SEM_INIT(3);
    test_by_all_kinds(takes_and_gives, &s);
    assert_int_equal(s.priv_permits, 3);
}

/* ---- a limit ---- */

enum { LIMIT = 3 };
static cc_sem limit = CC_SEM_INIT(LIMIT);
static _Atomic int inside;
static void *enters(void *arg) {
    for (size_t i = 0; i < test_rounds(3000); i++) {
        unsigned n = 1 + (unsigned)(test_random() % LIMIT);
        cc_sem_acquire(&limit, n);
        test_must(cc__add_relaxed(&inside, (int)n) + (int)n <= LIMIT);
        if (test_random() % 8 == 0) cc_yield();
        cc__sub_relaxed(&inside, (int)n);
        cc_sem_release(&limit, n);
    }
    return arg;
}
static void *all_enter(void *arg) {
    enum { EACH = 4 };
    cc_task t[EACH];
    pthread_t p[EACH];
    for (int i = 0; i < EACH; i++) t[i] = cc_fiber_spawn_task(enters, NULL);
    for (int i = 0; i < EACH; i++) p[i] = test_thread_start(enters, NULL);
    for (int i = 0; i < EACH; i++) test_must(cc_task_join(t[i], NULL) == 0);
    for (int i = 0; i < EACH; i++) pthread_join(p[i], NULL);
    test_must(limit.priv_permits == LIMIT);
    return arg;
}
static void never_more_than_permits(void **state) {
    (void)state;
    test_on_all(all_enter);
}

/* ---- in order ---- */

static cc_sem permits = CC_SEM_INIT(0);
static _Atomic int turn;
struct waiter {
    unsigned wants;
    int came;
};
static void *waits_its_turn(void *arg) {
    struct waiter *w = arg;
    cc_sem_acquire(&permits, w->wants);
    w->came = cc__add_relaxed(&turn, 1);
    return arg;
}
static void *gives_one_by_one(void *arg) {
    struct waiter w[] = {{1, -1}, {3, -1}, {1, -1}, {2, -1}};
    enum { COUNT = TEST_COUNT_OF(w) };
    cc_task t[COUNT];
    cc__store_relaxed(&turn, 0);
    for (int i = 0; i < COUNT; i++) {
        t[i] = cc_fiber_spawn_task(waits_its_turn, &w[i]);
        test_until_waiting(permits.priv_lock, i + 1);
    }
    for (int i = 0; i < COUNT; i++) {
        test_must(cc_sem_try_acquire(&permits, 0) == -EAGAIN); /* not before those that wait */
        for (unsigned j = 0; j < w[i].wants; j++) cc_sem_release(&permits, 1);
        test_must(cc_task_join(t[i], NULL) == 0);
        test_must(w[i].came == i);
    }
    test_must(permits.priv_permits == 0);
    return arg;
}
static void first_come_first_served(void **state) {
    (void)state;
    test_on_all(gives_one_by_one);
}

/* ---- cancellation ---- */

CC_TASK(wants, (unsigned, n)) {
    return cc_sem_acquire_cancellable(&permits, n);
}
static void *cancels_who_wants_many(void *arg) {
    struct waiter behind = {1, -1};
    cc_task t;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, wants, 5u) == 0);
        test_until_waiting(permits.priv_lock, 1);
        t = cc_fiber_spawn_task(waits_its_turn, &behind);
        test_until_waiting(permits.priv_lock, 2);
        cc_sem_release(&permits, 2); /* too few for the first, kept for it all the same */
        test_until_waiting(permits.priv_lock, 2);
        cc_nursery_cancel(n);
        test_must(cc_nursery_wait(n) == -ECANCELED);
    }
    test_must(cc_task_join(t, NULL) == 0);
    test_must(permits.priv_permits == 1 && cc_sem_try_acquire(&permits, 1) == 0);
    CC_DEADLINE_MS(2) test_must(cc_sem_acquire_cancellable(&permits, 1) == -ETIMEDOUT);
    return arg;
}
static void who_is_cancelled_takes_none(void **state) {
    (void)state;
    test_on_all(cancels_who_wants_many);
}

static void releases_too_many(void *arg) {
    cc_sem s = CC_SEM_INIT(1);
    (void)arg;
    cc_sem_release(&s, UINT32_MAX);
}
static void too_many_are_told(void **state) {
    (void)state;
    cc_sem s = CC_SEM_INIT(1);
    cc_sem_release(&s, UINT32_MAX - 1);
    assert_int_equal(cc_sem_try_acquire(&s, UINT32_MAX), 0);
    test_aborts(releases_too_many, NULL, "a semaphore has more permits than can be counted");
}

TEST_MAIN(cmocka_unit_test(too_many_are_told), cmocka_unit_test(by_everyone), cmocka_unit_test(never_more_than_permits),
          cmocka_unit_test(first_come_first_served), cmocka_unit_test(who_is_cancelled_takes_none))
