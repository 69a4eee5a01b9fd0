/* SPDX-License-Identifier: MIT */
/* axpy: an OpenMP loop, which is split evenly. */
#include "vectors.h"

static void run(long count) {
#pragma omp parallel for
    for (long i = 0; i < count; i++) vector_y[i] += 0.5 * vector_x[i];
}

int main(void) {
    vectors_fill();
    bench_report("axpy", bench_quickest_ns(run, VECTOR_LENGTH, VECTOR_TIMES) / 1e6, "ms");
    vectors_check_axpy();
    return 0;
}
