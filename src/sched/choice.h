/* SPDX-License-Identifier: MIT */
/* Every choice of the scheduler that its input does not determine: whom to rob first, whom to wake, whose turn it is,
 * how long to spin, what time it is, which processor it is on. One place, so that a mode that runs everything on one
 * thread by a seed can replace them without a change elsewhere.
 *
 * Prev: sched/sched.h  Next: sched/forks.h */
#ifndef CC__SCHED_CHOICE_H
#define CC__SCHED_CHOICE_H

#include "../plat/clock.h"
#include "../plat/thread.h"
#include "sched.h"

/* The first victim of a round. */
static inline unsigned cc__choice_victim(struct cc__worker *w) {
    return cc__rng_below(&w->rng, cc__worker_count(w->runtime));
}

/* The same among n, of which all are as near. */
static inline unsigned cc__choice_near(struct cc__worker *w, unsigned n) {
    return cc__rng_below(&w->rng, n);
}

/* Where the search for an idle worker to wake begins. */
static inline size_t cc__choice_sleeper(const struct cc__runtime *rt) {
    (void)rt;
    return 0; /* always the same few: their caches are warm, the others, and higher tiers, sleep on */
}

/* The worker whose turn it is to get a new task. */
static inline unsigned cc__choice_turn(struct cc__worker *w) {
    return w->turn = (w->turn + 1) % w->runtime->base_count;
}

/* The case of n at which a select begins; w: NULL, if a plain thread does. */
static inline unsigned cc__choice_case(struct cc__worker *w, unsigned n) {
    return w != NULL ? cc__rng_below(&w->rng, n) : cc__rng_once_below(cc__cycles(), n);
}

static inline int64_t cc__choice_now(void) {
    return cc__now_ns();
}

static inline uint64_t cc__choice_cycles(void) {
    return cc__cycles();
}

/* 1 + the processor that the caller is on at this moment; 0: it is not known. */
static inline unsigned cc__choice_cpu(void) {
    return cc__thread_cpu();
}

/* How long the last searcher looks on before it sleeps, how long a slot must lie before it is stolen, and how long who
 * joins a fork looks on before it leaves its worker. */
static inline int64_t cc__choice_spin_ns(void) {
    return 50000;
}
static inline int64_t cc__choice_patience_ns(void) {
    return 20000;
}
static inline int64_t cc__choice_join_ns(void) {
    return 10000;
}

#endif /* CC__SCHED_CHOICE_H */
