/* SPDX-License-Identifier: MIT */
/* cg: tbb::parallel_for and tbb::parallel_reduce with their own partitioner; five of them a step. */
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include "arena.h"
#include "cg.h"

using range = tbb::blocked_range<size_t>;
static const range rows(0, CG_SIDE);

static double dot(cg_grid &a, cg_grid &b) {
    auto part = [&](const range &r, double sum) { return sum + cg_dot(r.begin(), r.end(), a, b); };
    return tbb::parallel_reduce(rows, 0.0, part, std::plus<double>());
}

static double solve() {
    double rr = dot(cg_r, cg_r);
    for (int step = 0; step < CG_STEPS; step++) {
        tbb::parallel_for(rows, [](const range &r) { cg_apply(r.begin(), r.end()); });
        double alpha = rr / dot(cg_p, cg_q);
        tbb::parallel_for(rows, [=](const range &r) { cg_advance(r.begin(), r.end(), alpha); });
        double before = rr;
        rr = dot(cg_r, cg_r);
        tbb::parallel_for(rows, [=](const range &r) { cg_turn(r.begin(), r.end(), rr / before); });
    }
    return rr;
}

int main() {
    bench_report("cg", bench_in_arena([] { return cg_step_ms(solve); }), "ms");
    return 0;
}
