/* SPDX-License-Identifier: MIT */
/* Step 4 of task/claims.h: settle claimed waits and unpark who waits; and the waiter's side of it.
 *
 * Prev: sched/polls.h  Next: sched/park.c */
#ifndef CC__SCHED_CLAIMS_H
#define CC__SCHED_CLAIMS_H

#include "../task/claims.h"
#include "leave.h"
#include "sched.h"

#include <errno.h>

/* Without the lock. */
void cc__claims_wake(const struct cc__claims *c);
/* The same, on a worker: tasks that any worker may run go to its ring, and nobody is woken for them. */
void cc__claims_wake_here(const struct cc__claims *c, struct cc__worker *w);

/* Wait, with a node on a list of that lock. What a claim decided needs no more of the object; else the node is taken
 * off.
 *   Returns    as cc__wait_cancellable() */
static inline int cc__claims_wait(struct cc__wait *w, struct cc__waitlist *lock, struct cc__waitlist *list) {
    int rc = cc__wait_cancellable_here(w, CC__NEVER);
    if (CC__LIKELY(rc == 0 || rc == -EPIPE)) return rc;
    cc__waitlist_lock(lock);
    cc__waitlist_remove(list, w);
    cc__waitlist_unlock(lock);
    return rc;
}

#endif /* CC__SCHED_CLAIMS_H */
