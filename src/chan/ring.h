/* SPDX-License-Identifier: MIT */
/* The ring of a channel, with a lock at each end: senders meet senders at one, receivers meet receivers at the other,
 * and the two ends meet in a pair of counts.
 *
 *   sender                                          receiver
 *   S1 locks its end; frozen: unlocks, and goes     R1 locks its end; the same
 *      another way
 *   S2 there is room: n, less what was taken        R2 there is a value: what was put, less n
 *      as last seen, or as it is now, is less          as last seen, or as it is now, is more
 *      than the capacity                               than 0
 *   S3 writes the n-th value                        R3 reads the n-th value
 *   S4 n + 1 were put                               R4 n + 1 were taken
 *   S5 unlocks                                      R5 unlocks
 *
 * A lock costs one exchange, which needs to know nothing before: a compare-and-swap of a word that was read first takes
 * twice as long. Freezing passes through both locks, so that nobody is between S1 and S5 when it is through; thawing is
 * a store. A capacity that is no power of two has a few places more.
 *
 * Rejected: cells that are claimed by compare-and-swap of the counts (13 ns instead of 9 for an operation, and who
 * comes to a cell whose owner lost the cpu waits all the same).
 *
 * Prev: chan/chan.h  Next: chan/chan.c */
#ifndef CC__CHAN_RING_H
#define CC__CHAN_RING_H

#include "chan.h"

#include <string.h>

enum cc__ring { CC__RING_DONE, CC__RING_FROZEN, CC__RING_WAIT };

/* Most elements are of these sizes, whose copies are an instruction or two. */
static inline void cc__elem_copy(void *to, const void *from, size_t bytes) {
    if (CC__LIKELY(bytes == 8))
        memcpy(to, from, 8);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, bytes);
}

static inline char *cc__ring_at(const struct cc_chan *c, uint64_t n) {
    return c->ring + (n & c->mask) * c->elem_bytes;
}

/* Who uses it is looked at now and then only: at every SAMPLE-th element. */
static inline void cc__end_unlock(struct cc__end *e, struct cc__keeper *k, uint64_t n) {
    enum { SAMPLE = 64 };
    if (CC__LIKELY(n % SAMPLE != 0))
        cc__keep_unlock_as_it_is(k, &e->guard, true);
    else
        cc__keep_unlock(k, &e->guard, &e->habit, SAMPLE, true);
}

static inline enum cc__ring cc__ring_put(struct cc_chan *c, const void *elem) {
    struct cc__end *e = &c->put;
    enum cc__ring how = CC__RING_FROZEN;
    uint64_t n = 1;
    struct cc__keeper *k = cc__keeper_here();
    cc__keep_lock(k, &e->guard, true);
    /* [CH3] acquire: pairs with the release of who thawed it: what was done while it was frozen is seen. */
    if (CC__UNLIKELY(cc__load_acquire(&e->frozen) != 0)) goto out;
    n = cc__load_relaxed(&e->count); /* now nobody changes it */
    if (CC__UNLIKELY(n - e->seen >= c->capacity)) {
        e->seen = cc__load_acquire(&c->taken.count); /* [CH2] acquire: those were read, and may be overwritten */
        how = CC__RING_WAIT;
        if (n - e->seen >= c->capacity) goto out;
    }
    cc__elem_copy(cc__ring_at(c, n), elem, c->elem_bytes);
    cc__store_release(&e->count, n + 1); /* [CH1] release: it may be read */
    how = CC__RING_DONE;
out:
    cc__end_unlock(e, k, n);
    return how;
}

static inline enum cc__ring cc__ring_take(struct cc_chan *c, void *elem) {
    struct cc__end *e = &c->taken;
    enum cc__ring how = CC__RING_FROZEN;
    uint64_t n = 1;
    struct cc__keeper *k = cc__keeper_here();
    cc__keep_lock(k, &e->guard, true);
    if (CC__UNLIKELY(cc__load_acquire(&e->frozen) != 0)) goto out; /* [CH3] */
    n = cc__load_relaxed(&e->count);
    if (CC__UNLIKELY(n >= e->seen)) {              /* more: some were put and taken while it was frozen */
        e->seen = cc__load_acquire(&c->put.count); /* [CH1] acquire: those were written */
        how = CC__RING_WAIT;
        if (n == e->seen) goto out;
    }
    cc__elem_copy(elem, cc__ring_at(c, n), c->elem_bytes);
    cc__store_release(&e->count, n + 1); /* [CH2] release: it may be overwritten */
    how = CC__RING_DONE;
out:
    cc__end_unlock(e, k, n);
    return how;
}

/* How many are in it; while it is open, as of two moments. */
static inline uint64_t cc__ring_len(const struct cc_chan *c) {
    uint64_t taken = cc__load_relaxed(&c->taken.count), put = cc__load_relaxed(&c->put.count);
    return put > taken ? put - taken : 0;
}

/* The same of any channel. */
static inline uint64_t cc__chan_len(const struct cc_chan *c) {
    return CC__UNLIKELY(c->unbounded) ? cc__load_relaxed(&c->heap_len) : cc__ring_len(c);
}

/* Whether it looks as if a receive, or a send, need not wait; with the channel's lock it is certain. */
static inline bool cc__chan_may_recv(const struct cc_chan *c) {
    return cc__load_relaxed(&c->tx.mark) != 0 || cc__load_relaxed(&c->closed) != 0 || cc__chan_len(c) > 0;
}
static inline bool cc__chan_may_send(const struct cc_chan *c) {
    return cc__load_relaxed(&c->rx.mark) != 0 || cc__load_relaxed(&c->closed) != 0 || cc__chan_len(c) < c->capacity ||
           c->overflow != CC_OVERFLOW_BLOCK;
}

/* ---- frozen, with the channel's lock ---- */

static inline void cc__ring_put_frozen(struct cc_chan *c, const void *elem) {
    uint64_t n = cc__load_relaxed(&c->put.count);
    cc__elem_copy(cc__ring_at(c, n), elem, c->elem_bytes);
    cc__store_relaxed(&c->put.count, n + 1);
}

/* elem NULL: drop it. */
static inline void cc__ring_take_frozen(struct cc_chan *c, void *elem) {
    uint64_t n = cc__load_relaxed(&c->taken.count);
    if (elem != NULL) cc__elem_copy(elem, cc__ring_at(c, n), c->elem_bytes);
    cc__store_relaxed(&c->taken.count, n + 1);
}

static inline void cc__ring_freeze_end(struct cc__end *e) {
    struct cc__keeper *k = cc__keeper_here();
    cc__keep_lock(k, &e->guard, true);
    cc__store_relaxed(&e->frozen, 1); /* the guard orders it */
    cc__keep_unlock_as_it_is(k, &e->guard, true);
}

static inline void cc__ring_thaw_end(struct cc__end *e) {
    cc__store_release(&e->frozen, 0); /* [CH3] */
}

#endif /* CC__CHAN_RING_H */
