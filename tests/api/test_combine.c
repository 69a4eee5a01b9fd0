/* SPDX-License-Identifier: MIT */
/* Goal: all of several functions, the first to finish, and the first success, each with the losers cancelled and joined
 * (lesson 72).
 * Method: branches that sleep for ever beside ones that return, in every order; deadlines, cancellation, shields; the
 * first to finish as a failure; storms in which all finish at once. In tasks and on the plain thread of the test.
 * Timeout: 120
 */
#include "test.h"

#include "base/atomic.h"

#include <ccrt.h>
#include <limits.h>

static void *call(void *fn) {
    int (*f)(void);
    memcpy(&f, fn, sizeof f);
    return (void *)(intptr_t)f();
}
/* Run it on this thread and in a task. 0, or what it returned first other than that. */
static int both(int (*f)(void)) {
    void *result;
    int rc = f();
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(call, &f), &result), 0);
    return rc != 0 ? rc : (int)(intptr_t)result;
}

enum { LONG = 60000 };

CC_TASK(after, (int, ms), (int, rc)) {
    int slept = cc_sleep_ms(ms);
    return slept != 0 ? slept : rc;
}
CC_TASK(at_once) {
    return 7;
}
static int plain(void *arg) {
    return *(int *)arg;
}

static int all(void) {
    int one = 1, eight = 8;
    cc_branch b[] = {CC_BRANCH(after, 2, 3), CC_BRANCH(at_once), {plain, &one, 0}, {plain, &eight, 0}};
    if (cc_all(b, 4) != 0) return 1;
    if (b[0].result != 3 || b[1].result != 7 || b[2].result != 1 || b[3].result != 8) return 2;
    cc_branch c[] = {CC_BRANCH(after, LONG, 0), CC_BRANCH(after, 1, -EIO), CC_BRANCH(after, LONG, 0)};
    if (cc_all(c, 3) != -EIO) return 3;
    return c[0].result == -ECANCELED && c[1].result == -EIO && c[2].result == -ECANCELED ? 0 : 4;
}
static void all_or_the_first_error(void **state) {
    (void)state;
    assert_int_equal(both(all), 0);
}

static int race(void) {
    for (int winner = 0; winner < 3; winner++) {
        for (int rc = -1; rc <= 1; rc++) {
            cc_branch b[] = {CC_BRANCH(after, winner == 0 ? 1 : LONG, rc * EIO),
                             CC_BRANCH(after, winner == 1 ? 1 : LONG, rc * EIO),
                             CC_BRANCH(after, winner == 2 ? 1 : LONG, rc * EIO)};
            if (cc_race(b, 3) != winner) return 1;
            for (int i = 0; i < 3; i++)
                if (b[i].result != (i == winner ? rc * EIO : -ECANCELED)) return 2;
            if (cc_cancelled() != 0) return 3; /* only the branches were */
        }
    }
    cc_branch alone[] = {CC_BRANCH(at_once)};
    return cc_race(alone, 1) == 0 && alone[0].result == 7 ? 0 : 4;
}
static void lesson_72_the_first_to_finish_wins(void **state) {
    (void)state;
    assert_int_equal(both(race), 0);
}

/* Fails, and counts that; waits for others to have failed. */
CC_TASK(fails, (_Atomic int *, failed), (int, rc)) {
    cc__add_acq_rel(failed, 1);
    return rc;
}
CC_TASK(later, (_Atomic int *, failed), (int, wanted), (int, rc)) {
    while (cc__load_acquire(failed) < wanted) cc_sleep_ms(1);
    int slept = cc_sleep_ms(50);
    return slept != 0 ? slept : rc;
}
static int any(void) {
    _Atomic int failed = 0;
    cc_branch b[] = {CC_BRANCH(fails, &failed, -EIO), CC_BRANCH(after, LONG, 1), CC_BRANCH(later, &failed, 2, 5),
                     CC_BRANCH(fails, &failed, -EPIPE)};
    if (cc_any(b, 4) != 2 || b[2].result != 5) return 1;
    if (b[0].result != -EIO || b[1].result != -ECANCELED || b[3].result != -EPIPE) return 2;
    cc__store_relaxed(&failed, 0);
    cc_branch none[] = {CC_BRANCH(later, &failed, 1, -EIO), CC_BRANCH(fails, &failed, -EPIPE),
                        CC_BRANCH(later, &failed, 1, -EIO)};
    return cc_any(none, 3) == -EPIPE ? 0 : 3; /* the first in time, not in place */
}
static void lesson_72_the_first_success_wins(void **state) {
    (void)state;
    assert_int_equal(both(any), 0);
}

