/* SPDX-License-Identifier: MIT */
/* What surrounds src/job/fork.c in its models, with around.h: tasks for children, places for forks, and fences. To be
 * included once. */
#ifndef CCMC_FORKS_H
#define CCMC_FORKS_H

#include "plat/clock.h"
#include "plat/vm.h"
#include "sched/sched.h"

#include "ccmc.h"
#include "fences.h"

#include <errno.h>

enum { FORKS_TASKS = 8 };

static struct cc__task tasks[MC_THREADS][FORKS_TASKS];
static int tasks_used[MC_THREADS];
static cc_priv_fork *places[CC__FORK_PLACES];

/* Each look takes longer than a thief's patience. */
int64_t cc__now_ns(void) {
    static _Thread_local int64_t now;
    return now += INT64_C(1000000);
}
bool cc__steal_queued(struct cc__runtime *of) {
    (void)of;
    return false;
}
int cc__vm_map(void **out, size_t bytes) {
    mc_assert(bytes == sizeof places);
    *out = places;
    return 0;
}
void cc__vm_unmap(void *at, size_t bytes) {
    (void)at, (void)bytes;
}
int cc__spawn_prepare(struct cc__runtime *of, struct cc__task **out, void *(*fn)(void *), void *arg) {
    int me = mc_self();
    struct cc__task *t = &tasks[me][tasks_used[me]++];
    mc_assert(tasks_used[me] <= FORKS_TASKS);
    t->fn = fn;
    t->value = arg;
    t->runtime = of;
    *out = t;
    return 0;
}
int cc__spawn_launch(struct cc__task *t) {
    (void)t;
    return -ESHUTDOWN;
}
void cc__record_free(struct cc__task *t) {
    (void)t;
}
void cc__nursery_unlist(struct cc__task *t) {
    (void)t;
}
void cc__nursery_cancel(struct cc_nursery *n, int code) {
    (void)n, (void)code;
}
void cc__nursery_list(struct cc__task *self) {
    (void)self;
}
void cc__finish_tell(struct cc__worker *w) {
    (void)w;
}
/* In setup(): there are places, as after a first fork. */
static void forks_places(struct cc__worker *w, cc_priv_fork **limit) {
    struct cc__forks *f = &w->forks;
    f->base = f->scoped = f->own.priv_head = f->own.priv_split = places;
    f->end = places + CC__FORK_PLACES;
    f->own.priv_limit = limit;
    cc__store_relaxed(&f->tail, places);
    cc__store_relaxed(&f->shared, places);
}

#endif /* CCMC_FORKS_H */
