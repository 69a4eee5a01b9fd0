/* SPDX-License-Identifier: MIT */
/* reduce: a sum by cc_parallel_reduce, the grain left to the library. */
#include "inside.h"
#include "vectors.h"

CC_REDUCE(double, total) {
    return vectors_sum(lo, hi);
}
static double plus(double a, double b) {
    return a + b;
}

static void run(long count) {
    vectors_check_sum(cc_parallel_reduce(0, (size_t)count, 0, 0.0, plus, total), count);
}

int main(void) {
    vectors_fill();
    bench_report("reduce", bench_quickest_inside_ns(run, VECTOR_LENGTH, VECTOR_TIMES) / 1e6, "ms");
    return 0;
}
