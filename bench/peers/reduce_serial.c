/* SPDX-License-Identifier: MIT */
/* reduce: a plain loop. */
#include "vectors.h"

static void run(long count) {
    vectors_check_sum(vectors_sum(0, (size_t)count), count);
}

int main(void) {
    vectors_fill();
    bench_report("reduce", bench_quickest_ns(run, VECTOR_LENGTH, VECTOR_TIMES) / 1e6, "ms");
    return 0;
}
