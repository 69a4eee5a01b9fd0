/* SPDX-License-Identifier: MIT */
/* spawn_1m_empty: a million calls of a function that leaves a mark, none of them inline. */
#include "common.h"

#include <string.h>

enum { CALLS = 1000000, TIMES = 5 };

static unsigned char marks[CALLS];

static __attribute__((noinline)) void mark(int id) {
    marks[id] = 1;
}

static void run(long calls) {
    memset(marks, 0, sizeof marks);
    for (int i = 0; i < calls; i++) mark(i);
    for (long i = 0; i < calls; i++) bench_check(marks[i] == 1, "one did not run");
}

int main(void) {
    bench_report("spawn_1m_empty", bench_quickest_ns(run, CALLS, TIMES) / CALLS, "ns");
    return 0;
}
