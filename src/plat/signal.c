/* SPDX-License-Identifier: MIT */
/* Signals. A handler runs in the middle of anything, so all it does here is to call a function that says so of itself.
 *
 * Prev: plat/fault.c  Next: plat/poll.h */
#include "signal.h"

#include "../base/atomic.h"

#include <errno.h>
#include <signal.h> /* NOLINT(readability-duplicate-include): the system's */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* W: who takes a signal, before its handler is in place.  R: the handler. All takers write the same. */
static void (*_Atomic handler_fn)(void);
static _Atomic int handler_pid;

static void handler(int signo) {
    int saved = errno;
    if (getpid() == cc__load_relaxed(&handler_pid)) {
        void (*fn)(void) = cc__load_relaxed(&handler_fn);
        fn();
    } else { /* a child, which has none of our threads; it comes again when this returns */
        signal(signo, SIG_DFL);
        raise(signo);
    }
    errno = saved;
}

int cc__signal_take(int signo, void (*fn)(void)) {
    struct sigaction ours, now;
    int saved = errno, rc = 0;
    if (sigaction(signo, NULL, &now) != 0) {
        rc = -EINVAL;
    } else if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) {
        rc = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == handler ? 0 : -EBUSY;
    } else {
        cc__store_relaxed(&handler_fn, fn);
        cc__store_relaxed(&handler_pid, getpid());
        memset(&ours, 0, sizeof ours);
        ours.sa_handler = handler;
        ours.sa_flags = SA_RESTART | SA_ONSTACK;
        sigfillset(&ours.sa_mask);
        if (sigaction(signo, &ours, NULL) != 0) rc = -EINVAL;
    }
    errno = saved;
    return rc;
}

/* One that says nothing of who may wake a task: a fault, or a signal of the C library's own. */
static bool is_apart(int signo) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (signo == faults[i]) return true;
    return signo >= __SIGRTMIN && signo < SIGRTMIN;
}

bool cc__signal_caught(void) {
    int saved = errno;
    bool caught = false;
    for (int signo = 1; signo < NSIG && !caught; signo++) {
        struct sigaction now;
        if (is_apart(signo) || sigaction(signo, NULL, &now) != 0) continue;
        bool plain = (now.sa_flags & SA_SIGINFO) == 0;
        caught = !plain || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN && now.sa_handler != handler);
    }
    errno = saved;
    return caught;
}
