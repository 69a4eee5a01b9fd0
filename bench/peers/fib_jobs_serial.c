/* SPDX-License-Identifier: MIT */
/* fib_jobs: a plain call where ours has a job. */
#include "common.h"

enum { N = 22, TIMES = 5 };

static long fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void run(long jobs) {
    volatile int n = N;
    (void)jobs;
    bench_check(fib(n) == 17711, "wrong");
}

int main(void) {
    long jobs = 57312;
    bench_report("fib_jobs", bench_quickest_ns(run, jobs, TIMES) / (double)jobs, "ns");
    return 0;
}
