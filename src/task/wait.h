/* SPDX-License-Identifier: MIT */
/* The wait: the one way to block.
 *
 * A wait is decided exactly once, by a compare-and-swap on the outcome word of the waiter's record: matched,
 * closed, timed out or cancelled. Wakers and timers hold {record, epoch}; a waiter that has moved on has another epoch,
 * and they lose cleanly. That it is cancelled only the waiter itself decides (sched/cancel.c). What a wait list holds
 * is a node in the waiter's frame; the waiter leaves only when its node is off the list.
 *
 * Who has something for the waiter claims its wait first: from then on nobody else decides it, and the waiter stays
 * where it is until the claimer, done with its frame, settles the wait. So a value goes into the waiter's frame only if
 * the waiter will take it, and that needs no lock: whoever claims under a list's lock may give that up first. One wait
 * may have several nodes, each on another list; `hit` tells which one it was decided by. Who holds the lock of a wait's
 * only list and finds the waiter parked claims and unparks it in one step (cc__wait_take).
 *
 * Prev: task/state_future.c  Next: task/wait_hot.h */
#ifndef CC__TASK_WAIT_H
#define CC__TASK_WAIT_H

#include "../base/base.h"
#include "../base/list.h"

#include <stdbool.h>

struct cc__task;

enum cc__outcome { CC__PENDING, CC__MATCHED, CC__CLOSED, CC__TIMED_OUT, CC__CANCELLED };

/* One waiter on one list: in the waiter's frame. */
struct cc__wait {
    struct cc__node node; /* on a list, or unlinked; guarded by the list's lock */
    struct cc__task *task;
    uint64_t epoch;     /* of this wait */
    void *object;       /* what it waits on, for reports */
    void *value;        /* for the caller */
    uint32_t tag;       /* for the caller */
    uint8_t outcome;    /* if it is one of several that were claimed: what it is to be (claims.h) */
    bool one_of;        /* several nodes of one wait */
    bool hit;           /* by this node its wait was decided; see cc__wait_settle() */
    bool taken;         /* claimed and unparked in one step: cc__wait_take() */
    const char *reason; /* shown in dumps */
};
_Static_assert(sizeof(struct cc__wait) == 64, "a wait node is one cache line");

static inline struct cc__wait *cc__wait_of(struct cc__node *n) {
    return n == NULL ? NULL : CC__CONTAINER_OF(n, struct cc__wait, node);
}

/* A lock's word: from the last one on it is kept, by which keeper (keep.h). */
enum cc__lock { CC__LOCK_FREE, CC__LOCK_HELD, CC__LOCK_KEPT };

/* Waiters in order. A spinning lock, held for a few instructions and never across a park. */
struct cc__waitlist {
    _Atomic uint32_t lock;         /* enum cc__lock.  W, R: any thread.  [WL1] */
    _Atomic uint32_t mark;         /* for the list's owner.  W: with the lock */
    struct cc__wait *first, *last; /* NULL: empty, so that a zeroed list is one */
};

CC__HOT void cc__waitlist_lock(struct cc__waitlist *l);
CC__HOT void cc__waitlist_unlock(struct cc__waitlist *l);
/* The same, for who has looked that nobody is to be told of it (trace/edges.h): once for all it does. */
#if CC__INLINE_HOT
CC__HOT void cc__waitlist_lock_untold(struct cc__waitlist *l);
CC__HOT void cc__waitlist_unlock_untold(struct cc__waitlist *l);
#else
#define cc__waitlist_lock_untold cc__waitlist_lock
#define cc__waitlist_unlock_untold cc__waitlist_unlock
#endif
/* Aborts, in dev builds, with this word and the locks in question if the caller holds any such lock; who holds what is
 * noted for that. */
#if CCRT_ASSERT >= 1
void cc__waitlist_none_held(const char *what);
void cc__waitlist_note_taken(const struct cc__waitlist *lock);
void cc__waitlist_note_dropped(const struct cc__waitlist *lock);
#else
static inline void cc__waitlist_none_held(const char *what) {
    (void)what;
}
static inline void cc__waitlist_note_taken(const struct cc__waitlist *lock) {
    (void)lock;
}
static inline void cc__waitlist_note_dropped(const struct cc__waitlist *lock) {
    (void)lock;
}
#endif
/* With the lock held. */
CC__HOT void cc__waitlist_append(struct cc__waitlist *l, struct cc__wait *w);
void cc__waitlist_prepend(struct cc__waitlist *l, struct cc__wait *w);
CC__HOT void cc__waitlist_remove(struct cc__waitlist *l, struct cc__wait *w); /* harmless if it is not on it */
CC__HOT struct cc__wait *cc__waitlist_take_first(struct cc__waitlist *l);
/* Lock, remove, unlock: after a wait that others than the list may have decided. */
void cc__waitlist_leave(struct cc__waitlist *l, struct cc__wait *w);
/* Who may decide a wait: only who takes its node off the list; or also a timer or another list; or also its
 * waiter, when it is cancelled: that is to be followed by a look whether it is already (cc__wait_cancellable). */
enum cc__deciders { CC__BY_LIST, CC__BY_ANY, CC__BY_CANCEL };
/* Begin a wait of the running task: a new epoch, pending. */
CC__HOT void cc__wait_begin(struct cc__wait *w, struct cc__task *self, enum cc__deciders by, void *object,
                            const char *reason);
/* Whether others than its list may decide it; and whether its waiter may, when it is cancelled. */
CC__HOT bool cc__wait_contested(const struct cc__wait *w);
bool cc__wait_may_be_cancelled(const struct cc__wait *w);
/* For reports: whether a node, or the copy of what may have been one, is of the wait that t is in. */
bool cc__wait_is_of(const struct cc__wait *copy, struct cc__task *t);
/* For reports: how its present wait was decided, or CC__PENDING. */
enum cc__outcome cc__outcome_of(struct cc__task *t);
/* How it was decided, or CC__PENDING. */
CC__HOT enum cc__outcome cc__wait_outcome(const struct cc__wait *w);
/* Decide somebody's wait. True: it was this call that did; the caller unparks the task. */
bool cc__wait_decide(struct cc__task *t, uint64_t epoch, enum cc__outcome outcome);
/* The same in two steps, by one of its nodes, which is off its list by then. True: it is the caller's to settle. The
 * node, and all of the waiter's frame, may be gone once it is settled. What nobody but its list decides need not be
 * claimed. */
CC__HOT bool cc__wait_claim(struct cc__wait *w);
/* Claim and unpark in one, with the lock of its only list, where the node still is. True: the caller takes it off,
 * settles the wait by cc__wait_overrule() and queues the task. Whoever makes a parked task ACTIVE holds it: until it is
 * queued it sees nothing, so what a timer has decided, or does meanwhile, has not been decided. */
CC__HOT bool cc__wait_take(struct cc__wait *w);
CC__HOT void cc__wait_overrule(struct cc__wait *w, enum cc__outcome outcome);
CC__HOT void cc__wait_settle(struct cc__wait *w, enum cc__outcome outcome);

#endif /* CC__TASK_WAIT_H */
