/* SPDX-License-Identifier: MIT */
/* The global queue: what comes from plain threads and other runtimes, what overflows a worker's ring, and what has
 * another priority than most. A lane a priority, and one for those of normal priority that were begun, which go first:
 * a timer that was fired for a stuck worker does not wait behind a crowd. In each a ring without a lock, and a list
 * under a lock for what finds it full and for lists, which are hooked in at once; so a push never waits for room and
 * never fails. What overflows a worker's ring goes to the ring here, or, if it is all new, to a bundle: who takes it
 * has all the pointers at once; in a list each is a cache miss after the last. So the others, where the ring here is
 * full, are in bundles too, in the order they came.
 *
 * Taking goes in turns: the newest bundle of new ones, twice; the ring; the list, then the oldest bundle of the others,
 * or of new ones. And one time in eight the new before the begun. So none waits for ever.
 *
 * Prev: sched/mpmc.c  Next: sched/inbox.c */
#include "sched.h"

#include "../base/assert.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_MIN = 4, BATCH_MAX = 64, NEW_FIRST_EVERY = 8 };

/* What is looked at first. */
enum turn { TURN_RING, TURN_OLDEST, TURN_NEWEST, TURN_NEWEST_AGAIN, TURNS };

struct cc__bundle {
    struct cc__node node;
    size_t count;
    struct cc__task *task[CC__RUNQ_OVERFLOW]; /* the newest last */
};

size_t cc__inject_bytes(unsigned bits) {
    return CC__LANES * sizeof(struct cc__mpmc_cell) << bits;
}

void cc__inject_init(struct cc__inject *q, void *zeroed, unsigned bits) {
    struct cc__mpmc_cell *cells = zeroed;
    for (size_t p = 0; p < CC__LANES; p++) {
        struct cc__lane *l = &q->lane[p];
        cc__mpmc_init(&l->ring, cells + (p << bits), bits);
        l->lock = (cc__lock)CC__LOCK_INIT;
        l->first = NULL;
        l->last = &l->first;
        l->spare = NULL;
        cc__list_init(&l->bundles);
        cc__list_init(&l->in_turn);
        cc__store_relaxed(&l->listed, 0);
    }
    cc__store_relaxed(&q->high, 0);
}

void cc__inject_end(struct cc__inject *q) {
    for (size_t p = 0; p < CC__LANES; p++) {
        CC_ASSERT(cc__list_empty(&q->lane[p].bundles) && cc__list_empty(&q->lane[p].in_turn));
        free(q->lane[p].spare);
    }
}

static void list_append(struct cc__lane *l, struct cc__tasks batch, size_t count) {
    CC_CHECK(batch.last != NULL, "an empty list was queued");
    batch.last->next = NULL;
    cc__lock_take(&l->lock);
    *l->last = batch.first;
    l->last = &batch.last->next;
    cc__store_relaxed(&l->listed, cc__load_relaxed(&l->listed) + count);
    cc__lock_drop(&l->lock);
}

/* Up to n from the list, with the lock. */
static size_t list_take(struct cc__lane *l, struct cc__task **got, size_t n) {
    size_t taken = 0;
    for (struct cc__task *t; taken < n && (t = l->first) != NULL; got[taken++] = t) {
        l->first = t->next;
        t->next = NULL;
    }
    if (l->first == NULL) l->last = &l->first;
    return taken;
}

/* Up to n from a bundle, with the lock. *empty: it has no more, and is the caller's. */
static size_t bundle_take(struct cc__node *at, struct cc__task **got, size_t n, struct cc__bundle **empty) {
    struct cc__bundle *b = CC__CONTAINER_OF(at, struct cc__bundle, node);
    if (n > b->count) n = b->count;
    b->count -= n;
    memcpy(got, &b->task[b->count], n * sizeof *got);
    if (b->count > 0) return n;
    cc__list_remove(&b->node);
    *empty = b;
    return n;
}

/* Up to n from the list and the bundles. */
static size_t take_listed(struct cc__lane *l, struct cc__task **got, size_t n, enum turn turn) {
    struct cc__bundle *empty = NULL;
    size_t taken = 0;
    if (cc__load_relaxed(&l->listed) == 0) return 0;
    cc__lock_take(&l->lock);
    if (turn == TURN_OLDEST || cc__list_empty(&l->bundles)) taken = list_take(l, got, n);
    if (taken == 0 && !cc__list_empty(&l->in_turn) && (turn == TURN_OLDEST || cc__list_empty(&l->bundles)))
        taken = bundle_take(l->in_turn.head.next, got, n, &empty);
    if (taken == 0 && !cc__list_empty(&l->bundles))
        taken = bundle_take(turn == TURN_OLDEST ? l->bundles.head.prev : l->bundles.head.next, got, n, &empty);
    if (empty != NULL && l->spare == NULL) {
        l->spare = empty;
        empty = NULL;
    }
    cc__store_relaxed(&l->listed, cc__load_relaxed(&l->listed) - taken);
    cc__lock_drop(&l->lock);
    free(empty);
    return taken;
}

