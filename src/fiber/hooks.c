/* SPDX-License-Identifier: MIT */
/* Telling sanitizers, the C++ runtime and the FPU of switches. See hooks.h.
 *
 * The functions that tell ASan have no fake frames of their own, which would belong to the wrong stack.
 *
 * Prev: fiber/hooks.h  Next: fiber/current.c */
#include "hooks.h"

#include "../base/atomic.h"
#include "../trace/trace.h"
#include "fiber.h"

#include <stdio.h>

#if CCRT_HAVE_VALGRIND
#include <valgrind/valgrind.h>
#endif

#define WEAK __attribute__((weak))
#define NO_FAKE_FRAME __attribute__((no_sanitize("address")))

/* Of the sanitizers' public interface; declared here because the library is built without them. */
extern WEAK void __sanitizer_start_switch_fiber(void **fake, const void *lo, size_t bytes);
extern WEAK void __sanitizer_finish_switch_fiber(void *fake, const void **from_lo, size_t *from_bytes);
extern WEAK void __asan_unpoison_memory_region(void const volatile *at, size_t bytes);
extern WEAK void __asan_poison_memory_region(void const volatile *at, size_t bytes);
extern WEAK void *__tsan_get_current_fiber(void);
extern WEAK void *__tsan_create_fiber(unsigned flags);
extern WEAK void __tsan_destroy_fiber(void *fiber);
extern WEAK void __tsan_set_fiber_name(void *fiber, const char *name);
extern WEAK void __lsan_register_root_region(const void *at, size_t bytes);
extern WEAK void __lsan_unregister_root_region(const void *at, size_t bytes);

/* Of the C++ ABI: the thread's exception state. */
struct cxx_globals {
    void *caught;
    unsigned uncaught;
};
extern WEAK struct cxx_globals *__cxa_get_globals(void);

unsigned cc__hooks_present(void) {
    /* W, R: any thread; all find the same, so relaxed is enough. The top bit says "found". */
    static _Atomic unsigned cached;
    unsigned mask = cc__load_relaxed(&cached);
    if (mask == 0) {
        mask = 1u << 31;
        if (&__sanitizer_start_switch_fiber != NULL && &__asan_unpoison_memory_region != NULL) mask |= CC__HOOK_ASAN;
        if (&__tsan_switch_to_fiber != NULL) mask |= CC__HOOK_TSAN;
        if (&__lsan_register_root_region != NULL) mask |= CC__HOOK_LSAN;
        if (&__cxa_get_globals != NULL) mask |= CC__HOOK_CXX;
        cc__store_relaxed(&cached, mask);
    }
    if (CC__TRACING(CC__TRACE_SWITCH | CC__EDGES)) mask |= CC__HOOK_TRACE;
    return mask & ~(1u << 31);
}

void cc__hooks_poison(const void *at, size_t bytes) {
    if (&__asan_poison_memory_region != NULL) __asan_poison_memory_region(at, bytes);
}

void cc__hooks_unpoison(const void *at, size_t bytes) {
    if (&__asan_unpoison_memory_region != NULL) __asan_unpoison_memory_region(at, bytes);
}

/* The control words of a fiber that has not run yet: it begins with those in force around it. */
#define FPU_NONE_YET UINT64_MAX

static uint64_t fpu_read(void) {
#if defined(__x86_64__)
    uint32_t mxcsr;
    uint16_t x87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
    return ((uint64_t)x87 << 32) | mxcsr;
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
#elif defined(__riscv)
    uint64_t fcsr;
    __asm__ volatile("frcsr %0" : "=r"(fcsr));
    return fcsr;
#else
    return 0;
#endif
}

static void fpu_load(uint64_t words) {
#if defined(__x86_64__)
    uint32_t mxcsr = (uint32_t)words;
    uint16_t x87 = (uint16_t)(words >> 32);
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" ::"m"(mxcsr), "m"(x87));
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" ::"r"(words));
#elif defined(__riscv)
    __asm__ volatile("fscsr %0" ::"r"(words));
#else
    (void)words;
#endif
}

/* LSan is told of each stack by itself: it walks what the list of maps says can be read, and light guards, between two
 * stacks, are not in that list. */
void cc__hooks_fiber_begin(struct cc__fiber *f, bool root) {
    if ((f->hooks & CC__HOOK_TSAN) != 0) f->hook.tsan = root ? __tsan_get_current_fiber() : __tsan_create_fiber(0);
    if ((f->hooks & CC__HOOK_LSAN) != 0 && !root) __lsan_register_root_region(f->lo, f->bytes);
    f->hook.fpu_own = FPU_NONE_YET;
}

/* The size of a fake stack, which ASan does not tell: a page, a byte for each smallest frame twice over,
 * and 11 classes of frames, each of the stack's size between two bounds. Never more than that: LSan
 * would walk on into a guard that it cannot see. */
static size_t fake_bytes(const struct cc__fiber *f) {
    unsigned log = 16;
    while (log < 20 && (size_t)1 << log < f->bytes) log++;
    return 4096 + ((size_t)1 << (log - 5)) + ((size_t)11 << log);
}

static void fake_stack_gone(struct cc__fiber *f) {
    if (f->hook.lsan_fake != NULL) __lsan_unregister_root_region(f->hook.lsan_fake, fake_bytes(f));
    f->hook.lsan_fake = NULL;
}

/* Frames that never returned left their red zones behind; the next user starts clean. They are above the place where it
 * was left for good: all of a stack is much to write, of a hundred thousand that have used little. */
static void clean_stack(const struct cc__fiber *f) {
    enum { BELOW = 4096 }; /* what the switch itself may have left there, and a page for it */
    char *from = f->lo, *sp = f->ctx.sp;
    if (sp >= f->lo + BELOW && sp <= f->lo + f->bytes) from = sp - BELOW;
    __asan_unpoison_memory_region(from, (size_t)(f->lo + f->bytes - from));
}

