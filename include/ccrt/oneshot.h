/* SPDX-License-Identifier: MIT */
/* One value, once, from a sender to a receiver: an answer to a question.
 *
 *     typedef CC_ONESHOT(int) answer;
 *
 *     answer a;
 *     cc_oneshot_create(a);                         two ends: a sender's and a receiver's
 *     cc_oneshot_send(a, 42);                       the sender; or
 *     cc_oneshot_drop(a);                           the sender, without a value
 *     int v;
 *     cc_oneshot_recv(a, &v);                       0; -EPIPE: no value comes, or it was received before
 *     cc_oneshot_destroy(a);                        the receiver
 *
 * Each end goes when it is done with, whatever the other does: the sender's with its send or drop, the receiver's with
 * destroy, also while the sender has not sent yet. The memory goes with the second. So who has waited long enough
 * leaves, and a sender that comes later is told by -EPIPE.
 *
 * A typed one is a small union: copy it freely, pass it to tasks by value. Its value is copied byte by byte. The
 * macros have the names of plain functions over `cc_oneshot *` (`(a).ch`); a name in parentheses is the function. */
#ifndef CCRT_ONESHOT_H
#define CCRT_ONESHOT_H

#include <stddef.h>

#include "defs.h"

CC_BEGIN_DECLS

typedef struct cc_oneshot cc_oneshot;

/* Make one for a value of elem_bytes.
 *   Returns    0; -EINVAL no such size; -ENOMEM
 *   Call from  fiber or thread           Blocks: never */
CC_API int cc_oneshot_create(cc_oneshot **out, size_t elem_bytes);

/* Send its value: the end of the sender's end, whatever it returns. Several may try: the first sends, the others get
 * -EPIPE, as long as the receiver is there.
 *   Returns    0 the receiver has it, or can have it; -EPIPE the receiver is gone, or something was sent or dropped
 *              before; -EINVAL
 *   Call from  fiber or thread           Blocks: never
 *   Ownership  copies the value; the pointer is not kept
 *   Ordering   what the sender wrote before is seen by who receives it */
CC_API int cc_oneshot_send(cc_oneshot *o, const void *elem);

/* Give up without a value: the end of the sender's end; the receiver gets -EPIPE. After a send it does nothing, as long
 * as the receiver is there. NULL does nothing. */
CC_API void cc_oneshot_drop(cc_oneshot *o);

/* Receive the value, waiting until it is sent. *elem changes only if it returns 0. Several may wait: one gets it, the
 * others -EPIPE.
 *   Returns    0; -EPIPE it was dropped, or received before; -ECANCELED, -ETIMEDOUT; -EINVAL; -ENOMEM
 *   Call from  fiber or thread           Blocks: the caller only; a cancellation point */
CC_API int cc_oneshot_recv(cc_oneshot *o, void *elem);

/* The same without waiting: also -EAGAIN. */
CC_API int cc_oneshot_try_recv(cc_oneshot *o, void *elem);

/* The end of the receiver's end; a value that was not received is dropped. Nobody may be receiving: aborts with a
 * message if somebody waits. NULL does nothing. */
CC_API void cc_oneshot_destroy(cc_oneshot *o);

CC_END_DECLS

/* ---- typed ---- */

#define CC_ONESHOT(T)                                                                                                  \
    union {                                                                                                            \
        cc_oneshot *ch;                                                                                                \
        T *type; /* only its type is used */                                                                           \
    }

#ifdef __cplusplus

namespace ccrt {
namespace priv {

template <class T> int oneshot_send(cc_oneshot *o, T *, const typename cc_elem_of<T>::type &elem) {
    return cc_oneshot_send(o, &elem);
}

} /* namespace priv */
} /* namespace ccrt */

#define cc_oneshot_send(o, ...) ccrt::priv::oneshot_send((o).ch, (o).type, __VA_ARGS__)

#else

/* A struct may be written as its fields in braces. */
#define cc_oneshot_send(o, ...) cc_oneshot_send((o).ch, CC_PRIV_ELEM(o, __VA_ARGS__))

#endif

#define cc_oneshot_create(o) cc_oneshot_create(&(o).ch, sizeof *(o).type)
#define cc_oneshot_drop(o) cc_oneshot_drop((o).ch)
#define cc_oneshot_recv(o, ptr) cc_oneshot_recv((o).ch, CC_PRIV_SAME((o).type, (ptr)))
#define cc_oneshot_try_recv(o, ptr) cc_oneshot_try_recv((o).ch, CC_PRIV_SAME((o).type, (ptr)))
#define cc_oneshot_destroy(o) cc_oneshot_destroy((o).ch)

#endif /* CCRT_ONESHOT_H */
