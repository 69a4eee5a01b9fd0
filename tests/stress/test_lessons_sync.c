/* SPDX-License-Identifier: MIT */
/* Goal: what others have got wrong about locks: a herd that wakes for one (lesson 68), a wait that cannot be cancelled,
 * or is although it is shielded (78), a wake-up that dies with a cancelled waiter (79), permits that slip past one that
 * waits for many (80).
 * Method: on 1, 2, 7 and 16 workers; a canceller that races with each kind of wake-up, thousands of times. What is lost
 * hangs the test.
 * Timeout: 200
 */
#include "waits.h"

/* ---- lesson 68: one of a thousand ---- */

enum { HERD = 1000 };
static cc_mutex m = CC_MUTEX_INIT;
static cc_cond herd = CC_COND_INIT;
static int calls; /* guarded by m, as the next: */
static size_t returns, answered;
static bool over;

CC_TASK(grazes) {
    cc_mutex_lock(&m);
    while (!over) {
        cc_cond_wait(&herd, &m);
        returns++;
        if (calls == 0) continue;
        calls--;
        answered++;
    }
    cc_mutex_unlock(&m);
    return 0;
}
static void call_one(void) {
    cc_mutex_lock(&m);
    calls++;
    cc_cond_signal(&herd);
    cc_mutex_unlock(&m);
}
static void *calls_one_by_one(void *arg) {
    size_t rounds = test_rounds(5000);
    over = false;
    calls = 0;
    returns = answered = 0;
    CC_NURSERY(n) {
        for (int i = 0; i < HERD; i++) test_must(cc_spawn(n, grazes) == 0);
        test_until_waiting(herd.priv_lock, HERD);
        for (size_t i = 0; i < rounds; i++) {
            call_one();
            for (size_t done = i; done == i; cc_yield()) {
                cc_mutex_lock(&m);
                done = answered;
                cc_mutex_unlock(&m);
            }
        }
        cc_mutex_lock(&m);
        test_must(returns == rounds && calls == 0); /* one for each, and never the herd */
        over = true;
        cc_cond_broadcast(&herd);
        cc_mutex_unlock(&m);
    }
    return arg;
}
/* The same of the mutex itself: who unlocks it wakes one, the others sleep on. */
static _Atomic int inside, seen;
CC_TASK(comes_in) {
    cc_mutex_lock(&m);
    if (cc__add_relaxed(&inside, 1) == 0)
        while (cc__load_relaxed(&seen) == 0) cc_sleep_ms(1);
    cc_mutex_unlock(&m);
    return 0;
}
static void *unlocks_for_one(void *arg) {
    cc__store_relaxed(&inside, 0);
    cc__store_relaxed(&seen, 0);
    cc_mutex_lock(&m);
    CC_NURSERY(n) {
        for (int i = 0; i < HERD; i++) test_must(cc_spawn(n, comes_in) == 0);
        test_until_waiting(m.priv_lock, HERD);
        cc_mutex_unlock(&m);
        while (cc__load_relaxed(&inside) == 0) cc_yield();
        test_until_waiting(m.priv_lock, HERD - 1);
        cc__store_relaxed(&seen, 1);
    }
    test_must(cc__load_relaxed(&inside) == HERD && m.priv_word == 0);
    return arg;
}
static void lesson_68_one_of_a_herd(void **state) {
    (void)state;
    test_on_all(calls_one_by_one);
    test_on_all(unlocks_for_one);
}

/* ---- each kind of wait that can be cancelled, and what ends it ---- */

static cc_sem sem;
static cc_rwlock rw;
static cc_notify note;
static cc_waitgroup group;
static bool told; /* guarded by m: what the condition is for */

struct kind {
    const char *name;
    void (*begin)(void);              /* so that there is something to wait for; by who wakes */
    int (*wait)(void);                /* cancellable; 0: it has had what can be had once */
    void (*wake)(void);               /* for one */
    void (*pass)(void);               /* by who waited with success */
    struct cc__waitlist *(*at)(void); /* where it waits */
};

