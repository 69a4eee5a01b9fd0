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
    bool helps;                  /* a look at descriptors gave it tasks since it slept, */
    bool took;                   /* and since it gave way, */
    uint64_t gave_way;           /* which was then, in cycles; */
    bool gives_way;              /* it is on its way home for that; */
    bool steps_back;             /* what is in its watcher's ring is not for it: it waits, or is about to sleep; */
    uint64_t crowds_since;       /* it has found itself on its watcher's cpu since then, in cycles; 0: it has not; */
    int64_t since_ns, had_ns;    /* the same as a time, and what its watcher had had of processors then; */
    uint32_t dry_then;           /* and how often that had had nothing to do; */
    uint64_t stays_until;        /* it does not step back before; */
    uint64_t hold;               /* how long nobody was called when it last left; 0: it has had a processor since */
    _Atomic unsigned cpu;        /* of a watcher: 1 + the cpu it was on,  W: owner.  R: helpers */
    _Atomic uint64_t seen;       /* and when, in cycles.  W: owner.  R: helpers */
    _Atomic uint32_t dry;        /* times it had nothing to do.  W: owner.  R: helpers */
    _Atomic bool called;         /* a helper was called for it.  W: who calls, helpers.  R: helpers */
    _Atomic uint64_t none_until; /* no helper is called for it until then; 0: any time.  W: helpers.  R: who calls */
};

void cc__help_say_where(struct cc__worker *w, uint64_t cycles); /* for a watcher, at each look around: now */
void cc__help_call(struct cc__worker *w);                       /* there is a backlog where w looks: wake another */
bool cc__help_gives_way(struct cc__worker *w);                  /* after a turn: true, it is to go home and do so */
void cc__help_give_way(struct cc__worker *w);
bool cc__help_crowds(struct cc__worker *w); /* its watcher is on the same processor, and at work */
/* With nothing in its rings: is it to search on; was it that who waits, so that it is to look again; or to sleep? */
enum cc__help_next { CC__HELP_SEARCH, CC__HELP_AGAIN, CC__HELP_LEAVE };
enum cc__help_next cc__help_step_back(struct cc__worker *w);
static inline void cc__help_dry(struct cc__help *h) { /* it has found nothing to do */
    cc__store_relaxed(&h->dry, cc__load_relaxed(&h->dry) + 1);
}
static inline void cc__help_taken(struct cc__help *h) { /* a look gave it tasks */
    h->helps = h->took = true;
}

#endif /* CC__SCHED_HELP_H */
