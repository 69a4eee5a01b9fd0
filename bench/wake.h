/* SPDX-License-Identifier: MIT */
/* What the programs of wake_latency share: where the two sides run, when to wake, and the percentiles. */
#ifndef BENCH_WAKE_H
#define BENCH_WAKE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>

#include "common.h"

enum { BENCH_WAKES = 500 };

/* Have the calling thread run on the first cpu it may use at the program's start, or, with those it starts from now
 * on, on all others. Else the kernel now and then puts both sides on one cpu, where a wake is another thing: 6 us and
 * not 24. Does nothing where there is one cpu. */
static inline void bench_run_on_first(int first) {
    static cpu_set_t all;
    cpu_set_t chosen;
    if (CPU_COUNT(&all) == 0)
        bench_check(sched_getaffinity(0, sizeof all, &all) == 0, "which cpus there are is unknown");
    if (CPU_COUNT(&all) == 1) return;
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &all)) cpu++;
    CPU_ZERO(&chosen);
    CPU_SET(cpu, &chosen);
    if (!first) CPU_XOR(&chosen, &all, &chosen);
    bench_check(sched_setaffinity(0, sizeof chosen, &chosen) == 0, "cannot choose the cpu");
}

static inline void bench_sleep_ns(long ns) {
    struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

static inline void bench_pause(void) {
    bench_sleep_ns(100000);
}

static inline int bench_wake_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Call wake(0), wake(1), ... with 2 ms in between, in which the other side falls asleep; it returns how long the
 * wake took. */
static inline void bench_report_wakes(double (*wake)(int)) {
    static double taken[BENCH_WAKES];
    for (int i = 0; i < BENCH_WAKES; i++) {
        bench_sleep_ns(2000000);
        taken[i] = wake(i);
        bench_check(taken[i] > 0, "it woke before it was woken");
    }
    qsort(taken, BENCH_WAKES, sizeof taken[0], bench_wake_order);
    bench_report("p50", taken[BENCH_WAKES / 2], "ns");
    bench_report("p99", taken[BENCH_WAKES * 99 / 100], "ns");
}

#endif /* BENCH_WAKE_H */