/* A deadline around it, one inside, one that is too late. */
static int timed(void) {
    cc_branch b[] = {CC_BRANCH(after, LONG, 0), CC_BRANCH(after, LONG, 0)};
    int rc[3] = {0};
    CC_DEADLINE_MS(5) {
        rc[0] = cc_all(b, 2);
    }
    CC_DEADLINE_MS(5) {
        rc[1] = cc_race(b, 2);
        if (b[0].result != -ECANCELED || b[1].result != -ECANCELED) return 1;
    }
    CC_DEADLINE_MS(5) {
        cc_branch c[] = {CC_BRANCH(after, 1, -EIO), CC_BRANCH(after, LONG, 0)};
        rc[2] = cc_any(c, 2); /* not the -EIO: the other might have made it */
    }
    for (int i = 0; i < 3; i++)
        if (rc[i] != -ETIMEDOUT) return 2;
    CC_DEADLINE_MS(LONG) {
        cc_branch c[] = {CC_BRANCH(after, LONG, 0), CC_BRANCH(after, 1, 0)};
        rc[0] = cc_race(c, 2);
    }
    return rc[0] == 1 ? 0 : 3;
}
CC_TASK(timed_child, (int, which)) { /* with a deadline that its nursery inherits */
    cc_branch b[] = {CC_BRANCH(after, LONG, 0), CC_BRANCH(after, LONG, 0)};
    int rc = which == 0 ? cc_all(b, 2) : which == 1 ? cc_race(b, 2) : cc_any(b, 2);
    return rc == -ETIMEDOUT || rc == -ECANCELED ? 0 : -EIO;
}
static int inherited(void) {
    int rc = 1;
    CC_DEADLINE_MS(5) {
        CC_NURSERY(n) {
            for (int i = 0; i < 9; i++) cc_spawn(n, timed_child, i % 3);
            rc = cc_nursery_wait(n);
        }
    }
    return rc == 0 || rc == -ETIMEDOUT ? 0 : 1;
}
static void deadlines_hold(void **state) {
    (void)state;
    assert_int_equal(both(timed), 0);
    for (size_t i = 0; i < test_scaled(20) + 1; i++) assert_int_equal(both(inherited), 0);
}

/* Cancelled from above, before it begins and while it waits. */
CC_TASK(combines, (int, which), (_Atomic int *, begun), (_Atomic int *, cancelled)) {
    cc_branch b[] = {CC_BRANCH(after, LONG, 0), CC_BRANCH(after, LONG, 0), CC_BRANCH(after, LONG, 0)};
    cc__add_acq_rel(begun, 1);
    int rc = which == 0 ? cc_all(b, 3) : which == 1 ? cc_race(b, 3) : cc_any(b, 3);
    for (int i = 0; i < 3; i++) rc = b[i].result == -ECANCELED ? rc : -EIO;
    if (rc == -ECANCELED) cc__add_relaxed(cancelled, 1);
    return rc;
}
static int from_above(void) {
    for (int wait = 0; wait < 2; wait++) {
        _Atomic int begun = 0, cancelled = 0;
        int rc = 0;
        CC_NURSERY(n) {
            for (int i = 0; i < 6; i++) cc_spawn(n, combines, i % 3, &begun, &cancelled);
            while (wait > 0 && cc__load_acquire(&begun) < 6) cc_yield();
            cc_nursery_cancel(n);
            rc = cc_nursery_wait(n);
        }
        if (rc != -ECANCELED || cc__load_relaxed(&cancelled) != 6) return 1;
    }
    return 0;
}
static void cancellation_comes_from_above(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(100) + 1; i++) assert_int_equal(both(from_above), 0);
}

