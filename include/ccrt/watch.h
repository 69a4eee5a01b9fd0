/* SPDX-License-Identifier: MIT */
/* Watch: one current value, and waiting for it to change.
 *
 *     typedef CC_WATCH(struct config) watched;
 *
 *     watched w;
 *     cc_watch_create(w, first);                    the value it begins with, version 1
 *     cc_watch_send(w, second);                     replaces it; never waits
 *     struct config c;
 *     uint64_t seen = 0;                            a version; 0 is before all
 *     while (cc_watch_recv(w, &seen, &c) == 0)      waits for one newer than seen; c is the newest
 *         use(c);
 *     cc_watch_close(w);                            who has not seen the last still sees it, then -EPIPE
 *     cc_watch_destroy(w);
 *
 * Who is slow misses values in between, never the last. What a receiver has seen is a number in its own hands: any
 * number of them may wait, and nothing needs to be given back.
 *
 * A typed one is a small union: copy it freely, pass it to tasks by value. Values are copied byte by byte. The macros
 * have the names of plain functions over `cc_watch *` (`(w).ch`); a name in parentheses is the function. */
#ifndef CCRT_WATCH_H
#define CCRT_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

typedef struct cc_watch cc_watch;

/* Make one for a value of elem_bytes, which begins as *first; NULL: as zeros.
 *   Returns    0; -EINVAL no such size; -ENOMEM
 *   Call from  fiber or thread           Blocks: never */
CC_API int cc_watch_create(cc_watch **out, size_t elem_bytes, const void *first);

/* Replace the value; its version is one more, also if it is the same.
 *   Returns    0; -EPIPE closed; -EINVAL
 *   Call from  fiber or thread           Blocks: never
 *   Ownership  copies the value; the pointer is not kept
 *   Ordering   what the sender wrote before is seen by who receives this value or a later one */
CC_API int cc_watch_send(cc_watch *w, const void *elem);

/* Receive the newest value, waiting until its version is more than *seen, and set *seen to that. Both change only if it
 * returns 0.
 *   Returns    0; -EPIPE closed, and *seen is the last; -ECANCELED, -ETIMEDOUT; -EINVAL; -ENOMEM
 *   Call from  fiber or thread           Blocks: the caller only; a cancellation point */
CC_API int cc_watch_recv(cc_watch *w, uint64_t *seen, void *elem);

/* The same without waiting: also -EAGAIN. */
CC_API int cc_watch_try_recv(cc_watch *w, uint64_t *seen, void *elem);

/* The value as it is now, seen or not, closed or not.
 *   Returns    0; -EINVAL */
CC_API int cc_watch_get(cc_watch *w, void *elem);

/* Its version, from 1; 0 for NULL. */
CC_API uint64_t cc_watch_version(cc_watch *w);

/* Close it: the last value stays. Closing again does nothing; nor does NULL.
 *   Call from  fiber or thread           Blocks: never; not a cancellation point */
CC_API void cc_watch_close(cc_watch *w);

/* End it. Nobody may use it any more: aborts with a message if somebody waits. NULL does nothing. */
CC_API void cc_watch_destroy(cc_watch *w);

CC_END_DECLS

/* ---- typed ---- */

#define CC_WATCH(T)                                                                                                    \
    union {                                                                                                            \
        cc_watch *ch;                                                                                                  \
        T *type; /* only its type is used */                                                                           \
    }

#ifdef __cplusplus

namespace ccrt {
namespace priv {

template <class T> int watch_create(cc_watch **w, T *, const typename cc_elem_of<T>::type &first) {
    return cc_watch_create(w, sizeof first, &first);
}
template <class T> int watch_send(cc_watch *w, T *, const typename cc_elem_of<T>::type &elem) {
    return cc_watch_send(w, &elem);
}

} /* namespace priv */
} /* namespace ccrt */

#define cc_watch_create(w, ...) ccrt::priv::watch_create(&(w).ch, static_cast<decltype((w).type)>(nullptr), __VA_ARGS__)
#define cc_watch_send(w, ...) ccrt::priv::watch_send((w).ch, (w).type, __VA_ARGS__)

#else

/* A struct may be written as its fields in braces. */
#define cc_watch_create(w, ...) cc_watch_create(&(w).ch, sizeof *(w).type, CC_PRIV_ELEM(w, __VA_ARGS__))
#define cc_watch_send(w, ...) cc_watch_send((w).ch, CC_PRIV_ELEM(w, __VA_ARGS__))

#endif

#define cc_watch_recv(w, seen, ptr) cc_watch_recv((w).ch, (seen), CC_PRIV_SAME((w).type, (ptr)))
#define cc_watch_try_recv(w, seen, ptr) cc_watch_try_recv((w).ch, (seen), CC_PRIV_SAME((w).type, (ptr)))
#define cc_watch_get(w, ptr) cc_watch_get((w).ch, CC_PRIV_SAME((w).type, (ptr)))
#define cc_watch_version(w) cc_watch_version((w).ch)
#define cc_watch_close(w) cc_watch_close((w).ch)
#define cc_watch_destroy(w) cc_watch_destroy((w).ch)

#endif /* CCRT_WATCH_H */
