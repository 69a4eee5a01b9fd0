/* SPDX-License-Identifier: MIT */
/* Select: wait for several things at once; exactly one of them happens.
 *
 *     switch (cc_select(CC_RECV(a, &x), CC_SEND(b, y), CC_CLOSED(a), CC_AFTER_MS(100))) {
 *     case 0: ...received x...                      the index of the case that happened
 *     case 3: ...too late...
 *     default: ...a negative error...
 *     }
 *
 *     CC_SELECT {                                   the same as a block; `break` leaves it
 *         CC_ON_RECV(a, &x)   { ... }
 *         CC_ON_SEND(b, &y)   { ... }
 *         CC_ON_AFTER_MS(100) { ... }
 *         CC_ON_ERROR(rc)     { ...cancelled, closed: see rc, a variable of yours... }
 *     }
 *
 * Of several that can happen at once one is taken at random; cc_select_ordered() and CC_SELECT_ORDERED take the first.
 * A case whose channel is null (`(c).ch == NULL`) never happens. A receive from a channel that is closed and drained,
 * or a send to a closed one, makes CC_CLOSED() of that channel happen if there is such a case; else select returns
 * -EPIPE, or the code it was closed with. With CC_DEFAULT: now or not at all. Several cases may be on one channel. */
#ifndef CCRT_SELECT_H
#define CCRT_SELECT_H

#include "chan.h"
#include "task.h"

CC_BEGIN_DECLS

enum {
    CC_OP_NONE,
    CC_OP_RECV,
    CC_OP_SEND,
    CC_OP_CLOSED,
    CC_OP_AFTER,
    CC_OP_DEFAULT,
    CC_OP_DONE,
    CC_OP_READABLE,
    CC_OP_WRITABLE
};

/* One case. */
typedef struct cc_case {
    int op;        /* CC_OP_*; CC_OP_NONE never happens */
    cc_chan *chan; /* NULL: it never happens */
    void *elem;    /* received into, or sent from */
    int64_t ns;    /* CC_OP_AFTER: that long from now; negative is 0. CC_OP_READABLE, CC_OP_WRITABLE: a descriptor */
    cc_task task;  /* CC_OP_DONE: that it has ended */
} cc_case;

enum { CC_SELECT_FAIR, CC_SELECT_IN_ORDER };

/* Wait until one of count cases happens.
 *   Returns    its index; -EPIPE, or a closer's code, if none can but a channel was closed; -ECANCELED, -ETIMEDOUT by a
 *              scope; -EINVAL there is no case at all, an unknown one, or one without an element; -ENOMEM;
 *              -EDEADLK the only case is a receive, and see cc_channel_close_with()
 *   Call from  fiber or thread           Blocks: the caller only */
CC_API int cc_select_cases(const cc_case *cases, size_t count, int order);

CC_END_DECLS

/* For ever at most. */
static inline int64_t cc_priv_ms_as_ns(int64_t ms) {
    return ms > INT64_MAX / 1000000 ? INT64_MAX : ms < 0 ? 0 : ms * 1000000;
}

/* NOLINTBEGIN(bugprone-macro-parentheses): lists of cases stand where no parentheses may */

/* ---- as an expression ---- */

#define CC_PRIV_CASE(op, chan, elem, ns) CC_PRIV_CASE_(op, chan, elem, ns, CC_PRIV_NO_TASK)
#ifndef __cplusplus

#define CC_PRIV_NO_TASK ((cc_task){NULL, 0})
#define CC_PRIV_CASE_(op, chan, elem, ns, task) ((cc_case){op, chan, elem, ns, task})
#define CC_SEND(c, ...) CC_PRIV_CASE(CC_OP_SEND, (c).ch, CC_PRIV_ELEM(c, __VA_ARGS__), 0)
#define CC_PRIV_SELECT(order, ...)                                                                                     \
    cc_select_cases((const cc_case[]){__VA_ARGS__}, sizeof((const cc_case[]){__VA_ARGS__}) / sizeof(cc_case), order)

#else

#define CC_PRIV_NO_TASK (ccrt::priv::no_task())
#define CC_PRIV_CASE_(op, chan, elem, ns, task) (ccrt::priv::make_case(op, chan, elem, ns, task))
#define CC_SEND(c, ...) (ccrt::priv::send_case((c).ch, (c).type, __VA_ARGS__))
#define CC_PRIV_SELECT(order, ...) (ccrt::priv::select(order, __VA_ARGS__))

namespace ccrt {
namespace priv {

inline cc_task no_task() {
    return cc_task{nullptr, 0};
}
inline cc_case make_case(int op, cc_chan *chan, void *elem, int64_t ns, cc_task task) {
    return cc_case{op, chan, elem, ns, task};
}

/* The element lives as long as the case: to the end of the full expression. */
template <class T> struct cc_send_elem {
    cc_chan *chan;
    mutable T elem;
    operator cc_case() const {
        return make_case(CC_OP_SEND, chan, &elem, 0, no_task());
    }
};
template <class T> cc_send_elem<T> send_case(cc_chan *c, T *, const typename cc_elem<T>::type &elem) {
    return {c, elem};
}
template <class... C> int select(int order, const C &...c) {
    const cc_case cases[] = {static_cast<cc_case>(c)...};
    return cc_select_cases(cases, sizeof...(c), order);
}

} /* namespace priv */
} /* namespace ccrt */

