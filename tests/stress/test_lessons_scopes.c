/* SPDX-License-Identifier: MIT */
/* Goal: cancellation reaches all that is below, whatever it does just then, and no outcome is lost or counted twice
 * (lessons 73-78, 81).
 * Method: nurseries on runtimes of 1, 2, 7 and 16 workers, cancelled at random moments while children are spawned,
 * begin, wait in every way, are shielded, end; sums must come out exactly. What is cancelled would sleep for an hour.
 * Timeout: 120
 */
#include "runtimes.h"

enum { HOUR_MS = 3600 * 1000 };

/* ---- lesson 73: children that have not begun run, and meet the cancellation at once ---- */

CC_TASK(would_sleep, (_Atomic long *, ran), (_Atomic long *, cancelled)) {
    cc__add_relaxed(ran, 1);
    int rc = cc_sleep_ms(HOUR_MS);
    if (rc == -ECANCELED && cc_cancelled() == -ECANCELED) cc__add_relaxed(cancelled, 1);
    return rc;
}
static void *cancels_before_they_begin(void *arg) {
    for (size_t round = test_rounds(300); round > 0; round--) {
        _Atomic long ran = 0, cancelled = 0;
        long accepted = 0;
        CC_NURSERY(n) {
            for (int i = 0; i < 50; i++) accepted += cc_spawn(n, would_sleep, &ran, &cancelled) == 0;
            if (round % 2 == 0) cc_yield();
            cc_nursery_cancel(n);
            test_must(cc_spawn(n, would_sleep, &ran, &cancelled) == -ECANCELED); /* runs nothing */
            test_must(cc_nursery_wait(n) == -ECANCELED);
        }
        test_must(accepted == 50 && cc__load_relaxed(&ran) == 50 && cc__load_relaxed(&cancelled) == 50);
    }
    return arg;
}
static void lesson_73_children_that_have_not_begun(void **state) {
    (void)state;
    test_on_all(cancels_before_they_begin);
}

/* ---- lesson 74: a nursery opened before its parent's was cancelled, three levels down, its owner anywhere ---- */

enum { OWNER_WAITS, OWNER_JOINS, OWNER_AWAITS, OWNER_SLEEPS, OWNER_COMPUTES, OWNER_KINDS };

static void *ends_when_told(void *arg) {
    while (cc__load_acquire((_Atomic int *)arg) == 0) cc_sleep_ms(1);
    return NULL;
}
CC_ASYNC(int, ends_when_told_too, (_Atomic int *, told)) {
    CC_SHIELD {
        ends_when_told((void *)told);
    }
    return 1;
}
/* What an owner does while its children sleep. `told` is set once the leaves have been cancelled. */
static void owner_does(cc_nursery *n, int kind, _Atomic int *told) {
    CC_RESULT(int) f;
    switch (kind) {
    case OWNER_WAITS: (void)cc_nursery_wait(n); break;
    case OWNER_JOINS: test_must(cc_task_join(cc_fiber_spawn_task(ends_when_told, (void *)told), NULL) == 0); break;
    case OWNER_AWAITS:
        CC_SHIELD {
            CC_NURSERY(inner) {
                if (cc_async(inner, f, ends_when_told_too, told) == 0) test_must(cc_await(f) == 1);
            }
        }
        break;
    case OWNER_SLEEPS: (void)cc_sleep_ms(HOUR_MS); break;
    default:
        while (cc_cancelled() == 0) cc_yield();
    }
}
struct tree {
    _Atomic long leaves, cancelled, expected;
    _Atomic int told; /* all leaves are cancelled */
};
CC_TASK(grows, (struct tree *, t), (int, depth)) {
    if (depth == 0) {
        cc__add_acq_rel(&t->leaves, 1);
        int rc = cc_sleep_ms(HOUR_MS);
        test_must(rc == -ECANCELED);
        if (cc__add_acq_rel(&t->cancelled, 1) + 1 == cc__load_acquire(&t->expected)) cc__store_release(&t->told, 1);
        return rc;
    }
    int rc = 0;
    CC_NURSERY(n) {
        for (int i = 0; i < 2; i++) test_must(cc_spawn(n, grows, t, depth - 1) == 0);
        owner_does(n, (int)(test_random() % OWNER_KINDS), &t->told);
        rc = cc_nursery_wait(n);
    }
    return rc;
}
static void *cancels_trees(void *arg) {
    for (size_t round = test_rounds(200); round > 0; round--) {
        struct tree t = {.expected = 8};
        CC_NURSERY(n) {
            test_must(cc_spawn(n, grows, &t, 3) == 0);
            while (cc__load_acquire(&t.leaves) < 8) cc_yield();
            test_jitter();
            cc_nursery_cancel(n);
            test_must(cc_nursery_wait(n) == -ECANCELED);
        }
        test_must(cc__load_relaxed(&t.cancelled) == 8);
    }
    return arg;
}
static void lesson_74_three_levels_are_cancelled(void **state) {
    (void)state;
    test_on_all(cancels_trees);
}

