/* SPDX-License-Identifier: MIT */
/* There are no futures: what models of the scheduler have in place of src/future, which model_future.c checks. To be
 * included once. */
#ifndef CCMC_NOFUTURES_H
#define CCMC_NOFUTURES_H

#include "sched/sched.h"

#include "ccmc.h"

struct cc__worker *cc__future_poll(struct cc__fiber *f, struct cc__task *t) {
    mc_assert(f == NULL && t == NULL);
    return NULL;
}
void cc__state_hold(struct cc__task *t) {
    mc_assert(t == NULL);
}
void cc__future_let_go(struct cc__task *t) {
    mc_assert(t == NULL);
}

#endif /* CCMC_NOFUTURES_H */
