/* SPDX-License-Identifier: MIT */
/* mutex: one task locks and unlocks a mutex that nobody else wants. */
#include "inside.h"

enum { LOCKS = 1000000, TIMES = 7 };

static cc_mutex m = CC_MUTEX_INIT;
static long counted;

static void run(long locks) {
    counted = 0;
    for (long i = 0; i < locks; i++) {
        cc_mutex_lock(&m);
        counted++;
        cc_mutex_unlock(&m);
    }
    bench_check(counted == locks, "it was not locked so often");
}

int main(void) {
    bench_report("mutex", bench_quickest_inside_ns(run, LOCKS, TIMES) / LOCKS, "ns");
    return 0;
}
