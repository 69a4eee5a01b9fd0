/* SPDX-License-Identifier: MIT */
/* Goal: a mutex excludes, whoever locks it; it is handed to who waits, can be given up by who is cancelled, may be
 * freed as soon as it is unlocked, and wrong use of it ends the program with a line that says so.
 * Method: each call from a thread, a task and a strand, inline or not; waiters that are cancelled or out of time;
 * mutexes that are freed by who locks them last; a mutex that is never free for a moment, which a waiter must get all
 * the same.
 */
#include "waits.h"

static void *locks_and_unlocks(void *arg) {
    cc_mutex *m = arg;
    cc_mutex_lock(m);
    test_must(cc_mutex_trylock(m) == -EAGAIN);
    cc_mutex_unlock(m);
    test_must(cc_mutex_trylock(m) == 0);
    cc_mutex_unlock(m);
    test_must(cc_mutex_lock_cancellable(m) == 0);
    cc_mutex_unlock(m);
    return NULL;
}
static void by_everyone(void **state) {
    (void)state;
    cc_mutex m = CC_MUTEX_INIT, zero;
    memset(&zero, 0, sizeof zero);
    assert_memory_equal(&m, &zero, sizeof m);
    test_by_all_kinds(locks_and_unlocks, &m);
    assert_memory_equal(&m, &zero, sizeof m); /* and nothing is left behind */
}

/* The function, and what stands in its place. */
static void *locks_either_way(void *arg) {
    cc_mutex *m = arg;
    (cc_mutex_lock)(m);
    cc_mutex_unlock(m);
    cc_mutex_lock(m);
    (cc_mutex_unlock)(m);
    return NULL;
}
static void inline_or_called(void **state) {
    (void)state;
    cc_mutex m = CC_MUTEX_INIT, zero = CC_MUTEX_INIT;
    test_by_all_kinds(locks_either_way, &m);
    assert_memory_equal(&m, &zero, sizeof m);
}

/* A strand is whoever steps it: now one task, then another. */
static cc_mutex strands = CC_MUTEX_INIT;
static uintptr_t strand_was;
static _Atomic int stepped;
static void *locks_at_each_step(void *steps) {
    for (int i = 0; i < *(int *)steps; i++) {
        cc_mutex_lock(&strands);
        strand_was = strands.priv_word;
        cc_mutex_unlock(&strands);
        test_must(cc_resched() == 0);
    }
    return NULL;
}
static void *steps_once(void *sched) {
    test_must(cc_sched_adopt(sched) == 0 && cc_sched_next(sched) == 1);
    cc_mutex_lock(&strands);
    test_must(strands.priv_word == strand_was);
    cc_mutex_unlock(&strands);
    cc__add_acq_rel(&stepped, 1);
    return NULL;
}
static void *steps_in_turn(void *arg) {
    int steps = 5;
    cc_sched *s = NULL;
    cc_task t[5];
    cc__store_relaxed(&stepped, 0);
    test_must(cc_sched_create(&s, NULL) == 0 && cc_sched_push(s, locks_at_each_step, &steps) == 0);
    for (int i = 0; i < steps; i++) {
        t[i] = cc_fiber_spawn_task(steps_once, s);
        while (cc__load_acquire(&stepped) == i) test_must(cc_sleep_ms(1) == 0);
    }
    for (int i = 0; i < steps; i++) test_must(cc_task_join(t[i], NULL) == 0); /* till then each has its record */
    test_must(cc_sched_adopt(s) == 0 && cc_sched_run(s) == 0);
    cc_sched_destroy(s);
    return arg;
}
static void a_strand_is_who_steps_it(void **state) {
    (void)state;
    test_on_all(steps_in_turn);
}

/* ---- exclusion ---- */

