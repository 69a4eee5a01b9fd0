/* SPDX-License-Identifier: MIT */
/* cg: conjugate gradients by parallel loops and reductions, the grain left to the library; five of them a step. */
#include "cg.h"
#include "inside.h"

CC_RANGE(apply) {
    cg_apply(lo, hi);
}
CC_RANGE(advance, (double, alpha)) {
    cg_advance(lo, hi, alpha);
}
CC_RANGE(turn, (double, beta)) {
    cg_turn(lo, hi, beta);
}
CC_REDUCE(double, dot_pq) {
    return cg_dot(lo, hi, cg_p, cg_q);
}
CC_REDUCE(double, dot_rr) {
    return cg_dot(lo, hi, cg_r, cg_r);
}
static double plus(double a, double b) {
    return a + b;
}

static double solve(void) {
    double rr = cc_parallel_reduce(0, CG_SIDE, 0, 0.0, plus, dot_rr);
    for (int step = 0; step < CG_STEPS; step++) {
        cc_parallel_for(0, CG_SIDE, 0, apply);
        cc_parallel_for(0, CG_SIDE, 0, advance, rr / cc_parallel_reduce(0, CG_SIDE, 0, 0.0, plus, dot_pq));
        double before = rr;
        rr = cc_parallel_reduce(0, CG_SIDE, 0, 0.0, plus, dot_rr);
        cc_parallel_for(0, CG_SIDE, 0, turn, rr / before);
    }
    return rr;
}

static void *measure(void *ms) {
    *(double *)ms = cg_step_ms(solve);
    return NULL;
}

int main(void) {
    double ms = 0;
    bench_inside(measure, &ms);
    bench_report("cg", ms, "ms");
    return 0;
}