/* ---- lessons 75 and 81: many spawn into one nursery while it is cancelled: check, then act, is one step ---- */

CC_TASK(adds, (_Atomic long *, sum), (long, n)) {
    cc__add_relaxed(sum, n);
    return 0;
}
CC_TASK(spawns_many, (cc_nursery *, into), (_Atomic long *, ran), (_Atomic long *, accepted),
        (_Atomic long *, refused)) {
    for (int i = 0; i < 40; i++) {
        int rc = cc_spawn(into, adds, ran, 1);
        test_must(rc == 0 || rc == -ECANCELED);
        cc__add_relaxed(rc == 0 ? accepted : refused, 1);
        if (i % 8 == 0) test_jitter();
    }
    return 0;
}
static void *spawns_against_cancel(void *arg) {
    for (size_t round = test_rounds(300); round > 0; round--) {
        _Atomic long ran = 0, accepted = 0, refused = 0;
        bool cancel = round % 3 != 0;
        int rc = 1;
        CC_NURSERY(outer) {
            CC_NURSERY(into) {
                for (int i = 0; i < 8; i++)
                    test_must(cc_spawn(outer, spawns_many, into, &ran, &accepted, &refused) == 0);
                if (cancel) {
                    for (uint64_t i = test_random() % 8; i > 0; i--) cc_yield();
                    cc_nursery_cancel(into);
                }
                CC_SHIELD { /* all have spawned before the nursery they spawn into is left */
                    while (cc__load_acquire(&accepted) + cc__load_acquire(&refused) < 8 * 40) cc_yield();
                }
                rc = cc_nursery_wait(into);
            }
        }
        test_must(cc__load_relaxed(&ran) == cc__load_relaxed(&accepted));
        test_must(cancel ? rc == -ECANCELED : rc == 0 && cc__load_relaxed(&refused) == 0);
    }
    return arg;
}
static void lesson_75_and_81_spawns_against_cancel(void **state) {
    (void)state;
    test_on_all(spawns_against_cancel);
}

/* ---- lesson 76: ten thousand nurseries, one inside the other ---- */

_Static_assert(sizeof(cc_nursery) < 1024, "a nursery is small: it lies in its owner's frame");