static void sem_begin(void) {
    sem = (cc_sem)CC_SEM_INIT(0);
}
static int sem_wait_for_one(void) {
    return cc_sem_acquire_cancellable(&sem, 1);
}
static void sem_give(void) {
    cc_sem_release(&sem, 1);
}
static void nothing(void) {
}
static struct cc__waitlist *sem_list(void) {
    return (struct cc__waitlist *)(void *)sem.priv_lock;
}

static void note_begin(void) {
    note = (cc_notify)CC_NOTIFY_INIT;
}
static int note_wait(void) {
    return cc_notify_wait_cancellable(&note);
}
static void note_one(void) {
    cc_notify_one(&note);
}
static struct cc__waitlist *note_list(void) {
    return (struct cc__waitlist *)(void *)note.priv_lock;
}

static void cond_begin(void) {
    told = false;
}
/* The condition is tried once only: who was signalled and finds nothing would wait for ever. */
static int cond_wait(void) {
    int rc = 0;
    cc_mutex_lock(&m);
    while (rc == 0 && !told) rc = cc_cond_wait_cancellable(&herd, &m);
    if (rc == 0) told = false;
    cc_mutex_unlock(&m);
    return rc;
}
static void cond_signal(void) {
    cc_mutex_lock(&m);
    told = true;
    cc_cond_signal(&herd);
    cc_mutex_unlock(&m);
}
static struct cc__waitlist *cond_list(void) {
    return (struct cc__waitlist *)(void *)herd.priv_lock;
}

static void mutex_begin(void) {
    cc_mutex_lock(&m);
}
static int mutex_lock(void) {
    return cc_mutex_lock_cancellable(&m);
}
static void mutex_unlock(void) {
    cc_mutex_unlock(&m);
}
static struct cc__waitlist *mutex_list(void) {
    return (struct cc__waitlist *)(void *)m.priv_lock;
}

static void rw_begin(void) {
    rw = (cc_rwlock)CC_RWLOCK_INIT;
    cc_rwlock_wrlock(&rw);
}
static int rw_write(void) {
    return cc_rwlock_wrlock_cancellable(&rw);
}
static int rw_read(void) {
    return cc_rwlock_rdlock_cancellable(&rw);
}
static void rw_unlock(void) {
    cc_rwlock_unlock(&rw);
}
static struct cc__waitlist *rw_list(void) {
    return (struct cc__waitlist *)(void *)rw.priv_lock;
}

static void group_begin(void) {
    cc_waitgroup_add(&group, 1);
}
static int group_wait(void) {
    return cc_waitgroup_wait_cancellable(&group);
}
static void group_done(void) {
    cc_waitgroup_done(&group);
}
static struct cc__waitlist *group_list(void) {
    return (struct cc__waitlist *)(void *)group.priv_lock;
}

static const struct kind kinds[] = {
    {"semaphore", sem_begin, sem_wait_for_one, sem_give, nothing, sem_list},
    {"notification", note_begin, note_wait, note_one, nothing, note_list},
    {"condition", cond_begin, cond_wait, cond_signal, nothing, cond_list},
    {"mutex", mutex_begin, mutex_lock, mutex_unlock, mutex_unlock, mutex_list},
    {"write lock", rw_begin, rw_write, rw_unlock, rw_unlock, rw_list},
    {"read lock", rw_begin, rw_read, rw_unlock, rw_unlock, rw_list},
    {"waitgroup", group_begin, group_wait, group_done, nothing, group_list},
};
enum { GIVE_TO_ONE = 3 }; /* of these, the first kinds give what they give to one, and it is gone */

CC_TASK(waits, (const struct kind *, k), (int *, rc)) {
    *rc = k->wait();
    if (*rc == 0) k->pass();
    return 0;
}
CC_TASK(waits_shielded, (const struct kind *, k)) {
    int rc = -1;
    CC_SHIELD rc = k->wait();
    test_must(rc == 0);
    k->pass();
    return 0;
}

/* ---- lesson 78: cancel one that waits; cancel one that waits and is shielded ---- */

