/* SPDX-License-Identifier: MIT */
/* The global queue: what comes from plain threads, what overflows a worker's ring, and low priority. A list a
 * priority under one lock; pushing never blocks for long and never fails. The count outside the lock lets
 * workers pass by an empty one.
 *
 * Prev: sched/runq.c  Next: sched/worker.c */
#include "sched.h"

#include "../base/assert.h"

enum { BATCH_MIN = 4, BATCH_MAX = 64 };

void cc__inject_init(struct cc__inject *q) {
    *q = (struct cc__inject){.lock = CC__LOCK_INIT};
    for (int p = 0; p < CC__PRIORITIES; p++) q->last[p] = &q->first[p];
}

static void append(struct cc__inject *q, struct cc__task *t) {
    CC_ASSERT(t->priority < CC__PRIORITIES);
    t->next = NULL;
    *q->last[t->priority] = t;
    q->last[t->priority] = &t->next;
}

void cc__inject_push(struct cc__inject *q, struct cc__task *first, size_t count) {
    cc__lock_take(&q->lock);
    for (struct cc__task *t = first, *next; t != NULL; t = next) {
        next = t->next;
        append(q, t);
    }
    cc__store_relaxed(&q->count, cc__load_relaxed(&q->count) + count);
    cc__lock_drop(&q->lock);
}

static struct cc__task *take_one(struct cc__inject *q) {
    for (int p = 0; p < CC__PRIORITIES; p++) {
        struct cc__task *t = q->first[p];
        if (t == NULL) continue;
        q->first[p] = t->next;
        if (q->first[p] == NULL) q->last[p] = &q->first[p];
        t->next = NULL;
        return t;
    }
    return NULL;
}

struct cc__task *cc__inject_take(struct cc__inject *q, struct cc__worker *w) {
    size_t count = cc__load_relaxed(&q->count);
    if (count == 0) return NULL;
    cc__lock_take(&q->lock);
    count = cc__load_relaxed(&q->count);
    size_t want = count / w->runtime->worker_count + 1;
    if (want < BATCH_MIN) want = BATCH_MIN;
    if (want > BATCH_MAX) want = BATCH_MAX;
    struct cc__task *first = take_one(q), *batch = NULL, **last = &batch;
    size_t got = first != NULL;
    for (; got > 0 && got < want; got++) {
        struct cc__task *t = take_one(q);
        if (t == NULL) break;
        *last = t;
        last = &t->next;
    }
    cc__store_relaxed(&q->count, count - got);
    cc__lock_drop(&q->lock);
    while (batch != NULL) {
        struct cc__task *t = batch;
        batch = t->next;
        t->next = NULL;
        cc__runq_push(w, t);
    }
    return first;
}
