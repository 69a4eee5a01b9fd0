/* SPDX-License-Identifier: MIT */
/* What surrounds the special kinds of channels: to be included once. What is sent is the address of a
 * number that its sender wrote just before, in plain memory: who receives it reads that. */
#ifndef CCMC_KINDS_H
#define CCMC_KINDS_H

#include "alone.h"

static int letters[MC_THREADS][2], written[MC_THREADS], codes[MC_THREADS];

/* A number that tells who wrote it: two at most from each. */
static CC__UNUSED const int *letter(void) {
    int *l = &letters[mc_self()][written[mc_self()]++];
    *l = 1 << mc_self();
    return l;
}

/* In setup(): all but thread 0 are of another runtime. */
static struct cc__runtime others;
static void begin_kinds(bool as_tasks) {
    all_begin(as_tasks);
    for (int i = 1; i < MC_THREADS; i++) mine[i].task.runtime = &others;
}

/* Thread 0 is cancelled, as runtime/shutdown.c does. */
static void cancels(void) {
    cc__store_release(&rt.cancelled, 1);
    cc__unpark_to_cancel(&mine[0].task);
}

/* The code of a call that may be cancelled in thread 0 alone. */
static int code(int rc) {
    mc_assert(rc != -ECANCELED || (mc_self() == 0 && cc__load_relaxed(&rt.cancelled) != 0));
    return codes[mc_self()] = rc;
}

#endif /* CCMC_KINDS_H */
