/* SPDX-License-Identifier: MIT */
/* Which fiber runs on this thread: the library's only thread-local, read so that it is never cached.
 *
 * A compiler may keep the address of a thread-local in a register across a call, and does, because it
 * does not know that a switch can come back on another thread; link-time optimisation sees through
 * accessor functions too. So the address is never an expression of C: volatile assembly reads it from
 * the thread pointer each time, in two instructions. Processors without such a form use a function
 * that is neither inlined nor merged. tests/unit/test_current.c migrates a fiber and would see a stale
 * address; it is built with -O3 -flto too.
 *
 * Prev: fiber/hooks.h  Next: fiber/stack.c */
#ifndef CC__FIBER_CURRENT_H
#define CC__FIBER_CURRENT_H

struct cc__fiber;

/* Only for the assembly below. W, R: its own thread. */
extern _Thread_local struct cc__fiber *cc__current_fiber
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

#if defined(__x86_64__) && defined(__LP64__)

static inline struct cc__fiber *cc__fiber_current(void) {
    struct cc__fiber *f;
    __asm__ volatile("movq cc__current_fiber@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(f));
    return f;
}
static inline void cc__fiber_set_current(struct cc__fiber *f) {
    void *at;
    __asm__ volatile("movq cc__current_fiber@gottpoff(%%rip), %0\n\tmovq %1, %%fs:(%0)"
                     : "=&r"(at)
                     : "r"(f)
                     : "memory");
}

#elif defined(__aarch64__)

static inline struct cc__fiber *cc__fiber_current(void) {
    struct cc__fiber *f;
    void *at;
    __asm__ volatile("mrs %0, tpidr_el0\n\t"
                     "adrp %1, :gottprel:cc__current_fiber\n\t"
                     "ldr %1, [%1, :gottprel_lo12:cc__current_fiber]\n\t"
                     "ldr %0, [%0, %1]"
                     : "=&r"(f), "=&r"(at));
    return f;
}
static inline void cc__fiber_set_current(struct cc__fiber *f) {
    void *tp, *at;
    __asm__ volatile("mrs %0, tpidr_el0\n\t"
                     "adrp %1, :gottprel:cc__current_fiber\n\t"
                     "ldr %1, [%1, :gottprel_lo12:cc__current_fiber]\n\t"
                     "str %2, [%0, %1]"
                     : "=&r"(tp), "=&r"(at)
                     : "r"(f)
                     : "memory");
}

#elif defined(__riscv) && __riscv_xlen == 64

static inline struct cc__fiber *cc__fiber_current(void) {
    struct cc__fiber *f;
    __asm__ volatile("la.tls.ie %0, cc__current_fiber\n\tadd %0, %0, tp\n\tld %0, 0(%0)" : "=&r"(f));
    return f;
}
static inline void cc__fiber_set_current(struct cc__fiber *f) {
    void *at;
    __asm__ volatile("la.tls.ie %0, cc__current_fiber\n\tadd %0, %0, tp\n\tsd %1, 0(%0)"
                     : "=&r"(at)
                     : "r"(f)
                     : "memory");
}

#else

struct cc__fiber *cc__fiber_current(void);
void cc__fiber_set_current(struct cc__fiber *f);

#endif

#endif /* CC__FIBER_CURRENT_H */
