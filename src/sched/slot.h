/* SPDX-License-Identifier: MIT */
/* A worker's slot: the one task that it runs next.
 *
 * Its owner fills and empties it thousands of times for each time that somebody else takes from it. So the owner does
 * both without a read-modify-write, and a thief pays for the two of them:
 *
 *   the owner takes                              a thief (sched/steal.c)
 *   O1 taking = 1                                T1 thief: 0 to 1; one at a time
 *   O2 light fence                               T2 heavy fence
 *   O3 no thief: empties the slot, and only      T3 taking is 0: takes by compare-and-swap
 *      then taking = 0                           T4 thief = 0
 *   O4 else taking = 0, and takes by exchange
 *
 * By the fences O3 sees T1, or T3 sees O1 or its end. What T3 finds ended it sees whole: the slot is empty, or filled
 * again. What it has not seen begin comes to O4, and two read-modify-writes agree. A thief that was through before O3
 * is seen whole by that.
 *
 * An empty slot is filled by its owner alone; a full one by exchange. Where there is no heavy fence, there is always a
 * thief.
 *
 * Prev: sched/sched.h  Next: sched/spawn.c */
#ifndef CC__SCHED_SLOT_H
#define CC__SCHED_SLOT_H

#include "../plat/barrier.h"
#include "sched.h"

/* For its owner: what is in the slot, or NULL. */
static inline struct cc__task *cc__slot_take(struct cc__worker *w) {
    struct cc__slot *s = &w->slot;
    struct cc__task *t = cc__load_relaxed(&s->task);
    if (t == NULL) return NULL;
    cc__store_relaxed(&s->taking, 1);
    cc__barrier_light();                                /* [SL1] O2 */
    if (CC__LIKELY(cc__load_acquire(&s->thief) == 0)) { /* [SL2] acquire: the one before has emptied it, or has not */
        t = cc__load_relaxed(&s->task);
        cc__store_relaxed(&s->task, NULL);
        cc__store_release(&s->taking, 0); /* [SL2] release: who sees that sees it empty */
        return t;
    }
    cc__store_relaxed(&s->taking, 0);        /* whoever is first */
    return cc__xchg_acq_rel(&s->task, NULL); /* [RQ3] acquire: a thief may have been quicker; then NULL */
}

/* For its owner: fill it, if it is empty. */
static inline void cc__slot_fill(struct cc__worker *w, struct cc__task *t) {
    cc__store_release(&w->slot.task, t); /* [RQ3] release: whoever takes it from the slot sees the task */
}

/* For its owner: fill it; what was there before, or NULL. */
static inline struct cc__task *cc__slot_put(struct cc__worker *w, struct cc__task *t) {
    if (CC__UNLIKELY(cc__load_relaxed(&w->slot.task) != NULL)) return cc__xchg_acq_rel(&w->slot.task, t); /* [RQ3] */
    cc__slot_fill(w, t);
    return NULL;
}

/* For its owner: nobody waits here that the slot could keep out. */
static inline bool cc__rings_empty(struct cc__worker *w) {
    return cc__runq_length(&w->begun) == 0 && cc__runq_length(&w->fresh) == 0 && !cc__jobs_any(w);
}

/* cc__ready() where that is all of it, as mostly for one that was met at a channel: this worker has nothing else to do,
 * runs it next, and wakes nobody. */
static inline void cc__ready_here(struct cc__task *t) {
#if CC__INLINE_HOT
    struct cc__worker *w = cc__worker_current();
    if (CC__LIKELY(w != NULL && w->runtime == t->runtime && cc__ready_is_plain(t) && !w->spills) &&
        CC__LIKELY(cc__load_relaxed(&w->slot.task) == NULL && cc__rings_empty(w))) {
        cc__count(&w->count.woken);
        cc__slot_fill(w, t);
        return;
    }
#endif
    cc__ready(t);
}

#endif /* CC__SCHED_SLOT_H */
