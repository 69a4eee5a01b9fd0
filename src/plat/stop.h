/* SPDX-License-Identifier: MIT */
/* Stopping another thread for a moment, to see where it is. */
#ifndef CC__PLAT_STOP_H
#define CC__PLAT_STOP_H

#include <stdbool.h>
#include <stdint.h>

/* Where a thread was stopped; zero where this processor's names are not known here. */
struct cc__stopped {
    uintptr_t pc, sp, fp;
};

/* Stop a thread of this process that has the faults unblocked, as cc__thread_start() leaves them, and that computes: a
 * system call would be interrupted. It stands until cc__stop_over(). For one thread at a time.
 *   Returns    false: it did not answer in time, or the program uses the signal for itself; then nothing is stopped */
bool cc__stop(int thread_id, struct cc__stopped *out);
void cc__stop_over(void);

#endif /* CC__PLAT_STOP_H */
