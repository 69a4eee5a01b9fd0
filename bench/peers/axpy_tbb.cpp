/* SPDX-License-Identifier: MIT */
/* axpy: tbb::parallel_for with its own partitioner. */
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "arena.h"
#include "vectors.h"

using range = tbb::blocked_range<size_t>;

static void run(long count) {
    tbb::parallel_for(range(0, (size_t)count), [](const range &r) { vectors_axpy(r.begin(), r.end(), 0.5); });
}

int main() {
    vectors_fill();
    auto measure = [] { return bench_quickest_ns(run, VECTOR_LENGTH, VECTOR_TIMES); };
    bench_report("axpy", bench_in_arena(measure) / 1e6, "ms");
    vectors_check_axpy();
    return 0;
}
