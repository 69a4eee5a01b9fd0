/* SPDX-License-Identifier: MIT */
/* What every wait and wake goes through, inline in release builds: a call of its own for a few instructions would cost
 * more than they do. Where the locks that are held are noted (dev builds), or calls are watched (ThreadSanitizer, the
 * model checker), wait.c has them as functions. See wait.h for what they do.
 *
 * Prev: task/wait.h  Next: task/keep.h */
#ifndef CC__TASK_WAIT_HOT_H
#define CC__TASK_WAIT_HOT_H

#include "../base/assert.h"
#include "../base/atomic.h"
#include "../trace/edges.h"
#include "task.h"

/* The outcome word: an epoch; what kind of wait it is; the outcome. */
enum {
    CC__OUTCOME_MASK = 7,
    CC__OUTCOME_CANCELLABLE = 8,
    CC__OUTCOME_CONTESTED = 16,
    CC__OUTCOME_CLAIMED = 32,
    CC__OUTCOME_BITS = 6
};

#if CC__INLINE_HOT
void cc__waitlist_lock_slowly(struct cc__waitlist *l, uint32_t was); /* was: what an exchange found, or held */

CC__HOT void cc__waitlist_lock_untold(struct cc__waitlist *l) {
    uint32_t was = CC__LOCK_HELD;
    /* [WL1] acquire: what the last holder did is seen. */
    if (CC__LIKELY(cc__load_relaxed(&l->lock) != CC__LOCK_HELD)) was = cc__xchg_acquire(&l->lock, CC__LOCK_HELD);
    if (CC__UNLIKELY(was != CC__LOCK_FREE)) cc__waitlist_lock_slowly(l, was);
}

CC__HOT void cc__waitlist_unlock_untold(struct cc__waitlist *l) {
    cc__store_release(&l->lock, CC__LOCK_FREE); /* [WL1] */
}

CC__HOT void cc__waitlist_lock(struct cc__waitlist *l) {
    cc__waitlist_lock_untold(l);
    CC__EDGE_ACQUIRE(l);
}

CC__HOT void cc__waitlist_unlock(struct cc__waitlist *l) {
    CC__EDGE_RELEASE(l);
    cc__waitlist_unlock_untold(l);
}
#endif

static inline bool cc__wait_is_open(uint64_t now) {
    return (now & (CC__OUTCOME_MASK | CC__OUTCOME_CLAIMED)) == CC__PENDING;
}

CC__HOT void cc__waitlist_append(struct cc__waitlist *l, struct cc__wait *w) {
    CC_ASSERT(w->node.prev == NULL && w->node.next == NULL && l->first != w);
    w->node.prev = l->last == NULL ? NULL : &l->last->node;
    if (l->last == NULL)
        l->first = w;
    else
        l->last->node.next = &w->node;
    l->last = w;
}

CC__HOT void cc__waitlist_remove(struct cc__waitlist *l, struct cc__wait *w) {
    struct cc__wait *prev = cc__wait_of(w->node.prev), *next = cc__wait_of(w->node.next);
    if (prev == NULL && l->first != w) return; /* not on it */
    if (prev == NULL)
        l->first = next;
    else
        prev->node.next = w->node.next;
    if (next == NULL)
        l->last = prev;
    else
        next->node.prev = w->node.prev;
    w->node.prev = w->node.next = NULL;
}

CC__HOT struct cc__wait *cc__waitlist_take_first(struct cc__waitlist *l) {
    struct cc__wait *w = l->first;
    if (w != NULL) cc__waitlist_remove(l, w);
    return w;
}

CC__HOT void cc__wait_begin(struct cc__wait *w, struct cc__task *self, enum cc__deciders by, void *object,
                            const char *reason) {
    static const uint8_t kind[] = {
        [CC__BY_ANY] = CC__OUTCOME_CONTESTED, [CC__BY_CANCEL] = CC__OUTCOME_CONTESTED | CC__OUTCOME_CANCELLABLE};
    uint64_t epoch = (cc__load_relaxed(&self->outcome) >> CC__OUTCOME_BITS) + 1;
    *w = (struct cc__wait){.task = self, .epoch = epoch, .object = object, .reason = reason};
    /* Nobody holds this epoch yet, so no order is needed: the list's lock publishes it. */
    cc__store_relaxed(&self->outcome, epoch << CC__OUTCOME_BITS | kind[by] | CC__PENDING);
}

CC__HOT enum cc__outcome cc__wait_outcome(const struct cc__wait *w) {
    /* [WT1] acquire: pairs with the release in cc__wait_decide(); what the decider wrote may be read. */
    uint64_t now = cc__load_acquire(&w->task->outcome);
    CC_ASSERT(now >> CC__OUTCOME_BITS == w->epoch);
    return (enum cc__outcome)(now & CC__OUTCOME_MASK);
}

CC__HOT bool cc__wait_contested(const struct cc__wait *w) {
    return (cc__load_relaxed(&w->task->outcome) & CC__OUTCOME_CONTESTED) != 0;
}

CC__HOT bool cc__wait_claim(struct cc__wait *w) {
    struct cc__task *t = w->task;
    uint64_t now = cc__load_relaxed(&t->outcome);
    if (now >> CC__OUTCOME_BITS != w->epoch || !cc__wait_is_open(now)) return false;
    if ((now & CC__OUTCOME_CONTESTED) == 0) return true; /* nobody else could */
    /* No order: what the claimer writes is published by settling, what it reads was by the list's lock. */
    return cc__cas_relaxed(&t->outcome, &now, now | CC__OUTCOME_CLAIMED);
}

CC__HOT void cc__wait_settle(struct cc__wait *w, enum cc__outcome outcome) {
    struct cc__task *t = w->task;
    uint64_t now = cc__load_relaxed(&t->outcome);
    CC_ASSERT(now >> CC__OUTCOME_BITS == w->epoch && (now & CC__OUTCOME_MASK) == CC__PENDING);
    w->hit = true;
    /* [WT1] release: what was written into the waiter's frame is seen by it. */
    cc__store_release(&t->outcome, (now & ~(uint64_t)CC__OUTCOME_CLAIMED) | (uint64_t)outcome);
}

CC__HOT bool cc__wait_take(struct cc__wait *w) {
    return !w->one_of && cc__state_take_parked(w->task);
}

CC__HOT void cc__wait_overrule(struct cc__wait *w, enum cc__outcome outcome) {
    struct cc__task *t = w->task;
    uint64_t now = cc__load_relaxed(&t->outcome);
    CC_ASSERT(now >> CC__OUTCOME_BITS == w->epoch && (now & CC__OUTCOME_CLAIMED) == 0);
    /* No order: its waiter comes to it through the queue. */
    cc__store_relaxed(&t->outcome, (now & ~(uint64_t)CC__OUTCOME_MASK) | (uint64_t)outcome);
}

#endif /* CC__TASK_WAIT_HOT_H */