struct nest {
    _Atomic long up, cancelled;
    _Atomic int innermost;
    long depth;
};
CC_TASK(waits_in_the_nest, (struct nest *, w)) {
    cc__add_acq_rel(&w->up, 1);
    int rc = cc_sleep_ms(HOUR_MS);
    if (rc == -ECANCELED) cc__add_relaxed(&w->cancelled, 1);
    return rc;
}
CC_TASK(cancels_the_nest, (struct nest *, w), (cc_nursery *, outermost)) {
    while (cc__load_acquire(&w->innermost) == 0 || cc__load_acquire(&w->up) < w->depth / 16) cc_yield();
    cc_nursery_cancel(outermost);
    return 0;
}
static void nests(struct nest *w, long depth) {
    if (depth == 0) {
        cc__store_release(&w->innermost, 1);
        test_must(cc_sleep_ms(HOUR_MS) == -ECANCELED);
        return;
    }
    CC_NURSERY(n) {
        if (depth == w->depth) test_must(cc_spawn(n, cancels_the_nest, w, n) == 0);
        if (depth % 16 == 0) test_must(cc_spawn(n, waits_in_the_nest, w) == 0);
        nests(w, depth - 1);
    }
}
static void *nests_all(void *arg) {
    struct nest *w = arg;
    nests(w, w->depth);
    return NULL;
}
static void *nests_deep(void *arg) {
    struct nest w = {.depth = TEST_ASAN || TEST_TSAN ? 800 : (long)test_rounds(10000) / 16 * 16};
    cc_task t;
    test_must(cc_task_spawn(&t, &(cc_task_attr){.stack_bytes = 32 << 20}, nests_all, &w) == 0);
    test_must(cc_task_join(t, NULL) == 0);
    test_must(cc__load_relaxed(&w.cancelled) == w.depth / 16);
    return arg;
}
static void lesson_76_ten_thousand_nested_nurseries(void **state) {
    (void)state;
    test_on_all(nests_deep);
}

/* ---- lesson 77: a wait that ends and is cancelled at the same instant ends once ---- */

CC_TASK(sleeps_short, (int64_t, until_ns), (_Atomic long *, slept), (_Atomic long *, cancelled)) {
    int rc = cc_sleep_until_ns(until_ns);
    test_must(rc == 0 || rc == -ECANCELED);
    test_must(rc != 0 || cc_now_ns() >= until_ns);
    cc__add_relaxed(rc == 0 ? slept : cancelled, 1);
    return rc;
}
static void *ends_against_cancel(void *arg) {
    long both = 0;
    for (size_t round = test_rounds(400); round > 0; round--) {
        _Atomic long slept = 0, cancelled = 0;
        int64_t until = cc_now_ns() + 300000;
        CC_NURSERY(n) {
            for (int i = 0; i < 10; i++)
                test_must(cc_spawn(n, sleeps_short, until + i * 3000, &slept, &cancelled) == 0);
            int64_t when = until + (int64_t)(test_random() % 30000);
            while (cc_now_ns() < when) cc_yield();
            cc_nursery_cancel(n);
            test_must(cc_nursery_wait(n) == -ECANCELED);
        }
        test_must(cc__load_relaxed(&slept) + cc__load_relaxed(&cancelled) == 10);
        both += cc__load_relaxed(&slept) > 0 && cc__load_relaxed(&cancelled) > 0;
    }
    printf("%u workers: %ld rounds had both outcomes\n", (unsigned)(uintptr_t)arg, both);
    return arg;
}
static void lesson_77_ends_against_cancel(void **state) {
    (void)state;
    test_on_all(ends_against_cancel);
}

/* ---- lesson 78: the cancelled wake, also in a shield, and can wait again in one ---- */

