/* SPDX-License-Identifier: MIT */
/* What all locks share: who calls, and a wait that may be cancelled or not.
 *
 * Each lock but the mutex keeps its state under the lock of its wait list, which is held for a few instructions:
 *
 *   who waits (W)                                who lets it go on (L)
 *   W1 begins a wait, locks the list             L1 locks the list, changes the state
 *   W2 the state allows it: changes it,          L2 takes those off that may go on now, claims their waits,
 *      unlocks, goes on                             and changes the state for each: it has what it waited for
 *   W3 else: its node on the list, unlocks,      L3 unlocks: the last touch of the lock
 *      waits                                     L4 settles their waits, unparks them: touches only their frames
 *   W4 matched: goes on. Cancelled: locks,          and records
 *      takes its node off, lets others go on
 *      that waited behind it, unlocks
 *
 * Nothing slips between W2 and W3, since one lock covers both: what L1 gives is taken at W2 or given at L2. A wait that
 * is cancelled cannot be claimed: L2 passes it over, and what it would have had goes to the next; one that is claimed
 * cannot be cancelled. L4 comes after L3, so who goes on may destroy the lock at once: nobody who let it go on will
 * touch it.
 *
 * Prev: chan/ordered.c  Next: sync/sync.c */
#ifndef CC__SYNC_SYNC_H
#define CC__SYNC_SYNC_H

#include "../sched/claims.h"

#include <errno.h>

/* The wait list in the private words of a public struct. */
#define CC__SYNC_LIST(it)                                                                                              \
    (__extension__({                                                                                                   \
        _Static_assert(sizeof(struct cc__waitlist) == sizeof(it)->priv_lock + sizeof(it)->priv_waiters &&              \
                           offsetof(__typeof__(*(it)), priv_waiters) ==                                                \
                               offsetof(__typeof__(*(it)), priv_lock) + sizeof(it)->priv_lock,                         \
                       "a wait list fits the words kept for it");                                                      \
        (struct cc__waitlist *)(void *)(it)->priv_lock;                                                                \
    }))

/* The record of who calls; aborts where there is no memory for a plain thread's. */
struct cc__task *cc__sync_self_slowly(void);

/* The same if it takes no search, or NULL: a strand's fiber has none of its own (step/sched.c), a thread may have none
 * yet. */
static inline struct cc__task *cc__sync_self_known(void) {
    struct cc__fiber *f = cc__fiber_current();
    return CC__LIKELY(f != NULL) ? f->task : NULL;
}

static inline struct cc__task *cc__sync_self(void) {
    struct cc__task *self = cc__sync_self_known();
    return CC__LIKELY(self != NULL) ? self : cc__sync_self_slowly();
}

static inline enum cc__deciders cc__sync_deciders(bool cancellable) {
    return cancellable ? CC__BY_CANCEL : CC__BY_LIST;
}

/* W3, W4: wait with the node on the list.
 *   Returns    0 matched, -EPIPE closed: the node is off; else why not, or CC__WAIT_AGAIN: it may still be on it */
static inline int cc__sync_wait(struct cc__wait *w, bool cancellable) {
    if (cancellable) return cc__wait_cancellable_here(w, CC__NEVER);
    return CC__LIKELY(cc__wait_for_ever(w) == CC__MATCHED) ? 0 : -EPIPE;
}

#endif /* CC__SYNC_SYNC_H */
