/* SPDX-License-Identifier: MIT */
/* A worker's jobs that have not begun: the owner takes the newest, and now and then the oldest; others the oldest half.
 *
 * Newest first is what keeps a tree of jobs as deep as it is and not as wide: who waits for its children is left for
 * the youngest of them. The oldest are the largest: a thief is busy with one for long. But jobs that each spawn the
 * next would keep all before them waiting for ever, where nobody robs their worker: so one pop in 256 takes the oldest.
 * Not more often: each time that begins another path through a tree (one in 32: ten times as many live fibers as it is
 * deep).
 *
 * A ring under a lock that is taken for a few instructions, by the owner most of the time. Full: the older half goes to
 * the global queue. The length is read without the lock, as a hint that the fences of sched/idle.c make certain.
 *
 * Rejected: a deque without a lock, whose owner needs a full fence to take one: no cheaper than the lock's exchange.
 *
 * Prev: job/job.c  Next: job/frame.c */
#include "../sched/sched.h"

enum { SLOTS = CC__JOBS_SLOTS, HALF = SLOTS / 2 };

/* With the lock: the oldest n. */
static void take_oldest(struct cc__jobs *q, struct cc__task **got, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) got[i] = q->slot[(q->first + i) % SLOTS];
    q->first = (q->first + n) % SLOTS;
    cc__store_relaxed(&q->length, cc__load_relaxed(&q->length) - n);
}

/* With the lock: room for one more at least. True: for that the older half was taken out. */
static bool make_room(struct cc__jobs *q, struct cc__task **older) {
    if (CC__LIKELY(cc__load_relaxed(&q->length) < SLOTS)) return false;
    take_oldest(q, older, HALF);
    return true;
}

/* With the lock, where there is room. */
static void append(struct cc__jobs *q, struct cc__task *t) {
    uint32_t length = cc__load_relaxed(&q->length);
    q->slot[(q->first + length) % SLOTS] = t;
    cc__store_relaxed(&q->length, length + 1);
}

void cc__jobs_push(struct cc__worker *w, struct cc__task *t) {
    struct cc__task *older[HALF];
    cc__waitlist_lock(&w->jobs.lock);
    bool full = make_room(&w->jobs, older);
    append(&w->jobs, t);
    cc__waitlist_unlock(&w->jobs.lock);
    if (CC__UNLIKELY(full)) cc__inject_push_many(&w->runtime->inject, CC_PRIORITY_NORMAL, older, HALF);
}

void cc__jobs_push_all(struct cc__worker *w, struct cc__tasks batch) {
    struct cc__jobs *q = &w->jobs;
    struct cc__task *older[HALF];
    while (batch.first != NULL) { /* more than once only if it is full in between */
        cc__waitlist_lock(&q->lock);
        bool full = make_room(q, older);
        while (batch.first != NULL && cc__load_relaxed(&q->length) < SLOTS) append(q, cc__tasks_take(&batch));
        cc__waitlist_unlock(&q->lock);
        if (full) cc__inject_push_many(&w->runtime->inject, CC_PRIORITY_NORMAL, older, HALF);
    }
}

struct cc__task *cc__jobs_pop(struct cc__worker *w) {
    struct cc__jobs *q = &w->jobs;
    struct cc__task *t = NULL;
    cc__waitlist_lock(&q->lock);
    uint32_t length = cc__load_relaxed(&q->length);
    if (length > 0) {
        if (CC__LIKELY(++q->pops % CC__JOBS_OLDEST_EVERY != 0)) {
            t = q->slot[(q->first + length - 1) % SLOTS];
            cc__store_relaxed(&q->length, length - 1);
        } else {
            take_oldest(q, &t, 1);
        }
    }
    cc__waitlist_unlock(&q->lock);
    return t;
}

uint32_t cc__jobs_take_half(struct cc__worker *victim, struct cc__task **got, uint32_t most) {
    struct cc__jobs *q = &victim->jobs;
    cc__waitlist_lock(&q->lock);
    uint32_t length = cc__load_relaxed(&q->length), n = length - length / 2;
    if (n > most) n = most;
    take_oldest(q, got, n);
    cc__waitlist_unlock(&q->lock);
    return n;
}

struct cc__task *cc__jobs_steal(struct cc__worker *w, struct cc__worker *victim) {
    struct cc__task *got[CC__JOBS_STEAL];
    uint32_t n = cc__jobs_take_half(victim, got, CC__JOBS_STEAL);
    if (n == 0) return NULL;
    for (uint32_t i = 1; i < n; i++) cc__jobs_push(w, got[i]);
    cc__store_relaxed(&w->count.stolen, cc__load_relaxed(&w->count.stolen) + n);
    return got[0];
}
