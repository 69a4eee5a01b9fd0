/* SPDX-License-Identifier: MIT */
/* cpu_growth: as many blocks as a compressor of some hundred megabytes has, ten milliseconds of computing each, done by
 * tasks; all of them wait at once, so workers are added. Against the same without a monitor. */
#include <ccrt.h>

#include "common.h"

enum { BLOCKS = 200, BYTES = 1 << 16, TURNS = 100 };

static unsigned char data[BLOCKS][BYTES];
static unsigned long sums[BLOCKS];

static void *block(void *arg) {
    size_t i = (size_t)(unsigned long *)arg - (size_t)sums;
    i /= sizeof sums[0];
    unsigned long h = i;
    for (int turn = 0; turn < TURNS; turn++)
        for (int k = 0; k < BYTES; k++) h = (h ^ data[i][k]) * 1099511628211UL;
    sums[i] = h;
    return NULL;
}

static void *all(void *took_ns) {
    cc_task t[BLOCKS];
    double start = bench_now_ns();
    for (int i = 0; i < BLOCKS; i++) t[i] = cc_fiber_spawn_task(block, &sums[i]);
    for (int i = 0; i < BLOCKS; i++) bench_check(cc_task_join(t[i], NULL) == 0, "cannot join");
    *(double *)took_ns = bench_now_ns() - start;
    return NULL;
}

int main(void) {
    double took_ns = 0;
    cc_runtime_attr attr = {.workers = bench_workers(), .no_monitor = getenv("BENCH_NO_MONITOR") != NULL};
    for (int i = 0; i < BLOCKS; i++) memset(data[i], i, BYTES);
    bench_check(cc_run(&attr, all, &took_ns, NULL) == 0, "cannot run");
    bench_report("total", took_ns / 1e6, "ms");
    return 0;
}
