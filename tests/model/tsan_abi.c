/* SPDX-License-Identifier: MIT */
/* Where the program's memory accesses arrive: the functions that code compiled with -fsanitize=thread
 * calls.
 *
 * gcc and clang put a call before each plain access whose address another thread might know, and replace
 * each atomic operation by a call that has the memory order as an argument. Linked with this file instead
 * of the sanitizer's runtime, unchanged sources run under the checker, and no access can be forgotten. What
 * the compilers leave to the C library (memcpy and the like; sources are compiled with -fno-builtin) comes
 * by the linker's --wrap, or with newer clangs by names of their own.
 *
 * Not seen: inline assembly, and code that was not compiled so. */
#include "internal.h"

#define PC __builtin_return_address(0)

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* compilers declare these by themselves */

void __tsan_init(void) {
}
void __tsan_func_entry(void *pc) {
    (void)pc;
}
void __tsan_func_exit(void) {
}

/* ---- plain accesses ---- */

#define PLAIN(name, bytes)                                                                                             \
    void __tsan_##name##read##bytes(void *p) {                                                                         \
        mc__plain((uintptr_t)p, bytes, false, PC);                                                                     \
    }                                                                                                                  \
    void __tsan_##name##write##bytes(void *p) {                                                                        \
        mc__plain((uintptr_t)p, bytes, true, PC);                                                                      \
    }                                                                                                                  \
    void __tsan_##name##read_write##bytes(void *p) {                                                                   \
        mc__plain((uintptr_t)p, bytes, false, PC);                                                                     \
        mc__plain((uintptr_t)p, bytes, true, PC);                                                                      \
    }
#define PLAIN_OF(bytes)                                                                                                \
    PLAIN(, bytes) PLAIN(unaligned_, bytes) PLAIN(volatile_, bytes) PLAIN(unaligned_volatile_, bytes)
PLAIN_OF(1)
PLAIN_OF(2)
PLAIN_OF(4)
PLAIN_OF(8)
PLAIN_OF(16)

void __tsan_read_range(void *p, unsigned long bytes) {
    mc__plain((uintptr_t)p, bytes, false, PC);
}
void __tsan_write_range(void *p, unsigned long bytes) {
    mc__plain((uintptr_t)p, bytes, true, PC);
}

#define COPY(name, real)                                                                                               \
    void *name(void *to, const void *from, size_t bytes) {                                                             \
        mc__plain((uintptr_t)from, bytes, false, PC);                                                                  \
        mc__plain((uintptr_t)to, bytes, true, PC);                                                                     \
        return real(to, from, bytes);                                                                                  \
    }
COPY(__tsan_memcpy, memcpy)
COPY(__tsan_memmove, memmove)
COPY(__wrap_memcpy, memcpy)
COPY(__wrap_memmove, memmove)

#define FILL(name)                                                                                                     \
    void *name(void *to, int byte, size_t bytes) {                                                                     \
        mc__plain((uintptr_t)to, bytes, true, PC);                                                                     \
        return memset(to, byte, bytes);                                                                                \
    }
FILL(__tsan_memset)
FILL(__wrap_memset)

int __wrap_memcmp(const void *a, const void *b, size_t bytes) {
    mc__plain((uintptr_t)a, bytes, false, PC);
    mc__plain((uintptr_t)b, bytes, false, PC);
    return memcmp(a, b, bytes);
}

/* ---- atomic operations ---- */

/* Of what compilers pass as an order only the low bits are one. */
#define ORDER(order) ((uint8_t)((order)&7))

#define OPERATION(k, p, mo, ...)                                                                                       \
    mc__visible((struct mc__op){                                                                                       \
        .kind = &(k), .addr = (uintptr_t)(p), .size = sizeof *(p), .order = ORDER(mo), .pc = PC, __VA_ARGS__})

/* Returns whether it succeeded; *expected is what was seen. */
static bool cas_done(mc__word seen, mc__word expected) {
    return mc.running ? mc__self()->swapped : seen == expected;
}

#define UPDATE(type, bits, name, which)                                                                                \
    type __tsan_atomic##bits##_##name(volatile type *p, type v, int order) {                                           \
        return (type)OPERATION(mc__update, p, order, .arg = v, .rmw = which);                                          \
    }

#define CAS(type, bits, name, is_weak)                                                                                 \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *e, type v, int order, int fail) {        \
        type want = *e, seen = (type)OPERATION(mc__cas, p, order, .arg = v, .expected = want,                          \
                                               .fail_order = ORDER(fail), .weak = is_weak);                            \
        if (cas_done(seen, want)) return 1;                                                                            \
        mc__image_wrote((uintptr_t)e, sizeof *e);                                                                      \
        *e = seen;                                                                                                     \
        return 0;                                                                                                      \
    }

#define ATOMIC(type, bits)                                                                                             \
    type __tsan_atomic##bits##_load(const volatile type *p, int order) {                                               \
        return (type)OPERATION(mc__load, p, order, .arg = 0);                                                          \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int order) {                                            \
        OPERATION(mc__store, p, order, .arg = v);                                                                      \
    }                                                                                                                  \
    UPDATE(type, bits, exchange, MC__XCHG)                                                                             \
    UPDATE(type, bits, fetch_add, MC__ADD)                                                                             \
    UPDATE(type, bits, fetch_sub, MC__SUB)                                                                             \
    UPDATE(type, bits, fetch_and, MC__AND)                                                                             \
    UPDATE(type, bits, fetch_or, MC__OR)                                                                               \
    UPDATE(type, bits, fetch_xor, MC__XOR)                                                                             \
    UPDATE(type, bits, fetch_nand, MC__NAND)                                                                           \
    CAS(type, bits, strong, false)                                                                                     \
    CAS(type, bits, weak, true)                                                                                        \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type e, type v, int order, int fail) {           \
        return (type)OPERATION(mc__cas, p, order, .arg = v, .expected = e, .fail_order = ORDER(fail));                 \
    }

ATOMIC(uint8_t, 8)
ATOMIC(uint16_t, 16)
ATOMIC(uint32_t, 32)
ATOMIC(uint64_t, 64)
ATOMIC(mc__word, 128)

/* Only seq_cst fences are noticed by others; the rest change what this thread knows and publishes. */
void __tsan_atomic_thread_fence(int order) {
    if (!mc.running) return;
    if (ORDER(order) == __ATOMIC_SEQ_CST) {
        mc__visible((struct mc__op){.kind = &mc__fence, .order = __ATOMIC_SEQ_CST, .pc = PC});
    } else {
        mc__fence_by(mc__self(), ORDER(order));
        mc__trace(PC, "fence %s", mc__trace_order(ORDER(order)));
    }
}

void __tsan_atomic_signal_fence(int order) {
    (void)order;
}

#pragma GCC visibility pop
