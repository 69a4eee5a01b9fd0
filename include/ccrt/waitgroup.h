/* SPDX-License-Identifier: MIT */
/* A count of things under way, and waiting for its end. */
#ifndef CCRT_WAITGROUP_H
#define CCRT_WAITGROUP_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

/* Begins as CC_WAITGROUP_INIT, or all zero. May go as soon as a wait has returned, and nobody else is in one. */
typedef struct cc_waitgroup {
    uint32_t priv_lock[2];
    void *priv_waiters[2];
    size_t priv_count;
} cc_waitgroup;

/* clang-format off */
#define CC_WAITGROUP_INIT {{0, 0}, {NULL, NULL}, 0}
/* clang-format on */

/* So many more are under way; or, below zero, fewer. And one is done. Aborts if that makes them fewer than none.
 *   Call from  fiber or thread; adding to none comes before the wait that is to know of it
 *   Blocks     never
 *   Ordering   what was done before is seen by who waited */
CC_API void cc_waitgroup_add(cc_waitgroup *g, int n);
CC_API void cc_waitgroup_done(cc_waitgroup *g);

/* Wait until none is under way.
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point */
CC_API void cc_waitgroup_wait(cc_waitgroup *g);

/* The same, as a cancellation point.
 *   Returns    0; -ECANCELED, -ETIMEDOUT some are still under way */
CC_API CC_NODISCARD int cc_waitgroup_wait_cancellable(cc_waitgroup *g);

CC_END_DECLS

#endif /* CCRT_WAITGROUP_H */
