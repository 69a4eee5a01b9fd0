/* SPDX-License-Identifier: MIT */
/* Goal: readers share, a writer is alone; they get the lock in the order they came; who is cancelled leaves, and those
 * behind go on; wrong use aborts.
 * Method: each call from a thread, a task and a strand; two words that writers change together; a queue of readers and
 * writers, let in one by one.
 */
#include "waits.h"

static void *uses_it(void *arg) {
    cc_rwlock *l = arg;
    cc_rwlock_rdlock(l);
    test_must(cc_rwlock_tryrdlock(l) == 0 && cc_rwlock_trywrlock(l) == -EAGAIN);
    cc_rwlock_unlock(l);
    cc_rwlock_unlock(l);
    cc_rwlock_wrlock(l);
    test_must(cc_rwlock_tryrdlock(l) == -EAGAIN && cc_rwlock_trywrlock(l) == -EAGAIN);
    cc_rwlock_unlock(l);
    test_must(cc_rwlock_rdlock_cancellable(l) == 0);
    cc_rwlock_unlock(l);
    test_must(cc_rwlock_wrlock_cancellable(l) == 0);
    cc_rwlock_unlock(l);
    test_must(cc_rwlock_trywrlock(l) == 0);
    cc_rwlock_unlock(l);
    return NULL;
}
static void by_everyone(void **state) {
    (void)state;
    cc_rwlock l = CC_RWLOCK_INIT, zero;
    memset(&zero, 0, sizeof zero);
    test_by_all_kinds(uses_it, &l);
    assert_memory_equal(&l, &zero, sizeof l);
}

/* ---- exclusion ---- */

static cc_rwlock lock = CC_RWLOCK_INIT;
static long left, right;
static void *reads_and_writes(void *arg) {
    for (size_t i = 0; i < test_rounds(5000); i++) {
        if (test_random() % 4 == 0) {
            cc_rwlock_wrlock(&lock);
            left++;
            if (test_random() % 16 == 0) cc_yield();
            right++;
        } else {
            cc_rwlock_rdlock(&lock);
            test_must(left == right);
        }
        cc_rwlock_unlock(&lock);
    }
    return arg;
}
static void *all_read_and_write(void *arg) {
    enum { EACH = 3 };
    cc_task t[EACH];
    pthread_t p[EACH];
    for (int i = 0; i < EACH; i++) t[i] = cc_fiber_spawn_task(reads_and_writes, NULL);
    for (int i = 0; i < EACH; i++) p[i] = test_thread_start(reads_and_writes, NULL);
    for (int i = 0; i < EACH; i++) test_must(cc_task_join(t[i], NULL) == 0);
    for (int i = 0; i < EACH; i++) pthread_join(p[i], NULL);
    test_must(lock.priv_readers == 0 && lock.priv_writer == NULL);
    return arg;
}
static void readers_see_all_of_a_writer(void **state) {
    (void)state;
    test_on_all(all_read_and_write);
}

/* ---- in order ---- */

static char order[8];
static _Atomic int came; /* into order */
static void *reads(void *arg) {
    cc_rwlock_rdlock(&lock);
    order[cc__add_relaxed(&came, 1)] = 'r';
    cc_sleep_ms(2); /* the other reader comes in beside */
    cc_rwlock_unlock(&lock);
    return arg;
}
static void *writes(void *arg) {
    cc_rwlock_wrlock(&lock);
    order[cc__add_relaxed(&came, 1)] = 'w';
    cc_rwlock_unlock(&lock);
    return arg;
}
static void *lets_them_in(void *arg) {
    void *(*const fn[])(void *) = {reads, writes, reads, reads, writes};
    enum { COUNT = TEST_COUNT_OF(fn) };
    cc_task t[COUNT];
    memset(order, 0, sizeof order);
    cc__store_relaxed(&came, 0);
    cc_rwlock_wrlock(&lock);
    for (int i = 0; i < COUNT; i++) {
        t[i] = cc_fiber_spawn_task(fn[i], NULL);
        test_until_waiting(lock.priv_lock, i + 1);
    }
    cc_rwlock_unlock(&lock);
    for (int i = 0; i < COUNT; i++) test_must(cc_task_join(t[i], NULL) == 0);
    test_must(strcmp(order, "rwrrw") == 0);
    return arg;
}
static void first_come_first_served(void **state) {
    (void)state;
    test_on_all(lets_them_in);
}

/* ---- cancellation ---- */

CC_TASK(writes_cancellably) {
    int rc = cc_rwlock_wrlock_cancellable(&lock);
    if (rc == 0) cc_rwlock_unlock(&lock);
    return rc;
}
CC_TASK(reads_cancellably) {
    int rc = cc_rwlock_rdlock_cancellable(&lock);
    if (rc == 0) cc_rwlock_unlock(&lock);
    return rc;
}
/* A reader waits only for the writer before it: when that one leaves, it goes on beside the reader that is there. */
static void *cancels_a_writer(void *arg) {
    cc_task behind;
    cc__store_relaxed(&came, 0);
    cc_rwlock_rdlock(&lock);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, writes_cancellably) == 0);
        test_until_waiting(lock.priv_lock, 1);
        behind = cc_fiber_spawn_task(reads, NULL);
        test_until_waiting(lock.priv_lock, 2);
        cc_nursery_cancel(n);
        test_must(cc_nursery_wait(n) == -ECANCELED);
    }
    test_must(cc_task_join(behind, NULL) == 0);
    cc_rwlock_unlock(&lock);
    cc_rwlock_wrlock(&lock);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, reads_cancellably) == 0);
        test_until_waiting(lock.priv_lock, 1);
        cc_nursery_cancel(n);
        test_must(cc_nursery_wait(n) == -ECANCELED);
    }
    cc_rwlock_unlock(&lock);
    test_must(lock.priv_readers == 0 && lock.priv_waiters[0] == NULL);
    return arg;
}
static void who_is_cancelled_lets_others_go_on(void **state) {
    (void)state;
    test_on_all(cancels_a_writer);
}

/* ---- misuse ---- */

static void unlocks_twice(void *arg) {
    (void)arg;
    cc_rwlock_rdlock(&lock);
    cc_rwlock_unlock(&lock);
    cc_rwlock_unlock(&lock);
}
static void *unlocks(void *arg) {
    cc_rwlock_unlock(&lock);
    return arg;
}
static void stranger_unlocks(void *arg) {
    (void)arg;
    cc_rwlock_wrlock(&lock);
    pthread_join(test_thread_start(unlocks, NULL), NULL);
}
static void reads_what_it_writes(void *arg) {
    (void)arg;
    cc_rwlock_wrlock(&lock);
    cc_rwlock_rdlock(&lock);
}
static void wrong_use_aborts(void **state) {
    (void)state;
    test_aborts(unlocks_twice, NULL, "a lock was unlocked that nobody has locked");
    test_aborts(stranger_unlocks, NULL, "a lock was unlocked by another than its writer");
    test_aborts(reads_what_it_writes, NULL, "a lock was asked for by who has it to write");
}

TEST_MAIN(cmocka_unit_test(wrong_use_aborts), cmocka_unit_test(by_everyone),
          cmocka_unit_test(readers_see_all_of_a_writer), cmocka_unit_test(first_come_first_served),
          cmocka_unit_test(who_is_cancelled_lets_others_go_on))
