/* SPDX-License-Identifier: MIT */
/* switch, the limit: a called switch that saves the six registers a call preserves, and no more. It
 * ends in pop and jump, since a return to another stack's caller would be mispredicted. */
#include "common.h"

#include <stdint.h>

#ifndef __x86_64__
#error "the minimal switch is written for x86-64 only"
#endif

enum { TIMES = 10, ROUND_TRIPS = 1000000, STACK_BYTES = 65536 };

void minimal_switch(void **from, void *to);
__asm__(".text\n"
        ".p2align 4\n"
        "minimal_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n");

static void *home, *partner;

static void partner_main(void) {
    for (;;) minimal_switch(&partner, home);
}

static void visit(long times) {
    for (long i = 0; i < times; i++) minimal_switch(&home, partner);
}

int main(void) {
    uintptr_t *top = (uintptr_t *)aligned_alloc(4096, STACK_BYTES) + STACK_BYTES / sizeof(uintptr_t);
    top -= 2; /* so that the entry is aligned as after a call */
    *top = (uintptr_t)partner_main;
    partner = memset(top - 6, 0, 6 * sizeof *top);

    bench_report("switch", bench_quickest_ns(visit, ROUND_TRIPS, TIMES) / (2.0 * ROUND_TRIPS), "ns");
    return 0;
}
