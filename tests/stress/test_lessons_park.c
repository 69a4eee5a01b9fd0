/* SPDX-License-Identifier: MIT */
/* Goal: parking, yielding, joining and awaiting lose no wake-up and resume nobody twice (lessons 1-4, 7-9, 16-20).
 * Method: each race again and again on 1, 2, 7 and 16 workers, with random delays between the steps of both sides;
 * the library's own commits, of a park, a yield and an end, are delayed too, by the linker's wraps.
 * Link: -Wl,--wrap=cc__state_park,--wrap=cc__state_finish,--wrap=cc__runq_push
 * Timeout: 120
 */
#include "runtimes.h"

#include "sched/sched.h"

/* With the types that the library gives them. */
__typeof__(cc__runq_push) __real_cc__runq_push, __wrap_cc__runq_push;
__typeof__(cc__state_park) __real_cc__state_park, __wrap_cc__state_park;
__typeof__(cc__state_finish) __real_cc__state_finish, __wrap_cc__state_finish;

static _Atomic long delayed_parks, delayed_yields, delayed_ends;

/* Before: the stack is left and the park not yet published. After: it is, and the parker has not gone on yet. */
bool __wrap_cc__state_park(struct cc__task *t) {
    cc__add_relaxed(&delayed_parks, 1);
    test_jitter();
    bool parked = __real_cc__state_park(t);
    test_jitter();
    return parked;
}
/* After: others may take a task that has yielded. */
void __wrap_cc__runq_push(struct cc__worker *w, struct cc__runq *q, struct cc__task *t) {
    cc__add_relaxed(&delayed_yields, 1);
    __real_cc__runq_push(w, q, t);
    test_jitter();
}
/* After: done is published, and who ended the task still has steps to go. */
void __wrap_cc__state_finish(struct cc__task *t) {
    cc__add_relaxed(&delayed_ends, 1);
    __real_cc__state_finish(t);
    test_jitter();
}

/* ---- lesson 1: who parks is not resumed before its stack is quiet ---- */

enum { WAITERS = 4 };
struct cell {
    _Atomic int full;
    _Atomic int known; /* its waiter's parker is there */
    cc_parker waiter;
    long taken;
};

static void *takes(void *arg) {
    struct cell *c = arg;
    long rounds = (long)test_rounds(10000);
    c->waiter = cc_parker_self();
    cc__store_release(&c->known, 1);
    for (c->taken = 0; c->taken < rounds; c->taken++) {
        volatile long canary = c->taken;
        while (cc__load_acquire(&c->full) == 0) cc_park_if(&c->full, 0);
        test_must(canary == c->taken);
        cc__store_release(&c->full, 0);
    }
    cc__store_release(&c->full, 2); /* wants no more */
    return NULL;
}
static void *gives(void *arg) {
    struct cell *c = arg;
    for (int left = WAITERS; left > 0;) {
        left = 0;
        for (int i = 0; i < WAITERS; i++) {
            int full = cc__load_acquire(&c[i].full), empty = 0;
            left += full != 2;
            if (cc__load_acquire(&c[i].known) == 0 || full != 0) continue;
            cc_parker waiter = c[i].waiter;
            test_jitter();
            if (cc__cas_acq_rel(&c[i].full, &empty, 1)) cc_unpark(waiter);
        }
        cc_yield();
    }
    return NULL;
}
static void *parks_on_all_sides(void *arg) {
    struct cell c[WAITERS];
    cc_task waiter[WAITERS], giver;
    pthread_t thread;
    memset(c, 0, sizeof c);
    for (int i = 0; i < WAITERS; i++) waiter[i] = cc_fiber_spawn_task(takes, &c[i]);
    giver = cc_fiber_spawn_task(gives, c);
    test_must(pthread_create(&thread, NULL, gives, c) == 0);
    for (int i = 0; i < WAITERS; i++) test_must(cc_task_join(waiter[i], NULL) == 0);
    test_must(cc_task_join(giver, NULL) == 0);
    pthread_join(thread, NULL);
    return arg;
}
static void lesson_1_no_double_resume(void **state) {
    (void)state;
    test_on_all(parks_on_all_sides);
    assert_true(cc__load_relaxed(&delayed_parks) > 100); /* or the delays test nothing */
}

/* ---- lesson 2: a task that yields is not run by another worker before it has left ---- */

