/* SPDX-License-Identifier: MIT */
/* A barrier: nobody passes until all have come; then it is closed again. */
#ifndef CCRT_BARRIER_H
#define CCRT_BARRIER_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

/* Begins as CC_BARRIER_INIT(parties), 1 or more. May go as soon as all have passed, and nobody will come. */
typedef struct cc_barrier {
    uint32_t priv_lock[2];
    void *priv_waiters[2];
    uint32_t priv_parties;
    uint32_t priv_arrived;
    uint64_t priv_round;
} cc_barrier;

/* clang-format off */
#define CC_BARRIER_INIT(parties) {{0, 0}, {NULL, NULL}, (parties), 0, 0}
/* clang-format on */

/* Wait until as many have come as there are parties.
 *   Returns    1 to the one that came last, 0 to the others
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point
 *   Ordering   what all did before is seen by all */
CC_API int cc_barrier_wait(cc_barrier *b);

/* The same, as a cancellation point: who leaves so has not come.
 *   Returns    1, 0; -ECANCELED, -ETIMEDOUT */
CC_API CC_NODISCARD int cc_barrier_wait_cancellable(cc_barrier *b);

CC_END_DECLS

#endif /* CCRT_BARRIER_H */
