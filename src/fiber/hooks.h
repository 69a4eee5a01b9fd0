/* SPDX-License-Identifier: MIT */
/* Those who must be told of a switch: sanitizers, the C++ runtime, and fibers with an FPU state of
 * their own.
 *
 * A fiber has a mask of what applies to it; where both sides of a switch have an empty one, which is
 * a C program in production, the switch costs one test. The sanitizers' and the C++ runtime's
 * functions are weak references: they are there if the *program* has them, however the library was
 * built, so one installed library serves plain and sanitized programs alike.
 *
 *   ASan      start before the switch, finish after it, on the other stack
 *   TSan      told at the switch itself, by the function that makes it: an instrumented function is
 *             booked in and out on the fiber that is current, so one that returned in between would
 *             be booked out on the wrong one
 *   LSan      looks at the stack each thread is on; the others are root regions: fibers', threads' own
 *             while a fiber runs there, and ASan's fake stacks of both
 *   C++       {caught, uncaught} exceptions are per thread: swapped per fiber
 *   FPU       control words (rounding, masks): saved and loaded for fibers that asked
 *   trace     told by who switches (sched/leave.h): asked for here, so that a switch without hooks asks once for all
 *   valgrind  each stack is registered once, by stack.c
 *
 * Prev: fiber/ctx.h  Next: fiber/current.h */
#ifndef CC__FIBER_HOOKS_H
#define CC__FIBER_HOOKS_H

#include "../base/base.h"

#include <stdbool.h>

enum {
    CC__HOOK_ASAN = 1u << 0,
    CC__HOOK_TSAN = 1u << 1,
    CC__HOOK_LSAN = 1u << 2,
    CC__HOOK_CXX = 1u << 3,
    CC__HOOK_FPU = 1u << 4,
    CC__HOOK_TRACE = 1u << 5,
};

/* What hooks remember of one fiber. */
struct cc__hook_state {
    void *asan_fake;             /* its fake stack while it is away */
    struct cc__fiber *asan_from; /* who switched to it: finish tells that one's bounds */
    void *lsan_fake;             /* its fake stack, once that is a root region */
    void *tsan;                  /* the sanitizer's handle */
    void *cxx_caught;
    uint64_t cxx_uncaught; /* both as in __cxa_eh_globals */
    uint64_t fpu_own;      /* control words while it is away */
    uint64_t fpu_outer;    /* those of the code it interrupts */
};

/* The hooks this process has, all but FPU; those of tools are found once. */
unsigned cc__hooks_present(void);

struct cc__fiber;

/* A fiber begins and ends its life; root: the thread's own stack. */
void cc__hooks_fiber_begin(struct cc__fiber *f, bool root);
void cc__hooks_fiber_end(struct cc__fiber *f, bool root);
void cc__hooks_fiber_named(struct cc__fiber *f, const char *name);

/* Around a switch, for fibers with a mask. last: `from` never runs again. cc__hooks_arrive() runs on
 * the destination, given itself. */
void cc__hooks_leave(struct cc__fiber *from, struct cc__fiber *to, bool last);
void cc__hooks_arrive(struct cc__fiber *self);

/* The last thing before the switch, in the function that switches. */
extern __attribute__((weak)) void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#define CC__HOOKS_TSAN_SWITCH(from, to)                                                                                \
    do {                                                                                                               \
        /* Flag 0: a switch orders what came before it on this thread, as program order does. */                       \
        if (((from)->hooks & CC__HOOK_TSAN) != 0) __tsan_switch_to_fiber((to)->hook.tsan, 0);                          \
    } while (0)

/* A suspended fiber will never be resumed: drop what the hooks keep for it. */
void cc__hooks_abandon(struct cc__fiber *f);

/* Code that reads a stack as memory is not looked at by the sanitizers, nor, between two calls of this, by
 * valgrind. */
#define CC__HOOKS_UNCHECKED __attribute__((no_sanitize("address"), no_sanitize("thread")))
void cc__hooks_checks(bool on);

/* ASan: memory that is not to be touched, and may be again. */
void cc__hooks_poison(const void *at, size_t bytes);
void cc__hooks_unpoison(const void *at, size_t bytes);

/* LSan: mapped memory that may hold the only pointers to what was allocated. */
void cc__hooks_memory(const void *at, size_t bytes);
void cc__hooks_memory_gone(const void *at, size_t bytes); /* it was not for good after all */

/* valgrind: returns an id for the second call. */
unsigned cc__hooks_stack_begin(void *lo, void *hi);
void cc__hooks_stack_end(unsigned id);

#endif /* CC__FIBER_HOOKS_H */
