/* SPDX-License-Identifier: MIT */
/* fib: a tbb::task_group for each call but the leaves; so long a call. */
#include <cmath>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "common.h"

enum { N = 27, TIMES = 5 };

static long fib(int n) {
    if (n < 2) return n;
    long a = 0;
    tbb::task_group group;
    group.run([&] { a = fib(n - 1); });
    long b = fib(n - 2);
    group.wait();
    return a + b;
}

static void run(long forks) {
    (void)forks;
    bench_check(fib(N) == 196418, "wrong");
}

int main() {
    int workers = (int)bench_workers();
    tbb::global_control most(tbb::global_control::max_allowed_parallelism, workers > 0 ? (size_t)workers : 1);
    tbb::task_arena arena(workers > 0 ? workers : 1);
    double taken = 0;
    arena.execute([&] { taken = bench_quickest_ns(run, 1, TIMES); });
    bench_report("fib", taken / 317810, "ns");
    return 0;
}
