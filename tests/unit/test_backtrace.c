/* SPDX-License-Identifier: MIT */
/* Goal: the stack of a fiber that was left is followed to its end, through code with and without frame pointers, with
 * frames small and large; a record that is nonsense gives nonsense or nothing, and no fault.
 * Method: a fiber that goes down a known path and switches home; its places are looked up by name. Then records with
 * random words, and stacks overwritten at random.
 */
#include "test.h"

#include "base/rng.h"
#include "fiber/backtrace.h"
#include "plat/module.h"

enum { MAX = 32 };

static struct cc__fiber *home, *fiber;
static volatile int sum;

/* A static program has no index of its unwind tables on some processors: then frame pointers have to do. */
#if defined(__GNUC__) && !defined(__clang__) && !CCRT_TEST_MINI
#define BARE __attribute__((noinline, optimize("omit-frame-pointer")))
#else
#define BARE __attribute__((noinline))
#endif

BARE static void innermost(void) {
    cc__fiber_switch(fiber, home);
    sum++;
}
BARE static void large(void) {
    volatile char frame[20000];
    frame[0] = 1;
    innermost();
    sum += frame[0];
}
BARE static void of_varying_size(int n) {
    volatile char *frame = __builtin_alloca((size_t)n);
    frame[0] = 1;
    large();
    sum += frame[0];
}
BARE static void deep(int n) {
    if (n == 0)
        of_varying_size(300);
    else
        deep(n - 1);
    sum++;
}

static void body(void *depth) {
    deep((int)(intptr_t)depth);
    cc__fiber_exit(fiber, home);
}

static void begin(struct cc__stack_cache *cache, int depth) {
    assert_int_equal(cc__fiber_attach(&home), 0);
    assert_int_equal(cc__fiber_create(&fiber, cache, 64 * 1024, false, false), 0);
    cc__fiber_start(fiber, body, (void *)(intptr_t)depth);
    cc__fiber_switch(home, fiber);
}
static void end(struct cc__stack_cache *cache) {
    cc__fiber_switch(home, fiber);
    cc__fiber_destroy(fiber, cache);
    cc__stack_cache_shrink(cache, 0);
}

static void to_the_end(void **state) {
    (void)state;
    struct cc__stack_cache cache = {0};
    uintptr_t pc[MAX];
    const char *expected[] = {"innermost", "large", "of_varying_size", "deep", "deep", "deep", "body"};
    begin(&cache, 2);
    size_t n = cc__backtrace(fiber, pc, MAX), at = 0;
    for (size_t i = 0; i < n && at < TEST_COUNT_OF(expected); i++) {
        struct cc__spot s;
        cc__spot_of(pc[i] - 1, &s);
        if (strcmp(s.function, expected[at]) == 0)
            at++;
        else
            assert_int_equal(at, 0); /* those that switch are before them */
    }
    assert_int_equal(at, TEST_COUNT_OF(expected));
    assert_in_range(n, TEST_COUNT_OF(expected) + 1, TEST_COUNT_OF(expected) + 5);
    end(&cache);
    begin(&cache, 100);
    assert_int_equal(cc__backtrace(fiber, pc, MAX), MAX);
    end(&cache);
}

static void nonsense(void **state) {
    (void)state;
    struct cc__rng r;
    struct cc__stack_cache cache = {0};
    uintptr_t pc[MAX], word[600];
    cc__rng_seed(&r, test_seed());
    struct cc__fiber f = {0};
    assert_int_equal(cc__backtrace(&f, pc, MAX), 0);
    begin(&cache, 3);
    for (size_t round = test_scaled(2000); round > 0; round--) {
        /* A stack of words that are addresses of code, of the stack itself, or anything. */
        for (size_t i = 0; i < TEST_COUNT_OF(word); i++) {
            uint64_t kind = cc__rng_below(&r, 4), x = cc__rng_next(&r);
            word[i] = kind == 0   ? (uintptr_t)x
                      : kind == 1 ? (uintptr_t)&word[x % TEST_COUNT_OF(word)]
                      : kind == 2 ? (uintptr_t)deep + x % 64
                                  : (uintptr_t)qsort + x % 512;
        }
        f.lo = (char *)word;
        f.bytes = round % 8 == 0 ? (size_t)cc__rng_next(&r) : sizeof word;
        f.ctx.sp = &word[cc__rng_below(&r, 64)];
        assert_true(cc__backtrace(&f, pc, MAX) <= MAX);
    }
    f = *fiber;
    f.lo = (char *)16; /* nothing is there */
    f.ctx.sp = (void *)64;
    assert_int_equal(cc__backtrace(&f, pc, MAX), 0);
    end(&cache);
}

TEST_MAIN(cmocka_unit_test(to_the_end), cmocka_unit_test(nonsense))
