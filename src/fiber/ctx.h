/* SPDX-License-Identifier: MIT */
/* Contexts: a saved place in a program, on a stack of its own.
 *
 * A context is one stack pointer; what must be preserved lies on that stack. Switching saves the frame
 * pointer and the place to go on at, changes the stack and jumps. The compiler is told that all other
 * registers are lost: it saves those that hold something, which is fewer than all and often none.
 *
 * Neither a call nor a return. Processors predict returns by a stack of recent calls. A switch that is
 * called and jumps away leaves an entry too many, so that every return up the other fiber's frames is
 * mispredicted; one that is called and returns is mispredicted itself unless all switches are made from
 * one place. So the switch is entered by a jump, from inline assembly, and leaves by a jump: calls and
 * returns stay paired, and fibers that wait in the same code return from it as predicted
 * (docs/decisions/0002-switch-without-call.md has the figures).
 *
 * Not saved: the signal mask (a system call), the FPU's control words (see hooks.h), and anything
 * thread-local, which belongs to the thread and not to the code that runs on it.
 *
 * Prev: trace/log.c  Next: fiber/hooks.h */
#ifndef CC__FIBER_CTX_H
#define CC__FIBER_CTX_H

#include "../base/base.h"

struct cc__ctx {
    void *sp; /* while it is not running; the registers are below it, the next instruction too */
};

/* Make the context that, when first switched to, calls fn(arg) at the top of the stack [lo, hi). fn
 * must never return: it has nowhere to go to. */
void cc__ctx_make(struct cc__ctx *c, void *lo, void *hi, void (*fn)(void *), void *arg);

/* cc__ctx_switch(from, to): save the place here in `from` and go on at `to`. Returns when somebody
 * switches back, possibly on another thread: nothing thread-local may be kept in a register across it. */
#if CCRT_SWITCH_UCONTEXT

void cc__ctx_switch(struct cc__ctx *from, const struct cc__ctx *to);

#elif defined(__x86_64__)

#if defined(__AVX512F__)
#define CC__CTX_AVX512                                                                                                 \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",      \
        "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define CC__CTX_AVX512
#endif

static inline __attribute__((always_inline)) void cc__ctx_switch(struct cc__ctx *from, const struct cc__ctx *to) {
    __asm__ volatile("leaq 1f(%%rip), %%rcx\n\t"
                     "jmp cc__ctx_jump\n"
                     "1:"
                     : "+D"(from), "+S"(to)
                     :
                     : "memory", "cc", "rax", "rbx", "rcx", "rdx", "r12", "r13", "r14", "r15", "r8", "r9", "r10", "r11",
                       "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "xmm0", "xmm1", "xmm2",
                       "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                       "xmm14", "xmm15" CC__CTX_AVX512);
}

#elif defined(__aarch64__)

static inline __attribute__((always_inline)) void cc__ctx_switch(struct cc__ctx *from, const struct cc__ctx *to) {
    register struct cc__ctx *x0 __asm__("x0") = from;
    register const struct cc__ctx *x1 __asm__("x1") = to;
    __asm__ volatile("adr x30, 1f\n\t"
                     "b cc__ctx_jump\n"
                     "1:"
                     : "+r"(x0), "+r"(x1)
                     :
                     : "memory", "cc", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
                       "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
                       "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
                       "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
                       "v27", "v28", "v29", "v30", "v31");
}

#elif defined(__riscv) && __riscv_xlen == 64

static inline __attribute__((always_inline)) void cc__ctx_switch(struct cc__ctx *from, const struct cc__ctx *to) {
    register struct cc__ctx *a0 __asm__("a0") = from;
    register const struct cc__ctx *a1 __asm__("a1") = to;
    __asm__ volatile("lla ra, 1f\n\t"
                     "tail cc__ctx_jump\n"
                     "1:"
                     : "+r"(a0), "+r"(a1)
                     :
                     : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a2", "a3", "a4", "a5", "a6", "a7",
                       "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "fs0", "fs1", "fs2", "fs3",
                       "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft0", "ft1", "ft2", "ft3", "ft4",
                       "ft5", "ft6", "ft7", "ft8", "ft9", "ft10", "ft11", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5",
                       "fa6", "fa7");
}

#else
#error "no hand-written switch for this processor: build with -DCCRT_SWITCH=ucontext"
#endif

#endif /* CC__FIBER_CTX_H */
