/* SPDX-License-Identifier: MIT */
/* Scopes: nurseries, deadlines and shields, each the braces after it.
 *
 * A nursery joins all its children at its closing brace, always. The first child that ends with a negative result
 * cancels the others, and that result is what cc_nursery_wait() returns. Cancellation is a return code: calls that
 * are cancellation points (sleeping, and later channels and I/O) return -ECANCELED. Deadlines nest, the nearest
 * instant wins, and calls under it return -ETIMEDOUT. A shield keeps both from being delivered inside it. */
#ifndef CCRT_SCOPE_H
#define CCRT_SCOPE_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"
#include "task.h"

CC_BEGIN_DECLS

/* What a task runs under, innermost first; in the frames of whoever opened it. Private. */
typedef struct cc_priv_scope {
    struct cc_priv_scope *up;
    void *owner;         /* the record of who opened it */
    int64_t deadline_ns; /* the nearest instant in force inside it; INT64_MAX: none */
    int kind;
    int depth; /* of shields */
} cc_priv_scope;

/* Children that are joined together. In its owner's frame; the fields are private. */
typedef struct cc_nursery {
    cc_priv_scope priv_scope;
    uint32_t priv_lock[2];
    void *priv_waiters[2];
    void *priv_children;
    size_t priv_live;
    int priv_error;
    int priv_cancelled; /* 0, or the negative code its wait returns */
    unsigned priv_flags;
    int priv_line;
    const char *priv_file;
    struct cc_nursery *priv_outer;     /* the one this is in, unless a shield is between */
    struct cc_nursery *priv_inner;     /* those in this one, */
    struct cc_nursery *priv_next;      /* and the others in the same; */
    struct cc_nursery **priv_link;     /* where the pointer to this one is */
    struct cc_nursery *priv_to_cancel; /* of a canceller */
    int priv_pins;                     /* cancellers that hold it */
    int priv_owner_waits;              /* for its children */
    void *priv_hooks;                  /* what ends with it */
} cc_nursery;

/* Start fn(args) as a child; size bytes of args are copied, to a place aligned as by malloc(). site: CC_SITE("name"),
 * or NULL. Typed spawns are made of it.
 *   Returns    0; -ENOMEM; -ECANCELED the nursery was cancelled; a failed spawn ran nothing
 *   Call from  the owner, or a child, or anyone the nursery outlives */
CC_API int cc_nursery_spawn(cc_nursery *n, int (*fn)(void *args), const void *args, size_t size, const cc_site *site);

/* Wait for all children so far.
 *   Returns    0; the first negative result of a child; -ETIMEDOUT the deadline around it passed first;
 *              -ECANCELED it was cancelled and nothing failed
 *   Call from  its owner              Blocks: the caller only; not a cancellation point */
CC_API int cc_nursery_wait(cc_nursery *n);

/* The same, but as soon as the caller is cancelled, or out of time, it leaves those that still run to the closing
 * brace. A child's error cancels the nursery, and so ends this at once; it is then what is returned.
 *   Returns    0 all have ended; else as cc_nursery_wait, and some may still run
 *   Call from  its owner              Blocks: the caller only; a cancellation point */
CC_API CC_NODISCARD int cc_nursery_wait_cancellable(cc_nursery *n);

/* Cancel its children, and theirs. */
CC_API void cc_nursery_cancel(cc_nursery *n);

/* Let children fail alone: errors do not cancel the others; the first is still what wait returns. */
CC_API void cc_nursery_collect(cc_nursery *n);

/* Whether the caller's cancellation points would fail now: 0, -ECANCELED or -ETIMEDOUT. For loops that compute. */
CC_API int cc_cancelled(void);

/* Of the macros below. */
CC_API cc_nursery *cc_priv_nursery_enter(cc_nursery *n, const char *file, int line);
CC_API void cc_priv_nursery_leave(void *n); /* of the cleanup attribute, for an array of one */
CC_API cc_priv_scope *cc_priv_deadline_enter(cc_priv_scope *s, int64_t ms);
CC_API cc_priv_scope *cc_priv_shield_enter(cc_priv_scope *s);
CC_API void cc_priv_scope_leave(cc_priv_scope *s);

CC_END_DECLS

#define CC_PRIV_CAT(a, b) CC_PRIV_CAT_(a, b)
#define CC_PRIV_CAT_(a, b) a##b

/* CC_NURSERY(n) { cc_spawn(n, ...); ... }: n is a cc_nursery * inside. Leaving by return, break or goto cancels and
 * joins. */
#define CC_NURSERY(n)                                                                                                  \
    for (cc_nursery n[1] __attribute__((cleanup(cc_priv_nursery_leave))),                                              \
         *n##_once = cc_priv_nursery_enter(n, __FILE__, __LINE__);                                                     \
         n##_once != NULL; (void)cc_nursery_wait(n), n##_once = NULL)

/* Braces that are entered and left, for all macros of that kind: `enter` is an expression on CC_PRIV_BRACES_OF(id), a
 * pointer to a record of this type; `leave` gets the same, however they are left. The id is an expanded __COUNTER__. */
#define CC_PRIV_BRACES_OF(id) (&CC_PRIV_CAT(cc_scope_, id))
#define CC_PRIV_BRACES(id, type, leave, enter)                                                                         \
    for (type CC_PRIV_CAT(cc_scope_, id) __attribute__((cleanup(leave))), *CC_PRIV_CAT(cc_once_, id) = (enter);        \
         CC_PRIV_CAT(cc_once_, id) != NULL; CC_PRIV_CAT(cc_once_, id) = NULL)

/* CC_DEADLINE_MS(50) { ... } and CC_SHIELD { ... } */
#define CC_DEADLINE_MS(ms) CC_PRIV_DEADLINE(__COUNTER__, ms)
#define CC_PRIV_DEADLINE(id, ms)                                                                                       \
    CC_PRIV_BRACES(id, cc_priv_scope, cc_priv_scope_leave, cc_priv_deadline_enter(CC_PRIV_BRACES_OF(id), (ms)))
#define CC_SHIELD CC_PRIV_SHIELD(__COUNTER__)
#define CC_PRIV_SHIELD(id)                                                                                             \
    CC_PRIV_BRACES(id, cc_priv_scope, cc_priv_scope_leave, cc_priv_shield_enter(CC_PRIV_BRACES_OF(id)))

#endif /* CCRT_SCOPE_H */
