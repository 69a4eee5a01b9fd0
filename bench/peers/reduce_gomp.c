/* SPDX-License-Identifier: MIT */
/* reduce: an OpenMP loop with a reduction, which is split evenly. */
#include "vectors.h"

static void run(long count) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < count; i++) sum += vector_x[i];
    vectors_check_sum(sum, count);
}

int main(void) {
    vectors_fill();
    bench_report("reduce", bench_quickest_ns(run, VECTOR_LENGTH, VECTOR_TIMES) / 1e6, "ms");
    return 0;
}
