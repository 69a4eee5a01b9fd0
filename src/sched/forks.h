/* SPDX-License-Identifier: MIT */
/* A worker's deque of forks, as the scheduler sees it; job/fork.c has the protocol.
 *
 * Prev: sched/choice.h  Next: sched/help.h */
#ifndef CC__SCHED_FORKS_H
#define CC__SCHED_FORKS_H

#include <ccrt/fork.h>

#include "../base/atomic.h"
#include "../task/wait.h"

struct cc__task;
struct cc__worker;

/* Places [base, tail) were stolen, [tail, split) are for thieves, [split, head) for the owner alone. */
struct cc__forks {
    cc_priv_forks own; /* head, limit, split: what code of users touches */
    cc_priv_fork **base, **end;
    _Atomic uint32_t looks; /* of a loop at its forks: it has not forgotten them.  W: owner.  R: the monitor */
    /* What thieves touch. */
    struct cc__waitlist lock __attribute__((aligned(CC__FALSE_SHARING)));
    cc_priv_fork **_Atomic tail;   /* W: with the lock.  R: all */
    cc_priv_fork **_Atomic shared; /* the same as split, but see "Scopes" there.  W: with the lock.  R: all */
    cc_priv_fork **scoped; /* what is below knows its scope; the rest is under its task's.  W, R: with the lock */
};

/* A limit: every fork is at or behind it, as with NULL. Somebody searches; nobody sleeps because of it. */
#define CC__FORKS_WANTED ((cc_priv_fork **)sizeof(void *))

/* The owner's words as atomics. head  W: owner.  R: all.  [FJ1] [FJ2]   limit  W, R: owner, who is hungry.  [FJ2] [FJ3]
 * split  W: with the lock.  R: owner.  [FJ2] */
static inline cc_priv_fork **_Atomic *cc__forks_head(struct cc__forks *f) {
    return (cc_priv_fork * *_Atomic *)(void *)&f->own.priv_head;
}
static inline cc_priv_fork **_Atomic *cc__forks_limit(struct cc__forks *f) {
    return (cc_priv_fork * *_Atomic *)(void *)&f->own.priv_limit;
}
static inline cc_priv_fork **_Atomic *cc__forks_split(struct cc__forks *f) {
    return (cc_priv_fork * *_Atomic *)(void *)&f->own.priv_split;
}

/* Whether thieves may take one; whether there seems to be one at all. */
static inline bool cc__forks_shared(struct cc__forks *f) {
    return cc__load_relaxed(&f->tail) < cc__load_relaxed(&f->shared);
}
static inline bool cc__forks_any(struct cc__forks *f) {
    return cc__load_relaxed(&f->tail) < cc__load_relaxed(cc__forks_head(f));
}
/* For the owner: whether somebody wants one; whether its task has forks here. */
static inline bool cc__forks_wanted(struct cc__forks *f) {
    return cc__load_relaxed(cc__forks_limit(f)) <= CC__FORKS_WANTED;
}
static inline bool cc__forks_own_any(struct cc__forks *f) {
    return cc__load_relaxed(cc__forks_head(f)) != f->base;
}

/* ---- in job/fork.c ---- */

void cc__forks_begin(struct cc__worker *w); /* its thread begins, and ends */
void cc__forks_end(struct cc__worker *w);
/* The running task is about to leave: what it has forked is for anybody. */
void cc__forks_flush(struct cc__worker *w);
/* Take one; where none is for thieves, ask for one, and after a while take what is the owner's, if `insist`. */
struct cc__task *cc__forks_steal(struct cc__worker *w, struct cc__worker *victim, bool insist);
/* The next fork of each is for thieves; for who searches on. */
void cc__forks_want(struct cc__worker *w);
/* Somebody wants one (the limit says so): half of what the running task has forked is for thieves. */
void cc__forks_offer(struct cc__worker *w);
/* From here on, whoever forks wakes who sleeps; for who is about to. Whether there is one to be had now. */
bool cc__forks_hungry(struct cc__worker *w);
/* The running task blocks its thread: all its forks are for thieves. */
void cc__forks_open(struct cc__worker *w);
/* For the monitor: the forks of one that is stuck become tasks for all. Whether there were any. */
bool cc__forks_share(struct cc__worker *victim);
/* The running task enters, or has left, a scope: see job/fork.c. */
void cc__forks_scope_enter(struct cc__task *self);
void cc__forks_scope_leave(struct cc__task *self, struct cc_priv_scope *s);
void cc__forks_forgotten(void); /* a task has ended without joining all: aborts */

#endif /* CC__SCHED_FORKS_H */
