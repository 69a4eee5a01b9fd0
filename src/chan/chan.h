/* SPDX-License-Identifier: MIT */
/* Channels: a ring without a lock, and a lock for when somebody waits.
 *
 * A bounded channel has a ring of cells. `tail` counts what senders have claimed, `head` what receivers have; each is
 * moved by compare-and-swap, and a cell's `turn` says whose turn it is there: see ring.h. Both words have one more bit,
 * FROZEN: while it is set nobody moves them but who holds the lock. So there are two modes:
 *
 *   open     nobody waits; senders and receivers use the ring alone
 *   frozen   all is done under the lock: somebody waits, or it is always so (no capacity, unbounded, closed, or
 *            CC_CHAN_NO_LOCKFREE): as a channel with a mutex
 *
 *   who has to wait (W)                             who comes by (C)
 *   W1 locks                                        C1 finds room, or a value, and moves its word; or
 *   W2 sets FROZEN in both words                    C2 finds FROZEN: locks
 *   W3 looks again: it can go on: does              C3 meets the first that waits: claims its wait
 *   W4 else its node goes on the list               C4 nobody waits any more: clears FROZEN
 *   W5 unlocks, waits                               C5 unlocks; writes into the waiter's frame, or reads from
 *                                                      it; settles its wait and unparks it
 *
 * C1 and W2 change the same word, so one of them is first: W3 sees what C1 did, or C comes to C2. No fence is needed
 * for that. It closes in the same way: a send that has moved the tail before is accepted, and is delivered; one that
 * comes later finds it closed.
 *
 * While frozen: who waits to receive waits at an empty channel, who waits to send at a full one. So a sender that finds
 * a receiver hands its value over, past the ring, and a receiver that takes a value fills the cell that is free with
 * that of the first sender, in order.
 *
 * After C5's unlock the channel is not touched any more: who was woken may destroy it. Who was not, and took a value
 * from the ring that C4 had just opened, or saw that it is closed, may do so as well: destroying takes the lock first.
 *
 * Prev: time/sleep.c  Next: chan/ring.h */
#ifndef CC__CHAN_CHAN_H
#define CC__CHAN_CHAN_H

#include <ccrt/chan.h>

#include "../base/atomic.h"
#include "../base/base.h"
#include "../sched/sched.h"
#include "../task/wait.h"

/* Of the words head and tail: a count above, and this. */
enum { CC__CHAN_FROZEN = 1, CC__CHAN_ONE = 2 };

enum { CC__CHAN_ALIVE = 0x63686e21 };

struct cc__cell {
    _Atomic uint64_t
        turn; /* n: free for the n-th value; n + 1: the n-th value is in.  W: who claimed it.  [CH1] [CH2] */
    char elem[];
};

struct cc_chan {
    /* These do not change. */
    size_t elem_bytes, cell_bytes;
    uint64_t capacity, mask; /* of cells: 1 less than a power of two */
    char *cells;
    char *name;     /* or NULL */
    int overflow;   /* CC_OVERFLOW_* */
    bool unbounded; /* its values are in `heap` */
    bool always;    /* frozen, even when it is not closed */
    uint32_t alive; /* CC__CHAN_ALIVE, until it is destroyed */

    _Atomic uint64_t tail __attribute__((aligned(CC__FALSE_SHARING))); /* W: senders by CAS; frozen: with the lock */
    _Atomic uint64_t head_seen; /* a count that the head has passed.  W, R: senders */

    _Atomic uint64_t head __attribute__((aligned(CC__FALSE_SHARING))); /* W: receivers by CAS; frozen: with the lock */

    /* The rest is guarded by the lock of rx. A list's mark: whether there is anybody on it, as a hint. */
    struct cc__waitlist rx __attribute__((aligned(CC__FALSE_SHARING))); /* who waits to receive */
    struct cc__waitlist tx;                                             /* who waits to send */
    struct cc__waitlist ends;                                           /* who waits for it to be closed and drained */
    _Atomic int closed;                                                 /* W: with the lock.  R: anyone.  [CH3] */
    int tx_code, rx_code;                                               /* if closed: what calls return */
    _Atomic uint64_t dropped;                                           /* W: with the lock.  R: anyone */
    struct {
        char *elems;
        size_t room, first, count; /* in elements */
    } heap;
    struct cc_nursery *closer; /* whose end closes it, or NULL: guarded by the lock */
    struct cc__nursery_hook hook;
    _Atomic size_t heap_len; /* its count.  W: with the lock.  R: anyone, as a hint */
};

/* What is left to do when the lock has been given up. */
struct cc__meet {
    struct cc__wait *peer; /* its wait is claimed; or NULL */
    void *to;              /* copy that first, or NULL */
    const void *from;
    struct cc__wait *ends; /* claimed ones that wait for the end, linked by node.next */
};

/* ---- chan.c, for select.c ---- */

void cc__chan_lock(cc_chan *c); /* and freeze it */
void cc__chan_unlock(cc_chan *c);
/* With the lock: one attempt. 0; -EAGAIN it would have to wait; or a code. */
int cc__chan_send_locked(cc_chan *c, const void *elem, struct cc__meet *m);
int cc__chan_recv_locked(cc_chan *c, void *elem, struct cc__meet *m);
bool cc__chan_ended_locked(const cc_chan *c); /* closed and drained */
void cc__chan_freeze(cc_chan *c);
void cc__chan_thaw(cc_chan *c);                            /* if nobody waits */
void cc__chan_meet(struct cc__meet *m, size_t elem_bytes); /* without the lock, and the channel */
void cc__chan_append(struct cc__waitlist *l, struct cc__wait *w);
void cc__chan_leave(cc_chan *c, struct cc__waitlist *l, struct cc__wait *w); /* takes and gives up the lock */
/* Whether it looks as if a receive, or a send, need not wait. */
bool cc__chan_may_recv(const cc_chan *c);
bool cc__chan_may_send(const cc_chan *c);

#endif /* CC__CHAN_CHAN_H */
