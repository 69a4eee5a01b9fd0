/* SPDX-License-Identifier: MIT */
/* Nobody forks, and there are no jobs: what models of the scheduler have in place of src/job, which model_fork.c and
 * model_jobs.c check. To be included once. */
#ifndef CCMC_NOFORKS_H
#define CCMC_NOFORKS_H

#include "sched/sched.h"

#include "ccmc.h"

void cc__forks_begin(struct cc__worker *w) {
    (void)w;
}
void cc__forks_end(struct cc__worker *w) {
    (void)w;
}
bool cc__forks_hungry(struct cc__worker *w) {
    (void)w;
    return false;
}
void cc__forks_want(struct cc__worker *w) {
    (void)w;
}
void cc__forks_scope_enter(struct cc__task *self) {
    (void)self;
}
void cc__forks_scope_leave(struct cc__task *self, struct cc_priv_scope *s) {
    (void)self, (void)s;
}

/* Called only where there are forks. */
void cc__forks_flush(struct cc__worker *w) {
    mc_assert(w == NULL);
}
struct cc__task *cc__forks_steal(struct cc__worker *w, struct cc__worker *victim, bool insist) {
    mc_assert(w == victim && !insist);
    return NULL;
}
void cc__forks_open(struct cc__worker *w) {
    mc_assert(w == NULL);
}
bool cc__forks_share(struct cc__worker *victim) {
    (void)victim;
    return false;
}
void cc__forks_forgotten(void) {
    mc_assert(!"forgotten");
}

void cc__jobs_push(struct cc__worker *w, struct cc__task *t) {
    mc_assert(w == NULL && t == NULL);
}
struct cc__task *cc__jobs_pop(struct cc__worker *w) {
    mc_assert(w == NULL);
    return NULL;
}
struct cc__task *cc__jobs_steal(struct cc__worker *w, struct cc__worker *victim) {
    mc_assert(w == victim);
    return NULL;
}
uint32_t cc__jobs_take_half(struct cc__worker *victim, struct cc__task **got, uint32_t most) {
    mc_assert(victim == NULL && got == NULL);
    return most;
}
void cc__frame_end(struct cc__fiber *f) {
    mc_assert(f == NULL);
}

#endif /* CCMC_NOFORKS_H */
