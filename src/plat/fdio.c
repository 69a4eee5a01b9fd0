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
 * Prev: plat/seen.c  Next: plat/uring.c */
#include "fdio.h"

#include "../base/base.h"
#include "clock.h"
#include "poll.h"
#include "seen.h"
#include "syscall.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h> /* NOLINT(readability-duplicate-include): the system's */
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* of Linux 5.12 */
#endif

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

/* Whether a write may have raised it: also one that failed after some bytes, and returned their number. */
static bool may_have_raised(ssize_t rc, int err, const struct iovec *iov, int count) {
    size_t n = 0;
    if (rc < 0) return err == EPIPE;
    for (int i = 0; i < count; i++) n += iov[i].iov_len;
    return (size_t)rc < n;
}

static ssize_t write_once(int fd, const struct iovec *iov, int count, int64_t at, int flags, bool masked) {
    struct guard g;
    ssize_t rc;
    if (!masked) guard_enter(&g);
    do rc = pwritev2(fd, iov, count, (off_t)at, flags);
    while (rc < 0 && errno == EINTR);
    int err = errno;
    if (!masked) guard_leave(&g, may_have_raised(rc, err, iov, count));
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

/* What poll() did not find ready was opened for the other way alone, and never will be; or it is to be waited for. */
static int why_not(int fd, int other_way) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) == other_way ? EBADF : EAGAIN;
}

static CC__COLD ssize_t read_now_slowly(int fd, const struct iovec *iov, int count, int64_t at) {
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
                errno = got == 0 ? why_not(fd, O_WRONLY) : -got;
        }
    }
    return settle(rc, saved);
}

ssize_t cc__fdio_read_now(int fd, const struct iovec *iov, int count, int64_t at) {
    if (CC__LIKELY(cc__syscall_straight() && sizeof(long) == sizeof at)) { /* else a call has it in two parts */
        ssize_t rc = cc__syscall6(SYS_preadv2, fd, (long)iov, count, (long)at, 0, RWF_NOWAIT);
        if (CC__LIKELY(rc >= 0 || rc == -EAGAIN)) return rc;
    }
    return read_now_slowly(fd, iov, count, at);
}

