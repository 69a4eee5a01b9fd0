/* SPDX-License-Identifier: MIT */
/* switch: Boost.Context's assembly layer, which its fibers and coroutines are made of. */
#include <boost/context/detail/fcontext.hpp>

#include "common.h"

namespace ctx = boost::context::detail;

enum { TIMES = 10, ROUND_TRIPS = 1000000, STACK_BYTES = 65536 };

static ctx::fcontext_t partner;

static void partner_main(ctx::transfer_t t) {
    for (;;) t = ctx::jump_fcontext(t.fctx, nullptr);
}

static void visit(long times) {
    for (long i = 0; i < times; i++) partner = ctx::jump_fcontext(partner, nullptr).fctx;
}

int main() {
    char *stack = static_cast<char *>(aligned_alloc(4096, STACK_BYTES));
    partner = ctx::make_fcontext(stack + STACK_BYTES, STACK_BYTES, partner_main);

    bench_report("switch", bench_quickest_ns(visit, ROUND_TRIPS, TIMES) / (2.0 * ROUND_TRIPS), "ns");
    return 0;
}
