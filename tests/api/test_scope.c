/* SPDX-License-Identifier: MIT */
/* Goal: nurseries join all, the first error cancels the rest, deadlines nest, shields hold
 * (lessons 7, 14, 17, 73-76, 78, 81).
 * Method: each sentence of include/ccrt/scope.h as a small program, run in tasks and on the plain thread of the test.
 * Timeout: 120
 */
#include "test.h"

#include "base/atomic.h"

#include <ccrt.h>

/* Run a function of no arguments as a task, and hand on its result. */
static void *call(void *fn) {
    int (*f)(void);
    memcpy(&f, fn, sizeof f);
    return (void *)(intptr_t)f();
}
static int in_a_task(int (*f)(void)) {
    void *result;
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(call, &f), &result), 0);
    return (int)(intptr_t)result;
}

CC_TASK(adds, (_Atomic int *, count), (int, n)) {
    cc__add_relaxed(count, n);
    return 0;
}
CC_TASK(fails, (int, rc)) {
    cc_yield();
    return rc;
}
CC_TASK(sleeps, (int, ms), (_Atomic int *, cancelled)) {
    int rc = cc_sleep_ms(ms);
    if (rc == -ECANCELED) cc__add_relaxed(cancelled, 1);
    return rc;
}

static int all_are_joined(void) {
    _Atomic int count = 0;
    for (int round = 0; round < 50; round++) {
        CC_NURSERY(n) {
            for (int i = 0; i < 100; i++) cc_spawn(n, adds, &count, 1);
        }
        if (cc__load_relaxed(&count) != (round + 1) * 100) return round + 1;
    }
    return 0;
}
static void every_child_is_joined(void **state) {
    (void)state;
    assert_int_equal(all_are_joined(), 0);
    assert_int_equal(in_a_task(all_are_joined), 0);
}

static int first_error(void) {
    _Atomic int cancelled = 0;
    int rc = 1;
    CC_NURSERY(n) {
        for (int i = 0; i < 10; i++) cc_spawn(n, sleeps, 60000, &cancelled);
        cc_spawn(n, fails, -EIO);
        rc = cc_nursery_wait(n);
        if (cc_spawn(n, adds, &cancelled, 1000) != -ECANCELED) rc = 2;
    }
    return rc == -EIO && cc__load_relaxed(&cancelled) == 10 ? 0 : 3;
}
static void the_first_error_cancels(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(100) + 1; i++) assert_int_equal(in_a_task(first_error), 0);
    assert_int_equal(first_error(), 0);
}

static int collected(void) {
    _Atomic int count = 0;
    int rc = 1;
    CC_NURSERY(n) {
        cc_nursery_collect(n);
        cc_spawn(n, fails, -EIO);
        for (int i = 0; i < 10; i++) cc_spawn(n, adds, &count, 1);
        rc = cc_nursery_wait(n);
    }
    return rc == -EIO && cc__load_relaxed(&count) == 10 ? 0 : 1;
}
static void collecting_lets_the_others_go_on(void **state) {
    (void)state;
    assert_int_equal(in_a_task(collected), 0);
}

static int leaves(_Atomic int *cancelled, int how) {
    CC_NURSERY(n) {
        cc_spawn(n, sleeps, 60000, cancelled);
        if (how == 0) return 7;
        if (how == 1) break;
        cc_nursery_cancel(n);
        cc_nursery_cancel(n); /* idempotent */
        if (cc_nursery_wait(n) != -ECANCELED) return 8;
        if (cc_sleep_ms(1) != -ECANCELED) return 9; /* the owner runs under it, too */
    }
    return how;
}
static int left_early(void) {
    _Atomic int cancelled = 0;
    if (leaves(&cancelled, 0) != 7) return 1;
    if (leaves(&cancelled, 1) != 1) return 2;
    if (leaves(&cancelled, 2) != 2) return 3;
    return cc__load_relaxed(&cancelled) == 3 ? 0 : 4;
}
static void leaving_early_cancels_and_joins(void **state) {
    (void)state;
    assert_int_equal(left_early(), 0);
    assert_int_equal(in_a_task(left_early), 0);
}

