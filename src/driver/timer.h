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

/* Those that end within one tick, in any order, on several lists: as the slot is reached, each of a list is waited for,
 * since it is not in the cache, but not the one list for the other. */
enum { CC__TIMER_LISTS = 4 };
struct cc__timer_slot {
    struct cc__timer *first[CC__TIMER_LISTS];
    int64_t soonest_ns; /* not later than any of them; void where the slot is not used */
};

/* What orders those of a slot that is reached, beside them: in few lines that are at hand. */
struct cc__timer_key {
    int64_t when_ns;
    struct cc__timer *timer;
};

struct cc__timers {
    cc__lock lock;
    int64_t base;                 /* the first tick of the wheel */
    struct cc__timer *near, *far; /* heaps: of what is before the wheel, and beyond it */
    struct cc__timer_slot slot[CC__TIMER_SLOTS];
    uint64_t used[CC__TIMER_SLOTS / 64]; /* slots that may have some */
    unsigned turn;                       /* of the lists of a slot */
    struct cc__timer_key key[128];       /* while a slot is emptied */
    _Atomic int64_t next_ns; /* W: with the lock.  R: anyone; CC__NEVER: none.  A hint: look again under it. */
};

void cc__timers_init(struct cc__timers *s, int64_t now_ns); /* over zeroed memory, most of which it leaves alone */
/* Add one. True: it is now the first of this set. */
bool cc__timers_add(struct cc__timers *s, struct cc__timer *t);
/* Take it out, if it is still there. */
void cc__timers_remove(struct cc__timers *s, struct cc__timer *t);
/* Decide the waits that end by now_ns. Returns the tasks to queue, linked by `next`. */
struct cc__task *cc__timers_expire(struct cc__timers *s, int64_t now_ns);

#endif /* CC__DRIVER_TIMER_H */
