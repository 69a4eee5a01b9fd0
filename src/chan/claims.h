/* SPDX-License-Identifier: MIT */
/* Waiters that are to be woken, from under a list's lock to after it.
 *
 *   1 with the lock: take nodes off, claim their waits, add them to the claims, each with its outcome
 *   2 unlock: from here on the object may be gone, because somebody who was woken destroyed it
 *   3 write into the waiters' frames what is for them, if that was not done before
 *   4 settle each wait and unpark its waiter
 *
 * A claimed wait is nobody else's to decide, so its frame stays until 4, whatever cancels or times out. A node whose
 * wait cannot be claimed is off the list, too: its waiter passes through the lock before it leaves, and finds it off.
 *
 * Prev: chan/select.c  Next: chan/oneshot.c */
#ifndef CC__CHAN_CLAIMS_H
#define CC__CHAN_CLAIMS_H

#include "../sched/leave.h"
#include "../sched/sched.h"

#include <errno.h>

/* Claimed waits in order, linked by their nodes' `next`; zero is none. A node's `tag` is its outcome. */
struct cc__claims {
    struct cc__wait *first, *last;
};

/* With the lock: the first of a list that can still be claimed, or NULL. */
static inline struct cc__wait *cc__claims_first(struct cc__claims *c, struct cc__waitlist *l,
                                                enum cc__outcome outcome) {
    struct cc__wait *w;
    do {
        w = cc__waitlist_take_first(l);
        if (w == NULL) return NULL;
    } while (!cc__wait_claim(w));
    w->tag = (uint32_t)outcome;
    if (c->last == NULL)
        c->first = w;
    else
        c->last->node.next = &w->node;
    c->last = w;
    return w;
}

static inline void cc__claims_all(struct cc__claims *c, struct cc__waitlist *l, enum cc__outcome outcome) {
    while (cc__claims_first(c, l, outcome) != NULL) {
    }
}

/* Without the lock. */
static inline void cc__claims_settle(struct cc__claims *c) {
    for (struct cc__wait *w = c->first; w != NULL;) {
        struct cc__node *next = w->node.next; /* it is gone as soon as it is settled */
        cc__wake_claimed(w, (enum cc__outcome)w->tag);
        w = next == NULL ? NULL : CC__CONTAINER_OF(next, struct cc__wait, node);
    }
}

/* Wait, with a node on a list of that lock. What a claim decided needs no more of the object; else the node is taken
 * off.
 *   Returns    as cc__wait_cancellable() */
static inline int cc__claims_wait(struct cc__wait *w, struct cc__waitlist *lock, struct cc__waitlist *list) {
    int rc = cc__wait_cancellable_here(w, CC__NEVER, false);
    if (CC__LIKELY(rc == 0 || rc == -EPIPE)) return rc;
    cc__waitlist_lock(lock);
    cc__waitlist_remove(list, w);
    cc__waitlist_unlock(lock);
    return rc;
}

#endif /* CC__CHAN_CLAIMS_H */
