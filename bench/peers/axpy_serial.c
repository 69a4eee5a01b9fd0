/* SPDX-License-Identifier: MIT */
/* axpy: a plain loop. */
#include "vectors.h"

static void run(long count) {
    vectors_axpy(0, (size_t)count, 0.5);
}

int main(void) {
    vectors_fill();
    bench_report("axpy", bench_quickest_ns(run, VECTOR_LENGTH, VECTOR_TIMES) / 1e6, "ms");
    vectors_check_axpy();
    return 0;
}
