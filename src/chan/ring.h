/* SPDX-License-Identifier: MIT */
/* The ring of a channel: any number of senders and receivers, one compare-and-swap each.
 *
 *   sender                                          receiver
 *   S1 reads the tail, n; its cell is free          R1 reads the head, n; its cell has the n-th value
 *      for n: its turn is n                            in it: its turn is n + 1
 *   S2 moves the tail from n to n + 1               R2 moves the head from n to n + 1
 *   S3 writes the value                             R3 reads the value
 *   S4 turn n + 1                                   R4 turn n + cells: free for a lap later
 *
 * Who has moved its word owns the cell until its last step, and no longer; nobody touches the channel after that step.
 * In between, who comes to that cell has to wait for it, for a few instructions. So "empty" and "full" are told by the
 * words, never by a cell.
 *
 * A capacity that is no power of two has a few cells more; the capacity is kept by looking at the head, of which
 * senders keep a copy on their own line: it only grows, so an old one is safe, and only a ring that looks full is
 * looked at again.
 *
 * Prev: chan/chan.h  Next: chan/chan.c */
#ifndef CC__CHAN_RING_H
#define CC__CHAN_RING_H

#include "../plat/thread.h"
#include "chan.h"

#include <string.h>

enum cc__ring { CC__RING_DONE, CC__RING_FROZEN, CC__RING_WAIT };

static inline uint64_t cc__ring_count(uint64_t word) {
    return word / CC__CHAN_ONE;
}

static inline struct cc__cell *cc__ring_cell(const struct cc_chan *c, uint64_t n) {
    return (struct cc__cell *)(void *)(c->cells + (n & c->mask) * c->cell_bytes);
}

/* Most elements are of these sizes, whose copies are an instruction or two. */
static inline void cc__elem_copy(void *to, const void *from, size_t bytes) {
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, bytes);
}

/* One turn of waiting for who owns a cell. */
static CC__COLD CC__UNUSED void cc__ring_pause(unsigned *spins) {
    if (++*spins < 100)
        cc__cpu_relax();
    else
        cc__thread_yield(); /* it lost the cpu */
}

static inline enum cc__ring cc__ring_put(struct cc_chan *c, const void *elem) {
    uint64_t t = cc__load_relaxed(&c->tail), again;
    struct cc__cell *cell;
    for (unsigned spins = 0;;) {
        if (CC__UNLIKELY((t & CC__CHAN_FROZEN) != 0)) return CC__RING_FROZEN;
        uint64_t n = cc__ring_count(t);
        if (CC__UNLIKELY((int64_t)(n - cc__load_relaxed(&c->head_seen)) >= (int64_t)c->capacity)) {
            uint64_t head = cc__ring_count(cc__load_relaxed(&c->head));
            if ((int64_t)(n - head) >= (int64_t)c->capacity) return CC__RING_WAIT; /* the tail is n, or more */
            cc__store_relaxed(&c->head_seen, head);
        }
        cell = cc__ring_cell(c, n);
        /* [CH2] acquire: pairs with the release in cc__ring_take(): that one has read its value. */
        if (CC__LIKELY(cc__load_acquire(&cell->turn) == n)) {
            if (CC__LIKELY(cc__cas_weak_relaxed(&c->tail, &t, t + CC__CHAN_ONE))) break;
            continue;
        }
        again = cc__load_relaxed(&c->tail);
        if (again == t) cc__ring_pause(&spins);
        t = again;
    }
    cc__elem_copy(cell->elem, elem, c->elem_bytes);
    /* [CH1] release: publishes the value; who sees this turn may read it. */
    cc__store_release(&cell->turn, cc__ring_count(t) + 1);
    return CC__RING_DONE;
}

static inline enum cc__ring cc__ring_take(struct cc_chan *c, void *elem) {
    uint64_t h = cc__load_relaxed(&c->head), again;
    struct cc__cell *cell;
    for (unsigned spins = 0;;) {
        if (CC__UNLIKELY((h & CC__CHAN_FROZEN) != 0)) return CC__RING_FROZEN;
        uint64_t n = cc__ring_count(h);
        cell = cc__ring_cell(c, n);
        /* [CH1] acquire: pairs with the release in cc__ring_put(): the value is there. */
        if (CC__LIKELY(cc__load_acquire(&cell->turn) == n + 1)) {
            if (CC__LIKELY(cc__cas_weak_relaxed(&c->head, &h, h + CC__CHAN_ONE))) break;
            continue;
        }
        if (cc__ring_count(cc__load_relaxed(&c->tail)) == n) return CC__RING_WAIT; /* the head is not less than n */
        again = cc__load_relaxed(&c->head);
        if (again == h) cc__ring_pause(&spins);
        h = again;
    }
    cc__elem_copy(elem, cell->elem, c->elem_bytes);
    /* [CH2] release: the cell was read; who sees this turn may write it. */
    cc__store_release(&cell->turn, cc__ring_count(h) + c->mask + 1);
    return CC__RING_DONE;
}

/* ---- frozen, with the lock: the words stand still, but cells may have owners from before ---- */

static inline uint64_t cc__ring_len(const struct cc_chan *c) {
    uint64_t head = cc__ring_count(cc__load_relaxed(&c->head)), tail = cc__ring_count(cc__load_relaxed(&c->tail));
    return tail > head ? tail - head : 0; /* open: of two moments */
}

static inline void cc__ring_put_frozen(struct cc_chan *c, const void *elem) {
    uint64_t t = cc__load_relaxed(&c->tail), n = cc__ring_count(t);
    struct cc__cell *cell = cc__ring_cell(c, n);
    for (unsigned spins = 0; cc__load_acquire(&cell->turn) != n;) cc__ring_pause(&spins); /* [CH2] */
    cc__elem_copy(cell->elem, elem, c->elem_bytes);
    cc__store_relaxed(&c->tail, t + CC__CHAN_ONE);
    cc__store_release(&cell->turn, n + 1); /* [CH1] */
}

/* elem NULL: drop it. */
static inline void cc__ring_take_frozen(struct cc_chan *c, void *elem) {
    uint64_t h = cc__load_relaxed(&c->head), n = cc__ring_count(h);
    struct cc__cell *cell = cc__ring_cell(c, n);
    for (unsigned spins = 0; cc__load_acquire(&cell->turn) != n + 1;) cc__ring_pause(&spins); /* [CH1] */
    if (elem != NULL) cc__elem_copy(elem, cell->elem, c->elem_bytes);
    cc__store_relaxed(&c->head, h + CC__CHAN_ONE);
    cc__store_release(&cell->turn, n + c->mask + 1); /* [CH2] */
}

#endif /* CC__CHAN_RING_H */
