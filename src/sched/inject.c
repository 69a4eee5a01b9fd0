/* SPDX-License-Identifier: MIT */
/* The global queue: what comes from plain threads and other runtimes, what overflows a worker's ring, and what has
 * another priority than most. A lane a priority, and one for those of normal priority that were begun, which go first:
 * a timer that was fired for a stuck worker does not wait behind a crowd. In each a ring without a lock, and a list
 * under a lock for what finds it full and for lists, which are hooked in at once; so a push never waits for room and
 * never fails. What overflows a worker's ring goes to the ring here: who takes it has all the pointers at once; in a
 * list each is a cache miss after the last.
 *
 * Taking looks into the ring first, one time in eight into the list first, and so with the begun and the new, so that
 * none waits for ever.
 *
 * Prev: sched/mpmc.c  Next: sched/inbox.c */
#include "sched.h"

#include "../base/assert.h"

enum { BATCH_MIN = 4, BATCH_MAX = 64, LIST_EVERY = 4, NEW_FIRST_EVERY = 8 };

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
        cc__store_relaxed(&l->listed, 0);
    }
    cc__store_relaxed(&q->high, 0);
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

/* Up to n from the list. */
static struct cc__tasks list_take(struct cc__lane *l, size_t n) {
    struct cc__tasks taken = {0};
    if (cc__load_relaxed(&l->listed) == 0) return taken;
    cc__lock_take(&l->lock);
    size_t got = 0;
    for (struct cc__task *t = l->first; t != NULL && got < n; t = t->next, got++) taken.last = t;
    if (got > 0) {
        taken.first = l->first;
        l->first = taken.last->next;
        taken.last->next = NULL;
        if (l->first == NULL) l->last = &l->first;
        cc__store_relaxed(&l->listed, cc__load_relaxed(&l->listed) - got);
    }
    cc__lock_drop(&l->lock);
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

void cc__inject_push_many(struct cc__inject *q, int lane, struct cc__task *const *tasks, size_t n) {
    struct cc__lane *l = &q->lane[lane];
    size_t i = 0;
    for (size_t more; i < n && (more = cc__mpmc_push(&l->ring, tasks + i, n - i)) > 0;) i += more;
    if (i == n) return;
    struct cc__tasks rest = {0};
    for (size_t k = i; k < n; k++) cc__tasks_append(&rest, tasks[k]);
    list_append(l, rest, n - i);
}

void cc__inject_push_batch(struct cc__inject *q, struct cc__tasks batch, size_t count) {
    list_append(&q->lane[CC_PRIORITY_NORMAL], batch, count);
}

struct cc__task *cc__inject_take(struct cc__inject *q, int lane) {
    struct cc__lane *l = &q->lane[lane];
    struct cc__task *t = NULL;
    if (cc__mpmc_pop(&l->ring, &t, 1) == 0) t = list_take(l, 1).first;
    if (t != NULL && lane == CC_PRIORITY_HIGH) cc__sub_relaxed(&q->high, 1);
    return t;
}

/* Many from one lane, but no more than this worker's share; one to run. */
static struct cc__task *take_share(struct cc__lane *l, struct cc__worker *w) {
    size_t listed = cc__load_relaxed(&l->listed), length = listed + cc__mpmc_length(&l->ring);
    if (length == 0) return NULL;
    size_t want = length / cc__worker_count(w->runtime) + 1;
    want = want < BATCH_MIN ? BATCH_MIN : want > BATCH_MAX ? BATCH_MAX : want;
    struct cc__tasks taken = {0};
    if (listed > 0 && w->inject_looks % LIST_EVERY == 0) taken = list_take(l, want);
    if (taken.first == NULL) {
        struct cc__task *got[BATCH_MAX];
        size_t n = cc__mpmc_pop(&l->ring, got, want);
        for (size_t i = 1; i < n; i++) cc__ready_taken(w, got[i]);
        if (n > 0) return got[0];
        taken = list_take(l, want);
    }
    struct cc__task *first = cc__tasks_take(&taken);
    cc__ready_all_taken(w, taken);
    return first;
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
