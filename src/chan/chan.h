/* SPDX-License-Identifier: MIT */
/* Channels: a ring with a lock at each end, and one more for when somebody waits.
 *
 * A bounded channel has a ring: see ring.h. It is in one of two modes:
 *
 *   open     nobody waits; senders and receivers use the ring, each their end
 *   frozen   all is done under the channel's lock: somebody waits, or it is always so (no capacity, unbounded, closed,
 *            or CC_CHAN_NO_LOCKFREE): as a channel with a mutex
 *
 *   who has to wait (W)                             who comes by (C)
 *   W1 locks the channel                            C1 finds room, or a value, in the open ring; or
 *   W2 freezes both ends, under the lock of each    C2 finds its end frozen: locks the channel
 *   W3 looks again: it can go on: does              C3 meets the first that waits: claims its wait
 *   W4 else its node goes on the list               C4 nobody has waited for a while: thaws
 *   W5 unlocks, waits                               C5 unlocks; writes into the waiter's frame, or reads from
 *                                                      it; settles its wait and unparks it
 *
 * C1 and W2 hold the same lock, so one of them is first: W3 sees what C1 did, or C comes to C2. No fence is needed for
 * that. It closes in the same way: a send that was through before is accepted, and is delivered; one that comes later
 * finds it closed.
 *
 * While frozen: who waits to receive waits at an empty channel, who waits to send at a full one. So a sender that finds
 * a receiver hands its value over, past the ring, and a receiver that takes a value puts that of the first sender in
 * its place, in order.
 *
 * After C5's unlock the channel is not touched any more: who was woken may destroy it. Who was not, and took the last
 * value from the ring, or saw that it is closed, may do so as well: destroying takes all three locks first.
 *
 * Prev: time/sleep.c  Next: chan/ring.h */
#ifndef CC__CHAN_CHAN_H
#define CC__CHAN_CHAN_H

#include <ccrt/chan.h>

#include "../base/atomic.h"
#include "../base/base.h"
#include "../sched/claims.h"
#include "../task/keep.h"
#include "../task/wait.h"

/* A frozen channel is thawed when nobody has waited for so many operations: where each one meets somebody who waits,
 * freezing it and thawing it each time would cost more than its lock. */
#ifndef CC__CHAN_CALM
#define CC__CHAN_CALM 8
#endif

enum { CC__CHAN_ALIVE = 0x63686e21 };

/* An end of the ring. Senders write a line that only they do, and so do receivers. */
struct cc__end {
    struct cc__waitlist guard; /* only its lock is used */
    struct cc__habit habit;    /* of that */
    _Atomic uint32_t frozen;   /* W: with the channel's lock.  R: with the guard.  [CH3] */
    _Atomic uint64_t
        count;     /* put, or taken, so far.  W: with the guard; frozen: with the channel's lock.  [CH1] [CH2] */
    uint64_t seen; /* what the other end's count was, or less; guarded */
};

struct cc_chan {
    /* These do not change. */
    size_t elem_bytes;
    uint64_t capacity, mask; /* of places: 1 less than a power of two */
    char *ring;
    char *name;     /* or NULL */
    int overflow;   /* CC_OVERFLOW_* */
    bool unbounded; /* its values are in `heap` */
    bool always;    /* frozen, even when it is not closed */
    uint32_t alive; /* CC__CHAN_ALIVE, until it is destroyed */

    struct cc__end put __attribute__((aligned(CC__FALSE_SHARING)));
    struct cc__end taken __attribute__((aligned(CC__FALSE_SHARING)));

    /* The rest is guarded by the lock of rx. A list's mark: whether there is anybody on it, as a hint. */
    struct cc__waitlist rx __attribute__((aligned(CC__FALSE_SHARING))); /* who waits to receive */
    struct cc__habit habit;                                             /* of its lock, the channel's */
    struct cc__waitlist tx;                                             /* who waits to send */
    struct cc__waitlist ends;                                           /* who waits for it to be closed and drained */
    _Atomic int closed;                                                 /* W: with the lock.  R: anyone.  [CH4] */
    int tx_code, rx_code;                                               /* if closed: what calls return */
    unsigned calm;                                                      /* times in a row that nobody waited */
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
    struct cc__claims ends; /* who waits for the end, and this is it */
};

/* ---- chan.c, for the others ---- */

void cc__chan_lock(cc_chan *c); /* and freeze it */
void cc__chan_unlock(cc_chan *c);
/* With the lock: one attempt. 0; -EAGAIN it would have to wait; or a code. */
int cc__chan_send_locked(cc_chan *c, const void *elem, struct cc__meet *m);
int cc__chan_recv_locked(cc_chan *c, void *elem, struct cc__meet *m);
bool cc__chan_ended_locked(const cc_chan *c); /* closed and drained */
void cc__chan_freeze(cc_chan *c);
void cc__chan_thaw(cc_chan *c);                                              /* if nobody has waited for a while */
void cc__chan_meet(struct cc__meet *m, size_t elem_bytes);                   /* without the lock, and the channel */
void cc__chan_leave(cc_chan *c, struct cc__waitlist *l, struct cc__wait *w); /* takes and gives up the lock */
CC__COLD CC__NORETURN void cc__chan_is_dead(const cc_chan *c); /* it was destroyed, or never was a channel: aborts */
static inline void cc__chan_check(const cc_chan *c) {
    if (CC__UNLIKELY(c->alive != CC__CHAN_ALIVE)) cc__chan_is_dead(c);
}

/* ---- closer.c ---- */

/* With the lock: whether this receive, which is about to wait, could only be ended by the nursery's end that it keeps
 * from coming. */
bool cc__chan_waits_for_itself(const cc_chan *c, const struct cc__wait *w);

/* The keeper of locks of the worker that runs here, or NULL. */
static inline struct cc__keeper *cc__keeper_here(void) {
    const struct cc__worker *w = cc__worker_current();
    return w == NULL ? NULL : w->keeper;
}

/* With the lock, after a change of a list. */
static inline void cc__chan_note(struct cc__waitlist *l) {
    cc__store_relaxed(&l->mark, l->first != NULL);
}
static inline void cc__chan_append(cc_chan *c, struct cc__waitlist *l, struct cc__wait *w) {
    cc__waitlist_append(l, w);
    cc__store_relaxed(&l->mark, 1);
    c->calm = 0;
}
static inline void cc__chan_remove(cc_chan *c, struct cc__waitlist *l, struct cc__wait *w) {
    cc__waitlist_remove(l, w); /* where a node is on a list, it is frozen */
    cc__chan_note(l);
    if (!c->always) cc__chan_thaw(c);
}

#endif /* CC__CHAN_CHAN_H */
