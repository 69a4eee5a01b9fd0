/* SPDX-License-Identifier: MIT */
/* quicksort: the same splits by plain calls. */
#include "quicksort.h"

int main(void) {
    bench_report("quicksort", quicksort_quickest_ms(quicksort_alone), "ms");
    return 0;
}
