/* SPDX-License-Identifier: MIT */
/* reduce: tbb::parallel_reduce with its own partitioner; the order of additions is not determined. */
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "arena.h"
#include "vectors.h"

using range = tbb::blocked_range<size_t>;

static void run(long count) {
    auto part = [](const range &r, double sum) { return sum + vectors_sum(r.begin(), r.end()); };
    vectors_check_sum(tbb::parallel_reduce(range(0, (size_t)count), 0.0, part, std::plus<double>()), count);
}

int main() {
    vectors_fill();
    auto measure = [] { return bench_quickest_ns(run, VECTOR_LENGTH, VECTOR_TIMES); };
    bench_report("reduce", bench_in_arena(measure) / 1e6, "ms");
    return 0;
}
