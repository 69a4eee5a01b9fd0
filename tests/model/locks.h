/* SPDX-License-Identifier: MIT */
/* What surrounds locks in their models: alone.h, what else a wait may be ended by (a stray unpark), and clocks by which
 * nobody has waited for long, or those have whose number is below the waker's; only a time-out of a thread's own moves
 * its clock. To be included once, by a model that has
 *     Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns */
#ifndef CCMC_LOCKS_H
#define CCMC_LOCKS_H

#include "alone.h"

#include <stdlib.h>

static bool waits_are_long; /* set by setup(): each thread's clock is ahead of those before */

int64_t __real_cc__now_ns(void);
int64_t __wrap_cc__now_ns(void);
int64_t __wrap_cc__now_ns(void) {
    return __real_cc__now_ns() + (waits_are_long ? (1 + mc_self()) * INT64_C(2000000) : 0);
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
