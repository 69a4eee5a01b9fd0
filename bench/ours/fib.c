/* SPDX-License-Identifier: MIT */
/* fib: a fork for each call but the leaves, without a cutoff; so long a fork. */
#include "inside.h"

enum { N = 35, TIMES = 5 };

CC_ASYNC(long, fib, (int, n)) {
    if (n < 2) return n;
    CC_FORKED(fib, left);
    cc_fork(left, fib, n - 1);
    long right = fib(n - 2);
    return cc_join(left, fib) + right;
}

static void run(long forks) {
    (void)forks;
    bench_check(fib(N) == 9227465, "wrong");
}

int main(void) {
    long forks = 14930351; /* calls that are not leaves */
    bench_report("fib", bench_quickest_inside_ns(run, forks, TIMES) / (double)forks, "ns");
    return 0;
}
