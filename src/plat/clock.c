/* SPDX-License-Identifier: MIT */
/* Clock. The rate of the cycle counter is measured against CLOCK_MONOTONIC instead of asked for: the
 * ways to ask differ by processor and lie under some hypervisors.
 *
 * Prev: plat/futex.c  Next: plat/thread.c */
#include "clock.h"

#include "../base/atomic.h"

#include <time.h>

enum { CALIBRATE_NS = 1000000 };

int64_t cc__now_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static uint64_t cycles_per_us_measure(void) {
    int64_t t0 = cc__now_ns(), t1;
    uint64_t c0 = cc__cycles();
    do {
        t1 = cc__now_ns();
    } while (t1 - t0 < CALIBRATE_NS);
    uint64_t rate = (cc__cycles() - c0) * 1000 / (uint64_t)(t1 - t0);
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