static cc_mutex shared = CC_MUTEX_INIT;
static long total;
static void *adds(void *arg) {
    for (size_t i = 0; i < test_rounds(20000); i++) {
        cc_mutex_lock(&shared);
        total++;
        cc_mutex_unlock(&shared);
    }
    return arg;
}
static void *tasks_and_threads_add(void *arg) {
    enum { EACH = 4 };
    cc_task t[EACH];
    pthread_t p[EACH];
    total = 0;
    for (int i = 0; i < EACH; i++) t[i] = cc_fiber_spawn_task(adds, NULL);
    for (int i = 0; i < EACH; i++) p[i] = test_thread_start(adds, NULL);
    for (int i = 0; i < EACH; i++) test_must(cc_task_join(t[i], NULL) == 0);
    for (int i = 0; i < EACH; i++) pthread_join(p[i], NULL);
    test_must(total == (long)test_rounds(20000) * EACH * 2);
    return arg;
}
static void it_excludes(void **state) {
    (void)state;
    test_on_all(tasks_and_threads_add);
}

/* ---- waiting ---- */

static void *waits_for_it(void *arg) {
    cc_mutex *m = arg;
    cc_mutex_lock(m);
    cc_mutex_unlock(m);
    return arg;
}
static void who_waits_gets_it(void **state) {
    (void)state;
    cc_mutex m = CC_MUTEX_INIT;
    cc_mutex_lock(&m);
    cc_task t = cc_fiber_spawn_task(waits_for_it, &m);
    pthread_t p = test_thread_start(waits_for_it, &m);
    test_until_waiting(m.priv_lock, 2);
    cc_mutex_unlock(&m);
    pthread_join(p, NULL);
    assert_int_equal(cc_task_join(t, NULL), 0);
}

/* The holder lets go and takes it again so quickly that who is woken comes too late; in the end it is handed over. */
static _Atomic int got_it;
static void *gets_it_at_last(void *arg) {
    cc_mutex_lock(arg);
    cc__store_release(&got_it, 1);
    cc_mutex_unlock(arg);
    return arg;
}
static void *never_lets_go_for_long(void *arg) {
    cc_mutex m = CC_MUTEX_INIT;
    cc__store_relaxed(&got_it, 0);
    cc_mutex_lock(&m);
    cc_task t = cc_fiber_spawn_task(gets_it_at_last, &m);
    test_until_waiting(m.priv_lock, 1);
    cc_sleep_ms(5);      /* longer than anybody waits for nothing */
    cc_mutex_unlock(&m); /* with one worker, it cannot run before we wait: */
    cc_mutex_lock(&m);   /* so this waits only if the mutex is the other's already */
    test_must(cc__load_acquire(&got_it) == 1);
    cc_mutex_unlock(&m);
    test_must(cc_task_join(t, NULL) == 0);
    return arg;
}
static void who_waits_for_long_is_handed_it(void **state) {
    (void)state;
    test_on_all(never_lets_go_for_long);
}

/* ---- cancellation ---- */

CC_TASK(locks_cancellably, (cc_mutex *, m)) {
    int rc = cc_mutex_lock_cancellable(m);
    if (rc == 0) cc_mutex_unlock(m);
    return rc;
}
static void *cancels_who_waits(void *arg) {
    cc_mutex m = CC_MUTEX_INIT;
    cc_mutex_lock(&m);
    cc_task behind;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, locks_cancellably, &m) == 0);
        test_until_waiting(m.priv_lock, 1);
        behind = cc_fiber_spawn_task(waits_for_it, &m);
        test_until_waiting(m.priv_lock, 2);
        cc_nursery_cancel(n);
        test_must(cc_nursery_wait(n) == -ECANCELED);
    }
    cc_mutex_unlock(&m);
    test_must(cc_task_join(behind, NULL) == 0);
    test_must(m.priv_word == 0 && m.priv_waiters[0] == NULL);
    return arg;
}
static void who_is_cancelled_leaves(void **state) {
    (void)state;
    test_on_all(cancels_who_waits);
}

static void *runs_out_of_time(void *arg) {
    cc_mutex *m = arg;
    CC_DEADLINE_MS(5) test_must(cc_mutex_lock_cancellable(m) == -ETIMEDOUT);
    return NULL;
}
static void who_is_out_of_time_leaves(void **state) {
    (void)state;
    cc_mutex m = CC_MUTEX_INIT;
    cc_mutex_lock(&m);
    pthread_join(test_thread_start(runs_out_of_time, &m), NULL);
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(runs_out_of_time, &m), NULL), 0);
    cc_mutex_unlock(&m);
    CC_DEADLINE_MS(0) assert_int_equal(cc_mutex_lock_cancellable(&m), 0); /* what needs no wait succeeds */
    cc_mutex_unlock(&m);
    assert_int_equal(m.priv_word, 0);
}

