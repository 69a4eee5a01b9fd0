/* SPDX-License-Identifier: MIT */
/* quicksort: a fork for the lower part of each split, down to a thousand numbers. */
#include "inside.h"
#include "quicksort.h"

CC_TASK(quicksort, (int *, a), (size_t, n)) {
    if (n <= QUICKSORT_CUTOFF) {
        quicksort_alone(a, n);
        return 0;
    }
    size_t below = quicksort_split(a, n);
    CC_FORKED(quicksort, lower);
    cc_fork(lower, quicksort, a, below);
    quicksort(a + below, n - below);
    return cc_join(lower, quicksort);
}

static void sort(int *a, size_t n) {
    quicksort(a, n);
}

static void *measure(void *ms) {
    *(double *)ms = quicksort_quickest_ms(sort);
    return NULL;
}

int main(void) {
    double ms = 0;
    bench_inside(measure, &ms);
    bench_report("quicksort", ms, "ms");
    return 0;
}