/* A tree: cancellation at the top reaches sleepers three nurseries below. */
CC_TASK(tree, (int, depth), (_Atomic int *, cancelled), (_Atomic int *, leaves_up)) {
    if (depth == 0) {
        cc__add_acq_rel(leaves_up, 1);
        int rc = cc_sleep_ms(60000);
        if (rc == -ECANCELED) cc__add_relaxed(cancelled, 1);
        return rc;
    }
    int rc = 0;
    CC_NURSERY(n) {
        for (int i = 0; i < 3; i++) cc_spawn(n, tree, depth - 1, cancelled, leaves_up);
        rc = cc_nursery_wait(n);
    }
    return rc;
}
static int cancelled_tree(void) {
    _Atomic int cancelled = 0, leaves_up = 0;
    int rc = 0;
    CC_NURSERY(n) {
        cc_spawn(n, tree, 3, &cancelled, &leaves_up);
        while (cc__load_acquire(&leaves_up) < 27) cc_yield();
        cc_nursery_cancel(n);
        rc = cc_nursery_wait(n);
    }
    return rc == -ECANCELED && cc__load_relaxed(&cancelled) == 27 ? 0 : 1;
}
static void cancellation_goes_down_the_tree(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(30) + 1; i++) assert_int_equal(in_a_task(cancelled_tree), 0);
    assert_int_equal(cancelled_tree(), 0);
}

static int deadlines(void) {
    int64_t begin = cc_now_ns();
    int inner = 1, outer = 1, soon = 1;
    CC_DEADLINE_MS(20) {
        soon = cc_sleep_ms(1);
        CC_DEADLINE_MS(60000) {
            outer = cc_sleep_ms(60000);
        }
        if (cc_cancelled() != -ETIMEDOUT) return 1;
    }
    if (cc_now_ns() - begin < 20000000) return 2;
    CC_DEADLINE_MS(60000) {
        CC_DEADLINE_MS(5) {
            inner = cc_sleep_ms(60000);
        }
        if (cc_cancelled() != 0) return 3; /* only the inner one passed */
        if (cc_sleep_ms(1) != 0) return 4;
    }
    CC_DEADLINE_MS(0) {
        if (cc_sleep_ms(0) != 0) return 5; /* what can succeed at once does */
    }
    if (cc_cancelled() != 0) return 6;
    return soon == 0 && outer == -ETIMEDOUT && inner == -ETIMEDOUT ? 0 : 7;
}
static void deadlines_nest(void **state) {
    (void)state;
    assert_int_equal(deadlines(), 0);
    assert_int_equal(in_a_task(deadlines), 0);
}

static int inherited(void) {
    _Atomic int cancelled = 0;
    int rc = 1, quick = 1;
    CC_DEADLINE_MS(20) {
        CC_NURSERY(n) {
            for (int i = 0; i < 5; i++) cc_spawn(n, sleeps, 60000, &cancelled);
            rc = cc_nursery_wait(n);
        }
    }
    if (rc != -ETIMEDOUT || cc__load_relaxed(&cancelled) != 5) return 1;
    CC_DEADLINE_MS(60000) {
        CC_NURSERY(n) {
            cc_spawn(n, sleeps, 1, &cancelled);
            quick = cc_nursery_wait(n);
        }
    }
    return quick == 0 ? 0 : 2;
}
static void nurseries_inherit_deadlines(void **state) {
    (void)state;
    assert_int_equal(inherited(), 0);
    assert_int_equal(in_a_task(inherited), 0);
}

CC_TASK(shielded, (_Atomic int *, begun), (_Atomic int *, done)) {
    CC_SHIELD {
        cc__add_acq_rel(begun, 1);
        if (cc_sleep_ms(20) == 0 && cc_cancelled() == 0) cc__add_relaxed(done, 1);
        CC_DEADLINE_MS(1) { /* a deadline of its own inside */
            if (cc_sleep_ms(60000) == -ETIMEDOUT) cc__add_relaxed(done, 1);
        }
    }
    return cc_sleep_ms(60000);
}
static int shields(void) {
    _Atomic int begun = 0, done = 0;
    int rc = 1, under = 1;
    CC_NURSERY(n) {
        for (int i = 0; i < 3; i++) cc_spawn(n, shielded, &begun, &done);
        while (cc__load_acquire(&begun) < 3) cc_yield();
        cc_nursery_cancel(n);
        rc = cc_nursery_wait(n);
    }
    CC_DEADLINE_MS(1) {
        CC_SHIELD {
            under = cc_sleep_ms(5);
        }
    }
    return rc == -ECANCELED && under == 0 && cc__load_relaxed(&done) == 6 ? 0 : 1;
}
static void shields_hold(void **state) {
    (void)state;
    assert_int_equal(shields(), 0);
    assert_int_equal(in_a_task(shields), 0);
}

