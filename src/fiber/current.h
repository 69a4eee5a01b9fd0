/* SPDX-License-Identifier: MIT */
/* Which fiber and which worker this is: the library's only thread-locals, read so that they are never cached.
 *
 * A compiler may keep the address of a thread-local in a register across a call, and does, because it
 * does not know that a switch can come back on another thread; link-time optimisation sees through
 * accessor functions too. So the address is never an expression of C: volatile assembly reads it from
 * the thread pointer each time, in two instructions. Processors without such a form use functions that are
 * neither inlined nor merged. tests/unit/test_current.c migrates a fiber and would see a stale address; it is
 * built with -O3 -flto too.
 *
 * Prev: fiber/hooks.h  Next: fiber/stack.c */
#ifndef CC__FIBER_CURRENT_H
#define CC__FIBER_CURRENT_H

#include <ccrt/here.h>

struct cc__fiber;
struct cc__worker;

#define CC__THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec"), visibility("hidden")))

/* Only for the assembly below. W, R: their own thread. */
extern CC__THREAD_LOCAL struct cc__fiber *cc__current_fiber;
extern CC__THREAD_LOCAL struct cc__worker *cc__current_worker; /* NULL: a plain thread */

/* CC__LOCAL_SET(name, value): one pointer-sized thread-local, as CC_PRIV_HERE() reads it. */
#if defined(__x86_64__) && defined(__LP64__)

#define CC__LOCAL_SET(name, value)                                                                                     \
    do {                                                                                                               \
        void *at_;                                                                                                     \
        __asm__ volatile("movq " #name "@gottpoff(%%rip), %0\n\tmovq %1, %%fs:(%0)"                                    \
                         : "=&r"(at_)                                                                                  \
                         : "r"(value)                                                                                  \
                         : "memory");                                                                                  \
    } while (0)

#elif defined(__aarch64__)

#define CC__LOCAL_AT(name)                                                                                             \
    "mrs %0, tpidr_el0\n\tadrp %1, :gottprel:" #name "\n\tldr %1, [%1, :gottprel_lo12:" #name "]\n\t"
#define CC__LOCAL_SET(name, value)                                                                                     \
    do {                                                                                                               \
        void *tp_, *at_;                                                                                               \
        __asm__ volatile(CC__LOCAL_AT(name) "str %2, [%0, %1]" : "=&r"(tp_), "=&r"(at_) : "r"(value) : "memory");      \
    } while (0)

#elif defined(__riscv) && __riscv_xlen == 64

#define CC__LOCAL_SET(name, value)                                                                                     \
    do {                                                                                                               \
        void *at_;                                                                                                     \
        __asm__ volatile("la.tls.ie %0, " #name "\n\tadd %0, %0, tp\n\tsd %1, 0(%0)"                                   \
                         : "=&r"(at_)                                                                                  \
                         : "r"(value)                                                                                  \
                         : "memory");                                                                                  \
    } while (0)

#endif

#ifdef CC__LOCAL_SET

static inline struct cc__fiber *cc__fiber_current(void) {
    struct cc__fiber *f;
    CC_PRIV_HERE(f, cc__current_fiber);
    return f;
}
static inline void cc__fiber_set_current(struct cc__fiber *f) {
    CC__LOCAL_SET(cc__current_fiber, f);
}
static inline struct cc__worker *cc__worker_current(void) {
    struct cc__worker *w;
    CC_PRIV_HERE(w, cc__current_worker);
    return w;
}
static inline void cc__worker_set_current(struct cc__worker *w) {
    CC__LOCAL_SET(cc__current_worker, w);
}

#else

struct cc__fiber *cc__fiber_current(void);
void cc__fiber_set_current(struct cc__fiber *f);
struct cc__worker *cc__worker_current(void);
void cc__worker_set_current(struct cc__worker *w);

#endif

#endif /* CC__FIBER_CURRENT_H */
