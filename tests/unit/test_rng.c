/* SPDX-License-Identifier: MIT */
/* Goal: the generator is splitmix64, repeats for a seed, and spreads its choices evenly.
 * Method: known answers; two generators side by side; bounds of cc__rng_below() for many ranges; a
 * chi-squared test, whose limit a good generator passes but once in some 10^9 runs.
 */
#include "test.h"

#include "base/rng.h"

enum { DRAWS = 200000, BUCKETS = 61 };

/* From the algorithm's published reference. */
static void known_answers(void **state) {
    (void)state;
    const uint64_t zero[] = {UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f4), UINT64_C(0x06c45d188009454f)};
    const uint64_t other[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                              UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                              UINT64_C(16408922859458223821)};
    struct cc__rng r;
    cc__rng_seed(&r, 0);
    for (size_t i = 0; i < TEST_COUNT_OF(zero); i++) assert_true(cc__rng_next(&r) == zero[i]);
    cc__rng_seed(&r, 1234567);
    for (size_t i = 0; i < TEST_COUNT_OF(other); i++) assert_true(cc__rng_next(&r) == other[i]);
}

static void seed_repeats(void **state) {
    (void)state;
    struct cc__rng a, b, c;
    size_t same = 0;
    cc__rng_seed(&a, test_seed());
    cc__rng_seed(&b, test_seed());
    cc__rng_seed(&c, test_seed() + 1);
    for (size_t i = 0; i < 1000; i++) {
        uint64_t n = cc__rng_next(&a);
        assert_true(n == cc__rng_next(&b));
        same += n == cc__rng_next(&c);
    }
    assert_int_equal(same, 0);
    cc__rng_seed(&a, test_seed());
    cc__rng_seed(&b, test_seed());
    for (uint32_t i = 1; i < 1000; i++) assert_int_equal(cc__rng_below(&a, i), cc__rng_below(&b, i));
}

/* The upper half of a product: the same choices for a seed, from one version to the next. */
static void below_is_the_high_half(void **state) {
    (void)state;
    struct cc__rng a, b;
    cc__rng_seed(&a, test_seed());
    cc__rng_seed(&b, test_seed());
    for (uint32_t n = 1; n < 1000; n++) {
        uint64_t high = cc__rng_next(&a) >> 32;
        assert_int_equal(cc__rng_below(&b, n), high * n >> 32);
    }
}

static void below_stays_below(void **state) {
    (void)state;
    const uint32_t ranges[] = {1, 2, 3, 7, 64, 1000, 65536, UINT32_C(0x80000000), UINT32_MAX};
    struct cc__rng r;
    cc__rng_seed(&r, test_seed());
    for (size_t i = 0; i < TEST_COUNT_OF(ranges); i++) {
        uint32_t n = ranges[i], most = 0;
        for (size_t j = 0; j < test_scaled(20000); j++) {
            uint32_t x = cc__rng_below(&r, n);
            assert_true(x < n);
            if (x > most) most = x;
        }
        assert_true(most >= n / 2); /* and uses the upper half */
    }
}

/* Every small value comes up, the ends too. */
static void below_reaches_all(void **state) {
    (void)state;
    struct cc__rng r;
    cc__rng_seed(&r, test_seed());
    for (uint32_t n = 1; n <= 16; n++) {
        uint32_t seen = 0;
        for (int i = 0; i < 1000; i++) seen |= UINT32_C(1) << cc__rng_below(&r, n);
        assert_int_equal(seen, (UINT32_C(1) << n) - 1);
    }
}

static void below_is_even(void **state) {
    (void)state;
    size_t count[BUCKETS] = {0}, draws = test_scaled(DRAWS);
    struct cc__rng r;
    cc__rng_seed(&r, test_seed());
    for (size_t i = 0; i < draws; i++) count[cc__rng_below(&r, BUCKETS)]++;
    double expected = (double)draws / BUCKETS, chi2 = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        chi2 += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
    /* 60 degrees of freedom: mean 60, deviation 11. Far too even would be as wrong. */
    assert_true(chi2 < 150);
    assert_true(chi2 > 12);
}

/* A clock that is read once a turn of a loop: the steps are all alike. For two cases select had once taken one bit of a
 * product, which stayed the same for hundreds of turns at some steps. */
static void once_below_has_no_rhythm(void **state) {
    (void)state;
    enum { TURNS = 1000 };
    for (uint64_t step = 1; step <= 4096; step++) {
        unsigned first = 0, run = 0, longest = 0;
        for (uint64_t i = 0, seed = test_seed(); i < TURNS; i++, seed += step) {
            bool is_first = cc__rng_once_below(seed, 2) == 0;
            first += is_first;
            run = is_first ? run + 1 : 0;
            if (run > longest) longest = run;
        }
        assert_in_range(first, 350, 650); /* 500, and a deviation of 16 */
        assert_true(longest < 60);        /* 60 in a row: once in some 10^11 runs */
    }
    for (uint64_t seed = 0; seed < TURNS; seed++) assert_true(cc__rng_once_below(seed, 3) < 3);
}

static void below_nothing(void *arg) {
    cc__rng_below(arg, 0);
}

static void empty_range_is_seen(void **state) {
    (void)state;
#if CCRT_ASSERT >= 1
    struct cc__rng r;
    cc__rng_seed(&r, 1);
    test_aborts(below_nothing, &r, "assertion: n > 0 (rng.h:");
#else
    (void)below_nothing;
    skip();
#endif
}

TEST_MAIN(cmocka_unit_test(known_answers), cmocka_unit_test(seed_repeats), cmocka_unit_test(below_is_the_high_half),
          cmocka_unit_test(below_stays_below), cmocka_unit_test(below_reaches_all), cmocka_unit_test(below_is_even),
          cmocka_unit_test(once_below_has_no_rhythm), cmocka_unit_test(empty_range_is_seen))
