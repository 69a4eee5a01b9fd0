/* SPDX-License-Identifier: MIT */
/* Signals that arrive at a descriptor: a handler sends a byte to each socket that listens for the signal.
 *
 * A place in the table has the sending end of a pair of sockets. Its number is kept for ever: when the receiving end
 * is closed the place is free: sending fails, which marks it so, and who comes next asks. The next to listen has its
 * own sending end put under that number (dup3). So a handler that was interrupted never sends to a descriptor of
 * somebody else's.
 *
 * A socket that is full does not lose a signal: it waits as a bit of its place until there is room.
 *
 *   handler (H)                                     who reads (R)
 *   H1 sends. Full: pending |= bit                  R1 receives: there is room
 *   H2 takes what is pending, sends that.           R2 takes what is pending, sends that
 *      Full: pending |= the rest. Room by now:
 *      H2 again
 *
 * If the socket is full after H2 has set the bit, R has yet to come to R1, and sees it at R2: the socket's own lock,
 * which H2 and R1 pass through, puts the bit before that.
 *
 * Rejected: signalfd(), which needs the signal blocked in every thread, those of the program's too.
 *
 * Prev: plat/uring.c  Next: plat/child.c */
#include "sigfd.h"

#include "../base/atomic.h"
#include "../base/base.h"
#include "poll.h"
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h> /* NOLINT(readability-duplicate-include): the system's */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PLACES = 64 };

static struct place {
    _Atomic int fd;           /* 1 + the sending end; 0: never used.  W: with the lock.  R: handlers */
    _Atomic uint64_t mask;    /* a bit a signal; 0: free.  W: with the lock; handlers, to 0.  [SG1] */
    _Atomic uint64_t pending; /* that are to be sent.  W: handlers, and who reads; by read-modify-write.  [SG2] */
} places[PLACES];
static cc__lock places_lock = CC__LOCK_INIT;
static _Atomic int handler_pid; /* W: with the lock.  R: handlers */

static uint64_t bit_of(int signo) {
    return UINT64_C(1) << (signo - 1);
}

/* Whether it was sent: 1; 0 the socket is full; -1 nobody receives. */
static int send_one(struct place *p, int signo) {
    unsigned char byte = (unsigned char)signo;
    if (send(cc__load_relaxed(&p->fd) - 1, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) return 1;
    return errno == EAGAIN ? 0 : -1;
}

/* H2, R2: send what is pending, as far as there is room. */
static void send_pending(struct place *p) {
    for (;;) {
        uint64_t bits = cc__xchg_acq_rel(&p->pending, 0), left = 0; /* [SG2] acquire, release: each is sent once */
        for (; bits != 0; bits &= bits - 1)
            if (send_one(p, 1 + __builtin_ctzll(bits)) == 0) left |= bits & -bits;
        if (left == 0) return;
        cc__or_acq_rel(&p->pending, left); /* [SG2] */
        if ((cc__poll_one(cc__load_relaxed(&p->fd) - 1, POLLOUT, 0) & POLLOUT) == 0) return;
    }
}

static void handler(int signo) {
    int saved = errno;
    bool heard = false;
    for (int i = 0; i < PLACES && getpid() == cc__load_relaxed(&handler_pid); i++) {
        /* [SG1] acquire: the sending end is in its place */
        if ((cc__load_acquire(&places[i].mask) & bit_of(signo)) == 0) continue;
        int sent = send_one(&places[i], signo);
        if (sent < 0) {
            cc__store_relaxed(&places[i].mask, 0); /* its receiver is closed */
            continue;
        }
        heard = true;
        if (sent == 1) continue;
        cc__or_acq_rel(&places[i].pending, bit_of(signo)); /* H1. [SG2] */
        send_pending(&places[i]);
    }
    if (!heard) { /* nobody listens any more, or this is a child: it comes again when this returns */
        signal(signo, SIG_DFL);
        raise(signo);
    }
    errno = saved;
}

static int check(const int *signals, size_t count, uint64_t *mask) {
    struct sigaction now;
    *mask = 0;
    if (count == 0) return -EINVAL;
    for (size_t i = 0; i < count; i++) {
        int signo = signals[i];
        if (signo < 1 || signo > 64 || signo == SIGKILL || signo == SIGSTOP) return -EINVAL;
        if (sigaction(signo, NULL, &now) != 0) return -EINVAL;
        bool free = (now.sa_flags & SA_SIGINFO) == 0 && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
        if (!free && now.sa_handler != handler) return -EBUSY;
        *mask |= bit_of(signo);
    }
    return 0;
}

static int install(const int *signals, size_t count) {
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = handler;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < count; i++)
        if (sigaction(signals[i], &ours, NULL) != 0) return -EINVAL;
    return 0;
}

/* With the lock: put a sending end into a free place. */
static int settle_in(int sender, uint64_t mask) {
    for (int i = 0; i < PLACES; i++) {
        int before = cc__load_relaxed(&places[i].fd) - 1;
        if (cc__load_relaxed(&places[i].mask) != 0 && (cc__poll_one(before, 0, 0) & POLLHUP) == 0) continue;
        if (before < 0) {
            cc__store_relaxed(&places[i].fd, sender + 1);
        } else {
            if (dup3(sender, before, O_CLOEXEC) < 0) return -errno;
            close(sender);
        }
        cc__store_relaxed(&places[i].pending, 0);
        cc__store_release(&places[i].mask, mask); /* [SG1] release */
        return 0;
    }
    return -ENOSPC;
}

int cc__sigfd_open(const int *signals, size_t count) {
    int pair[2], saved = errno;
    uint64_t mask;
    cc__lock_take(&places_lock);
    int rc = check(signals, count, &mask);
    if (rc == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) rc = -errno;
    if (rc == 0) {
        cc__store_relaxed(&handler_pid, getpid());
        rc = settle_in(pair[1], mask);
        if (rc != 0) close(pair[1]);
        if (rc == 0) rc = install(signals, count);
        if (rc != 0)
            close(pair[0]);
        else
            rc = pair[0];
    }
    cc__lock_drop(&places_lock);
    errno = saved;
    return rc;
}

void cc__sigfd_received(void) {
    for (int i = 0; i < PLACES; i++) {
        if (cc__load_acquire(&places[i].pending) == 0) continue; /* [SG2] acquire */
        int saved = errno;
        cc__lock_take(&places_lock); /* so that the place stays the same one's */
        send_pending(&places[i]);
        cc__lock_drop(&places_lock);
        errno = saved;
    }
}