static void shield_too_deep(void *left) {
    intptr_t n = (intptr_t)left;
    CC_SHIELD {
        if (n > 0) shield_too_deep((void *)(n - 1));
    }
}
static void shields_have_a_limit(void **state) {
    (void)state;
    shield_too_deep((void *)254);
    test_aborts(shield_too_deep, (void *)255, "shields are nested more than 255 deep");
}

/* Children spawn into the nursery they are in. */
CC_TASK(grows, (cc_nursery *, n), (_Atomic int *, count), (int, depth)) {
    cc__add_relaxed(count, 1);
    for (int i = 0; i < 3 && depth > 0; i++) cc_spawn(n, grows, n, count, depth - 1);
    return 0;
}
static int grown(void) {
    _Atomic int count = 0;
    CC_NURSERY(n) {
        cc_spawn(n, grows, n, &count, 6);
    }
    return cc__load_relaxed(&count) == 1093 ? 0 : 1;
}
static void children_spawn_siblings(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(50) + 1; i++) assert_int_equal(in_a_task(grown), 0);
}

/* Arguments too long for the record, and bad ones. */
typedef struct big {
    char text[500];
} big;
CC_TASK(measures, (big, b), (int *, length)) {
    *length = (int)strlen(b.text);
    return 0;
}
static int arguments(void) {
    big b;
    int length = 0;
    memset(b.text, 'x', sizeof b.text);
    b.text[499] = 0;
    CC_NURSERY(n) {
        cc_spawn(n, measures, b, &length);
        b.text[10] = 0; /* it was copied */
        if (cc_nursery_spawn(n, NULL, NULL, 0, NULL) != -EINVAL) return 1;
        if (cc_nursery_spawn(n, measures_cc_run, NULL, 8, NULL) != -EINVAL) return 2;
        if (cc_nursery_spawn(NULL, measures_cc_run, &b, 8, NULL) != -EINVAL) return 3;
    }
    return length == 499 ? 0 : 4;
}
static void arguments_are_copied(void **state) {
    (void)state;
    assert_int_equal(in_a_task(arguments), 0);
}

/* The wait that can be cancelled ends at the first error, at a deadline, and with all children; the brace joins. */
CC_TASK(stubborn, (_Atomic int *, go), (_Atomic int *, ended)) {
    CC_SHIELD {
        while (cc__load_acquire(go) == 0) cc_sleep_ms(1);
    }
    cc__add_acq_rel(ended, 1);
    return 0;
}
static int cancellable_wait(void) {
    _Atomic int go = 0, ended = 0;
    int rc = 1;
    CC_NURSERY(n) {
        cc_spawn(n, stubborn, &go, &ended);
        cc_spawn(n, fails, -EIO);
        rc = cc_nursery_wait_cancellable(n);
        if (rc != -EIO || cc__load_acquire(&ended) != 0) return 1;
        if (cc_nursery_wait_cancellable(n) != -EIO) return 2; /* again: at once */
        cc__store_release(&go, 1);
    }
    if (cc__load_relaxed(&ended) != 1) return 3;
    cc__store_release(&go, 0);
    CC_DEADLINE_MS(5) {
        CC_NURSERY(n) {
            cc_spawn(n, stubborn, &go, &ended);
            rc = cc_nursery_wait_cancellable(n);
            if (rc != -ETIMEDOUT || cc__load_acquire(&ended) != 1) return 4;
            if (cc_spawn(n, adds, &ended, 10) != -ECANCELED) return 5; /* its time is over for all of them */
            cc__store_release(&go, 1);
        }
    }
    cc__store_release(&go, 0);
    CC_NURSERY(n) {
        cc_spawn(n, stubborn, &go, &ended);
        CC_DEADLINE_MS(5) {
            rc = cc_nursery_wait_cancellable(n);
            if (rc != -ETIMEDOUT || cc__load_acquire(&ended) != 2) return 6;
        }
        cc__store_release(&go, 1);
        rc = cc_nursery_wait_cancellable(n); /* the deadline was the owner's alone */
    }
    return rc == 0 && cc__load_relaxed(&ended) == 3 ? 0 : 7;
}
static void a_wait_can_be_cancelled(void **state) {
    (void)state;
    assert_int_equal(cancellable_wait(), 0);
    for (size_t i = 0; i < test_scaled(20) + 1; i++) assert_int_equal(in_a_task(cancellable_wait), 0);
}

