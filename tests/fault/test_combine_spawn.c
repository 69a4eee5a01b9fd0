/* SPDX-License-Identifier: MIT */
/* Goal: a branch that cannot be started is an error of the whole, or for the first success one more that failed; those
 * that were started have returned all the same.
 * Method: the linker gives us the calls that spawn; the one at each place in turn fails.
 * Link: -Wl,--wrap=cc_nursery_spawn
 */
#include "test.h"

#include "base/atomic.h"

#include <ccrt.h>

static int spawns_until_failure; /* 0: the next fails; below: none does */
static _Atomic int started, returned;

int __real_cc_nursery_spawn(cc_nursery *n, int (*fn)(void *), const void *args, size_t size, const char *name);
int __wrap_cc_nursery_spawn(cc_nursery *n, int (*fn)(void *), const void *args, size_t size, const char *name);
int __wrap_cc_nursery_spawn(cc_nursery *n, int (*fn)(void *), const void *args, size_t size, const char *name) {
    if (spawns_until_failure-- == 0) return -ENOMEM;
    int rc = __real_cc_nursery_spawn(n, fn, args, size, name);
    if (rc == 0) cc__add_relaxed(&started, 1);
    return rc;
}

static int sleeps(void *ms) {
    int rc = cc_sleep_ms(*(int *)ms);
    cc__add_relaxed(&returned, 1);
    return rc;
}

enum { BRANCHES = 4 };
static int too_long = 60000, short_time = 1;

static void set_up(cc_branch *b, int fails_at, int *ms) {
    for (int i = 0; i < BRANCHES; i++) b[i] = (cc_branch){sleeps, ms, 99};
    spawns_until_failure = fails_at;
    cc__store_relaxed(&started, 0);
    cc__store_relaxed(&returned, 0);
}

static void check(const cc_branch *b, int fails_at, int others) {
    assert_int_equal(cc__load_relaxed(&started), cc__load_relaxed(&returned));
    for (int i = 0; i < BRANCHES; i++) assert_int_equal(b[i].result, i == fails_at ? -ENOMEM : others);
}

static void all_and_race_fail(void **state) {
    (void)state;
    cc_branch b[BRANCHES];
    for (int at = 0; at < BRANCHES; at++) {
        set_up(b, at, &too_long);
        assert_int_equal(cc_all(b, BRANCHES), -ENOMEM);
        assert_int_equal(cc__load_relaxed(&started), at);
        check(b, at, -ECANCELED);
        set_up(b, at, &too_long);
        assert_int_equal(cc_race(b, BRANCHES), -ENOMEM);
        assert_int_equal(cc__load_relaxed(&started), at);
        check(b, at, -ECANCELED);
    }
}

static void any_goes_on_with_the_others(void **state) {
    (void)state;
    cc_branch b[BRANCHES];
    for (int at = 0; at < BRANCHES; at++) {
        set_up(b, at, &short_time);
        int winner = cc_any(b, BRANCHES);
        assert_true(winner >= 0 && winner < BRANCHES && winner != at);
        assert_int_equal(b[winner].result, 0);
        assert_int_equal(cc__load_relaxed(&started), cc__load_relaxed(&returned));
        CC_DEADLINE_MS(5) {
            set_up(b, at, &too_long);
            assert_int_equal(cc_any(b, BRANCHES), -ETIMEDOUT);
        }
        assert_int_equal(cc__load_relaxed(&started), cc__load_relaxed(&returned));
    }
    set_up(b, 0, &too_long);
    assert_int_equal(cc_any(b, 1), -ENOMEM); /* there was no other */
}

TEST_MAIN(cmocka_unit_test(all_and_race_fail), cmocka_unit_test(any_goes_on_with_the_others))