/* A wait that is not a cancellation point goes on. */
CC_TASK(locks, (cc_mutex *, m)) {
    cc_mutex_lock(m);
    cc_mutex_unlock(m);
    return cc_cancelled();
}
static void *cancels_who_does_not_listen(void *arg) {
    cc_mutex m = CC_MUTEX_INIT;
    cc_mutex_lock(&m);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, locks, &m) == 0);
        test_until_waiting(m.priv_lock, 1);
        cc_nursery_cancel(n);
        cc_yield();
        test_until_waiting(m.priv_lock, 1);
        cc_mutex_unlock(&m);
        test_must(cc_nursery_wait(n) == -ECANCELED);
    }
    return arg;
}
static void a_plain_lock_is_not_cancelled(void **state) {
    (void)state;
    test_on_all(cancels_who_does_not_listen);
}

/* ---- the end of a mutex ---- */

struct counted {
    cc_mutex m;
    int users;
};
static void *uses_and_frees(void *arg) {
    struct counted *c = arg;
    cc_mutex_lock(&c->m);
    bool last = --c->users == 0;
    cc_mutex_unlock(&c->m);
    if (last) free(c);
    return NULL;
}
static void *frees_at_once(void *arg) {
    enum { USERS = 4 };
    for (size_t i = 0; i < test_rounds(5000); i++) {
        struct counted *c = calloc(1, sizeof *c);
        cc_task t[USERS];
        test_must(c != NULL);
        c->users = USERS;
        for (int j = 0; j < USERS; j++) t[j] = cc_fiber_spawn_task(uses_and_frees, c);
        for (int j = 0; j < USERS; j++) test_must(cc_task_join(t[j], NULL) == 0);
    }
    return arg;
}
static void it_may_be_freed_by_the_last(void **state) {
    (void)state;
    test_on_all(frees_at_once);
}

/* ---- misuse ---- */

static void unlocks_twice(void *arg) {
    cc_mutex_lock(arg);
    cc_mutex_unlock(arg);
    cc_mutex_unlock(arg);
}
static void locks_twice(void *arg) {
    cc_mutex_lock(arg);
    cc_mutex_lock(arg);
}
static void *unlocks(void *arg) {
    cc_mutex_unlock(arg);
    return NULL;
}
static void stranger_unlocks(void *arg) {
    cc_mutex_lock(arg);
    pthread_join(test_thread_start(unlocks, arg), NULL);
}
static void task_unlocks(void *arg) {
    cc_mutex_lock(arg);
    cc_task_join(cc_fiber_spawn_task(unlocks, arg), NULL);
}
static void wrong_use_aborts(void **state) {
    (void)state;
    cc_mutex m = CC_MUTEX_INIT;
    test_aborts(unlocks_twice, &m, "a mutex was unlocked that nobody has locked");
    test_aborts(locks_twice, &m, "a mutex was locked twice");
    test_aborts(stranger_unlocks, &m, "a mutex was unlocked by another than its owner");
    test_aborts(task_unlocks, &m, "a mutex was unlocked by another than its owner");
}
/* Children are forked before there are workers. */
TEST_MAIN(cmocka_unit_test(wrong_use_aborts), cmocka_unit_test(by_everyone), cmocka_unit_test(inline_or_called),
          cmocka_unit_test(a_strand_is_who_steps_it), cmocka_unit_test(it_excludes),
          cmocka_unit_test(who_waits_gets_it), cmocka_unit_test(who_waits_for_long_is_handed_it),
          cmocka_unit_test(who_is_cancelled_leaves), cmocka_unit_test(who_is_out_of_time_leaves),
          cmocka_unit_test(a_plain_lock_is_not_cancelled), cmocka_unit_test(it_may_be_freed_by_the_last))
