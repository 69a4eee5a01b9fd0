/* SPDX-License-Identifier: MIT */
/* Futex: FUTEX_WAIT_BITSET, because it alone takes an absolute deadline on CLOCK_MONOTONIC, so that a
 * spurious return does not stretch a timeout and stepping the wall clock does not change one.
 *
 * Next: plat/clock.c */
#include "futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns) {
    struct timespec ts, *until = NULL;
    if (deadline_ns != CC__NO_DEADLINE) {
        if (deadline_ns < 0) deadline_ns = 0; /* before the clock began: has passed */
        ts.tv_sec = (time_t)(deadline_ns / 1000000000);
        ts.tv_nsec = (long)(deadline_ns % 1000000000);
        until = &ts;
    }
    int saved = errno;
    long rc =
        syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expect, until, NULL, FUTEX_BITSET_MATCH_ANY);
    int err = rc == 0 ? 0 : errno;
    errno = saved;
    return err == EAGAIN || err == ETIMEDOUT ? -err : 0; /* EINTR: woken for no reason */
}

int cc__futex_wake(_Atomic uint32_t *word, int n) {
    if (n == 0) return 0; /* the kernel would wake one */
    int saved = errno;
    long woken = syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n < 0 ? INT_MAX : n, NULL, NULL, 0);
    errno = saved;
    return woken < 0 ? 0 : (int)woken;
}
