/* SPDX-License-Identifier: MIT */
/* Pipes, terminals and files.
 *
 * RWF_NOWAIT makes one read of a pipe, or of a file that is in memory, return rather than wait, whatever O_NONBLOCK is;
 * others share the descriptor, so that flag is not ours to set. Where the kernel does not have it for a descriptor,
 * poll() says whether one read or write, of a size that a pipe takes whole, can go on.
 *
 * SIGPIPE is sent to the thread that writes. Workers have it blocked, and it may stay pending there for ever; a plain
 * thread that has not is kept from it for the one write.
 *
 * Prev: plat/sock.c  Next: plat/sigfd.c */
#include "fdio.h"

#include "poll.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h> /* NOLINT(readability-duplicate-include): the system's */
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static ssize_t settle(ssize_t rc, int saved) {
    if (rc < 0) rc = -errno;
    errno = saved;
    return rc;
}

/* ---- no SIGPIPE ---- */

struct guard {
    sigset_t before;
    bool ours;
};

static void guard_enter(struct guard *g) {
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, &g->before);
    g->ours = sigismember(&g->before, SIGPIPE) == 0 && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 0;
}

static void guard_leave(const struct guard *g, bool raised) {
    static const struct timespec none = {0};
    sigset_t set;
    if (sigismember(&g->before, SIGPIPE) != 0) return;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (raised && g->ours)
        while (sigtimedwait(&set, NULL, &none) < 0 && errno == EINTR) {
        }
    pthread_sigmask(SIG_SETMASK, &g->before, NULL);
}

static ssize_t write_once(int fd, const struct iovec *iov, int count, int64_t at, int flags, bool masked) {
    struct guard g;
    ssize_t rc;
    if (!masked) guard_enter(&g);
    do rc = pwritev2(fd, iov, count, (off_t)at, flags);
    while (rc < 0 && errno == EINTR);
    int err = errno;
    if (!masked) guard_leave(&g, rc < 0 && err == EPIPE);
    errno = err;
    return rc;
}

/* ---- reading and writing ---- */

static ssize_t read_once(int fd, const struct iovec *iov, int count, int64_t at, int flags) {
    ssize_t rc;
    do rc = preadv2(fd, iov, count, (off_t)at, flags);
    while (rc < 0 && errno == EINTR);
    return rc;
}

static bool not_known(void) {
    return errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL;
}

/* Files are always ready for poll(), and may wait for the disk. */
static bool is_file(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
}

ssize_t cc__fdio_read_now(int fd, const struct iovec *iov, int count, int64_t at) {
    int saved = errno;
    ssize_t rc = read_once(fd, iov, count, at, RWF_NOWAIT);
    if (rc < 0 && not_known()) {
        if (is_file(fd)) {
            errno = EAGAIN;
        } else {
            int got = cc__poll_one(fd, POLLIN, 0);
            if (got > 0)
                rc = read_once(fd, iov, count, at, 0);
            else
                errno = got == 0 ? EAGAIN : -got;
        }
    }
    return settle(rc, saved);
}

ssize_t cc__fdio_write_now(int fd, const struct iovec *iov, int count, int64_t at, bool masked) {
    int saved = errno;
    ssize_t rc = write_once(fd, iov, count, at, RWF_NOWAIT, masked);
    if (rc < 0 && not_known()) {
        int got = is_file(fd) ? 0 : cc__poll_one(fd, POLLOUT, 0);
        if (got > 0) {
            struct iovec some = iov[0];
            while (some.iov_len == 0 && count-- > 1) some = *++iov;
            if (some.iov_len > PIPE_BUF) some.iov_len = PIPE_BUF;
            rc = write_once(fd, &some, 1, at, 0, masked);
        } else {
            errno = got == 0 ? EAGAIN : -got;
        }
    }
    return settle(rc, saved);
}

ssize_t cc__fdio_read(int fd, const struct iovec *iov, int count, int64_t at) {
    int saved = errno;
    return settle(read_once(fd, iov, count, at, 0), saved);
}

ssize_t cc__fdio_write(int fd, const struct iovec *iov, int count, int64_t at, bool masked) {
    int saved = errno;
    return settle(write_once(fd, iov, count, at, 0, masked), saved);
}

/* ---- the rest ---- */

int cc__fdio_close(int fd) {
    int saved = errno, rc = close(fd);
    return rc < 0 && errno == EINTR ? (errno = saved, 0) : (int)settle(rc, saved); /* it is closed, all the same */
}

int cc__fdio_open(const char *path, int flags, unsigned mode) {
    int saved = errno, rc;
    do rc = open(path, flags | O_CLOEXEC, mode);
    while (rc < 0 && errno == EINTR);
    return (int)settle(rc, saved);
}

int cc__fdio_pipe(int fd[2]) {
    int saved = errno;
    return (int)settle(pipe2(fd, O_CLOEXEC | O_NONBLOCK), saved);
}

int cc__fdio_pipe_for_child(int fd[2], bool read) {
    int saved = errno, rc = pipe2(fd, O_CLOEXEC), ours = read ? 1 : 0;
    if (rc == 0 && fcntl(fd[ours], F_SETFL, O_NONBLOCK) != 0) {
        rc = -1;
        close(fd[0]);
        close(fd[1]);
    }
    return (int)settle(rc, saved);
}

int cc__fdio_sync(int fd, bool data_only) {
    int saved = errno;
    return (int)settle(data_only ? fdatasync(fd) : fsync(fd), saved);
}

int cc__fdio_stat(int fd, const char *path, struct stat *out) {
    int saved = errno;
    return (int)settle(path == NULL ? fstat(fd, out) : stat(path, out), saved);
}

ssize_t cc__fdio_sendfile(int out, int in, off_t *at, size_t n) {
    int saved = errno;
    ssize_t rc;
    do rc = sendfile(out, in, at, n);
    while (rc < 0 && errno == EINTR);
    return settle(rc, saved);
}

ssize_t cc__fdio_entries(int dir, void *buf, size_t n) {
    int saved = errno;
    return settle(syscall(SYS_getdents64, dir, buf, n), saved);
}

size_t cc__fdio_entry(const void *buf, size_t at, const char **name, int *type) {
    const struct dirent64 *d = (const struct dirent64 *)(const void *)((const char *)buf + at);
    *name = d->d_name;
    *type = d->d_type;
    return at + d->d_reclen;
}
