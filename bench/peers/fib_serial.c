/* SPDX-License-Identifier: MIT */
/* fib: plain calls. */
#include "common.h"

enum { N = 35, TIMES = 5 };

static long fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void run(long calls) {
    volatile int n = N;
    (void)calls;
    bench_check(fib(n) == 9227465, "wrong");
}

int main(void) {
    long calls = 14930351; /* that are not leaves */
    bench_report("fib", bench_quickest_ns(run, calls, TIMES) / (double)calls, "ns");
    return 0;
}
