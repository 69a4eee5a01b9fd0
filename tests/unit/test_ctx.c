/* SPDX-License-Identifier: MIT */
/* Goal: a switch keeps what a call must keep, on both sides, and a new context begins as the ABI wants.
 * Method: values in many registers and in the red zone across switches; contexts that ping-pong in random
 * order with checksums on their stacks; alignment and floating point at entry. Stacks are plain memory, so
 * nothing but the switch is under test. A sanitizer is not told of these switches, so plain builds only.
 * Not with: address thread valgrind
 * Link: -lm
 */
#include "test.h"

#include "base/rng.h"
#include "fiber/ctx.h"

#include <math.h>

enum { STACK = 64 * 1024, CONTEXTS = 50 };

static struct cc__ctx home, other[CONTEXTS];
static char *stack_of(int i) {
    static char *stack[CONTEXTS];
    if (stack[i] == NULL) stack[i] = aligned_alloc(64, STACK);
    assert_non_null(stack[i]);
    return stack[i];
}

static uintptr_t seen_arg, seen_sp;
static double seen_sum;

static void begin(void *arg) {
    seen_arg = (uintptr_t)arg;
    seen_sp = (uintptr_t)__builtin_frame_address(0);
    volatile double a = 1.5, b = 2.25;
    char text[32];
    snprintf(text, sizeof text, "%.2f", a + b); /* vector instructions that fault on a bad alignment */
    seen_sum = strtod(text, NULL);
    for (;;) cc__ctx_switch(&other[0], &home);
}

static void new_context_begins_aligned(void **state) {
    (void)state;
    for (size_t odd = 0; odd < 16; odd++) { /* the top need not be aligned */
        cc__ctx_make(&other[0], stack_of(0), stack_of(0) + STACK - odd, begin, (void *)(0x1000 + odd));
        cc__ctx_switch(&home, &other[0]);
        assert_int_equal(seen_arg, 0x1000 + odd);
        assert_int_equal(seen_sp % 16, 0); /* a frame address is 16-aligned with a saved frame pointer */
        assert_true(fabs(seen_sum - 3.75) < 1e-9);
        assert_true(seen_sp > (uintptr_t)stack_of(0) && seen_sp <= (uintptr_t)stack_of(0) + STACK);
    }
}

/* Overwrites every register it may, then switches back. */
static void scramble(void *arg) {
    (void)arg;
    uint64_t x = 0x5555;
    for (;;) {
        volatile uint64_t v[40];
        for (int i = 0; i < 40; i++) v[i] = x = x * 6364136223846793005u + 1;
        double d = (double)v[39];
        v[0] = (uint64_t)sqrt(d);
        cc__ctx_switch(&other[0], &home);
    }
}

/* No call but the switch: a compiler may keep these in registers and in the red zone. */
static __attribute__((noinline)) uint64_t live_across(uint64_t seed) {
    uint64_t v[12];
    double d[6];
    for (unsigned i = 0; i < 12; i++) v[i] = seed * (i + 1) + i;
    for (unsigned i = 0; i < 6; i++) d[i] = (double)(seed % 1000) + i;
    cc__ctx_switch(&home, &other[0]);
    uint64_t sum = 0;
    for (unsigned i = 0; i < 12; i++) sum += v[i];
    for (unsigned i = 0; i < 6; i++) sum += (uint64_t)d[i];
    return sum;
}

static uint64_t live_expected(uint64_t seed) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < 12; i++) sum += seed * (i + 1) + i;
    for (unsigned i = 0; i < 6; i++) sum += seed % 1000 + i;
    return sum;
}

static void registers_and_red_zone_survive(void **state) {
    (void)state;
    struct cc__rng rng;
    cc__rng_seed(&rng, test_seed());
    cc__ctx_make(&other[0], stack_of(0), stack_of(0) + STACK, scramble, NULL);
    for (size_t i = 0; i < test_scaled(20000); i++) {
        uint64_t seed = cc__rng_next(&rng);
        assert_int_equal(live_across(seed), live_expected(seed));
    }
}

/* Each context recurses to a random depth, switching to a random other at every level. */
static struct cc__rng ring_rng;
static size_t ring_left;
static int ring_now;
static size_t ring_bad;

static void ring_switch(void) {
    int me = ring_now, to = (int)cc__rng_below(&ring_rng, CONTEXTS + 1);
    if (ring_left == 0) to = CONTEXTS;
    if (to == me) return;
    if (ring_left > 0) ring_left--;
    ring_now = to;
    cc__ctx_switch(me == CONTEXTS ? &home : &other[me], to == CONTEXTS ? &home : &other[to]);
}

static __attribute__((noinline)) uint64_t ring_dive(int me, unsigned depth) {
    volatile uint64_t mark[8];
    for (unsigned i = 0; i < 8; i++) mark[i] = (uint64_t)me * 1000 + depth * 10 + i;
    ring_switch();
    uint64_t sum = depth == 0 ? 0 : ring_dive(me, depth - 1);
    ring_switch();
    for (unsigned i = 0; i < 8; i++) {
        if (mark[i] != (uint64_t)me * 1000 + depth * 10 + i) ring_bad++;
        sum += mark[i];
    }
    return sum;
}

static void ring_main(void *arg) {
    int me = (int)(intptr_t)arg;
    for (;;) {
        unsigned depth = cc__rng_below(&ring_rng, 30);
        uint64_t sum = ring_dive(me, depth), expected = 0;
        for (unsigned d = 0; d <= depth; d++)
            for (unsigned i = 0; i < 8; i++) expected += (uint64_t)me * 1000 + d * 10 + i;
        if (sum != expected) ring_bad++;
    }
}

static void random_order_keeps_every_stack(void **state) {
    (void)state;
    cc__rng_seed(&ring_rng, test_seed());
    for (int i = 0; i < CONTEXTS; i++)
        cc__ctx_make(&other[i], stack_of(i), stack_of(i) + STACK, ring_main, (void *)(intptr_t)i);
    ring_left = test_scaled(300000);
    ring_now = CONTEXTS;
    while (ring_left > 0) ring_switch();
    assert_int_equal(ring_bad, 0);
}

TEST_MAIN(cmocka_unit_test(new_context_begins_aligned), cmocka_unit_test(registers_and_red_zone_survive),
          cmocka_unit_test(random_order_keeps_every_stack))
