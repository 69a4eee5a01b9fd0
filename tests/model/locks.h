/* SPDX-License-Identifier: MIT */
/* What surrounds locks in their models: around.h, what a wait may be ended by (a cancellation, a stray unpark), and
 * clocks by which nobody has waited for long, or those have whose number is below the waker's; only a time-out of
 * a thread's own moves its clock. To be included once, by a model that has
 *     Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns */
#ifndef CCMC_LOCKS_H
#define CCMC_LOCKS_H

#include "around.h"

#include <stdlib.h>

static bool waits_are_long; /* set by setup(): each thread's clock is ahead of those before */

int64_t __real_cc__now_ns(void);
int64_t __wrap_cc__now_ns(void);
int64_t __wrap_cc__now_ns(void) {
    return __real_cc__now_ns() + (waits_are_long ? (1 + mc_self()) * INT64_C(2000000) : 0);
}

int cc__nursery_cancelled(const struct cc_nursery *n) {
    (void)n;
    return 0;
}
void cc__nursery_list(struct cc__task *self) {
    (void)self;
}
void cc__nursery_cancel(struct cc_nursery *n, int code) {
    (void)n, (void)code;
}
void cc__finish_tell(struct cc__worker *w) {
    (void)w;
}

/* Cancel the task of thread i, by its runtime, as runtime/shutdown.c does it. */
static CC__UNUSED void cancel(int i) {
    struct cc__task *t = &mine[i].task;
    cc__store_release(&rt.cancelled, 1);
    cc__fence_full();
    cc__state_set_cancel(t);
    cc__wait_cancel(t);
    cc__unpark(t, 0);
}
static CC__UNUSED void cancels_first(void) {
    cancel(0);
}
static CC__UNUSED void unparks_first(void) {
    cc__unpark(&mine[0].task, 0);
}

/* In setup(): all are tasks, of a runtime with so many workers. */
static CC__UNUSED void tasks_begin(unsigned workers) {
    all_begin(true);
    cc__store_relaxed(&rt.worker_count, workers);
}

#endif /* CCMC_LOCKS_H */
