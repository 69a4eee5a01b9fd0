/* SPDX-License-Identifier: MIT */
/* A lock that many readers share, or one writer has; in the order they came. */
#ifndef CCRT_RWLOCK_H
#define CCRT_RWLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

/* Begins as CC_RWLOCK_INIT, or all zero. May go as soon as nobody holds it or is in a call on it. */
typedef struct cc_rwlock {
    uint32_t priv_lock[2];
    void *priv_waiters[2];
    void *priv_writer;
    size_t priv_readers;
} cc_rwlock;

/* clang-format off */
#define CC_RWLOCK_INIT {{0, 0}, {NULL, NULL}, NULL, 0}
/* clang-format on */

/* Lock to read, beside other readers, or to write, alone. Who comes while others wait waits behind them, so neither
 * kind starves; for that reason one that reads must not lock to read again: a writer that came in between waits for
 * the first, and the second for the writer.
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point
 *   Ordering   what writers did before is seen; a writer comes after what readers did */
CC_API void cc_rwlock_rdlock(cc_rwlock *l);
CC_API void cc_rwlock_wrlock(cc_rwlock *l);

/* The same, as cancellation points.
 *   Returns    0 it is locked; -ECANCELED, -ETIMEDOUT it is not */
CC_API CC_NODISCARD int cc_rwlock_rdlock_cancellable(cc_rwlock *l);
CC_API CC_NODISCARD int cc_rwlock_wrlock_cancellable(cc_rwlock *l);

/* The same, if that needs no wait.
 *   Returns    0; -EAGAIN */
CC_API CC_NODISCARD int cc_rwlock_tryrdlock(cc_rwlock *l);
CC_API CC_NODISCARD int cc_rwlock_trywrlock(cc_rwlock *l);

/* Unlock what the caller locked, to read or to write. Aborts if nobody has it, or a writer that is another; one reader
 * is not told from another.
 *   Call from  who locked it             Blocks: never */
CC_API void cc_rwlock_unlock(cc_rwlock *l);

CC_END_DECLS

#endif /* CCRT_RWLOCK_H */
