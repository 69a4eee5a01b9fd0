/* SPDX-License-Identifier: MIT */
/* quicksort: an OpenMP task for the lower part of each split, down to a thousand numbers. */
#include "quicksort.h"

static void sort_part(int *a, size_t n) {
    if (n <= QUICKSORT_CUTOFF) {
        quicksort_alone(a, n);
        return;
    }
    size_t below = quicksort_split(a, n);
#pragma omp task
    sort_part(a, below);
    sort_part(a + below, n - below);
#pragma omp taskwait
}

static void sort(int *a, size_t n) {
#pragma omp parallel
#pragma omp single
    sort_part(a, n);
}

int main(void) {
    bench_report("quicksort", quicksort_quickest_ms(sort), "ms");
    return 0;
}
