/* SPDX-License-Identifier: MIT */
/* Channels: values of one type from any number of senders to any number of receivers, fibers and threads alike.
 *
 *     typedef CC_CHAN(int) int_chan;
 *
 *     int_chan c;
 *     cc_chan_create(c, 16);                        16 values fit in; 0: each send meets a receive
 *     cc_send(c, 7);                                0; -EPIPE closed; -ECANCELED; -ETIMEDOUT
 *     int v;
 *     cc_recv(c, &v);                               the same; -EPIPE: closed, and all was received
 *     CC_EACH(int, x, c) use(x);                    until it is closed and drained, or an error
 *     cc_chan_close(c);                             what was accepted is still delivered
 *     cc_chan_destroy(c);
 *
 * A typed channel is a small union: copy it freely, pass it to tasks by value. Elements are copied byte by byte. Below
 * the macros is a plain function for each, over `cc_chan *` (`(c).ch`). */
#ifndef CCRT_CHAN_H
#define CCRT_CHAN_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

typedef struct cc_chan cc_chan;

/* What a send does when there is no room. */
enum {
    CC_OVERFLOW_BLOCK,       /* waits */
    CC_OVERFLOW_DROP_NEWEST, /* succeeds; its value is dropped */
    CC_OVERFLOW_DROP_OLDEST  /* succeeds; the oldest value is dropped */
};

/* Why a wait on a channel ended, as logs and dumps name it. */
enum {
    CC_CHAN_NOTIFY_NONE,   /* it has not */
    CC_CHAN_NOTIFY_DATA,   /* a value was handed over, or taken */
    CC_CHAN_NOTIFY_CANCEL, /* cancelled, timed out, or another case of a select went first */
    CC_CHAN_NOTIFY_CLOSE,  /* the channel was closed */
    CC_CHAN_NOTIFY_SIGNAL  /* something else changed: look again; or another case of a select than a channel's */
};
CC_API const char *cc_chan_notify_name(int reason);

/* What one channel gets. Zero means the default. */
typedef struct cc_chan_attr {
    size_t capacity;  /* values that fit in */
    int overflow;     /* CC_OVERFLOW_*; to drop, capacity must be 1 or more */
    int unbounded;    /* 1: a send never waits, and fails with -ENOMEM at worst; capacity is ignored */
    const char *name; /* shown in reports; copied */
} cc_chan_attr;

/* Make a channel of elements of elem_bytes.
 *   Returns    0 and the channel; -EINVAL no such size, capacity or policy; -ENOMEM
 *   Call from  fiber or thread           Blocks: never */
CC_API int cc_channel_create(cc_chan **out, size_t elem_bytes, size_t capacity);
CC_API int cc_channel_create_with(cc_chan **out, size_t elem_bytes, const cc_chan_attr *attr);

/* End it; what is still in it is dropped. Nobody may be waiting on it, or use it any more: aborts with a message if
 * somebody waits. NULL does nothing. */
CC_API void cc_channel_destroy(cc_chan *c);

/* Close it: values accepted so far are delivered, then receives return -EPIPE; sends return -EPIPE at once, and so do
 * those that were waiting, their values untouched. What closed it first counts; closing again does nothing. With a
 * code (negative, and not -EAGAIN, which says that a call would wait; else it is -EPIPE): receivers get that instead of
 * -EPIPE; by receivers: senders get it. NULL does nothing.
 *   Call from  fiber or thread           Blocks: never; not a cancellation point */
CC_API void cc_channel_close(cc_chan *c);
CC_API void cc_channel_close_error(cc_chan *c, int code);
CC_API void cc_channel_close_recv(cc_chan *c, int code);

/* Close it when nursery n ends, after its last child. What is sent to it comes from inside n: so a receive by a child
 * of n, or by its owner between the braces, that finds only others waiting like itself would wait for its own end: it
 * returns -EDEADLK, and so do they. One that may end otherwise is not taken for that: who selects among several, has a
 * nearer deadline than n, or forks or a nursery of its own under way. It must not be destroyed before n has ended.
 *   Returns    0; -EBUSY another nursery closes it; -EINVAL */
struct cc_nursery;
CC_API int cc_channel_close_with(cc_chan *c, struct cc_nursery *n);

/* Send one element, waiting while there is no room, or, without capacity, no receiver.
 *   Returns    0; -EPIPE closed, or the receivers' code; -ECANCELED, -ETIMEDOUT; -EINVAL c or elem is NULL; -ENOMEM
 *   Call from  fiber or thread           Blocks: the caller only
 *   Ownership  copies the element; the pointer is not kept
 *   Ordering   what the sender wrote before is seen by who receives this element */
