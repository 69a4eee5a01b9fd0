/* SPDX-License-Identifier: MIT */
/* Goal: all locks at once, by tasks and threads, with cancellations and deadlines in between: each keeps what it
 * promises, nothing is lost, nobody waits for ever.
 * Method: actors that do one thing after the other by their seed, on 1, 2, 7 and 16 workers, and threads beside them;
 * what each lock guards is plain memory that must come out right; half of the calls are under a deadline of a moment.
 * Then tasks and threads that do nothing but lock one mutex.
 * Timeout: 200
 */
#include "waits.h"

enum { ACTORS = 8, THREADS = 3, PERMITS = 3 };

static struct {
    cc_mutex m;
    cc_cond changed;
    cc_rwlock rw;
    cc_sem sem;
    cc_notify note;
    cc_once once;
    cc_waitgroup group;
    long locked, added;  /* guarded by m: how often, and the sum of what was put in; */
    long box;            /* and what is in it */
    long left, right;    /* guarded by rw */
    int initialised;     /* by once */
    _Atomic int holders; /* of permits */
    _Atomic long taken;  /* out of the box */
    _Atomic long cancelled;
} all;

static void init_once(void) {
    all.initialised++;
}

static bool give_up(int rc) {
    test_must(rc == 0 || rc == -ETIMEDOUT || rc == -ECANCELED);
    if (rc != 0) cc__add_relaxed(&all.cancelled, 1);
    return rc != 0;
}

static void use_mutex(bool plain) {
    if (plain)
        cc_mutex_lock(&all.m);
    else if (give_up(cc_mutex_lock_cancellable(&all.m)))
        return;
    all.locked++;
    test_jitter();
    cc_mutex_unlock(&all.m);
}
/* Put something into the box; take something out, if there is anything in time. */
static void use_cond(bool put) {
    cc_mutex_lock(&all.m);
    if (put) {
        all.box++;
        all.added++;
        cc_cond_signal(&all.changed);
        if (test_random() % 16 == 0) cc_cond_broadcast(&all.changed);
    } else {
        int rc = 0;
        while (all.box == 0 && rc == 0) rc = cc_cond_wait_cancellable(&all.changed, &all.m);
        if (all.box > 0) {
            all.box--;
            cc__add_relaxed(&all.taken, 1);
        }
    }
    cc_mutex_unlock(&all.m);
}
static void use_rwlock(bool plain, bool write) {
    if (plain)
        write ? cc_rwlock_wrlock(&all.rw) : cc_rwlock_rdlock(&all.rw);
    else if (give_up(write ? cc_rwlock_wrlock_cancellable(&all.rw) : cc_rwlock_rdlock_cancellable(&all.rw)))
        return;
    test_must(all.left == all.right);
    if (write) {
        all.left++;
        test_jitter();
        all.right++;
    }
    cc_rwlock_unlock(&all.rw);
}
static void use_sem(bool plain, unsigned n) {
    if (plain)
        cc_sem_acquire(&all.sem, n);
    else if (give_up(cc_sem_acquire_cancellable(&all.sem, n)))
        return;
    test_must(cc__add_relaxed(&all.holders, (int)n) + (int)n <= PERMITS);
    if (test_random() % 4 == 0) cc_yield();
    cc__sub_relaxed(&all.holders, (int)n);
    cc_sem_release(&all.sem, n);
}
static void use_notify(bool send) {
    if (send)
        test_random() % 8 == 0 ? cc_notify_all(&all.note) : cc_notify_one(&all.note);
    else
        (void)give_up(cc_notify_wait_cancellable(&all.note));
}

static void act(bool plain, uint64_t x) {
    switch (x % 8) {
    case 0:
    case 1: use_mutex(plain); break;
    case 2: use_cond(plain); break;
    case 3: use_rwlock(plain, x / 8 % 4 == 0); break;
    case 4: use_sem(plain, 1 + (unsigned)(x / 8 % PERMITS)); break;
    case 5: use_notify(plain); break;
    case 6:
        cc_once_do(&all.once, init_once);
        test_must(all.initialised == 1);
        break;
    default: test_jitter();
    }
}
/* What may wait for ever does so under a deadline: some of a moment, some that are over before. */
static void acts(void) {
    uint64_t x = test_random();
    if (x % 2 == 0) {
        act(true, x >> 8);
    } else {
        CC_DEADLINE_MS((int64_t)(x / 2 % 3)) act(false, x >> 8);
    }
}

