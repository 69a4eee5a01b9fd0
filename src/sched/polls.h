/* SPDX-License-Identifier: MIT */
/* A future, as the layers see it that have something to be polled: channels, timers, joins.
 *
 * The future in the user's struct is itself what stands in the queues: it begins as a task record does, up to `site`,
 * and its class of stack says what it is. Its one wait is in it, and lasts from poll to poll:
 *
 *   poll function (P)                                  who decides the wait (D): see task/wait.h
 *   P1 tries; done: returns                            D1 claims it, or takes its node off, under a lock
 *   P2 begins a wait, its node on a list or a timer,   D2 holds the future as a waker does, before P can know
 *      under the same lock: -EAGAIN                    D3 settles the wait, unparks the future: it is polled
 *   P3 polled again, for whatever reason: looks        D4 lets go of it
 *      at the outcome; pending: -EAGAIN
 *   P4 decided: the wait is over; what it means
 *
 * P may see the outcome between D3's two halves, be ready, and have its owner free the future: it is D2 that keeps the
 * owner from being told before D4. A timer has a lock that D gives up last, and P4 passes through it instead.
 *
 * To give a wait up, P decides it itself. If it was claimed before that, D is about to settle it, and P waits for
 * those few instructions; else it takes its node off, under the lock.
 *
 * Prev: sched/leave.h  Next: sched/claims.h */
#ifndef CC__SCHED_POLLS_H
#define CC__SCHED_POLLS_H

#include <ccrt/future.h>

#include "../base/assert.h"
#include "sched.h"

enum cc__polled { CC__POLLS_LIST, CC__POLLS_TIMER };

struct cc__future {
    /* As struct cc__task; these names are used of it there. */
    _Atomic uint64_t control; /* W, R: any thread, through task/state*.c only.  [TS1] [TS2] [TS3] [FT1] */
    void *as_task[9];         /* next, fiber, fn: the poll function, value: the counter, ..., scope, nursery: none */
    const struct cc_site *site;

    struct cc__waitlist awaiters;
    uint32_t polls;   /* enum cc__polled, if t->polls says so; the rest is the poll function's worker's */
    uint32_t shields; /* it is in so many */
    void (*leave)(struct cc__wait *w); /* CC__POLLS_LIST: takes the node off */
    union {
        struct cc__wait wait;
        struct {
            struct cc__timer timer;
            struct cc__timers *set;
        };
    };
};

_Static_assert(sizeof(struct cc__future) == sizeof(cc_future) && sizeof(cc_future) <= 192, "as promised");
_Static_assert(sizeof(struct cc__future) == sizeof(struct cc__task), "reports copy what may be either");
_Static_assert(offsetof(struct cc__future, site) == offsetof(struct cc__task, site), "the same up to there");
_Static_assert(_Alignof(struct cc__future) <= _Alignof(cc_future), "it is in the user's memory");
_Static_assert(_Alignof(struct cc__task) <= _Alignof(cc_future), "and is taken for a record");

static inline struct cc__task *cc__polled_task(struct cc__future *p) {
    return (struct cc__task *)(void *)p;
}

/* The future that is polled here, which is this. */
static inline struct cc__future *cc__polled_self(cc_future *f) {
    struct cc__worker *w = cc__worker_current();
    CC_CHECK(f != NULL && w != NULL && cc__load_relaxed(&w->current) == (struct cc__task *)(void *)f,
             "something is polled for a future whose poll function this is not");
    return (struct cc__future *)(void *)f;
}

/* From here on it polls for that. */
static inline void cc__polled_begins(struct cc__future *p, enum cc__polled what) {
    p->polls = what;
    cc__polled_task(p)->polls = 1;
}

/* ---- in future/ ---- */

/* P3, P4, of one that waits for this object: -EAGAIN; or CC__POLL_OVER and *outcome; or -ECANCELED: it was given up. */
enum { CC__POLL_OVER = 1 };
int cc__polled_look(struct cc__future *p, const void *object, enum cc__outcome *outcome);
/* Before P1: false: it has done much at once, and is polled again after others. */
bool cc__polled_may_go_on(void);
bool cc__polled_cancelled(const struct cc__future *p);

#endif /* CC__SCHED_POLLS_H */
