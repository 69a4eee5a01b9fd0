/* SPDX-License-Identifier: MIT */
/* Waiters that are to be woken, from under a list's lock to after it: channels, locks, descriptors and all else that
 * has a list.
 *
 *   1 with the lock: take nodes off, claim their waits, add them to the claims, each with its outcome
 *   2 unlock: from here on the object may be gone, because somebody who was woken destroyed it
 *   3 write into the waiters' frames what is for them, if that was not done before
 *   4 settle each wait and unpark its waiter, in the order they were added (sched/claims.h)
 *
 * A claimed wait is nobody else's to decide, so its frame stays until 4, whatever cancels or times out. A task that is
 * parked by then is claimed and unparked in one step at 1: nobody can run it before 4 has queued it. A node whose
 * wait cannot be claimed is off the list, too: its waiter passes through the lock before it leaves, and finds it off.
 *
 * Prev: task/keep_hot.h  Next: task/lock.c */
#ifndef CC__TASK_CLAIMS_H
#define CC__TASK_CLAIMS_H

#include "../trace/edges.h"
#include "wait.h"

/* Claimed waits in order, linked by their nodes' `next`; zero is none. */
struct cc__claims {
    struct cc__wait *first, *last;
};

/* With the lock: a node that is off its list, and its wait claimed. */
static inline void cc__claims_add(struct cc__claims *c, struct cc__wait *w, enum cc__outcome outcome) {
    w->outcome = (uint8_t)outcome;
    w->node.next = NULL;
    if (c->last == NULL)
        c->first = w;
    else
        c->last->node.next = &w->node;
    c->last = w;
}

/* With the lock: take the first off a list that is not empty. True: it was claimed, and is the last of the claims. */
static inline bool cc__claims_take(struct cc__claims *c, struct cc__waitlist *l, enum cc__outcome outcome) {
    struct cc__wait *w = cc__waitlist_take_first(l);
    w->taken = !CC__TRACING(CC__TELL_WAKES) && cc__wait_take(w);
    if (!w->taken && !cc__wait_claim(w)) return false;
    cc__claims_add(c, w, outcome);
    return true;
}

/* With the lock: the first of a list that can still be claimed, or NULL. */
static inline struct cc__wait *cc__claims_first(struct cc__claims *c, struct cc__waitlist *l,
                                                enum cc__outcome outcome) {
    while (l->first != NULL)
        if (cc__claims_take(c, l, outcome)) return c->last;
    return NULL;
}

static inline void cc__claims_all(struct cc__claims *c, struct cc__waitlist *l, enum cc__outcome outcome) {
    while (cc__claims_first(c, l, outcome) != NULL) {
    }
}

#endif /* CC__TASK_CLAIMS_H */