struct shielded {
    _Atomic int in_shield, told;
    cc_parker parker;
    bool good;
};
CC_TASK(shields, (struct shielded *, s)) {
    void *result = NULL;
    CC_SHIELD {
        s->parker = cc_parker_self();
        cc__store_release(&s->in_shield, 1);
        while (cc__load_acquire(&s->told) == 0) cc_park_if(&s->told, 0); /* cancelled while here */
        s->good = cc_cancelled() == 0;
        s->good &= cc_sleep_until_ns(cc_now_ns() + 50000) == 0;
        s->good &= cc_task_join(cc_fiber_spawn_task(ends_when_told, &s->told), &result) == 0;
        _Atomic long sum = 0;
        int rc = 1;
        CC_NURSERY(n) { /* what is opened inside is not cancelled either */
            s->good &= cc_spawn(n, adds, &sum, 3) == 0;
            rc = cc_nursery_wait(n);
        }
        s->good &= rc == 0 && cc__load_relaxed(&sum) == 3;
    }
    s->good &= cc_cancelled() == -ECANCELED;
    return cc_sleep_ms(HOUR_MS);
}
static void *cancels_the_shielded(void *arg) {
    for (size_t round = test_rounds(200); round > 0; round--) {
        struct shielded s[5];
        memset(s, 0, sizeof s);
        CC_NURSERY(n) {
            for (int i = 0; i < 5; i++) test_must(cc_spawn(n, shields, &s[i]) == 0);
            for (int i = 0; i < 5; i++)
                while (cc__load_acquire(&s[i].in_shield) == 0) cc_yield();
            cc_nursery_cancel(n);
            test_jitter();
            for (int i = 0; i < 5; i++) {
                cc__store_release(&s[i].told, 1);
                cc_unpark(s[i].parker); /* cancelled long ago, and still woken */
            }
            test_must(cc_nursery_wait(n) == -ECANCELED);
        }
        for (int i = 0; i < 5; i++) test_must(s[i].good);
    }
    return arg;
}
static void lesson_78_the_cancelled_wake_in_shields_too(void **state) {
    (void)state;
    test_on_all(cancels_the_shielded);
}

/* ---- lesson 81: fail-fast and collect-all; side effects of the cancelled are whole ---- */

struct ledger {
    _Atomic long begun, finished, kept;
};
CC_TASK(works, (struct ledger *, l), (int, rc), (int, steps)) {
    cc__add_relaxed(&l->begun, 1);
    for (int i = 0; i < steps; i++) {
        int cancelled = cc_sleep_until_ns(cc_now_ns() + 20000);
        if (cancelled != 0) {
            cc__add_relaxed(&l->kept, 1); /* what it does when cancelled, it does once and to the end */
            return cancelled;
        }
    }
    cc__add_relaxed(&l->finished, 1);
    return rc;
}
static void *fails_in_both_ways(void *arg) {
    const int errors[] = {-EIO, -ENOENT, -EINVAL};
    for (size_t round = test_rounds(200); round > 0; round--) {
        struct ledger l = {0};
        bool collect = round % 2 == 0;
        long accepted = 0;
        int rc = 1;
        CC_NURSERY(n) {
            if (collect) cc_nursery_collect(n);
            for (int i = 0; i < 12; i++)
                accepted += cc_spawn(n, works, &l, i < 3 ? errors[i] : 0, (int)(test_random() % 6)) == 0;
            rc = cc_nursery_wait(n);
        }
        long begun = cc__load_relaxed(&l.begun), finished = cc__load_relaxed(&l.finished);
        test_must(begun == accepted && finished + cc__load_relaxed(&l.kept) == begun);
        test_must(rc == -EIO || rc == -ENOENT || rc == -EINVAL); /* an error of a child, not its consequence */
        if (collect) test_must(accepted == 12 && finished == 12);
    }
    return arg;
}
static void lesson_81_fail_fast_and_collect_all(void **state) {
    (void)state;
    test_on_all(fails_in_both_ways);
}

TEST_MAIN(cmocka_unit_test(lesson_73_children_that_have_not_begun),
          cmocka_unit_test(lesson_74_three_levels_are_cancelled),
          cmocka_unit_test(lesson_75_and_81_spawns_against_cancel),
          cmocka_unit_test(lesson_76_ten_thousand_nested_nurseries), cmocka_unit_test(lesson_77_ends_against_cancel),
          cmocka_unit_test(lesson_78_the_cancelled_wake_in_shields_too),
          cmocka_unit_test(lesson_81_fail_fast_and_collect_all))
