/* SPDX-License-Identifier: MIT */
/* Notifications without anything else: for who keeps what is waited for elsewhere, or nowhere. */
#ifndef CCRT_NOTIFY_H
#define CCRT_NOTIFY_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

/* Begins as CC_NOTIFY_INIT, or all zero. May go as soon as nobody is in a call on it. */
typedef struct cc_notify {
    uint32_t priv_lock[2];
    void *priv_waiters[2];
    uint64_t priv_round;
    int priv_pending;
} cc_notify;

/* clang-format off */
#define CC_NOTIFY_INIT {{0, 0}, {NULL, NULL}, 0, 0}
/* clang-format on */

/* Wait for a notification, or take the one that is remembered.
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point
 *   Ordering   what the notifier did before is seen */
CC_API void cc_notify_wait(cc_notify *n);

/* The same, as a cancellation point. A notification is not lost: who returns another value than 0 has had none.
 *   Returns    0; -ECANCELED, -ETIMEDOUT */
CC_API CC_NODISCARD int cc_notify_wait_cancellable(cc_notify *n);

/* Notify the one that has waited longest. If nobody waits, the next to come is notified: one such notification is
 * remembered, however many there were.
 *   Call from  fiber or thread           Blocks: never */
CC_API void cc_notify_one(cc_notify *n);

/* Notify all that wait now. It is not remembered for others.
 *   Call from  fiber or thread           Blocks: never */
CC_API void cc_notify_all(cc_notify *n);

CC_END_DECLS

#endif /* CCRT_NOTIFY_H */
