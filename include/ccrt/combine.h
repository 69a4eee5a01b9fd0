/* SPDX-License-Identifier: MIT */
/* Several functions at once, and what comes of them together: all of them, the first to finish, the first success.
 *
 *     cc_branch b[] = {CC_BRANCH(fetch, "here", &page), CC_BRANCH(fetch, "there", &other)};
 *     int winner = cc_any(b, 2);                   its index, or a negative errno
 *     if (winner >= 0) use(b[winner].result);
 *
 * Each function runs as a child of a nursery that ends with the call: whatever happens, all have returned when the call
 * does, and none is waited for before another. Those that are no longer needed are cancelled; they run on to their
 * next cancellation point. The calls wait under the caller's deadline and cancellation as a nursery's wait does: at
 * either the functions are cancelled, and once they have returned so does the call. A function that was told to stop,
 * by cc_cancelled() in it, is no winner any more; what it returned is in its branch all the same. */
#ifndef CCRT_COMBINE_H
#define CCRT_COMBINE_H

#include <stddef.h>

#include "async.h"
#include "defs.h"

CC_BEGIN_DECLS

/* One function, and what became of it. */
typedef struct cc_branch {
    int (*fn)(void *arg);
    void *arg;  /* borrowed for the call */
    int result; /* set by the call: what fn returned, or what kept it from being started */
} cc_branch;

/* Run n functions; the first that returns a negative code, or cannot be started, cancels the others.
 *   Returns    0 all returned 0 or more; the first error; -ETIMEDOUT, -ECANCELED as cc_nursery_wait; -EINVAL (nothing
 *              was run). 0 for n == 0
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point
 *   Ordering   what the functions wrote is seen by the caller */
CC_API int cc_all(cc_branch *b, size_t n);

/* Run n functions until the first of them returns, successful or not; the others are cancelled.
 *   Returns    its index; -ETIMEDOUT, -ECANCELED the caller's deadline or cancellation came first; -ENOMEM one could
 *              not be started and none had returned before; -EINVAL also for n == 0
 *   Call from, Blocks, Ordering as cc_all */
CC_API int cc_race(cc_branch *b, size_t n);

/* Run n functions until the first of them returns 0 or more; the others are cancelled. One that cannot be started has
 * failed.
 *   Returns    its index; if none did, the first error; the rest as cc_race
 *   Call from, Blocks, Ordering as cc_all */
CC_API int cc_any(cc_branch *b, size_t n);

CC_END_DECLS

/* A CC_TASK with its arguments, which are checked as in a call and live as long as the block this stands in: for the
 * initialiser of a cc_branch in a function. In C++ use the functions of lambda.h. */
#ifndef __cplusplus
#define CC_BRANCH(...) CC_PRIV_CAT(CC_PRIV_BRANCH_, CC_PRIV_SOME(__VA_ARGS__))(__VA_ARGS__)
#define CC_PRIV_BRANCH_0(f)                                                                                            \
    { f##_cc_run, (struct f##_cc_args[1]){f##_cc_pack()}, 0 }
#define CC_PRIV_BRANCH_N(f, ...)                                                                                       \
    { f##_cc_run, (struct f##_cc_args[1]){f##_cc_pack(__VA_ARGS__)}, 0 }
#define CC_PRIV_BRANCH_MANY(f, ...) CC_PRIV_BRANCH_N(f, __VA_ARGS__)
#endif

#endif /* CCRT_COMBINE_H */
