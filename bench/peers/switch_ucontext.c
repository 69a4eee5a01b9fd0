/* SPDX-License-Identifier: MIT */
/* switch: swapcontext() of libc, which saves the signal mask too, by a system call. */
#include <ucontext.h>

#include "common.h"

enum { WARM_UP = 20000, ROUND_TRIPS = 200000, STACK_BYTES = 65536 };

static ucontext_t home, partner;

static void partner_main(void) {
    for (;;) swapcontext(&partner, &home);
}

static void visit(long times) {
    for (long i = 0; i < times; i++) swapcontext(&home, &partner);
}

int main(void) {
    getcontext(&partner);
    partner.uc_stack.ss_sp = malloc(STACK_BYTES);
    partner.uc_stack.ss_size = STACK_BYTES;
    makecontext(&partner, partner_main, 0);

    visit(WARM_UP);
    double start = bench_now_ns();
    visit(ROUND_TRIPS);
    bench_report("switch", (bench_now_ns() - start) / (2.0 * ROUND_TRIPS), "ns");
    return 0;
}
