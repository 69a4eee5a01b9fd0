/* SPDX-License-Identifier: MIT */
/* cg: plain loops. */
#include "cg.h"

static double solve(void) {
    double rr = cg_dot(0, CG_SIDE, cg_r, cg_r);
    for (int step = 0; step < CG_STEPS; step++) {
        cg_apply(0, CG_SIDE);
        cg_advance(0, CG_SIDE, rr / cg_dot(0, CG_SIDE, cg_p, cg_q));
        double before = rr;
        rr = cg_dot(0, CG_SIDE, cg_r, cg_r);
        cg_turn(0, CG_SIDE, rr / before);
    }
    return rr;
}

int main(void) {
    bench_report("cg", cg_step_ms(solve), "ms");
    return 0;
}
