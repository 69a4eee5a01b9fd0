/* SPDX-License-Identifier: MIT */
/* yield_mn: a hundred tasks of one runtime that yield; so long a yield, whichever worker did it. */
#include "inside.h"

enum { TASKS = 100, TIMES = 5, YIELDS = 10000 };

static long yielded[TASKS];

CC_TASK(yield_many, (int, id), (long, yields)) {
    long done = 0;
    for (; done < yields; done++) cc_yield();
    yielded[id] = done;
    return 0;
}

static void run(long yields) {
    memset(yielded, 0, sizeof yielded);
    CC_NURSERY(n) {
        for (int i = 0; i < TASKS; i++) bench_check(cc_spawn(n, yield_many, i, yields) == 0, "cannot spawn");
    }
    for (int i = 0; i < TASKS; i++) bench_check(yielded[i] == yields, "a task did not yield so often");
}

int main(void) {
    bench_report("yield_mn", bench_quickest_inside_ns(run, YIELDS, TIMES) / ((double)TASKS * YIELDS), "ns");
    return 0;
}
