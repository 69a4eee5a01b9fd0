/* SPDX-License-Identifier: MIT */
/* A condition: wait, with a mutex given up meanwhile, until another says that something has changed. */
#ifndef CCRT_COND_H
#define CCRT_COND_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"
#include "mutex.h"

CC_BEGIN_DECLS

/* Begins as CC_COND_INIT, or all zero. May go as soon as nobody waits for it any more. */
typedef struct cc_cond {
    uint32_t priv_lock[2];
    void *priv_waiters[2];
} cc_cond;

/* clang-format off */
#define CC_COND_INIT {{0, 0}, {NULL, NULL}}
/* clang-format on */

/* Give up the mutex, wait for a signal, lock the mutex again. May return for no reason: loop on what is waited for.
 *   Call from  who has locked the mutex  Blocks: the caller only; not a cancellation point */
CC_API void cc_cond_wait(cc_cond *c, cc_mutex *m);

/* The same, as a cancellation point; the mutex is locked in any case when it returns. A signal is not lost: who returns
 * another value than 0 has had none.
 *   Returns    0; -ECANCELED, -ETIMEDOUT */
CC_API CC_NODISCARD int cc_cond_wait_cancellable(cc_cond *c, cc_mutex *m);

/* Let the one go on that has waited longest, or all that wait. What they wait for is changed with the mutex locked; it
 * may be unlocked again by the time of this call.
 *   Call from  fiber or thread           Blocks: never */
CC_API void cc_cond_signal(cc_cond *c);
CC_API void cc_cond_broadcast(cc_cond *c);

CC_END_DECLS

#endif /* CCRT_COND_H */
