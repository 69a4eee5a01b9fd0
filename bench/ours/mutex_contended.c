/* SPDX-License-Identifier: MIT */
/* mutex_contended: eight tasks that all want one mutex, and hold it for an addition; so long a lock, whoever's. */
#include "inside.h"

enum { TASKS = 8, LOCKS = 100000, TIMES = 31 };

static cc_mutex m = CC_MUTEX_INIT;
static long counted;

CC_TASK(lock_often, (long, locks)) {
    for (long i = 0; i < locks; i++) {
        cc_mutex_lock(&m);
        counted++;
        cc_mutex_unlock(&m);
    }
    return 0;
}

static void run(long locks) {
    counted = 0;
    CC_NURSERY(n) {
        for (int i = 0; i < TASKS; i++) bench_check(cc_spawn(n, lock_often, locks) == 0, "cannot spawn");
    }
    bench_check(counted == TASKS * locks, "two had it at once");
}

int main(void) {
    double taken = bench_quartile_inside_ns(run, LOCKS, TIMES);
    bench_report("mutex_contended", taken / ((double)TASKS * LOCKS), "ns");
    return 0;
}