CC_TASK(actor) {
    for (size_t i = test_rounds(400); i > 0; i--) acts();
    cc_waitgroup_done(&all.group);
    return 0;
}
static void *thread_actor(void *arg) {
    for (size_t i = test_rounds(400); i > 0; i--) acts();
    cc_waitgroup_done(&all.group);
    return arg;
}
/* One that is cancelled again and again, at any moment. */
CC_TASK(victim) {
    while (cc_cancelled() == 0) act(false, test_random());
    return 0;
}
CC_TASK(hunter) {
    for (size_t i = test_rounds(100); i > 0; i--) {
        CC_NURSERY(n) {
            for (int j = 0; j < 3; j++) (void)cc_spawn(n, victim);
            cc_yield();
            test_jitter();
            cc_nursery_cancel(n);
        }
    }
    return 0;
}

static void *storm(void *arg) {
    pthread_t p[THREADS];
    memset(&all, 0, sizeof all);
    all.sem = (cc_sem)CC_SEM_INIT(PERMITS);
    cc_waitgroup_add(&all.group, ACTORS + THREADS);
    CC_NURSERY(n) {
        for (int i = 0; i < ACTORS; i++) test_must(cc_spawn(n, actor) == 0);
        test_must(cc_spawn(n, hunter) == 0);
        for (int i = 0; i < THREADS; i++) p[i] = test_thread_start(thread_actor, NULL);
        cc_waitgroup_wait(&all.group);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(p[i], NULL);
    test_must(all.m.priv_word == 0 && all.m.priv_waiters[0] == NULL && all.changed.priv_waiters[0] == NULL);
    test_must(all.rw.priv_readers == 0 && all.rw.priv_writer == NULL && all.rw.priv_waiters[0] == NULL);
    test_must(all.sem.priv_permits == PERMITS && all.sem.priv_waiters[0] == NULL);
    test_must(all.note.priv_waiters[0] == NULL && all.left == all.right);
    test_must(all.box == all.added - cc__load_relaxed(&all.taken));
    return arg;
}
static void everything_at_once(void **state) {
    (void)state;
    test_on_all(storm);
}

/* ---- one mutex, and nothing else to do ---- */

static struct {
    cc_mutex m;
    cc_cond enough;
    long times; /* guarded by m */
} hot;

static void *hammers(void *arg) {
    for (size_t i = test_rounds(100000); i > 0; i--) {
        cc_mutex_lock(&hot.m);
        hot.times++;
        cc_cond_signal(&hot.enough);
        cc_mutex_unlock(&hot.m);
    }
    return arg;
}
static void *hammer_together(void *arg) {
    enum { TASKS = 8, OTHERS = 2 };
    pthread_t thread[OTHERS];
    cc_task task[TASKS];
    hot.times = 0;
    for (int i = 0; i < OTHERS; i++) test_must(pthread_create(&thread[i], NULL, hammers, NULL) == 0);
    for (int i = 0; i < TASKS; i++) task[i] = cc_fiber_spawn_task(hammers, NULL);
    cc_mutex_lock(&hot.m);
    while (hot.times < (TASKS + OTHERS) * (long)test_rounds(100000)) cc_cond_wait(&hot.enough, &hot.m);
    cc_mutex_unlock(&hot.m);
    for (int i = 0; i < TASKS; i++) test_must(cc_task_join(task[i], NULL) == 0);
    for (int i = 0; i < OTHERS; i++) pthread_join(thread[i], NULL);
    return arg;
}
/* Who spins, who is woken and who unlocks meet all the time: tasks and threads, more of them than cpus. */
static void one_mutex_for_all(void **state) {
    (void)state;
    test_on_all(hammer_together);
}

TEST_MAIN(cmocka_unit_test(everything_at_once), cmocka_unit_test(one_mutex_for_all))
