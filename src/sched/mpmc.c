/* SPDX-License-Identifier: MIT */
/* A bounded ring for any number of producers and consumers, without a lock.
 *
 * Positions count on for ever; position p is cell p mod n in lap p / n. A cell's turn says what it waits for: 2 * lap
 * for the producer of that lap, 2 * lap + 1 for its consumer. So zeroed memory is an empty ring.
 *
 *   producer                                       consumer
 *   P1 reads tail                                  C1 reads head
 *   P2 the cell's turn (acquire): smaller: full;   C2 the cell's turn (acquire): smaller: empty;
 *      greater: tail has moved, P1                    greater: head has moved, C1
 *   P3 CAS tail + 1: the cell is its own           C3 CAS head + 1: the cell is its own
 *   P4 writes the task                             C4 reads the task
 *   P5 turn + 1 (release)                          C5 turn + 1 (release)
 *
 * A producer that stops between P3 and P5 hides what was pushed behind it. Nothing is lost: it wakes somebody when it
 * goes on, as all producers do after P5.
 *
 * Prev: sched/runq.c  Next: sched/inject.c */
#include "sched.h"

void cc__mpmc_init(struct cc__mpmc *q, struct cc__mpmc_cell *zeroed, unsigned bits) {
    q->cell = zeroed;
    q->bits = bits;
    cc__store_relaxed(&q->tail, 0);
    cc__store_relaxed(&q->head, 0);
}

static struct cc__mpmc_cell *cell_of(struct cc__mpmc *q, size_t pos) {
    return &q->cell[pos & (((size_t)1 << q->bits) - 1)];
}

static size_t turn_of(const struct cc__mpmc *q, size_t pos) {
    return (pos >> q->bits) * 2;
}

bool cc__mpmc_push(struct cc__mpmc *q, struct cc__task *t) {
    size_t pos = cc__load_relaxed(&q->tail);
    for (;;) {
        struct cc__mpmc_cell *c = cell_of(q, pos);
        /* [MP2] acquire: pairs with C5; the task of the last lap has been read. */
        intptr_t ahead = (intptr_t)(cc__load_acquire(&c->turn) - turn_of(q, pos));
        if (ahead < 0) return false;
        if (ahead > 0) {
            pos = cc__load_relaxed(&q->tail);
        } else if (cc__cas_weak_relaxed(&q->tail, &pos, pos + 1)) {
            cc__store_relaxed(&c->it, t);
            cc__store_release(&c->turn, turn_of(q, pos) + 1); /* [MP1] release: the task may be read */
            return true;
        }
    }
}

struct cc__task *cc__mpmc_pop(struct cc__mpmc *q) {
    size_t pos = cc__load_relaxed(&q->head);
    for (;;) {
        struct cc__mpmc_cell *c = cell_of(q, pos);
        /* [MP1] acquire: pairs with P5; the task may be read. */
        intptr_t ahead = (intptr_t)(cc__load_acquire(&c->turn) - (turn_of(q, pos) + 1));
        if (ahead < 0) return NULL;
        if (ahead > 0) {
            pos = cc__load_relaxed(&q->head);
        } else if (cc__cas_weak_relaxed(&q->head, &pos, pos + 1)) {
            struct cc__task *t = cc__load_relaxed(&c->it);
            cc__store_release(&c->turn, turn_of(q, pos) + 2); /* [MP2] release: it has been read */
            return t;
        }
    }
}

bool cc__mpmc_empty(struct cc__mpmc *q) {
    size_t pos = cc__load_relaxed(&q->head);
    return (intptr_t)(cc__load_relaxed(&cell_of(q, pos)->turn) - (turn_of(q, pos) + 1)) < 0;
}

size_t cc__mpmc_length(struct cc__mpmc *q) {
    intptr_t n = (intptr_t)(cc__load_relaxed(&q->tail) - cc__load_relaxed(&q->head));
    return n < 0 ? 0 : (size_t)n;
}
