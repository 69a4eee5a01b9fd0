/* SPDX-License-Identifier: MIT */
/* Fork and join: functions that others may run meanwhile, for the price of a few instructions.
 *
 *     CC_ASYNC(long, fib, (int, n)) {
 *         if (n < 2) return n;
 *         CC_FORKED(fib, left);                     a record in this frame
 *         cc_fork(left, fib, n - 1);
 *         long right = fib(n - 2);
 *         return cc_join(left, fib) + right;
 *     }
 *
 * A forked function that nobody has taken by the time of its join is called there, as if it had not been forked. Else
 * it runs as a task of its own, and the join waits for it. It may block anywhere, and runs under the scopes (nursery,
 * deadline, shield) that were in force at the fork. Joins come in any order, in the task that forked; last forked,
 * first joined is quickest. A record that is not joined when its frame, or the scope of its fork, is left is joined
 * there.
 *
 * Which task runs it is not determined, so a forked function should not count on task-local values or on
 * cc_task_self(), nor wait for a nursery that its parent has opened. */
#ifndef CCRT_FORK_H
#define CCRT_FORK_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"
#include "here.h"
#include "scope.h"
#include "task.h"

CC_BEGIN_DECLS

struct cc_priv_fork;

/* What is the same for all forks of one function. */
typedef struct cc_priv_forkable {
    void (*run)(struct cc_priv_fork *f);
    cc_site site;
} cc_priv_forkable;

/* What a record begins with; the fields are private. */
typedef struct cc_priv_fork {
    const cc_priv_forkable *priv_what;
    struct cc_priv_fork **priv_at;    /* its place in the worker's deque; NULL: not forked, or joined */
    void *priv_state;                 /* if it is not the owner's to call: NULL, it has ended, or who waits for that */
    struct cc_priv_scope *priv_scope; /* it runs under; see src/job/fork.c for when that is known */
    struct cc_priv_fork *priv_next, **priv_link; /* others of its task that are not in the deque */
} cc_priv_fork;

/* The owner's words of a worker's deque: see src/job/fork.c for the protocol. */
typedef struct cc_priv_forks {
    cc_priv_fork **priv_head; /* the next free place; NULL: there are none. W: owner. R: thieves. */
    cc_priv_fork *
        *priv_limit; /* a fork at or behind it takes the slow path.  W: owner; thieves, a low one.  R: owner */
    cc_priv_fork **priv_split; /* a join below it does. W: owner, thieves; with the deque's lock. R: owner */
} cc_priv_forks;

/* A fork that was pushed, where the limit says so; one that could not be; and a join, where it is not the newest or not
 * the owner's alone: 1 it is to be called, 0 its result is there. */
CC_API void cc_priv_fork_slowly(cc_priv_fork *f);
CC_API void cc_priv_fork_away(cc_priv_fork *f);
CC_API int cc_priv_join_slowly(cc_priv_fork *f);
/* The whole of it, for who cannot have it inline. */
CC_API void cc_priv_fork_call(cc_priv_fork *f);
CC_API int cc_priv_join_call(cc_priv_fork *f);
/* Its frame is left, and it was not joined. */
CC_API void cc_priv_fork_left(cc_priv_fork *f);
/* This thread's deque, for processors without the form below. */
CC_API cc_priv_forks *cc_priv_forks_get(void);

/* Only for the assembly of here.h. */
extern __attribute__((tls_model("initial-exec"))) CC_API __thread cc_priv_forks *cc_priv_forks_here;
#ifdef CC_PRIV_HERE
#define CC_PRIV_FORKS_GET(out) CC_PRIV_HERE(out, cc_priv_forks_here)
#else
#define CC_PRIV_FORKS_GET(out) ((out) = cc_priv_forks_get())
#endif

#ifndef CC_PRIV_FORK_CALLS
#define CC_PRIV_FORK_CALLS CC_PRIV_CALLS
#endif

/* Between a store of the owner's and its next load. For the processor there is none: who stores on the other side makes
 * all of us pass one before it loads. */
#if !CC_PRIV_FORK_CALLS
#define CC_PRIV_FORK_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#elif !defined(CC_PRIV_FORK_FENCE)
#define CC_PRIV_FORK_FENCE() ((void)0)
#endif

static inline __attribute__((always_inline)) void cc_priv_fork_push(cc_priv_fork *f) {
    cc_priv_forks *d;
    CC_PRIV_FORKS_GET(d);
    cc_priv_fork **at = __atomic_load_n(&d->priv_head, __ATOMIC_RELAXED);
    if (CC_PRIV_UNLIKELY(at == NULL)) {
        cc_priv_fork_away(f);
        return;
    }
    *at = f;
    f->priv_at = at;
    __atomic_store_n(&d->priv_head, at + 1, __ATOMIC_RELEASE); /* a thief that sees it may read what is below */
    CC_PRIV_FORK_FENCE();
    if (CC_PRIV_UNLIKELY(at >= __atomic_load_n(&d->priv_limit, __ATOMIC_RELAXED))) cc_priv_fork_slowly(f);
}

