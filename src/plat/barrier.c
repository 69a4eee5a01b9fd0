/* SPDX-License-Identifier: MIT */
/* membarrier(2), private and expedited: an interrupt to each cpu that runs a thread of ours. Without it (an old kernel,
 * a filter of system calls, an emulator) cc__barrier_possible() says so, and callers do without.
 *
 * ThreadSanitizer knows nothing of it, nor does the model checker: there both halves of the pair are fences of C11.
 *
 * Prev: plat/futex.c  Next: plat/clock.c */
#include "barrier.h"

#include "../base/atomic.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UNKNOWN, POSSIBLE, IMPOSSIBLE };

static _Atomic int known; /* W, R: any thread; all find the same */

void cc__barrier_prepare(void) {
    if (cc__load_relaxed(&known) != UNKNOWN) return;
    int saved = errno;
    long rc = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    errno = saved;
    cc__store_relaxed(&known, rc == 0 ? POSSIBLE : IMPOSSIBLE);
}

bool cc__barrier_possible(void) {
    return cc__load_relaxed(&known) == POSSIBLE;
}

void cc__barrier_all(void) {
    cc__fence_full(); /* [FJ2] for the model checker and ThreadSanitizer: the other half is a fence there, too */
    int saved = errno;
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    errno = saved;
}
