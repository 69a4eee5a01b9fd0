/* SPDX-License-Identifier: MIT */
/* Fibers: a stack with a context on it.
 *
 * The record of a fiber lies at the top of its own stack, in the page that the first frame touches
 * anyway, so a fiber costs no memory beside it. A thread that switches has a record too, for the stack
 * it came with: its root.
 *
 * Nothing here schedules: who runs next is the business of the layers above.
 *
 * Prev: fiber/stack.h  Next: step/sched.c */
#ifndef CC__FIBER_FIBER_H
#define CC__FIBER_FIBER_H

#include "ctx.h"
#include "current.h"
#include "hooks.h"
#include "stack.h"

struct cc__fiber {
    /* In one cache line, what a switch and a wait touch. */
    struct cc__ctx ctx;
    unsigned hooks;            /* CC__HOOK_*; 0: the quick switch */
    struct cc__strand *strand; /* the cc_sched fiber that runs on it, or NULL */
    struct cc__fiber **up;     /* where a strand's scheduler keeps who steps it; NULL: not a strand */
    struct cc__task *task;     /* the task that runs on it; a strand's is that of whoever steps it */
    uintptr_t waits_for; /* for reports: the node of the wait it was left for last, or CC__WAITS_FLAG and a flag */
    int64_t since_ns;    /* and about when that was */

    struct cc__stack *stack; /* NULL: a thread's root */
    char *lo;                /* bounds of the usable stack; a root's are known to ASan only */
    size_t bytes;

    void (*fn)(void *);
    void *arg;
    uint64_t serial;  /* "fiber 7" in reports; 0: a root */
    const char *name; /* or NULL; borrowed from the layer above */

    struct cc__frame *frame;    /* memory that its task got for as long as it lasts; or NULL */
    struct cc_priv_fork *forks; /* of its task, that are not in a worker's deque; or NULL */

#if CCRT_ASSERT >= 1
    const void *held[4]; /* locks of ours that it holds, the oldest first, */
    unsigned held_count; /* and how many: who parks must hold none (task/wait.h) */
#endif

    struct cc__hook_state hook;
};

_Static_assert(offsetof(struct cc__fiber, stack) <= CC__CACHE_LINE, "what is hot is in one line");

/* In waits_for: it waits without a node, until the flag at the address beside this bit changes. */
#define CC__WAITS_FLAG ((uintptr_t)1)

/* Make the calling thread able to switch: give it a root and a stack to report faults on. Repeating
 * it is cheap. Undone when the thread ends.
 *   Returns    0 and the fiber that is running (the root, or what runs now); -ENOMEM, -EAGAIN */
int cc__fiber_attach(struct cc__fiber **current);

/* This process is the child of fork(): the calling thread is no fiber any more, and none can be attached. */
void cc__fiber_forbid(void);
void cc__fiber_check_allowed(void); /* aborts, where it is */

/* A fiber on a stack of at least `bytes` usable bytes, from the cache. fresh: wipe a reused stack, so
 * that cc__fiber_stack_used() counts from zero.
 *   Returns    0; -ENOMEM */
int cc__fiber_create(struct cc__fiber **out, struct cc__stack_cache *cache, size_t bytes, bool own_fpu, bool fresh);

/* Give the stack back. The fiber is not running: it ended by cc__fiber_exit(), never began, or is
 * abandoned where it stopped, without unwinding. */
void cc__fiber_destroy(struct cc__fiber *f, struct cc__stack_cache *cache);

/* Name what runs on it, for reports. */
void cc__fiber_describe(struct cc__fiber *f, uint64_t serial, const char *name);

/* Have fn(arg) called when it is first switched to. fn ends by cc__fiber_exit(), never by return. */
void cc__fiber_start(struct cc__fiber *f, void (*fn)(void *), void *arg);

/* Bytes of its stack in use at the deepest so far (since the stack was last wiped). */
size_t cc__fiber_stack_used(const struct cc__fiber *f);

/* Leave `from`, which is running, for good. */
CC__NORETURN void cc__fiber_exit(struct cc__fiber *from, struct cc__fiber *to);

/* The way of cc__fiber_switch() where hooks are to be told. */
void cc__fiber_switch_hooked(struct cc__fiber *from, struct cc__fiber *to);

/* Leave `from`, which is running, and go on with `to`, which is not. Returns when somebody switches
 * back, perhaps on another thread. True: one of them had hooks. */
static inline bool cc__fiber_switch(struct cc__fiber *from, struct cc__fiber *to) {
    cc__fiber_set_current(to);
    bool hooked = CC__UNLIKELY((from->hooks | to->hooks) != 0);
    if (!hooked)
        cc__ctx_switch(&from->ctx, &to->ctx);
    else
        cc__fiber_switch_hooked(from, to);
    return hooked;
}

#endif /* CC__FIBER_FIBER_H */