/* A clean stop at a deadline is no result; a winner stays one although a loser takes its time. */
CC_TASK(until_told) {
    while (cc_cancelled() == 0) cc_yield();
    return 0;
}
CC_TASK(slow_to_stop, (int *, finished)) {
    CC_SHIELD {
        cc_sleep_ms(400);
        *finished = 1;
    }
    return 1;
}
static int stopped(void) {
    int rc = 0, finished = 0;
    CC_DEADLINE_MS(5) {
        cc_branch b[] = {CC_BRANCH(until_told), CC_BRANCH(until_told)};
        rc = cc_race(b, 2);
        if (b[0].result != 0) return 1; /* the other may have been too late to be started */
    }
    if (rc != -ETIMEDOUT) return 2;
    CC_DEADLINE_MS(200) {
        cc_branch b[] = {CC_BRANCH(slow_to_stop, &finished), CC_BRANCH(at_once)};
        rc = cc_any(b, 2);
        if (rc != 1 || b[0].result != 1 || !finished) return 3;
    }
    return 0;
}
static void who_was_told_to_stop_is_no_winner(void **state) {
    (void)state;
    assert_int_equal(both(stopped), 0);
}

/* Combinations of combinations, and many at once: one wins, and all have returned. */
CC_TASK(inner_race, (_Atomic int *, live)) {
    cc__add_relaxed(live, 1);
    cc_branch b[] = {CC_BRANCH(after, LONG, 0), CC_BRANCH(at_once)};
    int winner = cc_race(b, 2);
    cc__sub_relaxed(live, 1);
    return winner < 0 ? winner : b[winner].result;
}
static int storm(void) {
    enum { BRANCHES = 50 };
    _Atomic int live = 0;
    cc_branch b[BRANCHES];
    cc_branch one[] = {CC_BRANCH(inner_race, &live)};
    for (int i = 0; i < BRANCHES; i++) b[i] = one[0];
    int winner = cc_any(b, BRANCHES);
    if (winner < 0 || b[winner].result != 7 || cc__load_relaxed(&live) != 0) return 1;
    winner = cc_race(b, BRANCHES);
    if (winner < 0 || b[winner].result != 7 || cc__load_relaxed(&live) != 0) return 2;
    return cc_all(b, BRANCHES) == 0 && cc__load_relaxed(&live) == 0 ? 0 : 3;
}
static void they_nest(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(100) + 1; i++) assert_int_equal(both(storm), 0);
}

static void bad_arguments_run_nothing(void **state) {
    (void)state;
    int rc = 1;
    cc_branch b[] = {{plain, &rc, 5}, {NULL, NULL, 5}};
    assert_int_equal(cc_all(NULL, 0), 0);
    assert_int_equal(cc_race(b, 0), -EINVAL);
    assert_int_equal(cc_any(NULL, 0), -EINVAL);
    assert_int_equal(cc_all(NULL, 1), -EINVAL);
    assert_int_equal(cc_race(b, (size_t)INT_MAX + 1), -EINVAL);
    assert_int_equal(cc_any(b, 2), -EINVAL);
    assert_int_equal(b[0].result, 5);
}

TEST_MAIN(cmocka_unit_test(all_or_the_first_error), cmocka_unit_test(lesson_72_the_first_to_finish_wins),
          cmocka_unit_test(lesson_72_the_first_success_wins), cmocka_unit_test(deadlines_hold),
          cmocka_unit_test(cancellation_comes_from_above), cmocka_unit_test(who_was_told_to_stop_is_no_winner),
          cmocka_unit_test(they_nest), cmocka_unit_test(bad_arguments_run_nothing))