ssize_t cc__fdio_write_now(int fd, const struct iovec *iov, int count, int64_t at, bool masked) {
    int saved = errno;
    ssize_t rc = write_once(fd, iov, count, at, RWF_NOWAIT, masked);
    if (rc < 0 && not_known()) {
        if (is_file(fd)) {
            errno = saved;
            return CC__FDIO_FILE;
        }
        int got = cc__poll_one(fd, POLLOUT, 0);
        if (got > 0) {
            struct iovec some = iov[0];
            while (some.iov_len == 0 && count-- > 1) some = *++iov;
            if (some.iov_len > PIPE_BUF) some.iov_len = PIPE_BUF;
            rc = write_once(fd, &some, 1, at, 0, masked);
        } else {
            errno = got == 0 ? why_not(fd, O_RDONLY) : -got;
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

/* ---- without waiting: paths ---- */

/* The kernel walks a path that is in memory without waiting (openat2() with RESOLVE_CACHED, since 5.12); but then a
 * FIFO or a device is opened as long as that takes. So what is there is looked at first, unless that was done less than
 * a second ago: looking takes as long as opening. Another may put a FIFO in its place meanwhile; our thread would wait,
 * which is a pity and no harm. */
static int open_cached(const char *path, uint64_t flags) {
    struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = RESOLVE_CACHED};
    long rc = cc__syscall6(SYS_openat2, AT_FDCWD, (long)path, (long)&how, sizeof how, 0, 0);
    if (rc >= 0) return (int)rc;
    return rc == -ENOENT ? -ENOENT : -EAGAIN; /* all else is for the call that takes its time to say */
}

static int look_at(const char *path, uint64_t flags, struct stat *st) {
    int at = open_cached(path, O_PATH | flags);
    if (at < 0) return at;
    int rc = cc__fdio_stat(at, st) == 0 ? 0 : -EAGAIN;
    cc__fdio_close(at);
    return rc;
}

int cc__fdio_stat_now(const char *path, struct stat *out) {
    return look_at(path, 0, out);
}

/* Whether it is a file or directory that is opened, or one was there a moment ago. */
static int open_look(const char *path, int flags) {
    struct stat st;
    uint64_t key = cc__seen_key(path);
    int64_t now_ns = cc__now_coarse_ns();
    if (cc__seen(key, now_ns)) return 0;
    int rc = look_at(path, (uint64_t)(flags & O_NOFOLLOW), &st);
    if (rc != 0) return rc;
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) return -EAGAIN;
    cc__seen_note(key, now_ns);
    return 0;
}

int cc__fdio_open_now(const char *path, int flags) {
    const int not_now = O_CREAT | O_TRUNC | O_PATH | (O_TMPFILE & ~O_DIRECTORY);
    if ((flags & not_now) != 0) return -EAGAIN;
    int rc = open_look(path, flags);
    return rc == 0 ? open_cached(path, (uint64_t)(unsigned)flags) : rc;
}

/* ---- for other threads ---- */

static int64_t stat_call(const struct cc__file_call *c) {
    int saved = errno;
    return settle(statx(AT_FDCWD, c->path, 0, STATX_BASIC_STATS, c->statx), saved);
}

int64_t cc__fdio_call(const struct cc__file_call *c) {
    struct iovec iov = {.iov_base = c->buf, .iov_len = c->n};
    switch (c->what) {
    case CC__FILE_READ: return cc__fdio_read(c->fd, &iov, 1, c->at);
    case CC__FILE_WRITE: return cc__fdio_write(c->fd, &iov, 1, c->at, false);
    case CC__FILE_SYNC: return cc__fdio_sync(c->fd, false);
    case CC__FILE_OPEN: return cc__fdio_open(c->path, c->flags, c->mode);
    case CC__FILE_STAT: break;
    }
    return stat_call(c);
}

void cc__fdio_stat_of(struct stat *out, const struct statx *in) {
    *out = (struct stat){.st_dev = makedev(in->stx_dev_major, in->stx_dev_minor),
                         .st_ino = in->stx_ino,
                         .st_mode = in->stx_mode,
                         .st_nlink = in->stx_nlink,
                         .st_uid = in->stx_uid,
                         .st_gid = in->stx_gid,
                         .st_rdev = makedev(in->stx_rdev_major, in->stx_rdev_minor),
                         .st_size = (off_t)in->stx_size,
                         .st_blksize = (blksize_t)in->stx_blksize,
                         .st_blocks = (blkcnt_t)in->stx_blocks,
                         .st_atim = {.tv_sec = in->stx_atime.tv_sec, .tv_nsec = in->stx_atime.tv_nsec},
                         .st_mtim = {.tv_sec = in->stx_mtime.tv_sec, .tv_nsec = in->stx_mtime.tv_nsec},
                         .st_ctim = {.tv_sec = in->stx_ctime.tv_sec, .tv_nsec = in->stx_ctime.tv_nsec}};
}

/* ---- the rest ---- */

int cc__fdio_close(int fd) {
    if (cc__syscall_straight()) {
        int rc = (int)cc__syscall6(SYS_close, fd, 0, 0, 0, 0, 0);
        return rc == -EINTR ? 0 : rc;
    }
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

int cc__fdio_above(int fd, int least) {
    if (fd < 0 || fd >= least) return fd;
    int saved = errno, high = fcntl(fd, F_DUPFD_CLOEXEC, least);
    high = (int)settle(high, saved);
    close(fd);
    return high;
}

int cc__fdio_sync(int fd, bool data_only) {
    int saved = errno;
    return (int)settle(data_only ? fdatasync(fd) : fsync(fd), saved);
}

int cc__fdio_stat(int fd, struct stat *out) {
    int saved = errno;
    return (int)settle(fstat(fd, out), saved);
}

ssize_t cc__fdio_sendfile(int out, int in, int64_t at, size_t n, bool masked) {
    int saved = errno;
    off_t from = (off_t)at;
    struct guard g;
    ssize_t rc;
    if (!masked) guard_enter(&g);
    do rc = sendfile(out, in, &from, n);
    while (rc < 0 && errno == EINTR);
    int err = errno;
    if (!masked) guard_leave(&g, may_have_raised(rc, err, &(struct iovec){.iov_len = n}, 1));
    errno = err;
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
