/* SPDX-License-Identifier: MIT */
/* Timers: instants at which waits are decided as timed out. One set a worker; any thread may look at it.
 *
 * Prev: task/pool.c  Next: driver/timer.c */
#ifndef CC__DRIVER_TIMER_H
#define CC__DRIVER_TIMER_H

#include "../base/atomic.h"
#include "../plat/thread.h"
#include "../task/task.h"

#define CC__NEVER INT64_MAX

/* One wait with an end, in the waiter's frame. */
struct cc__timer {
    int64_t when_ns;
    struct cc__task *task;
    uint64_t epoch;
    struct cc__timer *child, *sibling; /* of the heap */
    struct cc__timer **link;           /* where the pointer to this one is; NULL: not in the heap */
};

#ifndef CC__TIMER_SLOTS
#define CC__TIMER_SLOTS 1024 /* of about a millisecond; a multiple of 64 */
#endif
#ifndef CC__TIMER_LISTED
#define CC__TIMER_LISTED 8 /* timers of a slot before it gets leaves */
#endif

/* What orders those of a slot, beside them: in few lines that are at hand. */
struct cc__timer_key {
    int64_t when_ns;
    struct cc__timer *timer; /* NULL: it was taken out */
};

/* Some of a slot that has many; a kilobyte. */
struct cc__timer_leaf {
    struct cc__timer_leaf *next;
    size_t count;
    struct cc__timer_key key[63];
};

/* Those that end within one tick, in any order: a few on a list, the others in leaves. */
struct cc__timer_slot {
    struct cc__timer *first;
    struct cc__timer_leaf *leaf; /* the last, which may have room */
    int64_t soonest_ns;          /* not later than any of them; void where the slot is not used, as the next */
    int listed;                  /* that were put on the list */
};

struct cc__timers {
    cc__lock lock;
    int64_t base;                 /* the first tick of the wheel */
    struct cc__timer *near, *far; /* heaps: of what is before the wheel, and beyond it */
    struct cc__timer_slot slot[CC__TIMER_SLOTS];
    uint64_t used[CC__TIMER_SLOTS / 64]; /* slots that may have some */
    struct cc__timer_leaf *spare;        /* leaves that are kept, */
    unsigned spares;                     /* and how many */
    struct cc__timer_key key[128];       /* while a slot is emptied */
    _Atomic int64_t next_ns; /* W: with the lock.  R: anyone; CC__NEVER: none.  A hint: look again under it. */
};

void cc__timers_init(struct cc__timers *s, int64_t now_ns); /* over zeroed memory, most of which it leaves alone */
void cc__timers_end(struct cc__timers *s);                  /* there are none left; give back memory */
/* Add one. True: it is now the first of this set. */
bool cc__timers_add(struct cc__timers *s, struct cc__timer *t);
/* Take it out, if it is still there. */
void cc__timers_remove(struct cc__timers *s, struct cc__timer *t);
/* Decide the waits that end by now_ns. Returns the tasks to queue, linked by `next`. */
struct cc__task *cc__timers_expire(struct cc__timers *s, int64_t now_ns);
/* Cancel all futures that sleep here: a runtime ends. Returns those to queue, linked by `next`. */
struct cc__task *cc__timers_cancel_futures(struct cc__timers *s);

#endif /* CC__DRIVER_TIMER_H */
