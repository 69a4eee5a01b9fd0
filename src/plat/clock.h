/* SPDX-License-Identifier: MIT */
/* Time: the monotonic clock, and a cycle counter that is cheaper to read. */
#ifndef CC__PLAT_CLOCK_H
#define CC__PLAT_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds; some 28 ns a call. */
int64_t cc__now_ns(void);

/* The same clock, some milliseconds late at most; in a few ns. */
int64_t cc__now_coarse_ns(void);

/* A counter that ticks at a constant rate, read in a few ns and without a system call; not ordered
 * with the memory accesses around it. For intervals only: where there is none, it is cc__now_ns(). */
static inline uint64_t cc__cycles(void) {
#if defined(__x86_64__)
    uint32_t lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return ((uint64_t)hi << 32) | lo;
#elif defined(__aarch64__)
    uint64_t n;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(n));
    return n;
#elif defined(__riscv) && __riscv_xlen == 64
    uint64_t n;
    __asm__ volatile("rdtime %0" : "=r"(n));
    return n;
#else
    return (uint64_t)cc__now_ns();
#endif
}

/* How many cycles make a microsecond, at least 1. Measured once, in about a millisecond. */
uint64_t cc__cycles_per_us(void);

#endif /* CC__PLAT_CLOCK_H */
