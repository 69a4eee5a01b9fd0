/* SPDX-License-Identifier: MIT */
/* switch: swapcontext() of libc, which saves the signal mask too, by a system call. */
#include <ucontext.h>

#include "common.h"

enum { TIMES = 10, ROUND_TRIPS = 50000, STACK_BYTES = 65536 };

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

    bench_report("switch", bench_quickest_ns(visit, ROUND_TRIPS, TIMES) / (2.0 * ROUND_TRIPS), "ns");
    return 0;
}
