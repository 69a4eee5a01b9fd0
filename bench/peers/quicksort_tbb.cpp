/* SPDX-License-Identifier: MIT */
/* quicksort: tbb::parallel_invoke for both parts of each split, down to a thousand numbers. */
#include <tbb/parallel_invoke.h>

#include "arena.h"
#include "quicksort.h"

static void sort(int *a, size_t n) {
    if (n <= QUICKSORT_CUTOFF) return quicksort_alone(a, n);
    size_t below = quicksort_split(a, n);
    tbb::parallel_invoke([=] { sort(a, below); }, [=] { sort(a + below, n - below); });
}

int main() {
    bench_report("quicksort", bench_in_arena([] { return quicksort_quickest_ms(sort); }), "ms");
    return 0;
}
