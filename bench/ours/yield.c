/* SPDX-License-Identifier: MIT */
/* yield: two fibers of one cc_sched, a million reschedules each. */
#include <ccrt.h>

#include "common.h"

enum { FIBERS = 2, TIMES = 3, YIELDS = 1000000 };

static void *yield_many(void *arg) {
    for (long n = *(long *)arg; n > 0; n--) cc_resched();
    return NULL;
}

static void run(long yields) {
    cc_sched *s;
    bench_check(cc_sched_create(&s, NULL) == 0, "cannot create a scheduler");
    for (int i = 0; i < FIBERS; i++) bench_check(cc_sched_push(s, yield_many, &yields) == 0, "cannot push");
    bench_check(cc_sched_run(s) == 0, "cannot run");
    cc_sched_destroy(s);
}

int main(void) {
    double taken = bench_quickest_ns(run, YIELDS, TIMES);
    bench_report("yield", taken / ((double)FIBERS * YIELDS), "ns");
    bench_report("total", taken / 1e6, "ms");
    return 0;
}