static void *storms(void *arg) {
    _Atomic int *inside = arg;
    unsigned char frame[256];
    memset(frame, 0x5a, sizeof frame);
    for (size_t i = test_rounds(30000); i > 0; i--) {
        test_must(cc__add_relaxed(inside, 1) == 0);
        cc__sub_relaxed(inside, 1);
        cc_yield();
    }
    for (size_t i = 0; i < sizeof frame; i++) test_must(((volatile unsigned char *)frame)[i] == 0x5a);
    return NULL;
}
static void *yield_storm(void *arg) {
    _Atomic int inside[5] = {0};
    cc_task t[5];
    test_must(cc_task_join(cc_fiber_spawn_task(storms, &inside[0]), NULL) == 0); /* one alone, all others search */
    for (int i = 0; i < 5; i++) t[i] = cc_fiber_spawn_task(storms, &inside[i]);
    for (int i = 0; i < 5; i++) test_must(cc_task_join(t[i], NULL) == 0);
    return arg;
}
static void lesson_2_yield_storm(void **state) {
    (void)state;
    test_on_all(yield_storm);
    assert_true(cc__load_relaxed(&delayed_yields) > 100);
}

/* ---- lessons 3, 4 and 6: a join before, during and after the end; by tasks and by a thread ---- */

static void *ends_soon(void *arg) {
    test_jitter();
    return arg;
}
static void *joins_at_any_time(void *arg) {
    for (uintptr_t i = 0; i < test_rounds(2500); i++) {
        void *result = NULL;
        cc_task t = cc_fiber_spawn_task(ends_soon, (void *)i);
        test_jitter();
        if (i % 3 == 0) cc_yield();
        test_must(cc_task_join(t, &result) == 0 && (uintptr_t)result == i);
        test_must(cc_task_join(t, &result) == -ESRCH); /* the record may be another's by now */
    }
    return arg;
}
static void *joins_by_tasks(void *arg) {
    cc_task t[3];
    for (int i = 0; i < 3; i++) t[i] = cc_fiber_spawn_task(joins_at_any_time, NULL);
    for (int i = 0; i < 3; i++) test_must(cc_task_join(t[i], NULL) == 0);
    return arg;
}
static void lesson_3_and_6_joins_at_any_time(void **state) {
    (void)state;
    test_on_all(joins_by_tasks);
    assert_true(cc__load_relaxed(&delayed_ends) > 100);
}

static void lesson_4_a_thread_joins_what_just_ends(void **state) {
    (void)state;
    test_seed();
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++) {
        cc_runtime *rt;
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = test_workers[w]}), 0);
        for (uintptr_t i = 0; i < test_rounds(5000); i++) {
            cc_task t;
            void *result = NULL;
            assert_int_equal(cc_runtime_spawn(rt, &t, NULL, ends_soon, (void *)i), 0);
            test_jitter();
            assert_int_equal(cc_task_join(t, &result), 0);
            assert_int_equal((uintptr_t)result, i);
        }
        cc_runtime_destroy(rt);
    }
}

/* ---- lessons 7 and 16: a nursery whose frame is gone as soon as its wait returns ---- */

CC_TASK(counts, (long *, at), (_Atomic long *, all)) {
    test_jitter();
    *at += 1; /* each child has its own */
    cc__add_relaxed(all, 1);
    return 0;
}
static __attribute__((noinline)) long opens_a_nursery(_Atomic long *all) {
    long own[3] = {0};
    CC_NURSERY(n) {
        for (int i = 0; i < 3; i++) test_must(cc_spawn(n, counts, &own[i], all) == 0);
        test_jitter();
        test_must(cc_nursery_wait(n) == 0);
    }
    return own[0] + own[1] + own[2];
}
static __attribute__((noinline)) void overwrite_frames(void) {
    volatile char junk[1024];
    for (size_t i = 0; i < sizeof junk; i++) junk[i] = (char)0xaa;
}
static void *nurseries_come_and_go(void *arg) {
    _Atomic long all = 0;
    long rounds = (long)test_rounds(4000);
    for (long i = 0; i < rounds; i++) {
        test_must(opens_a_nursery(&all) == 3);
        overwrite_frames();
    }
    test_must(cc__load_relaxed(&all) == 3 * rounds);
    return arg;
}
static void lesson_7_and_16_nurseries_on_the_stack(void **state) {
    (void)state;
    test_on_all(nurseries_come_and_go);
    nurseries_come_and_go(NULL); /* waited for by a plain thread */
}