void cc__hooks_fiber_end(struct cc__fiber *f, bool root) {
    if ((f->hooks & CC__HOOK_LSAN) != 0) {
        if (f->lo != NULL) __lsan_unregister_root_region(f->lo, f->bytes);
        fake_stack_gone(f);
    }
    if (root) return;
    if ((f->hooks & CC__HOOK_TSAN) != 0) __tsan_destroy_fiber(f->hook.tsan);
    if ((f->hooks & CC__HOOK_ASAN) != 0) clean_stack(f);
}

void cc__hooks_fiber_named(struct cc__fiber *f, const char *name) {
    if ((f->hooks & CC__HOOK_TSAN) == 0 || f->stack == NULL) return;
    char text[64];
    snprintf(text, sizeof text, "fiber %llu %s", (unsigned long long)f->serial, name != NULL ? name : "");
    __tsan_set_fiber_name(f->hook.tsan, text);
}

/* A fiber with control words of its own puts back those it found when it leaves. Where both have
 * their own, what the first found is what the second will put back. */
static void fpu_leave(struct cc__fiber *from, struct cc__fiber *to) {
    if (CCRT_SWITCH_UCONTEXT) return; /* it saves them itself, always */
    bool from_own = (from->hooks & CC__HOOK_FPU) != 0, to_own = (to->hooks & CC__HOOK_FPU) != 0;
    if (!from_own && !to_own) return;
    uint64_t now = fpu_read(), outer = from_own ? from->hook.fpu_outer : now;
    if (from_own) from->hook.fpu_own = now;
    if (to_own) to->hook.fpu_outer = outer;
    bool begun = to_own && to->hook.fpu_own != FPU_NONE_YET;
    fpu_load(begun ? to->hook.fpu_own : outer);
}

static void cxx_leave(struct cc__fiber *from, struct cc__fiber *to) {
    struct cxx_globals *now = __cxa_get_globals();
    from->hook.cxx_caught = now->caught;
    from->hook.cxx_uncaught = now->uncaught;
    now->caught = to->hook.cxx_caught;
    now->uncaught = (unsigned)to->hook.cxx_uncaught;
}

NO_FAKE_FRAME void cc__hooks_leave(struct cc__fiber *from, struct cc__fiber *to, bool last) {
    fpu_leave(from, to);
    if ((from->hooks & CC__HOOK_CXX) != 0) cxx_leave(from, to);
    if ((from->hooks & CC__HOOK_ASAN) != 0) {
        to->hook.asan_from = from;
        if (last) fake_stack_gone(from);
        __sanitizer_start_switch_fiber(last ? NULL : &from->hook.asan_fake, to->lo, to->bytes);
    }
}

NO_FAKE_FRAME void cc__hooks_arrive(struct cc__fiber *self) {
    if ((self->hooks & CC__HOOK_ASAN) == 0) return;
    const void *lo;
    size_t bytes;
    __sanitizer_finish_switch_fiber(self->hook.asan_fake, &lo, &bytes);
    struct cc__fiber *from = self->hook.asan_from;
    bool lsan = (from->hooks & CC__HOOK_LSAN) != 0;
    if (from->stack == NULL) { /* a root: only the sanitizer knows where the thread's stack is */
        if (lsan && from->lo == NULL) __lsan_register_root_region(lo, bytes);
        from->lo = (char *)(uintptr_t)lo;
        from->bytes = bytes;
    }
    if (lsan && from->hook.asan_fake != NULL && from->hook.lsan_fake == NULL) {
        from->hook.lsan_fake = from->hook.asan_fake;
        __lsan_register_root_region(from->hook.lsan_fake, fake_bytes(from));
    }
}

NO_FAKE_FRAME void cc__hooks_abandon(struct cc__fiber *f) {
    if ((f->hooks & CC__HOOK_ASAN) == 0 || f->hook.asan_fake == NULL) return;
    /* Its fake stack is freed by whoever leaves it for good: so go there and leave, without a switch. */
    const void *lo;
    size_t bytes;
    void *ours;
    __sanitizer_start_switch_fiber(&ours, f->lo, f->bytes);
    __sanitizer_finish_switch_fiber(f->hook.asan_fake, &lo, &bytes);
    __sanitizer_start_switch_fiber(NULL, lo, bytes);
    __sanitizer_finish_switch_fiber(ours, NULL, NULL);
    f->hook.asan_fake = NULL;
}

void cc__hooks_checks(bool on) {
#if CCRT_HAVE_VALGRIND
    if (on)
        VALGRIND_ENABLE_ERROR_REPORTING;
    else
        VALGRIND_DISABLE_ERROR_REPORTING;
#endif
    (void)on;
}

unsigned cc__hooks_stack_begin(void *lo, void *hi) {
#if CCRT_HAVE_VALGRIND
    if (RUNNING_ON_VALGRIND) return VALGRIND_STACK_REGISTER(lo, hi) + 1;
#endif
    (void)lo, (void)hi;
    return 0;
}

void cc__hooks_stack_end(unsigned id) {
#if CCRT_HAVE_VALGRIND
    if (id != 0) VALGRIND_STACK_DEREGISTER(id - 1);
#endif
    (void)id;
}

void cc__hooks_memory(const void *at, size_t bytes) {
    if ((cc__hooks_present() & CC__HOOK_LSAN) != 0) __lsan_register_root_region(at, bytes);
}

void cc__hooks_memory_gone(const void *at, size_t bytes) {
    if ((cc__hooks_present() & CC__HOOK_LSAN) != 0) __lsan_unregister_root_region(at, bytes);
}
