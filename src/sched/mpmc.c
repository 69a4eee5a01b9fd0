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
 * Several at once: steps 2, 4 and 5 for each of as many cells as are ready in a row, and one CAS over all of them. What
 * is ready at 2 stays so until its position is claimed.
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

/* How many of the n cells from pos on wait for this side (0: producers, 1: consumers) in its lap, in a row. *ahead: how
 * far the first is past that; less than 0: it is not there yet. */
static size_t count_ready(struct cc__mpmc *q, size_t pos, size_t n, size_t side, intptr_t *ahead) {
    size_t i = 0;
    *ahead = 0;
    for (; i < n; i++) {
        /* [MP1] acquire: pairs with P5; the task may be read. [MP2] acquire: pairs with C5; the last one has been. */
        intptr_t past = (intptr_t)(cc__load_acquire(&cell_of(q, pos + i)->turn) - (turn_of(q, pos + i) + side));
        if (past != 0) {
            if (i == 0) *ahead = past;
            break;
        }
    }
    return i;
}

/* Steps 1 to 3, for up to n cells: how many, from *pos on; 0: full, or empty. */
static size_t claim(struct cc__mpmc *q, _Atomic size_t *end, size_t side, size_t n, size_t *pos) {
    *pos = cc__load_relaxed(end);
    for (;;) {
        intptr_t ahead;
        size_t ready = count_ready(q, *pos, n, side, &ahead);
        if (ahead < 0) return 0;
        if (ahead > 0)
            *pos = cc__load_relaxed(end);
        else if (cc__cas_weak_relaxed(end, pos, *pos + ready))
            return ready;
    }
}

size_t cc__mpmc_push(struct cc__mpmc *q, struct cc__task *const *tasks, size_t n) {
    size_t pos, room = claim(q, &q->tail, 0, n, &pos);
    for (size_t i = 0; i < room; i++) {
        struct cc__mpmc_cell *c = cell_of(q, pos + i);
        cc__store_relaxed(&c->it, tasks[i]);
        cc__store_release(&c->turn, turn_of(q, pos + i) + 1); /* [MP1] release: the task may be read */
    }
    return room;
}

size_t cc__mpmc_pop(struct cc__mpmc *q, struct cc__task **tasks, size_t n) {
    size_t pos, full = claim(q, &q->head, 1, n, &pos);
    for (size_t i = 0; i < full; i++) {
        struct cc__mpmc_cell *c = cell_of(q, pos + i);
        tasks[i] = cc__load_relaxed(&c->it);
        cc__store_release(&c->turn, turn_of(q, pos + i) + 2); /* [MP2] release: it has been read */
    }
    return full;
}

bool cc__mpmc_empty(struct cc__mpmc *q) {
    size_t pos = cc__load_relaxed(&q->head);
    return (intptr_t)(cc__load_relaxed(&cell_of(q, pos)->turn) - (turn_of(q, pos) + 1)) < 0;
}

size_t cc__mpmc_length(struct cc__mpmc *q) {
    intptr_t n = (intptr_t)(cc__load_relaxed(&q->tail) - cc__load_relaxed(&q->head));
    return n < 0 ? 0 : (size_t)n;
}