/* ---- lesson 8: results are values, of any size, and the handle's own ---- */

typedef struct wide {
    uint64_t word[6];
} wide;
CC_ASYNC(wide, makes, (uint64_t, seed)) {
    wide w;
    test_jitter();
    for (int i = 0; i < 6; i++) w.word[i] = seed * 7 + (uint64_t)i;
    return w;
}
static void *results(void *arg) {
    for (uint64_t round = 0; round < test_rounds(3000); round++) {
        CC_RESULT(wide) f[2];
        CC_NURSERY(n) {
            for (uint64_t k = 0; k < 2; k++) test_must(cc_async(n, f[k], makes, round + k) == 0);
            for (uint64_t k = 0; k < 2; k++) {
                wide w = cc_await(f[k]);
                for (int i = 0; i < 6; i++) test_must(w.word[i] == (round + k) * 7 + (uint64_t)i);
            }
        }
        const intptr_t plain[] = {0, 1, -1, INTPTR_MIN, (intptr_t)&round};
        for (size_t i = 0; i < TEST_COUNT_OF(plain); i++) {
            void *result = &result;
            test_must(cc_task_join(cc_fiber_spawn_task(ends_soon, (void *)plain[i]), &result) == 0);
            test_must((intptr_t)result == plain[i]);
        }
    }
    return arg;
}
static void lesson_8_results_of_48_bytes(void **state) {
    (void)state;
    test_on_all(results);
}

/* ---- lesson 9: an unpark that nobody meant ends no wait early ---- */

CC_TASK(marks, (int *, done)) {
    cc_yield();
    test_jitter();
    *done = 1;
    return 0;
}
struct strays {
    cc_parker victim;
    _Atomic int over;
};
static void *sends_strays(void *arg) {
    struct strays *s = arg;
    while (cc__load_acquire(&s->over) == 0) {
        cc_unpark(s->victim);
        cc_yield();
    }
    return NULL;
}
static void waits_of_all_kinds(uint64_t round) {
    int done = 0;
    void *result = NULL;
    int64_t begin = cc_now_ns();
    cc_unpark(cc_parker_self());
    test_must(cc_sleep_until_ns(begin + 100000) == 0 && cc_now_ns() >= begin + 100000);
    CC_RESULT(wide) f;
    CC_NURSERY(n) {
        test_must(cc_async(n, f, makes, round) == 0);
        test_must(cc_spawn(n, marks, &done) == 0);
        cc_unpark(cc_parker_self());
        test_must(cc_await(f).word[5] == round * 7 + 5);
        cc_unpark(cc_parker_self());
        test_must(cc_nursery_wait(n) == 0 && done == 1);
    }
    cc_task t = cc_fiber_spawn_task(ends_soon, &done);
    cc_unpark(cc_parker_self());
    test_must(cc_task_join(t, &result) == 0 && result == &done);
}
static void *hears_strays(void *arg) {
    struct strays s = {.victim = cc_parker_self()};
    cc_task t = cc_fiber_spawn_task(sends_strays, &s);
    pthread_t thread;
    test_must(pthread_create(&thread, NULL, sends_strays, &s) == 0);
    for (uint64_t i = 0; i < test_rounds(300); i++) waits_of_all_kinds(i);
    cc__store_release(&s.over, 1);
    test_must(cc_task_join(t, NULL) == 0);
    pthread_join(thread, NULL);
    return arg;
}
static void lesson_9_stray_unparks_before_every_wait(void **state) {
    (void)state;
    test_on_all(hears_strays);
    hears_strays(NULL); /* a plain thread */
}

/* ---- lesson 17: who fails still counts down its group ---- */

CC_TASK(fails_or_not, (int, rc), (_Atomic long *, ended)) {
    test_jitter();
    cc__add_relaxed(ended, 1);
    return rc;
}
static void *groups_with_failures(void *arg) {
    for (size_t round = 0; round < test_rounds(1500); round++) {
        _Atomic long ended = 0;
        long accepted = 0;
        int failing = (int)(test_random() % 8), rc = 1;
        CC_NURSERY(n) {
            if (round % 2 == 0) cc_nursery_collect(n);
            for (int i = 0; i < 8; i++) accepted += cc_spawn(n, fails_or_not, i == failing ? -EIO : 0, &ended) == 0;
            rc = cc_nursery_wait(n);
        }
        test_must(cc__load_relaxed(&ended) == accepted);
        test_must(rc == -EIO && (round % 2 != 0 || accepted == 8));
    }
    return arg;
}
static void lesson_17_failing_tasks_complete_their_group(void **state) {
    (void)state;
    test_on_all(groups_with_failures);
}

