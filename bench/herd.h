/* SPDX-License-Identifier: MIT */
/* herd, for any kind of mutex and condition: the program includes this after it has defined
 *     herd_mutex, herd_cond                       the types
 *     LOCK(m) UNLOCK(m) WAIT(c, m) SIGNAL(c) BROADCAST(c)
 * A thousand wait for one condition. One is called: from just before the signal until it has the mutex again. And all
 * at once: until the last has had it, and waits again. */
#ifndef BENCH_HERD_H
#define BENCH_HERD_H

#include "wake.h"

enum { HERD = 1000, ONE_TIMES = 2000, ALL_TIMES = 20 };

static herd_mutex m; /* all zero is one that is free, of both kinds */
static herd_cond herd, shepherd;
static int waiting, calls, rounds, ended; /* these and the next are guarded by m */
static double woken_ns;

/* What each of the thousand does. */
static inline void herd_graze(void) {
    LOCK(&m);
    for (int seen = rounds; !ended;) {
        if (++waiting == HERD) SIGNAL(&shepherd);
        while (calls == 0 && rounds == seen && !ended) WAIT(&herd, &m);
        woken_ns = bench_now_ns();
        if (rounds == seen) calls = 0;
        seen = rounds;
    }
    UNLOCK(&m);
}

/* With the mutex: until all wait. */
static inline void herd_gather(void) {
    while (waiting < HERD) WAIT(&shepherd, &m);
}

static inline double herd_call_one(void) {
    waiting--;
    calls = 1;
    double start = bench_now_ns();
    SIGNAL(&herd);
    herd_gather();
    return woken_ns - start;
}

static inline double herd_call_all(void) {
    waiting = 0;
    rounds++;
    double start = bench_now_ns();
    BROADCAST(&herd);
    herd_gather();
    return bench_now_ns() - start;
}

/* What the shepherd does, once the thousand are there or on their way. */
static inline void herd_measure(void) {
    static double one[ONE_TIMES], all[ALL_TIMES];
    LOCK(&m);
    herd_gather();
    for (int i = 0; i < ONE_TIMES; i++) one[i] = herd_call_one();
    for (int i = 0; i < ALL_TIMES; i++) all[i] = herd_call_all();
    ended = 1;
    BROADCAST(&herd);
    UNLOCK(&m);
    qsort(one, ONE_TIMES, sizeof one[0], bench_wake_order);
    qsort(all, ALL_TIMES, sizeof all[0], bench_wake_order);
    bench_check(one[0] > 0, "it woke before it was woken");
    bench_report("one", one[ONE_TIMES / 2], "ns");
    bench_report("one_p99", one[ONE_TIMES * 99 / 100], "ns");
    bench_report("all", all[ALL_TIMES / 2], "ns");
}

#endif /* BENCH_HERD_H */
