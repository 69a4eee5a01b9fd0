/* SPDX-License-Identifier: MIT */
/* A semaphore: permits, given out in the order they were asked for. */
#ifndef CCRT_SEM_H
#define CCRT_SEM_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

/* Begins as CC_SEM_INIT(permits); all zero has none. May go as soon as nobody is in a call on it. */
typedef struct cc_sem {
    uint32_t priv_lock[2];
    void *priv_waiters[2];
    uint32_t priv_permits;
} cc_sem;

/* clang-format off */
#define CC_SEM_INIT(permits) {{0, 0}, {NULL, NULL}, (permits)}
/* clang-format on */

/* Take so many permits, all at once; waits until there are enough. First come, first served: who wants few waits behind
 * who wants many, so that those get them.
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point
 *   Ordering   what was done before the release of a permit is seen by who gets it */
CC_API void cc_sem_acquire(cc_sem *s, unsigned permits);

/* The same, as a cancellation point.
 *   Returns    0 they are taken; -ECANCELED, -ETIMEDOUT none are */
CC_API CC_NODISCARD int cc_sem_acquire_cancellable(cc_sem *s, unsigned permits);

/* Take them if they are there and nobody waits.
 *   Returns    0; -EAGAIN */
CC_API CC_NODISCARD int cc_sem_try_acquire(cc_sem *s, unsigned permits);

/* Give permits back, or new ones. Aborts if there would be more than UINT32_MAX.
 *   Call from  fiber or thread, whoever took them      Blocks: never */
CC_API void cc_sem_release(cc_sem *s, unsigned permits);

CC_END_DECLS

#endif /* CCRT_SEM_H */