void cc__inject_push(struct cc__inject *q, struct cc__task *t) {
    CC_ASSERT(t->priority < CC__PRIORITIES);
    bool begun = t->priority == CC_PRIORITY_NORMAL && t->fiber != NULL;
    struct cc__lane *l = &q->lane[begun ? CC__LANE_BEGUN : t->priority];
    if (t->priority == CC_PRIORITY_HIGH) cc__add_relaxed(&q->high, 1); /* before it can be taken */
    t->next = NULL;
    if (cc__mpmc_push(&l->ring, &t, 1) == 0) list_append(l, (struct cc__tasks){t, t}, 1);
}

static struct cc__bundle *take_spare(struct cc__lane *l) {
    cc__lock_take(&l->lock);
    struct cc__bundle *b = l->spare;
    l->spare = NULL;
    cc__lock_drop(&l->lock);
    return b;
}

/* CC__RUNQ_OVERFLOW at most. False: no memory. */
static bool push_bundle(struct cc__lane *l, struct cc__task *const *tasks, size_t n, bool in_turn) {
    struct cc__bundle *b = take_spare(l);
    if (b == NULL) b = malloc(sizeof *b);
    if (b == NULL) return false;
    b->node = (struct cc__node){0};
    b->count = n;
    memcpy(b->task, tasks, n * sizeof b->task[0]);
    cc__lock_take(&l->lock);
    if (in_turn)
        cc__list_append(&l->in_turn, &b->node);
    else
        cc__list_prepend(&l->bundles, &b->node);
    cc__store_relaxed(&l->listed, cc__load_relaxed(&l->listed) + n);
    cc__lock_drop(&l->lock);
    return true;
}

void cc__inject_push_many(struct cc__inject *q, int lane, struct cc__task *const *tasks, size_t n) {
    struct cc__lane *l = &q->lane[lane];
    size_t i = 0;
    for (size_t more; i < n && (more = cc__mpmc_push(&l->ring, tasks + i, n - i)) > 0;) i += more;
    if (i == n || (n <= CC__RUNQ_OVERFLOW && push_bundle(l, tasks + i, n - i, true))) return;
    struct cc__tasks rest = {0};
    for (size_t k = i; k < n; k++) cc__tasks_append(&rest, tasks[k]);
    list_append(l, rest, n - i);
}

void cc__inject_push_batch(struct cc__inject *q, struct cc__tasks batch, size_t count) {
    list_append(&q->lane[CC_PRIORITY_NORMAL], batch, count);
}

void cc__inject_push_new(struct cc__inject *q, struct cc__task *const *tasks, size_t n) {
    if (!push_bundle(&q->lane[CC_PRIORITY_NORMAL], tasks, n, false))
        cc__inject_push_many(q, CC_PRIORITY_NORMAL, tasks, n);
}

struct cc__task *cc__inject_take(struct cc__inject *q, int lane) {
    struct cc__lane *l = &q->lane[lane];
    struct cc__task *t = NULL;
    if (cc__mpmc_pop(&l->ring, &t, 1) == 0) (void)take_listed(l, &t, 1, TURN_OLDEST);
    if (t != NULL && lane == CC_PRIORITY_HIGH) cc__sub_relaxed(&q->high, 1);
    return t;
}

/* Many from one lane, but no more than this worker's share; one to run. */
static struct cc__task *take_share(struct cc__lane *l, struct cc__worker *w) {
    size_t length = cc__load_relaxed(&l->listed) + cc__mpmc_length(&l->ring);
    if (length == 0) return NULL;
    size_t want = length / cc__worker_count(w->runtime) + 1, n = 0;
    want = want < BATCH_MIN ? BATCH_MIN : want > BATCH_MAX ? BATCH_MAX : want;
    struct cc__task *got[BATCH_MAX];
    /* Where only one look in eight comes here, these eighths take turns, too. */
    enum turn turn = (w->inject_looks + w->inject_looks / NEW_FIRST_EVERY) % TURNS;
    if (turn != TURN_RING) n = take_listed(l, got, want, turn);
    if (n == 0) n = cc__mpmc_pop(&l->ring, got, want);
    if (n == 0) n = take_listed(l, got, want, turn);
    for (size_t i = 1; i < n; i++) cc__ready_taken(w, got[i]);
    return n == 0 ? NULL : got[0];
}

struct cc__task *cc__inject_take_batch(struct cc__inject *q, struct cc__worker *w) {
    bool other_way = ++w->inject_looks % NEW_FIRST_EVERY == 0; /* by looks, as in worker.c */
    int first = other_way ? CC_PRIORITY_NORMAL : CC__LANE_BEGUN,
        second = other_way ? CC__LANE_BEGUN : CC_PRIORITY_NORMAL;
    struct cc__task *t = take_share(&q->lane[first], w);
    return t != NULL ? t : take_share(&q->lane[second], w);
}

bool cc__inject_lane_empty(struct cc__inject *q, int lane) {
    struct cc__lane *l = &q->lane[lane];
    return cc__mpmc_empty(&l->ring) && cc__load_relaxed(&l->listed) == 0;
}

bool cc__inject_empty(struct cc__inject *q) {
    for (int lane = 0; lane < CC__LANES; lane++)
        if (!cc__inject_lane_empty(q, lane)) return false;
    return true;
}

size_t cc__inject_length(struct cc__inject *q) {
    size_t n = 0;
    for (int p = 0; p < CC__LANES; p++) n += cc__mpmc_length(&q->lane[p].ring) + cc__load_relaxed(&q->lane[p].listed);
    return n;
}
