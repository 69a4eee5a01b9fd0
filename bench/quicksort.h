/* SPDX-License-Identifier: MIT */
/* quicksort: what the C and C++ programs of that row share: the numbers, how a part of them is split by a pivot, how a
 * small one is sorted, and the measuring. */
#ifndef BENCH_QUICKSORT_H
#define BENCH_QUICKSORT_H

#include <stdint.h>

#include "common.h"

enum { QUICKSORT_COUNT = 10000000, QUICKSORT_CUTOFF = 1000, QUICKSORT_TIMES = 3, QUICKSORT_INSERTION = 16 };

static inline void quicksort_swap(int *a, int *b) {
    int x = *a;
    *a = *b;
    *b = x;
}

static inline int quicksort_pivot(const int *a, size_t n) {
    int x = a[0], y = a[n / 2], z = a[n - 1];
    if (x > y) quicksort_swap(&x, &y);
    if (y > z) y = z;
    return x > y ? x : y;
}

/* Split it: none of the first so many is above one of the others. At least one, and not all, of 3 or more. */
static inline size_t quicksort_split(int *a, size_t n) {
    int pivot = quicksort_pivot(a, n);
    size_t lo = 0, hi = n - 1;
    for (;;) {
        while (a[lo] < pivot) lo++;
        while (a[hi] > pivot) hi--;
        if (lo >= hi) return hi + 1;
        quicksort_swap(&a[lo++], &a[hi--]);
    }
}

/* Sort it, by this thread alone. */
static inline void quicksort_alone(int *a, size_t n) {
    while (n > QUICKSORT_INSERTION) {
        size_t below = quicksort_split(a, n);
        quicksort_alone(a, below);
        a += below;
        n -= below;
    }
    for (size_t i = 1; i < n; i++) {
        int x = a[i];
        size_t at = i;
        for (; at > 0 && a[at - 1] > x; at--) a[at] = a[at - 1];
        a[at] = x;
    }
}

/* Numbers in no order; returns their sum. */
static inline int64_t quicksort_fill(int *a, size_t n) {
    uint64_t x = 88172645463325252U;
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        a[i] = (int)(x >> 33);
        sum += a[i];
    }
    return sum;
}

static inline void quicksort_check(const int *a, size_t n, int64_t sum) {
    for (size_t i = 0; i < n; i++) {
        bench_check(i == 0 || a[i - 1] <= a[i], "not sorted");
        sum -= a[i];
    }
    bench_check(sum == 0, "numbers got lost");
}

/* How long the quickest of some sorts took. */
static inline double quicksort_quickest_ms(void (*sort)(int *a, size_t n)) {
    static int numbers[QUICKSORT_COUNT];
    double quickest = 0;
    for (int i = 0; i < QUICKSORT_TIMES; i++) {
        int64_t sum = quicksort_fill(numbers, QUICKSORT_COUNT);
        double start = bench_now_ns();
        sort(numbers, QUICKSORT_COUNT);
        double taken = bench_now_ns() - start;
        quicksort_check(numbers, QUICKSORT_COUNT, sum);
        if (i == 0 || taken < quickest) quickest = taken;
    }
    return quickest / 1e6;
}

#endif /* BENCH_QUICKSORT_H */
