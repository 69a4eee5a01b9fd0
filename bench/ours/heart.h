/* SPDX-License-Identifier: MIT */
/* A heart that beats every five milliseconds, as long as others let it: how far apart its beats were. */
#ifndef BENCH_HEART_H
#define BENCH_HEART_H

#include "inside.h"

#include <stdatomic.h>

enum { BEAT_MS = 5 };

struct heart {
    atomic_int stop;
    long beats;
    double longest_ns, took_ns;
};

static inline void *heart_beats(void *arg) {
    struct heart *h = (struct heart *)arg;
    double start = bench_now_ns(), last = start;
    while (!atomic_load(&h->stop)) {
        cc_sleep_ms(BEAT_MS);
        double now = bench_now_ns();
        if (now - last > h->longest_ns) h->longest_ns = now - last;
        last = now;
        h->beats++;
    }
    h->took_ns = bench_now_ns() - start;
    return NULL;
}

/* Every: from beat to beat, on average. Longest: at worst. */
static inline void heart_report(const struct heart *h) {
    bench_check(h->beats > 0, "it never beat");
    bench_report("every", h->took_ns / 1e6 / (double)h->beats, "ms");
    bench_report("longest", h->longest_ns / 1e6, "ms");
}

#endif /* BENCH_HEART_H */
