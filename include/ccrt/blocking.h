/* SPDX-License-Identifier: MIT */
/* Calls that block a thread: a library that waits in its own way, a file on a slow disk, getaddrinfo().
 *
 * A task that makes one as it is stops no other for long: its worker is found stuck, and another takes its place. These
 * say it beforehand, so that nobody waits until that is found. */
#ifndef CCRT_BLOCKING_H
#define CCRT_BLOCKING_H

#include <stdint.h>

#include "defs.h"
#include "scope.h"

CC_BEGIN_DECLS

/* Call fn(arg) on a thread that is there for that; the calling task waits. Threads are started as they are needed, up
 * to 512 (then calls wait for one), and end when there is nothing to do. In fn the caller is a plain thread. Called
 * from a plain thread, it just calls fn.
 *   Returns    what fn returns; it never fails: without memory for a thread, fn is called in place
 *   Call from  anywhere               Blocks: the caller only; not a cancellation point */
CC_API int cc_blocking(int (*fn)(void *arg), void *arg);

/* Of the macro below. */
typedef struct cc_priv_blocking {
    void *priv_worker; /* whose thread is blocked; NULL: a plain one's */
    uint32_t priv_outer;
} cc_priv_blocking;
CC_API cc_priv_blocking *cc_priv_blocking_enter(cc_priv_blocking *b);
CC_API void cc_priv_blocking_leave(cc_priv_blocking *b);

CC_END_DECLS

/* CC_BLOCKING { read(fd, buffer, size); }: the braces run where they are, on this thread, and others take over what its
 * worker would have done. Cheaper than cc_blocking() for what blocks only now and then; nothing in them should wait
 * by a call of this library. */
#define CC_BLOCKING CC_PRIV_BLOCKING(__COUNTER__)
#define CC_PRIV_BLOCKING(id)                                                                                           \
    CC_PRIV_BRACES(id, cc_priv_blocking, cc_priv_blocking_leave, cc_priv_blocking_enter(CC_PRIV_BRACES_OF(id)))

#endif /* CCRT_BLOCKING_H */
