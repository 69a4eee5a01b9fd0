/* SPDX-License-Identifier: MIT */
/* Goal: the lock of wait lists (src/task/lock.c, src/task/keep.h): it is kept by a worker that takes it often, taken
 * back by others, and one at a time has it.
 * Method: keepers used as workers use theirs; the lock's word is looked at; threads that count under locks which are
 * kept and taken back all the time. model_keep.c has all orders of few steps; this has millions of some. */
#include "test.h"

#include "plat/barrier.h"
#include "task/keep.h"

#include <pthread.h>
#include <sched.h>

enum { TURNS = 200000, THREADS = 4 };

static struct cc__waitlist lock;
static struct cc__habit habit;
static long counted; /* guarded by lock */

static void add(struct cc__keeper *k) {
    cc__keep_lock(k, &lock, false);
    counted++;
    cc__keep_unlock(k, &lock, &habit, 1, false);
}

static int setup(void **state) {
    (void)state;
    cc__barrier_prepare();
    lock = (struct cc__waitlist){0};
    habit = (struct cc__habit){0};
    counted = 0;
    return 0;
}

/* So often that it is kept, if it can be. */
static void add_until_kept(struct cc__keeper *k) {
    for (int i = 0; i < CC__KEEP_AFTER + 3; i++) add(k);
}

static void test_kept_after_many(void **state) {
    (void)state;
    struct cc__keeper *k = cc__keeper_begin();
    if (k == NULL) skip(); /* no heavy fence */
    add(k);
    assert_int_equal(cc__load_relaxed(&lock.lock), CC__LOCK_FREE);
    add_until_kept(k);
    assert_int_equal(cc__load_relaxed(&lock.lock), k->word);
    assert_true(cc__keep_enter(k, &lock));
    assert_true(cc__keep_leave(k, &lock));
    assert_false(cc__keep_leave(k, &lock));
    cc__keeper_end(k);
}

static void test_taken_back(void **state) {
    (void)state;
    struct cc__keeper *k = cc__keeper_begin();
    if (k == NULL) skip();
    add_until_kept(k);
    add(NULL); /* a plain thread's */
    assert_int_equal(cc__load_relaxed(&lock.lock), CC__LOCK_FREE);
    add_until_kept(k); /* the next time it takes longer */
    assert_int_equal(cc__load_relaxed(&lock.lock), CC__LOCK_FREE);
    for (int i = 0; i < 4; i++) add_until_kept(k);
    assert_int_equal(cc__load_relaxed(&lock.lock), k->word);
    cc__keeper_end(k);
}

static void test_others_do_not_keep(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) add_until_kept(NULL);
    assert_int_equal(cc__load_relaxed(&lock.lock), CC__LOCK_FREE);
    struct cc__keeper *a = cc__keeper_begin(), *b = cc__keeper_begin();
    for (int i = 0; i < 10 * CC__KEEP_AFTER; i++) add(i % 2 == 0 ? a : b); /* in turn */
    assert_int_equal(cc__load_relaxed(&lock.lock), CC__LOCK_FREE);
    cc__keeper_end(a);
    cc__keeper_end(b);
}

static void test_more_locks_than_it_keeps(void **state) {
    (void)state;
    enum { LOCKS = CC__KEEPS + 3 };
    static struct cc__waitlist locks[LOCKS];
    struct cc__keeper *k = cc__keeper_begin();
    if (k == NULL) skip();
    for (int i = 0; i < LOCKS; i++) cc__store_relaxed(&locks[i].lock, k->word);
    for (int i = 0; i < LOCKS; i++) cc__keep_lock(k, &locks[i], false);
    assert_int_equal(k->depth, CC__KEEPS);
    for (int i = CC__KEEPS; i < LOCKS; i++) assert_int_equal(cc__load_relaxed(&locks[i].lock), CC__LOCK_HELD);
    for (int i = LOCKS; i > 0; i--) cc__keep_unlock_as_it_is(k, &locks[i - 1], false);
    assert_int_equal(k->depth, 0);
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(cc__load_relaxed(&locks[i].lock), i < CC__KEEPS ? k->word : CC__LOCK_FREE);
    cc__keeper_end(k);
}

static void test_keepers_run_out(void **state) {
    (void)state;
    static struct cc__keeper *all[CC__KEEPERS];
    int count = 0;
    while (count < CC__KEEPERS && (all[count] = cc__keeper_begin()) != NULL) count++;
    assert_true(count == CC__KEEPERS || !cc__barrier_possible());
    assert_null(cc__keeper_begin());
    add_until_kept(cc__keeper_begin()); /* as anybody */
    while (count > 0) cc__keeper_end(all[--count]);
    struct cc__keeper *k = cc__keeper_begin();
    assert_true(k != NULL || !cc__barrier_possible());
    cc__keeper_end(k);
}

/* Some workers, and one plain thread; each comes in stretches, so that some keep it. */
static void *counts(void *arg) {
    struct cc__keeper *k = arg != NULL ? cc__keeper_begin() : NULL;
    for (int i = 0; i < TURNS; i++) {
        add(k);
        if (i % 1000 == 0) sched_yield();
    }
    cc__keeper_end(k);
    return NULL;
}

static void test_one_at_a_time(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, counts, i == 0 ? NULL : &lock), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(counted, (long)THREADS * TURNS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_kept_after_many, setup),
        cmocka_unit_test_setup(test_taken_back, setup),
        cmocka_unit_test_setup(test_others_do_not_keep, setup),
        cmocka_unit_test_setup(test_more_locks_than_it_keeps, setup),
        cmocka_unit_test_setup(test_keepers_run_out, setup),
        cmocka_unit_test_setup(test_one_at_a_time, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
