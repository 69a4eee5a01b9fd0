/* SPDX-License-Identifier: MIT */
/* axpy and reduce: what the C and C++ programs of those rows share: two vectors, and what is done with a part of
 * them. */
#ifndef BENCH_VECTORS_H
#define BENCH_VECTORS_H

#include "common.h"

enum { VECTOR_LENGTH = 10000000, VECTOR_TIMES = 20 };

static double vector_x[VECTOR_LENGTH], vector_y[VECTOR_LENGTH];

static inline void vectors_fill(void) {
    for (int i = 0; i < VECTOR_LENGTH; i++) vector_x[i] = 1 + i % 3;
    memset(vector_y, 0, sizeof vector_y);
}

/* y = a x + y */
static inline void vectors_axpy(size_t lo, size_t hi, double a) {
    for (size_t i = lo; i < hi; i++) vector_y[i] += a * vector_x[i];
}

/* bench_quickest_ns() of that by halves of x has done what it was to do. */
static inline void vectors_check_axpy(void) {
    for (int i = 0; i < VECTOR_LENGTH; i++) {
        int times = VECTOR_TIMES + (i < VECTOR_LENGTH / 10);
        bench_check(vector_y[i] == 0.5 * vector_x[i] * times, "not a sum of so many halves");
    }
}

static inline double vectors_sum(size_t lo, size_t hi) {
    double sum = 0;
    for (size_t i = lo; i < hi; i++) sum += vector_x[i];
    return sum;
}

/* All are small whole numbers, so their order does not matter. */
static inline void vectors_check_sum(double sum, long count) {
    long of_three[] = {0, 1, 3};
    bench_check(sum == (double)(count / 3 * 6 + of_three[count % 3]), "not the sum");
}

#endif /* BENCH_VECTORS_H */
