/* SPDX-License-Identifier: MIT */
/* A small fast generator for scheduling choices (not for secrets): splitmix64, one add and a mix a
 * number, any seed good, 2^64 period.
 *
 * Prev: base/list.h  Next: base/bits.h */
#ifndef CC__BASE_RNG_H
#define CC__BASE_RNG_H

#include "assert.h"

struct cc__rng {
    uint64_t state;
};

static inline void cc__rng_seed(struct cc__rng *r, uint64_t seed) {
    r->state = seed;
}

static inline uint64_t cc__rng_next(struct cc__rng *r) {
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [0, n), n > 0: the high half of a 32x32 multiplication, so no division; the bias is
 * n / 2^32. */
static inline uint32_t cc__rng_below(struct cc__rng *r, uint32_t n) {
    CC_ASSERT(n > 0);
    return (uint32_t)(((cc__rng_next(r) >> 32) * n) >> 32);
}

/* The same for who keeps no generator: it follows from the seed alone, and seeds that go up in equal steps, as readings
 * of a clock do in a loop, still give numbers without a pattern. */
static inline uint32_t cc__rng_once_below(uint64_t seed, uint32_t n) {
    struct cc__rng r;
    cc__rng_seed(&r, seed);
    return cc__rng_below(&r, n);
}

#endif /* CC__BASE_RNG_H */
