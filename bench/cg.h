/* SPDX-License-Identifier: MIT */
/* cg: what the C and C++ programs of that row share: the vectors, which are grids with a border of zeros, and what is
 * done with some rows of them. The matrix is that of the Poisson equation: a point four times, less its neighbours. */
#ifndef BENCH_CG_H
#define BENCH_CG_H

#include <stddef.h>

#include "common.h"

enum { CG_SIDE = 316, CG_STEPS = 100, CG_TIMES = 3 };

typedef double cg_grid[CG_SIDE + 2][CG_SIDE + 2];

/* The solution, what is left of the right side, the direction, and the matrix times that. */
static cg_grid cg_x, cg_r, cg_p, cg_q;

/* Each of them for rows 1 + lo up to hi. */

static inline void cg_apply(size_t lo, size_t hi) {
    for (size_t i = lo + 1; i <= hi; i++)
        for (size_t k = 1; k <= CG_SIDE; k++)
            cg_q[i][k] = 4 * cg_p[i][k] - cg_p[i - 1][k] - cg_p[i + 1][k] - cg_p[i][k - 1] - cg_p[i][k + 1];
}

static inline double cg_dot(size_t lo, size_t hi, cg_grid a, cg_grid b) {
    double sum = 0;
    for (size_t i = lo + 1; i <= hi; i++)
        for (size_t k = 1; k <= CG_SIDE; k++) sum += a[i][k] * b[i][k];
    return sum;
}

static inline void cg_advance(size_t lo, size_t hi, double alpha) {
    for (size_t i = lo + 1; i <= hi; i++)
        for (size_t k = 1; k <= CG_SIDE; k++) {
            cg_x[i][k] += alpha * cg_p[i][k];
            cg_r[i][k] -= alpha * cg_q[i][k];
        }
}

static inline void cg_turn(size_t lo, size_t hi, double beta) {
    for (size_t i = lo + 1; i <= hi; i++)
        for (size_t k = 1; k <= CG_SIDE; k++) cg_p[i][k] = cg_r[i][k] + beta * cg_p[i][k];
}

static inline void cg_begin(void) {
    memset(cg_x, 0, sizeof cg_x);
    for (size_t i = 1; i <= CG_SIDE; i++)
        for (size_t k = 1; k <= CG_SIDE; k++) cg_p[i][k] = cg_r[i][k] = (double)(i * k % 11) - 5;
}

/* So far from the solution is what all come to, but for the order of additions. */
static inline void cg_check(double left) {
    const double expected = 568103.22041874;
    bench_check(left > expected * 0.999999 && left < expected * 1.000001, "not what is left after so many steps");
}

/* Warm up, then solve it some times: a step of the quickest. solve() returns the square of what is left. */
static inline double cg_step_ms(double (*solve)(void)) {
    double quickest = 0;
    for (int i = -1; i < CG_TIMES; i++) {
        cg_begin();
        double start = bench_now_ns();
        double left = solve();
        double taken = bench_now_ns() - start;
        cg_check(left);
        if (i <= 0 || taken < quickest) quickest = taken;
    }
    return quickest / CG_STEPS / 1e6;
}

#endif /* BENCH_CG_H */
