/* SPDX-License-Identifier: MIT */
/* Atomics: every atomic operation of the library, with its memory order in its name.
 *
 * Nothing here defaults to seq_cst, and no file but this one may use <stdatomic.h> or the compilers'
 * builtins (the tidy test looks), so a model checker or a sanitizer has one place to stand in. A field
 * is declared `_Atomic T` and says who writes it, who reads it and its tag; an operation whose order
 * matters carries the same tag as its partner on the other side (see CONTRIBUTING, "Memory orders").
 *
 * The one seq_cst operation is cc__fence_full(), for the store-then-load (Dekker) pairs that acquire
 * and release cannot order. On x86 it is a locked add to the stack, 2 ns where mfence takes 17.
 *
 * Next: base/assert.h */
#ifndef CC__BASE_ATOMIC_H
#define CC__BASE_ATOMIC_H

#include "base.h"

#include <stdatomic.h>

#define cc__load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define cc__load_acquire(p) atomic_load_explicit((p), memory_order_acquire)

#define cc__store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define cc__store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)

#define cc__add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define cc__add_acq_rel(p, v) atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define cc__sub_relaxed(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_relaxed)
#define cc__sub_release(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_release)
#define cc__sub_acq_rel(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel)

#define cc__or_relaxed(p, v) atomic_fetch_or_explicit((p), (v), memory_order_relaxed)
#define cc__or_acq_rel(p, v) atomic_fetch_or_explicit((p), (v), memory_order_acq_rel)
#define cc__and_relaxed(p, v) atomic_fetch_and_explicit((p), (v), memory_order_relaxed)
#define cc__and_acq_rel(p, v) atomic_fetch_and_explicit((p), (v), memory_order_acq_rel)

#define cc__xchg_acquire(p, v) atomic_exchange_explicit((p), (v), memory_order_acquire)
#define cc__xchg_release(p, v) atomic_exchange_explicit((p), (v), memory_order_release)
#define cc__xchg_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)

/* Compare and swap: true if *p was *expected and is now v; else *expected is what was seen (read with
 * the acquire half of the order, where it has one). The weak forms may fail for no reason: loops. */
#define cc__cas_relaxed(p, expected, v)                                                                                \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_relaxed, memory_order_relaxed)
#define cc__cas_acquire(p, expected, v)                                                                                \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acquire, memory_order_acquire)
#define cc__cas_release(p, expected, v)                                                                                \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_release, memory_order_relaxed)
#define cc__cas_acq_rel(p, expected, v)                                                                                \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acq_rel, memory_order_acquire)
#define cc__cas_weak_relaxed(p, expected, v)                                                                           \
    atomic_compare_exchange_weak_explicit((p), (expected), (v), memory_order_relaxed, memory_order_relaxed)
#define cc__cas_weak_release(p, expected, v)                                                                           \
    atomic_compare_exchange_weak_explicit((p), (expected), (v), memory_order_release, memory_order_relaxed)
#define cc__cas_weak_acq_rel(p, expected, v)                                                                           \
    atomic_compare_exchange_weak_explicit((p), (expected), (v), memory_order_acq_rel, memory_order_acquire)

#define cc__fence_acquire() atomic_thread_fence(memory_order_acquire)
#define cc__fence_release() atomic_thread_fence(memory_order_release)

/* What one thread wrote before its fence, the other sees after its own, whichever came first. */
static inline void cc__fence_full(void) {
#if defined(__x86_64__) && !CC__TSAN
    __asm__ volatile("lock; addl $0, -4(%%rsp)" ::: "memory", "cc");
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Keep the compiler, and only it, from moving memory accesses: for a signal handler of this thread. */
#define cc__fence_signal() atomic_signal_fence(memory_order_acq_rel)

/* One turn of a spin loop: lets the other hardware thread run and saves power. */
static inline void cc__cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("pause");
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* `yield` is a no-op on most cores */
#else
    __asm__ volatile("");
#endif
}

/* The same for longer, 10 to 40 ns each: a look at a word that another cpu is busy with takes it away from there, and
 * who looks seldom gets it sooner. */
static inline void cc__cpu_relax_for(unsigned turns) {
    for (unsigned i = 0; i < turns; i++) cc__cpu_relax();
}

/* What an ordinary word may hold just now, for a guess that nothing depends on. Where races are looked for: zero. */
#if CC__TSAN
#define cc__glance(p) ((__typeof__(*(p)))0)
#else
#define cc__glance(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#endif

/* Begin to fetch a cache line that will be read soon; any address will do. */
static inline void cc__prefetch(uintptr_t line) {
    __builtin_prefetch((const void *)line);
}

/* The same of one that will be written. */
static inline void cc__prefetch_to_write(uintptr_t line) {
#if defined(__x86_64__)
    /* Written out, since compilers make it a fetch to read unless they are told that there is this instruction. Where
     * there is not, it does nothing. */
    __asm__ volatile("prefetchw (%0)" ::"r"(line));
#else
    __builtin_prefetch((const void *)line, 1);
#endif
}

#endif /* CC__BASE_ATOMIC_H */