/* 1: it is to be called; 0: its result is there. */
static inline __attribute__((always_inline)) int cc_priv_fork_pop(cc_priv_fork *f) {
    cc_priv_forks *d;
    CC_PRIV_FORKS_GET(d);
    cc_priv_fork **at = f->priv_at;
    if (CC_PRIV_UNLIKELY(__atomic_load_n(&d->priv_head, __ATOMIC_RELAXED) != at + 1)) return cc_priv_join_slowly(f);
    __atomic_store_n(&d->priv_head, at, __ATOMIC_RELAXED);
    CC_PRIV_FORK_FENCE();
    if (CC_PRIV_UNLIKELY(at < __atomic_load_n(&d->priv_split, __ATOMIC_RELAXED))) return cc_priv_join_slowly(f);
    f->priv_at = NULL;
    return 1;
}

static inline __attribute__((always_inline)) void cc_priv_fork_do(cc_priv_fork *f, const cc_priv_forkable *what) {
    f->priv_what = what;
#if CC_PRIV_FORK_CALLS
    cc_priv_fork_call(f);
#else
    cc_priv_fork_push(f);
#endif
}

static inline __attribute__((always_inline)) int cc_priv_join_do(cc_priv_fork *f) {
#if CC_PRIV_FORK_CALLS
    return cc_priv_join_call(f);
#else
    return cc_priv_fork_pop(f);
#endif
}

static inline void *cc_priv_fork_begin(cc_priv_fork *f) {
    f->priv_at = NULL;
    return f;
}

/* Of the cleanup attribute, for any record. */
static inline void cc_priv_fork_end(void *record) {
    cc_priv_fork *f = (cc_priv_fork *)record;
    if (CC_PRIV_UNLIKELY(f->priv_at != NULL)) cc_priv_fork_left(f);
}

CC_END_DECLS

/* NOLINTBEGIN(bugprone-macro-parentheses): types, names and declarations stand where no parentheses may */

/* What CC_ASYNC and CC_TASK define besides: the record of a fork, and how it is forked, called and joined. */
#define CC_PRIV_FORKABLE(R, name, ARGS, SETS, FORK)                                                                    \
    struct name##_cc_forked {                                                                                          \
        cc_priv_fork cc_h;                                                                                             \
        R cc_value;                                                                                                    \
        struct name##_cc_args cc_args;                                                                                 \
    };                                                                                                                 \
    CC_PRIV_UNUSED static void name##_cc_forked_run(cc_priv_fork *cc_f) {                                              \
        struct name##_cc_forked *cc_k = (struct name##_cc_forked *)(void *)cc_f;                                       \
        struct name##_cc_args *cc_a = &cc_k->cc_args;                                                                  \
        (void)cc_a;                                                                                                    \
        cc_k->cc_value = name ARGS;                                                                                    \
    }                                                                                                                  \
    CC_PRIV_UNUSED static const cc_priv_forkable name##_cc_forkable = {name##_cc_forked_run,                           \
                                                                       {__FILE__, __LINE__, #name}};                   \
    CC_PRIV_UNUSED static inline __attribute__((always_inline)) void name##_cc_fork FORK {                             \
        struct name##_cc_args *cc_v = &cc_k->cc_args;                                                                  \
        (void)cc_v;                                                                                                    \
        SETS cc_priv_fork_do(&cc_k->cc_h, &name##_cc_forkable);                                                        \
    }                                                                                                                  \
    CC_PRIV_UNUSED static inline __attribute__((always_inline)) R name##_cc_join(struct name##_cc_forked *cc_k) {      \
        struct name##_cc_args *cc_a = &cc_k->cc_args;                                                                  \
        (void)cc_a;                                                                                                    \
        return cc_priv_join_do(&cc_k->cc_h) ? name ARGS : cc_k->cc_value;                                              \
    }

/* CC_FORKED(fn, record); declares a record for forks of a CC_ASYNC or CC_TASK function, one at a time. Leaving its
 * block joins what is forked by it. */
#define CC_FORKED(fn, record)                                                                                          \
    struct fn##_cc_forked record __attribute__((cleanup(cc_priv_fork_end)));                                           \
    (void)cc_priv_fork_begin(&(record).cc_h)

/* The type of such records, for arrays and the heap: all zero to begin with, and joined before their memory goes. */
#define CC_FORK_RECORD(fn) struct fn##_cc_forked

/* NOLINTEND(bugprone-macro-parentheses) */

/* cc_fork(record, fn, arguments...): arguments are copied. It never blocks and never fails; without memory to let
 * others run it, it is called at its join. Whether it runs as a task of its own is not said: what it gets by
 * cc_frame_alloc() is its own until it returns, and what the caller got is not touched (job.h).
 *   Call from  fiber or thread           Blocks: never
 *   Ordering   what the caller wrote before is seen by the function */
#define cc_fork(record, ...) CC_PRIV_CAT(CC_PRIV_FORK_, CC_PRIV_SOME(__VA_ARGS__))(record, __VA_ARGS__)
#define CC_PRIV_FORK_0(record, fn) fn##_cc_fork(&(record))
#define CC_PRIV_FORK_N(record, fn, ...) fn##_cc_fork(&(record), __VA_ARGS__)
#define CC_PRIV_FORK_MANY(record, fn, ...) fn##_cc_fork(&(record), __VA_ARGS__)

/* cc_join(record, fn): its result, once it has returned. What was not forked, or was joined before, is misuse.
 *   Call from  who forked it             Blocks: the caller only; not a cancellation point
 *   Ordering   what the function wrote is seen by the caller */
#define cc_join(record, fn) fn##_cc_join(&(record))

#endif /* CCRT_FORK_H */
