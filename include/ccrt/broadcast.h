/* SPDX-License-Identifier: MIT */
/* Broadcast: every subscriber receives every value that is sent after it subscribed, unless it is too slow.
 *
 *     typedef CC_BROADCAST(int) news;
 *
 *     news b;
 *     cc_broadcast_create(b, 16);                   the newest 16 values are kept
 *     cc_subscriber s;
 *     cc_broadcast_subscribe(b, &s);                from here on
 *     cc_broadcast_send(b, 7);                      never waits
 *     int v;
 *     cc_broadcast_recv(b, &s, &v);                 0: v, and s.lagged values before it were lost; -EPIPE closed, and
 *                                                   all was received
 *     cc_broadcast_close(b);
 *     cc_broadcast_destroy(b);
 *
 * Senders wait for nobody. A subscriber that is more than the capacity behind loses the oldest values, never the
 * newest, and is told how many with the next it receives. A subscriber is a place in the stream, in its owner's hands:
 * nothing needs to be given back, and a copy is another subscriber at the same place.
 *
 * A typed one is a small union: copy it freely, pass it to tasks by value. Values are copied byte by byte. The macros
 * have the names of plain functions over `cc_broadcast *` (`(b).ch`); a name in parentheses is the function. */
#ifndef CCRT_BROADCAST_H
#define CCRT_BROADCAST_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

typedef struct cc_broadcast cc_broadcast;

/* A place in the stream of values. For one task or thread at a time. */
typedef struct cc_subscriber {
    uint64_t priv_next; /* the number of the value it receives next */
    uint64_t lagged;    /* values that were lost between the last it received and the one before */
    uint64_t lost;      /* all it ever lost */
} cc_subscriber;

/* Make one that keeps so many values (1 or more) of elem_bytes.
 *   Returns    0; -EINVAL no such size or capacity; -ENOMEM
 *   Call from  fiber or thread           Blocks: never */
CC_API int cc_broadcast_create(cc_broadcast **out, size_t elem_bytes, size_t capacity);

/* Subscribe: *s receives what is sent after this returns, and nothing before this was called.
 *   Returns    0, also if it is closed: then it receives -EPIPE; -EINVAL
 *   Call from  fiber or thread           Blocks: never */
CC_API int cc_broadcast_subscribe(cc_broadcast *b, cc_subscriber *s);

/* Send a value to all who have subscribed; with nobody there it is gone.
 *   Returns    0; -EPIPE closed; -EINVAL
 *   Call from  fiber or thread           Blocks: never
 *   Ownership  copies the value; the pointer is not kept
 *   Ordering   what the sender wrote before is seen by who receives it */
CC_API int cc_broadcast_send(cc_broadcast *b, const void *elem);

/* Receive the oldest value that *s has not received and that is still kept, waiting while there is none. *elem and *s
 * change only if it returns 0.
 *   Returns    0, and in s->lagged how many were lost before it; -EPIPE closed, and all was received; -ECANCELED,
 *              -ETIMEDOUT; -EINVAL; -ENOMEM
 *   Call from  fiber or thread           Blocks: the caller only; a cancellation point */
CC_API int cc_broadcast_recv(cc_broadcast *b, cc_subscriber *s, void *elem);

/* The same without waiting: also -EAGAIN. */
CC_API int cc_broadcast_try_recv(cc_broadcast *b, cc_subscriber *s, void *elem);

/* Close it: what was sent is still received, then -EPIPE. Closing again does nothing; nor does NULL.
 *   Call from  fiber or thread           Blocks: never; not a cancellation point */
CC_API void cc_broadcast_close(cc_broadcast *b);

/* End it. Nobody may use it any more: aborts with a message if somebody waits. NULL does nothing. */
CC_API void cc_broadcast_destroy(cc_broadcast *b);

CC_END_DECLS

/* ---- typed ---- */

#define CC_BROADCAST(T)                                                                                                \
    union {                                                                                                            \
        cc_broadcast *ch;                                                                                              \
        T *type; /* only its type is used */                                                                           \
    }

#ifdef __cplusplus

namespace ccrt {
namespace priv {

template <class T> int broadcast_send(cc_broadcast *b, T *, const typename cc_elem_of<T>::type &elem) {
    return cc_broadcast_send(b, &elem);
}

} /* namespace priv */
} /* namespace ccrt */

#define cc_broadcast_send(b, ...) ccrt::priv::broadcast_send((b).ch, (b).type, __VA_ARGS__)

#else

/* A struct may be written as its fields in braces. */
#define cc_broadcast_send(b, ...) cc_broadcast_send((b).ch, CC_PRIV_ELEM(b, __VA_ARGS__))

#endif

#define cc_broadcast_create(b, capacity) cc_broadcast_create(&(b).ch, sizeof *(b).type, (capacity))
#define cc_broadcast_subscribe(b, s) cc_broadcast_subscribe((b).ch, (s))
#define cc_broadcast_recv(b, s, ptr) cc_broadcast_recv((b).ch, (s), CC_PRIV_SAME((b).type, (ptr)))
#define cc_broadcast_try_recv(b, s, ptr) cc_broadcast_try_recv((b).ch, (s), CC_PRIV_SAME((b).type, (ptr)))
#define cc_broadcast_close(b) cc_broadcast_close((b).ch)
#define cc_broadcast_destroy(b) cc_broadcast_destroy((b).ch)

#endif /* CCRT_BROADCAST_H */
