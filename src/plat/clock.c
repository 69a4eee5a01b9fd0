/* SPDX-License-Identifier: MIT */
/* Clock. The rate of the cycle counter is measured against CLOCK_MONOTONIC instead of asked for: the
 * ways to ask differ by processor and lie under some hypervisors.
 *
 * Prev: plat/futex.c  Next: plat/thread.c */
#include "clock.h"

#include "../base/atomic.h"

#include <time.h>

enum { CALIBRATE_NS = 1000000, CALIBRATE_READINGS = 5 };

static int64_t now_by(clockid_t clock) {
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t cc__now_ns(void) {
    return now_by(CLOCK_MONOTONIC);
}

int64_t cc__now_coarse_ns(void) {
    return now_by(CLOCK_MONOTONIC_COARSE);
}

/* Both clocks at one instant: of a few readings the one with the least between the cycles around it, so
 * that being interrupted in between does not spoil it. */
static int64_t both_clocks(uint64_t *cycles) {
    int64_t best_ns = 0;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < CALIBRATE_READINGS; i++) {
        uint64_t before = cc__cycles();
        int64_t now_ns = cc__now_ns();
        uint64_t took = cc__cycles() - before;
        if (took >= least) continue;
        least = took;
        best_ns = now_ns;
        *cycles = before + took / 2;
    }
    return best_ns;
}

static uint64_t cycles_per_us_measure(void) {
    uint64_t c0 = 0, c1 = 0;
    int64_t t0 = both_clocks(&c0), t1;
    do {
        t1 = both_clocks(&c1);
    } while (t1 - t0 < CALIBRATE_NS);
    uint64_t rate = (c1 - c0) * 1000 / (uint64_t)(t1 - t0);
    return rate == 0 ? 1 : rate;
}

uint64_t cc__cycles_per_us(void) {
    /* W, R: any thread. Two may measure at once; either figure will do, so relaxed is enough. */
    static _Atomic uint64_t cached;
    uint64_t rate = cc__load_relaxed(&cached);
    if (rate == 0) {
        rate = cycles_per_us_measure();
        cc__store_relaxed(&cached, rate);
    }
    return rate;
}
