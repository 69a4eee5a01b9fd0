/* SPDX-License-Identifier: MIT */
/* Child processes. A process descriptor is ready when the child has ended, and is waited for like any other; where the
 * kernel has none, the child is asked now and then.
 *
 * A number is another process's as soon as its child was reaped. So reaping and sending signals have a lock in common:
 * a word in the caller's struct, held for one system call that does not wait.
 *
 * Prev: io/signal.c  Next: runtime/env.c */
#include <ccrt/io.h>
#include <ccrt/process.h>
#include <ccrt/scope.h>
#include <ccrt/time.h>

#include "../base/atomic.h"
#include "../plat/child.h"
#include "../plat/fdio.h"
#include "../plat/thread.h"
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

enum { ASK_MS = 5, REST_BYTES = 4096 };

/* ---- starting ---- */

struct start {
    struct cc__child_plan plan;
    int theirs[3]; /* descriptors to close when it has started, or -1 */
    int *ours[3];
    pid_t pid;
};

static int start_blocking(void *arg) {
    struct start *s = arg;
    s->pid = cc__child_start(&s->plan);
    return 0;
}

/* One of the three, as the caller wishes it. In a program that has closed its own, a pipe may get one of their numbers;
 * then another of the three would be put in its place, in the child, before it is. */
static int prepare(struct start *s, int i, int wish) {
    int fd[2], rc = 0;
    if (wish == CC_STDIO_NULL) {
        rc = s->theirs[i] = cc__fdio_open("/dev/null", i == 0 ? O_RDONLY : O_WRONLY, 0);
    } else if (wish == CC_STDIO_PIPE) {
        rc = cc__fdio_pipe_for_child(fd, i == 0);
        if (rc == 0) {
            s->theirs[i] = fd[i == 0 ? 0 : 1];
            rc = *s->ours[i] = cc__io_adopt(fd[i == 0 ? 1 : 0], 0);
        }
    } else if (wish > 2) {
        s->plan.fd[i] = wish;
    } else if (wish != CC_STDIO_INHERIT) {
        rc = -EINVAL;
    }
    if (rc >= 0 && s->theirs[i] >= 0) rc = s->theirs[i] = cc__fdio_above(s->theirs[i], 3);
    s->plan.fd[i] = s->theirs[i] >= 0 ? s->theirs[i] : s->plan.fd[i];
    return rc < 0 ? rc : 0;
}

static void close_pipes(cc_process *p) {
    int *const ends[] = {&p->in, &p->out, &p->err};
    for (size_t i = 0; i < CC__COUNT_OF(ends); i++) {
        if (*ends[i] >= 0) (void)cc_close(*ends[i]);
        *ends[i] = -1;
    }
}

int cc_process_spawn(cc_process *p, const char *const *argv, const cc_process_attr *attr) {
    static const cc_process_attr plain = {0};
    if (attr == NULL) attr = &plain;
    *p = (cc_process){.in = -1, .out = -1, .err = -1, .priv_fd = -1};
    if (argv == NULL || argv[0] == NULL) return -EINVAL;
    struct start s = {.plan = {.argv = argv, .env = attr->env, .dir = attr->dir, .fd = {-1, -1, -1}},
                      .theirs = {-1, -1, -1},
                      .ours = {&p->in, &p->out, &p->err}};
    const int wishes[3] = {attr->in, attr->out, attr->err};
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++) rc = prepare(&s, i, wishes[i]);
    if (rc == 0) rc = cc__io_block(start_blocking, &s);
    if (rc == 0 && s.pid < 0) rc = s.pid;
    for (int i = 0; i < 3; i++)
        if (s.theirs[i] >= 0) cc__fdio_close(s.theirs[i]);
    if (rc != 0) {
        close_pipes(p);
        return rc;
    }
    p->pid = s.pid;
    int fd = cc__child_fd(s.pid);
    if (fd >= 0) p->priv_fd = cc__io_adopt(fd, 0); /* without one it is asked now and then */
    return 0;
}

/* ---- waiting ---- */

/* W, R: who waits and who kills.  [PR1] */
static _Atomic int *lock_of(cc_process *p) {
    return (_Atomic int *)(void *)&p->priv_lock;
}
static void lock(cc_process *p) {
    int free = 0;
    while (!cc__cas_acquire(lock_of(p), &free, 1)) { /* [PR1] acquire: what its last holder wrote */
        cc__thread_yield();
        free = 0;
    }
}
static void unlock(cc_process *p) {
    cc__store_release(lock_of(p), 0); /* [PR1] release: the next holder sees whether it was reaped */
}

/* Reap it, if it has ended: as cc__child_reap(), or -ESRCH it was reaped. *fd: what is to be closed, or to be waited
 * for, by t: while it has the lock it is this child's. */
static int reap(cc_process *p, int *how, int *fd, struct cc__io_try *t) {
    lock(p);
    int ended = p->pid == 0 ? -ESRCH : cc__child_reap(p->pid, how);
    *fd = p->priv_fd;
    if (ended == 0 && *fd >= 0) (void)cc__io_begin(t, *fd, CC__FD_IN);
    if (ended != 0) {
        p->pid = 0;
        p->priv_fd = -1;
    }
    unlock(p);
    return ended;
}

int cc_process_wait(cc_process *p, int *status) {
    struct cc__io_try t;
    int how = 0, ended, fd;
    while ((ended = reap(p, &how, &fd, &t)) == 0) {
        int rc = fd >= 0 ? cc__io_await(&t, POLLIN) : cc_sleep_ms(ASK_MS);
        if (rc < 0 && rc != -EBADF) return rc; /* closed: another has waited for it */
    }
    if (ended == -ESRCH) return ended;
    if (fd >= 0) (void)cc_close(fd);
    close_pipes(p);
    if (status != NULL) *status = how;
    return ended < 0 ? ended : 0;
}

int cc_process_kill(cc_process *p, int signo) {
    lock(p);
    int rc = p->pid == 0 ? -ESRCH : cc__child_kill(p->pid, signo);
    unlock(p);
    return rc;
}

int cc_process_close_in(cc_process *p) {
    int fd = p->in;
    p->in = -1;
    return cc_close(fd);
}

/* ---- its output ---- */

/* Read to its end; what does not fit is dropped. */
static ssize_t read_all(int fd, char *buf, size_t n) {
    char rest[REST_BYTES];
    ssize_t got = n == 0 ? 0 : cc_read_full(fd, buf, n), k = 1;
    while (got == (ssize_t)n && k > 0) k = cc_read(fd, rest, sizeof rest);
    return k < 0 ? k : got;
}

ssize_t cc_process_output(const char *const *argv, void *buf, size_t n, int *status) {
    cc_process p;
    int rc = cc_process_spawn(&p, argv, &(cc_process_attr){.in = CC_STDIO_NULL, .out = CC_STDIO_PIPE});
    if (rc != 0) return rc;
    ssize_t got = read_all(p.out, buf, n);
    rc = got < 0 ? (int)got : cc_process_wait(&p, status);
    if (rc == 0) return got;
    (void)cc_process_kill(&p, SIGKILL);
    CC_SHIELD(void) cc_process_wait(&p, status);
    return rc;
}
