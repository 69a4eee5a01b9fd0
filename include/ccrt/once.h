/* SPDX-License-Identifier: MIT */
/* Something that is done once, by whoever comes first. */
#ifndef CCRT_ONCE_H
#define CCRT_ONCE_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

/* Begins as CC_ONCE_INIT, or all zero. May go when all calls have returned. */
typedef struct cc_once {
    uint32_t priv_lock[2];
    void *priv_waiters[2];
    void *priv_runner;
} cc_once;

/* clang-format off */
#define CC_ONCE_INIT {{0, 0}, {NULL, NULL}, NULL}
/* clang-format on */

/* Call fn, unless it was called before; returns when it has returned, whoever called it. Aborts if fn itself comes
 * here.
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point
 *   Ordering   what fn did is seen */
CC_API void cc_once_do(cc_once *o, void (*fn)(void));

/* The same; waiting for another that calls fn is a cancellation point.
 *   Returns    0 fn has returned; -ECANCELED, -ETIMEDOUT another is still calling it */
CC_API CC_NODISCARD int cc_once_do_cancellable(cc_once *o, void (*fn)(void));

CC_END_DECLS

#endif /* CCRT_ONCE_H */