#endif

#define CC_RECV(c, ptr) CC_PRIV_CASE(CC_OP_RECV, (c).ch, CC_PRIV_SAME((c).type, (ptr)), 0)
#define CC_CLOSED(c) CC_PRIV_CASE(CC_OP_CLOSED, (c).ch, NULL, 0)
#define CC_AFTER_MS(ms) CC_PRIV_CASE(CC_OP_AFTER, NULL, NULL, cc_priv_ms_as_ns(ms))
#define CC_DEFAULT CC_PRIV_CASE(CC_OP_DEFAULT, NULL, NULL, 0)
/* A task has ended, or its handle is stale; joining it does not wait then. */
#define CC_DONE(t) CC_PRIV_CASE_(CC_OP_DONE, NULL, NULL, 0, t)
/* A descriptor can be read, or written, without waiting; or its end, or an error, can be found out so. If it is closed
 * meanwhile select returns -EBADF; a negative one is -EBADF, too. */
#define CC_READABLE(fd) CC_PRIV_CASE(CC_OP_READABLE, NULL, NULL, fd)
#define CC_WRITABLE(fd) CC_PRIV_CASE(CC_OP_WRITABLE, NULL, NULL, fd)

#define cc_select(...) CC_PRIV_SELECT(CC_SELECT_FAIR, __VA_ARGS__)
#define cc_select_ordered(...) CC_PRIV_SELECT(CC_SELECT_IN_ORDER, __VA_ARGS__)

/* NOLINTEND(bugprone-macro-parentheses) */

/* ---- as a block ---- */

/* The body runs twice: in the first pass every case tells what it waits for, and none is entered; in the second the one
 * that happened is. */
enum { CC_PRIV_SELECT_FEW = 16 };
typedef struct cc_priv_select {
    cc_case *cases;
    unsigned count; /* of cases so far; in the second pass, that were passed */
    unsigned room;
    int pass;
    int order;
    int result; /* the index of the case that happened, or the error */
    cc_case few[CC_PRIV_SELECT_FEW];
} cc_priv_select;

CC_BEGIN_DECLS
/* The next pass, if there is one; and one more case, which is not entered. */
CC_API int cc_priv_select_step(cc_priv_select *s);
CC_API int cc_priv_select_add(cc_priv_select *s, int op, cc_chan *chan, void *elem, int64_t ns);
CC_API int cc_priv_select_add_task(cc_priv_select *s, cc_task task);
CC_END_DECLS

static inline cc_priv_select *cc_priv_select_begin(cc_priv_select *s, int order) {
    s->cases = s->few;
    s->count = 0;
    s->room = CC_PRIV_SELECT_FEW;
    s->pass = 0;
    s->order = order;
    s->result = 0;
    return s;
}
static inline int cc_priv_select_hit(cc_priv_select *s) {
    return (int)s->count++ == s->result;
}

#define CC_SELECT CC_PRIV_SELECT_BLOCK(CC_SELECT_FAIR)
#define CC_SELECT_ORDERED CC_PRIV_SELECT_BLOCK(CC_SELECT_IN_ORDER)
#define CC_PRIV_SELECT_BLOCK(order)                                                                                    \
    for (cc_priv_select cc_s, *cc_p = cc_priv_select_begin(&cc_s, order); cc_priv_select_step(cc_p);)
#define CC_PRIV_ON(op, chan, elem, ns)                                                                                 \
    if (cc_s.pass == 1 ? cc_priv_select_add(&cc_s, op, chan, elem, ns) : cc_priv_select_hit(&cc_s))
#define CC_ON_RECV(c, ptr) CC_PRIV_ON(CC_OP_RECV, (c).ch, CC_PRIV_SAME((c).type, (ptr)), 0)
#define CC_ON_SEND(c, ptr) CC_PRIV_ON(CC_OP_SEND, (c).ch, CC_PRIV_SAME((c).type, (ptr)), 0)
#define CC_ON_CLOSED(c) CC_PRIV_ON(CC_OP_CLOSED, (c).ch, NULL, 0)
#define CC_ON_AFTER_MS(ms) CC_PRIV_ON(CC_OP_AFTER, NULL, NULL, cc_priv_ms_as_ns(ms))
#define CC_ON_DEFAULT CC_PRIV_ON(CC_OP_DEFAULT, NULL, NULL, 0)
#define CC_ON_DONE(t) if (cc_s.pass == 1 ? cc_priv_select_add_task(&cc_s, t) : cc_priv_select_hit(&cc_s))
#define CC_ON_READABLE(fd) CC_PRIV_ON(CC_OP_READABLE, NULL, NULL, fd)
#define CC_ON_WRITABLE(fd) CC_PRIV_ON(CC_OP_WRITABLE, NULL, NULL, fd)
/* No case happened; why is assigned to rc. */
#define CC_ON_ERROR(rc) if (cc_s.pass == 2 && cc_s.result < 0 && ((rc) = cc_s.result, 1))

#endif /* CCRT_SELECT_H */
