/* SPDX-License-Identifier: MIT */
/* A full fence that all threads of the process pass: the dear half of a pair whose other half costs nothing.
 *
 * Who stores and then loads often, and cannot afford a fence in between, keeps only the compiler from moving the two;
 * who does it seldom calls cc__barrier_all() in between. */
#ifndef CC__PLAT_BARRIER_H
#define CC__PLAT_BARRIER_H

#include "../base/atomic.h"

#include <stdbool.h>

/* The half that costs nothing. ThreadSanitizer and the model checker do not know the other: there both are fences. */
static inline void cc__barrier_light(void) {
#if CC__TSAN
    cc__fence_full(); /* [SL1] for one: between a store that says what is about to be done and a look at others' */
#else
    cc__fence_signal();
#endif
}

/* Make it usable: cheap while the process has one thread, milliseconds once it has more; repeating it is free. */
void cc__barrier_prepare(void);

/* Whether there is such a thing here. */
bool cc__barrier_possible(void);

/* Every other thread that runs has passed a full fence since this was called, and so has the caller. Microseconds. */
void cc__barrier_all(void);

#endif /* CC__PLAT_BARRIER_H */
