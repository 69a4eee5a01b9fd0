/* SPDX-License-Identifier: MIT */
/* Workers that help with descriptors, as the others see them; help.c has what they do and why.
 *
 * Prev: sched/forks.h  Next: sched/watch.h */
#ifndef CC__SCHED_HELP_H
#define CC__SCHED_HELP_H

#include "../base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

struct cc__worker;

/* A worker's part in it. */
struct cc__help {
    bool took;             /* a look at descriptors gave it tasks since it gave way, */
    uint64_t gave_way;     /* which was then, in cycles; */
    bool gives_way;        /* it is on its way home for that */
    uint64_t moved;        /* when it last left its watcher's processor, in cycles */
    _Atomic unsigned cpu;  /* of a watcher: 1 + the cpu it was on,  W: owner.  R: helpers */
    _Atomic uint64_t seen; /* and when, in cycles.  W: owner.  R: helpers */
};

void cc__help_say_where(struct cc__worker *w, uint64_t cycles); /* for a watcher, at each look around: now */
bool cc__help_move(struct cc__worker *w);      /* with nothing in its rings: true, it left its watcher's processor */
bool cc__help_gives_way(struct cc__worker *w); /* after a turn: true, it is to go home and do so */
void cc__help_give_way(struct cc__worker *w);

#endif /* CC__SCHED_HELP_H */
