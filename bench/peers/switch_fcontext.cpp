/* SPDX-License-Identifier: MIT */
/* switch: Boost.Context's assembly layer, which its fibers and coroutines are made of. */
#include <boost/context/detail/fcontext.hpp>

#include "common.h"

namespace ctx = boost::context::detail;

enum { WARM_UP = 1000000, ROUND_TRIPS = 5000000, STACK_BYTES = 65536 };

static void partner_main(ctx::transfer_t t) {
    for (;;) t = ctx::jump_fcontext(t.fctx, nullptr);
}

static ctx::fcontext_t visit(ctx::fcontext_t partner, long times) {
    for (long i = 0; i < times; i++) partner = ctx::jump_fcontext(partner, nullptr).fctx;
    return partner;
}

int main() {
    char *stack = static_cast<char *>(aligned_alloc(4096, STACK_BYTES));
    ctx::fcontext_t partner = ctx::make_fcontext(stack + STACK_BYTES, STACK_BYTES, partner_main);

    partner = visit(partner, WARM_UP);
    double start = bench_now_ns();
    visit(partner, ROUND_TRIPS);
    bench_report("switch", (bench_now_ns() - start) / (2.0 * ROUND_TRIPS), "ns");
    return 0;
}
