/* SPDX-License-Identifier: MIT */
/* axpy: y = a x + y by cc_parallel_for, the grain left to the library. */
#include "inside.h"
#include "vectors.h"

CC_RANGE(axpy, (double, a)) {
    vectors_axpy(lo, hi, a);
}

static void run(long count) {
    bench_check(cc_parallel_for(0, (size_t)count, 0, axpy, 0.5) == 0, "cancelled");
}

int main(void) {
    vectors_fill();
    bench_report("axpy", bench_quickest_inside_ns(run, VECTOR_LENGTH, VECTOR_TIMES) / 1e6, "ms");
    vectors_check_axpy();
    return 0;
}