static void cancel_who_waits(const struct kind *k) {
    int rc = 1;
    k->begin();
    CC_NURSERY(n) {
        test_must(cc_spawn(n, waits, k, &rc) == 0);
        test_until_waiting(k->at(), 1);
        cc_nursery_cancel(n);
        test_must(cc_nursery_wait(n) == -ECANCELED);
    }
    test_must(rc == -ECANCELED && k->at()->first == NULL);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, waits_shielded, k) == 0);
        test_until_waiting(k->at(), 1);
        cc_nursery_cancel(n);
        for (int i = 0; i < 3; i++) cc_yield();
        test_until_waiting(k->at(), 1); /* it waits on, or again */
        k->wake();
    }
}
static void *cancels_each_kind(void *arg) {
    for (size_t round = test_rounds(100); round > 0; round--)
        for (size_t i = 0; i < TEST_COUNT_OF(kinds); i++) cancel_who_waits(&kinds[i]);
    return arg;
}
static void lesson_78_cancelled_where_it_waits(void **state) {
    (void)state;
    test_on_all(cancels_each_kind);
}

/* ---- lesson 79: a wake-up that meets a cancelled waiter goes to the next ---- */

CC_TASK(cancels, (cc_nursery *, n)) {
    test_jitter();
    cc_nursery_cancel(n);
    return 0;
}
static void race_for_one(const struct kind *k, bool one_only) {
    int first = 1, second = 1;
    k->begin();
    CC_NURSERY(outer) {
        CC_NURSERY(n) {
            test_must(cc_spawn(n, waits, k, &first) == 0);
            test_until_waiting(k->at(), 1);
            test_must(cc_spawn(outer, waits, k, &second) == 0);
            test_until_waiting(k->at(), 2);
            test_must(cc_spawn(n, cancels, n) == 0); /* a child of it, which it outlives */
            test_jitter();
            k->wake();
        }
        test_must(first == 0 || first == -ECANCELED);
        if (first == 0 && one_only) k->wake(); /* else the second has it, or the test hangs */
    }
    test_must(second == 0);
}
static void *races_of_each_kind(void *arg) {
    for (size_t round = test_rounds(500); round > 0; round--)
        for (size_t i = 0; i < TEST_COUNT_OF(kinds); i++) race_for_one(&kinds[i], i < GIVE_TO_ONE);
    return arg;
}
static void lesson_79_the_next_gets_it(void **state) {
    (void)state;
    test_on_all(races_of_each_kind);
}

/* ---- lesson 80: who wants many gets them ---- */

enum { PERMITS = 4, SMALL = 8 };
static cc_sem permits;
static _Atomic int served;
static void *takes_one_again_and_again(void *arg) {
    while (cc__load_relaxed(&served) == 0) {
        cc_sem_acquire(&permits, 1);
        if (test_random() % 2 == 0) cc_yield();
        cc_sem_release(&permits, 1);
    }
    return arg;
}
static void *takes_all(void *arg) {
    cc_task t[SMALL];
    permits = (cc_sem)CC_SEM_INIT(PERMITS);
    cc__store_relaxed(&served, 0);
    for (int i = 0; i < SMALL; i++) t[i] = cc_fiber_spawn_task(takes_one_again_and_again, NULL);
    pthread_t p = test_thread_start(takes_one_again_and_again, NULL);
    for (size_t i = 0; i < test_rounds(1000); i++) {
        cc_sem_acquire(&permits, PERMITS); /* there are never so many by chance */
        test_must(cc_sem_try_acquire(&permits, 1) == -EAGAIN);
        cc_sem_release(&permits, PERMITS);
    }
    cc__store_relaxed(&served, 1);
    for (int i = 0; i < SMALL; i++) test_must(cc_task_join(t[i], NULL) == 0);
    pthread_join(p, NULL);
    test_must(permits.priv_permits == PERMITS);
    return arg;
}
static void lesson_80_who_wants_many_is_not_starved(void **state) {
    (void)state;
    test_on_all(takes_all);
}

TEST_MAIN(cmocka_unit_test(lesson_68_one_of_a_herd), cmocka_unit_test(lesson_78_cancelled_where_it_waits),
          cmocka_unit_test(lesson_79_the_next_gets_it), cmocka_unit_test(lesson_80_who_wants_many_is_not_starved))
