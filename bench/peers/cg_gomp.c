/* SPDX-License-Identifier: MIT */
/* cg: OpenMP loops over the rows, split evenly; five of them a step. */
#include "cg.h"

static double dot(cg_grid a, cg_grid b) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (size_t i = 0; i < CG_SIDE; i++) sum += cg_dot(i, i + 1, a, b);
    return sum;
}

static double solve(void) {
    double rr = dot(cg_r, cg_r);
    for (int step = 0; step < CG_STEPS; step++) {
#pragma omp parallel for
        for (size_t i = 0; i < CG_SIDE; i++) cg_apply(i, i + 1);
        double alpha = rr / dot(cg_p, cg_q);
#pragma omp parallel for
        for (size_t i = 0; i < CG_SIDE; i++) cg_advance(i, i + 1, alpha);
        double before = rr;
        rr = dot(cg_r, cg_r);
        double beta = rr / before;
#pragma omp parallel for
        for (size_t i = 0; i < CG_SIDE; i++) cg_turn(i, i + 1, beta);
    }
    return rr;
}

int main(void) {
    bench_report("cg", cg_step_ms(solve), "ms");
    return 0;
}