CC_API int cc_channel_send(cc_chan *c, const void *elem);

/* Receive one element, waiting while there is none. *elem changes only if it returns 0.
 *   Returns    0; -EPIPE closed and drained, or the closer's code; -ECANCELED, -ETIMEDOUT; -EINVAL; -ENOMEM;
 *              -EDEADLK see cc_channel_close_with()
 *   Call from  fiber or thread           Blocks: the caller only */
CC_API int cc_channel_recv(cc_chan *c, void *elem);

/* The same without waiting: also -EAGAIN. */
CC_API int cc_channel_try_send(cc_chan *c, const void *elem);
CC_API int cc_channel_try_recv(cc_chan *c, void *elem);

/* How many are in it, as of some moment during the call; how many fit in (SIZE_MAX: unbounded); how many a policy has
 * dropped; whether it was closed. */
CC_API size_t cc_channel_len(const cc_chan *c);
CC_API size_t cc_channel_cap(const cc_chan *c);
CC_API uint64_t cc_channel_dropped(const cc_chan *c);
CC_API int cc_channel_is_closed(const cc_chan *c);

CC_END_DECLS

/* ---- typed ---- */

#define CC_CHAN(T)                                                                                                     \
    union {                                                                                                            \
        cc_chan *ch;                                                                                                   \
        T *type; /* only its type is used */                                                                           \
    }

#define cc_chan_create(c, capacity) cc_channel_create(&(c).ch, sizeof *(c).type, (capacity))
#define cc_chan_create_with(c, attr) cc_channel_create_with(&(c).ch, sizeof *(c).type, (attr))
#define cc_chan_destroy(c) cc_channel_destroy((c).ch)
#define cc_chan_close(c) cc_channel_close((c).ch)
#define cc_chan_close_error(c, code) cc_channel_close_error((c).ch, (code))
#define cc_chan_close_with(c, n) cc_channel_close_with((c).ch, (n))
#define cc_chan_close_recv(c, code) cc_channel_close_recv((c).ch, (code))
#define cc_recv(c, ptr) cc_channel_recv((c).ch, CC_PRIV_SAME((c).type, (ptr)))
#define cc_try_recv(c, ptr) cc_channel_try_recv((c).ch, CC_PRIV_SAME((c).type, (ptr)))
#define cc_chan_len(c) cc_channel_len((c).ch)
#define cc_chan_cap(c) cc_channel_cap((c).ch)
#define cc_chan_dropped(c) cc_channel_dropped((c).ch)
#define cc_chan_is_closed(c) cc_channel_is_closed((c).ch)

/* For each value v of type T received from c; CC_EACH(T, v, c, rc) also says why it ended. */
#define CC_EACH(T, ...) CC_PRIV_EACH_PICK(__VA_ARGS__, CC_PRIV_EACH_RC, CC_PRIV_EACH_V, )(T, __VA_ARGS__)
#define CC_PRIV_EACH_PICK(v, c, rc, each, ...) each
#define CC_PRIV_EACH_V(T, v, c) for (T v; cc_recv(c, &v) == 0;)
#define CC_PRIV_EACH_RC(T, v, c, rc) for (T v; ((rc) = cc_recv(c, &v)) == 0;)

#ifndef __cplusplus

/* A struct may be written as its fields in braces. */
#define cc_send(c, ...) cc_channel_send((c).ch, CC_PRIV_ELEM(c, __VA_ARGS__))
#define cc_try_send(c, ...) cc_channel_try_send((c).ch, CC_PRIV_ELEM(c, __VA_ARGS__))

#else

#define cc_send(c, ...) ccrt::priv::send((c).ch, (c).type, __VA_ARGS__)
#define cc_try_send(c, ...) ccrt::priv::try_send((c).ch, (c).type, __VA_ARGS__)

namespace ccrt {
namespace priv {

/* The value is converted to the channel's type, not the other way round; a struct may be its fields in braces. */
template <class T> struct cc_elem {
    static_assert(__is_trivially_copyable(T), "ccrt: elements of channels are copied byte by byte");
    typedef T type;
};
template <class T> int send(cc_chan *c, T *, const typename cc_elem<T>::type &elem) {
    return cc_channel_send(c, &elem);
}
template <class T> int try_send(cc_chan *c, T *, const typename cc_elem<T>::type &elem) {
    return cc_channel_try_send(c, &elem);
}

} /* namespace priv */
} /* namespace ccrt */

#endif

#endif /* CCRT_CHAN_H */
