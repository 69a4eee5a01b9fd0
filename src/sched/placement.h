/* SPDX-License-Identifier: MIT */
/* Placement: which cpu each worker is bound to, when it is woken, and whom it robs first.
 *
 * Prev: sched/sched.h  Next: sched/placement.c */
#ifndef CC__SCHED_PLACEMENT_H
#define CC__SCHED_PLACEMENT_H

#include "../plat/topology.h"

/* Where one worker sits. */
struct cc__seat {
    unsigned cpu;  /* the system's number */
    unsigned tier; /* it is woken when all of the lower ones are awake; 0, but in tiers */
    unsigned node, package;
};

/* Whom the workers of one node rob: those of their own node, then those of others in their package, then the rest. */
enum { CC__RINGS = 3 };
struct cc__victims {
    unsigned end[CC__RINGS]; /* where each of these ends in the list */
    unsigned *worker;        /* all of them */
};

struct cc__placement {
    int strategy;  /* CC_PIN_* */
    bool binds;    /* threads are bound; else the topology is not this machine's */
    bool spills;   /* what is ready again goes to the global queue, where all tiers look */
    unsigned room; /* cpus that it gives out: with more workers some share one */
    unsigned workers, cores, tiers, nodes;
    struct cc__seat *seat;       /* of each worker */
    struct cc__victims *victims; /* of each node; NULL: there is one node */
};

/* How many workers a strategy has cpus for. */
unsigned cc__placement_room(const struct cc__topology *t, int strategy);

/* Seat so many workers. Nothing but the arguments is looked at.
 *   Returns    0; -ENOMEM */
int cc__placement_plan(struct cc__placement **out, const struct cc__topology *t, int strategy, unsigned workers);
void cc__placement_end(struct cc__placement *p); /* NULL is allowed */

/* Before a worker starts: where it sits. */
struct cc__worker;
void cc__placement_seat(const struct cc__placement *p, struct cc__worker *w);

#endif /* CC__SCHED_PLACEMENT_H */