/* ---- lessons 18 and 19: a lock made of parking, 1000 contenders, whose nodes die when they are signalled ---- */

struct contender {
    struct contender *next;
    cc_parker parker;
    _Atomic int granted;
};
struct fair_lock {
    _Atomic int guard, held;
    struct contender *first, **last;
};
static void guard_take(struct fair_lock *l) {
    while (cc__xchg_acquire(&l->guard, 1) != 0) cc_yield();
}
static __attribute__((noinline)) void fair_lock_take(struct fair_lock *l) {
    struct contender me = {.parker = cc_parker_self()};
    guard_take(l);
    bool mine = cc__load_relaxed(&l->held) == 0;
    cc__store_relaxed(&l->held, 1);
    if (!mine) {
        *l->last = &me;
        l->last = &me.next;
    }
    cc__store_release(&l->guard, 0);
    while (!mine && cc__load_acquire(&me.granted) == 0) cc_park_if(&me.granted, 0);
}
static void fair_lock_drop(struct fair_lock *l) {
    guard_take(l);
    struct contender *next = l->first;
    if (next == NULL) {
        cc__store_relaxed(&l->held, 0);
    } else {
        l->first = next->next;
        if (l->first == NULL) l->last = &l->first;
    }
    cc__store_release(&l->guard, 0);
    if (next == NULL) return;
    cc_parker parker = next->parker;
    cc__store_release(&next->granted, 1); /* from here on its frame may be gone */
    cc_unpark(parker);
}
static struct fair_lock lock;
static long guarded;

static void *contends(void *arg) {
    for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
        fair_lock_take(&lock);
        overwrite_frames();
        guarded++;
        if (i % 4 == 0) cc_yield(); /* with the lock held: the others must park */
        fair_lock_drop(&lock);
    }
    return NULL;
}
static void *a_thousand_contend(void *arg) {
    enum { CONTENDERS = 1000, EACH = 5 };
    static cc_task t[CONTENDERS];
    pthread_t thread;
    lock.last = &lock.first;
    guarded = 0;
    for (int i = 0; i < CONTENDERS; i++) t[i] = cc_fiber_spawn_task(contends, (void *)EACH);
    test_must(pthread_create(&thread, NULL, contends, (void *)EACH) == 0);
    for (int i = 0; i < CONTENDERS; i++) test_must(cc_task_join(t[i], NULL) == 0);
    pthread_join(thread, NULL);
    test_must(guarded == (CONTENDERS + 1) * EACH && lock.first == NULL);
    return arg;
}
static void lesson_18_and_19_a_thousand_contenders(void **state) {
    (void)state;
    test_on_all(a_thousand_contend);
}

/* ---- lesson 20: a task that awaits a task that awaits a task, also on one worker ---- */

static void *chain(void *arg) {
    uintptr_t depth = (uintptr_t)arg;
    void *below = NULL;
    if (depth == 0) return NULL;
    test_must(cc_task_join(cc_fiber_spawn_task(chain, (void *)(depth - 1)), &below) == 0);
    return (void *)((uintptr_t)below + 1);
}
static void *long_chains(void *arg) {
    void *depth = NULL;
    for (int i = 0; i < 3; i++) {
        test_must(cc_task_join(cc_fiber_spawn_task(chain, (void *)500), &depth) == 0);
        test_must((uintptr_t)depth == 500);
    }
    return arg;
}
static void lesson_20_tasks_await_tasks(void **state) {
    (void)state;
    test_on_all(long_chains);
}

TEST_MAIN(cmocka_unit_test(lesson_1_no_double_resume), cmocka_unit_test(lesson_2_yield_storm),
          cmocka_unit_test(lesson_3_and_6_joins_at_any_time), cmocka_unit_test(lesson_4_a_thread_joins_what_just_ends),
          cmocka_unit_test(lesson_7_and_16_nurseries_on_the_stack), cmocka_unit_test(lesson_8_results_of_48_bytes),
          cmocka_unit_test(lesson_9_stray_unparks_before_every_wait),
          cmocka_unit_test(lesson_17_failing_tasks_complete_their_group),
          cmocka_unit_test(lesson_18_and_19_a_thousand_contenders), cmocka_unit_test(lesson_20_tasks_await_tasks))
