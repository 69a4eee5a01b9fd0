/* SPDX-License-Identifier: MIT */
/* cc_sched: a first-class scheduler of fibers, stepped by its owner on the owner's thread.
 *
 * It needs no runtime and starts no thread. Its fibers run in the order they were pushed, each until
 * it calls cc_resched() or returns, so a run is deterministic. Schedulers nest: a fiber may create,
 * fill and run one of its own.
 *
 * The owner is the thread or fiber that created it (or adopted it). Calls on a scheduler come from
 * its owner, from its own fibers, and from whatever runs nested inside those; from anywhere else they
 * return -EPERM and change nothing. A blocking call in such a fiber blocks the owner. */
#ifndef CCRT_SCHED_H
#define CCRT_SCHED_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

typedef struct cc_sched cc_sched;

/* Names one fiber of a scheduler, also after its end. A value: copy it freely. */
typedef struct cc_sched_fiber {
    void *priv_record;
    uint64_t priv_serial;
} cc_sched_fiber;

enum {
    /* Each fiber has rounding mode and exception masks of its own (costs some ns a switch). */
    CC_FIBER_OWN_FPU = 1u << 0,
    /* Wipe a reused stack first, so that cc_sched_stack_used() is this fiber's own figure and not an
     * upper bound left by an earlier one (costs a system call a fiber). */
    CC_FIBER_MEASURE_STACK = 1u << 1
};

/* What a scheduler gives its fibers unless a push says otherwise. Zero means the default. */
typedef struct cc_sched_attr {
    size_t stack_bytes; /* usable bytes, rounded up to a size class; 0: 196608 */
    unsigned flags;     /* CC_FIBER_* */
} cc_sched_attr;

/* What one fiber gets. Zero means: as the scheduler says. */
typedef struct cc_sched_fiber_attr {
    const char *name;   /* shown in reports; copied */
    size_t stack_bytes; /* usable bytes, rounded up to a size class */
    unsigned flags;     /* CC_FIBER_*, beside the scheduler's own */
} cc_sched_fiber_attr;

/* Create a scheduler owned by the caller. attr may be NULL.
 *   Returns    0; -EINVAL out is NULL, an unknown flag, or a stack size beyond the limits
 *              (CC_STACK_BYTES_MAX); -ENOMEM
 *   Call from  fiber or thread */
CC_API int cc_sched_create(cc_sched **out, const cc_sched_attr *attr);

/* Destroy it with all its fibers; those that have not ended never go on, and their stacks are freed
 * without unwinding. NULL is allowed. Destroying a scheduler from inside it aborts with a message.
 *   Call from  the owner, or anyone once the owner is gone or no longer uses it */
CC_API void cc_sched_destroy(cc_sched *s);

/* Add a fiber that will run fn(arg), after all that wait already. It runs when the owner steps.
 *   Returns    0; -EINVAL s or fn is NULL; -EPERM not in the owner's place; -ENOMEM
 *   Call from  the owner, or a fiber running inside s */
CC_API int cc_sched_push(cc_sched *s, void *(*fn)(void *), void *arg);

/* The same with attributes (may be NULL), and a handle by which its result can be taken; the result
 * is kept until then, or until the scheduler is destroyed.
 *   Returns    as cc_sched_push; -EINVAL also for out == NULL and bad attributes */
CC_API int cc_sched_spawn(cc_sched *s, const cc_sched_fiber_attr *attr, void *(*fn)(void *), void *arg,
                          cc_sched_fiber *out);

/* Run the next fiber until it reschedules or ends.
 *   Returns    how many fibers are still alive, 0 when none is left; -EINVAL s is NULL; -EPERM not
 *              in the owner's place; -EDEADLK from inside s; -ENOMEM no stack for the next fiber: it
 *              stays where it was and the call may be repeated */
CC_API int cc_sched_next(cc_sched *s);

/* Run all fibers to their ends, those pushed meanwhile included.
 *   Returns    0, or an error as cc_sched_next */
CC_API int cc_sched_run(cc_sched *s);

/* How many fibers are alive: pushed and not yet ended.
 *   Returns    the count; -EINVAL, -EPERM */
CC_API int cc_sched_count(const cc_sched *s);

/* Take the result of a fiber that has ended; the handle is stale from then on. result may be NULL.
 *   Returns    0; -EAGAIN not ended yet; -ESRCH taken already, or not a fiber of s; -EINVAL; -EPERM */
CC_API int cc_sched_take(cc_sched *s, cc_sched_fiber f, void **result);

/* The most of its stack a fiber has used so far, in bytes; 0 before it first runs. Of a fiber that
 * has ended: the figure at its end if it runs with CC_FIBER_MEASURE_STACK, else 0.
 *   Returns    0 and the figure; -ESRCH, -EINVAL, -EPERM */
CC_API int cc_sched_stack_used(cc_sched *s, cc_sched_fiber f, size_t *bytes);

/* The name a fiber was given, or NULL; valid until its result is taken. NULL for a stale handle. */
CC_API const char *cc_sched_fiber_name(cc_sched *s, cc_sched_fiber f);

/* Make the caller the owner of a scheduler that nobody is running; handing it from one thread to
 * another is the callers' to order (they synchronise as for any other data).
 *   Returns    0; -EBUSY it is being run; -EINVAL */
CC_API int cc_sched_adopt(cc_sched *s);

/* In a fiber of a cc_sched: let the others run, come back in turn.
 *   Returns    0; -EPERM when the caller is not such a fiber (nothing happens) */
CC_API int cc_resched(void);

/* The fiber that is running, as a handle.
 *   Returns    0; -EPERM when the caller is not a fiber of a cc_sched; -EINVAL */
CC_API int cc_sched_self(cc_sched_fiber *out);

/* Largest stack a fiber may ask for. */
#define CC_STACK_BYTES_MAX ((size_t)1 << 30)

CC_END_DECLS

#endif /* CCRT_SCHED_H */