/* Cancelled from above: the owner returns, and has told its own children, which wait, before that. */
CC_TASK(owner, (_Atomic int *, begun), (_Atomic int *, cancelled), (bool, shield)) {
    int rc = 1;
    CC_NURSERY(n) {
        cc_spawn(n, sleeps, 60000, cancelled);
        cc__add_acq_rel(begun, 1);
        if (shield) {
            cc_spawn(n, fails, 0);
            CC_SHIELD {
                rc = cc_nursery_wait_cancellable(n); /* not delivered here: until all have ended */
            }
            if (cc__load_relaxed(cancelled) == 0) rc = 1;
        } else {
            rc = cc_nursery_wait_cancellable(n);
        }
    }
    return rc == -ECANCELED ? 0 : -EIO;
}
static int cancelled_from_above(void) {
    _Atomic int begun = 0, cancelled = 0;
    int rc = 0;
    CC_NURSERY(n) {
        for (int i = 0; i < 4; i++) cc_spawn(n, owner, &begun, &cancelled, i % 2 == 1);
        while (cc__load_acquire(&begun) < 4) cc_yield();
        cc_nursery_cancel(n);
        rc = cc_nursery_wait(n);
    }
    return rc == -ECANCELED && cc__load_relaxed(&cancelled) == 4 ? 0 : 1;
}
static void a_wait_is_cancelled_from_above(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(200) + 1; i++) assert_int_equal(in_a_task(cancelled_from_above), 0);
}

/* What aborts a child of fork() comes first: after a runtime has started, a child may call nothing. */
/* ---- a nursery that is opened under what is cancelled already ---- */

static int ran;
static int counts(void *unused) {
    (void)unused;
    ran++;
    return 0;
}

/* Never waits before it is cancelled, so nobody has told it. */
CC_TASK(opens_when_cancelled, (int, shielded), (int *, spawned), (int *, waited)) {
    while (cc_cancelled() == 0) cc_yield();
    if (shielded) {
        CC_SHIELD {
            CC_NURSERY(n) {
                *spawned = cc_nursery_spawn(n, counts, NULL, 0, NULL);
                *waited = cc_nursery_wait(n);
            }
        }
    } else {
        CC_NURSERY(n) {
            *spawned = cc_nursery_spawn(n, counts, NULL, 0, NULL);
            *waited = cc_nursery_wait(n);
        }
    }
    return 0;
}

static int opened_late(void) {
    int spawned[2] = {1, 1}, waited[2] = {1, 1};
    CC_NURSERY(n) {
        for (int i = 0; i < 2; i++)
            if (cc_spawn(n, opens_when_cancelled, i, &spawned[i], &waited[i]) != 0) return 1;
        cc_nursery_cancel(n);
    }
    if (spawned[0] != -ECANCELED || waited[0] != -ECANCELED) return 2; /* from its beginning */
    if (spawned[1] != 0 || waited[1] != 0 || ran != 1) return 3;       /* a shield keeps that off */
    return 0;
}

static void one_opened_under_a_cancelled_one_is_cancelled(void **state) {
    (void)state;
    assert_int_equal(in_a_task(opened_late), 0);
}

TEST_MAIN(cmocka_unit_test(shields_have_a_limit), cmocka_unit_test(every_child_is_joined),
          cmocka_unit_test(the_first_error_cancels), cmocka_unit_test(collecting_lets_the_others_go_on),
          cmocka_unit_test(leaving_early_cancels_and_joins), cmocka_unit_test(cancellation_goes_down_the_tree),
          cmocka_unit_test(deadlines_nest), cmocka_unit_test(nurseries_inherit_deadlines),
          cmocka_unit_test(shields_hold), cmocka_unit_test(children_spawn_siblings),
          cmocka_unit_test(arguments_are_copied), cmocka_unit_test(a_wait_can_be_cancelled),
          cmocka_unit_test(a_wait_is_cancelled_from_above),
          cmocka_unit_test(one_opened_under_a_cancelled_one_is_cancelled))
