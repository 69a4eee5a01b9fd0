/* SPDX-License-Identifier: MIT */
/* Reading, writing, closing.
 *
 * Prev: io/io.h  Next: io/address.c */
#include <ccrt/blocking.h>
#include <ccrt/io.h>
#include <ccrt/select.h>

#include "../plat/fdio.h"
#include "../sched/claims.h"
#include "../sched/leave.h"
#include "io.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { IOV_FEW = 8, IOV_MOST = 1024, COPY_BYTES = 65536 };
enum { SEND_BYTES = 1 << 20 }; /* of a file, or to one, at a time: each is an operation, after which others may run */

/* ---- trying ---- */

int cc__io_not_ready(struct cc__fd *e, enum cc__fd_way way, int rc, bool tried) {
    if (tried || (rc != -ECANCELED && rc != -ETIMEDOUT)) return rc;
    cc__fd_may_be_more(e, way, CC__FD_READY); /* what can be done at once is done: by one attempt */
    return 0;
}

int cc__io_wait(struct cc__io_try *t) {
    return cc__io_waited(t, cc__fd_wait(t->e, t->fd, t->way, t->generation));
}

int cc__io_block(int (*fn)(void *), void *arg) {
    int rc = cc_cancelled();
    return rc != 0 ? rc : cc_blocking(fn, arg);
}

int cc__io_adopt(int fd, uint32_t nature) {
    if (fd < 0) return fd;
    struct cc__fd *e = cc__fd_get(fd);
    struct cc__claims woken = {0};
    if (e == NULL) {
        cc__fdio_close(fd);
        return -ENOMEM;
    }
    cc__fd_made(e, nature | CC__FD_OURS, &woken);
    cc__claims_wake(&woken);
    return fd;
}

/* ---- one transfer ---- */

/* What is to be moved: to or from these buffers. */
struct transfer {
    int fd;
    struct iovec *iov;
    int count;
    ssize_t done;
};

/* One that may wait for long, on a thread for that. */
static int read_blocking(void *arg) {
    struct transfer *x = arg;
    x->done = cc__fdio_read(x->fd, x->iov, x->count, CC__FDIO_HERE);
    return 0;
}
static int write_blocking(void *arg) {
    struct transfer *x = arg;
    x->done = cc__fdio_write(x->fd, x->iov, x->count, CC__FDIO_HERE, false);
    return 0;
}

static ssize_t move_blocking(struct cc__io_try *t, int (*move)(void *), struct iovec *iov, int count) {
    struct transfer x = {.fd = t->fd, .iov = iov, .count = count};
    int rc = cc__io_hold(t);
    if (rc != 0) return rc;
    rc = cc__io_block(move, &x);
    cc__io_drop(t);
    return rc != 0 ? rc : x.done;
}

static ssize_t read_now(const struct cc__io_try *t, struct iovec *iov, int count) {
    uint32_t nature = cc__fd_nature(t->e);
    if (CC__LIKELY((nature & CC__FD_SOCKET) != 0 || (nature & CC__FD_OURS) == 0)) {
        ssize_t k =
            count == 1 ? cc__sock_recv(t->fd, iov->iov_base, iov->iov_len, NULL) : cc__sock_recv_iov(t->fd, iov, count);
        if (k != -ENOTSOCK) return k;
    }
    return cc__fdio_read_now(t->fd, iov, count, CC__FDIO_HERE);
}

/* How many of some buffers are not more than SEND_BYTES together; 0: the first is. */
static int few_of(const struct iovec *iov, int count) {
    size_t sum = 0;
    int n = 0;
    while (n < count && iov[n].iov_len <= SEND_BYTES - sum) sum += iov[n++].iov_len;
    return n;
}

static ssize_t write_now(const struct cc__io_try *t, struct iovec *iov, int count) {
    uint32_t nature = cc__fd_nature(t->e);
    if (CC__LIKELY((nature & CC__FD_SOCKET) != 0 || (nature & CC__FD_OURS) == 0)) {
        ssize_t k =
            count == 1 ? cc__sock_send(t->fd, iov->iov_base, iov->iov_len, NULL) : cc__sock_send_iov(t->fd, iov, count);
        if (k != -ENOTSOCK) return k;
    }
    struct iovec some = {.iov_base = iov->iov_base, .iov_len = SEND_BYTES};
    count = few_of(iov, count);
    if (count == 0) return cc__fdio_write_now(t->fd, &some, 1, CC__FDIO_HERE, cc__worker_current() != NULL);
    return cc__fdio_write_now(t->fd, iov, count, CC__FDIO_HERE, cc__worker_current() != NULL);
}

/* Read into buffers of n bytes in all, n above 0. */
static ssize_t read_some(int fd, struct iovec *iov, int count, size_t n) {
    struct cc__io_try t;
    int rc = cc__io_begin(&t, fd, CC__FD_IN);
    while (rc == 0) {
        if ((rc = cc__io_may_try(&t)) > 0) {
            ssize_t k = read_now(&t, iov, count);
            bool stream = (cc__fd_nature(t.e) & CC__FD_STREAM) != 0;
            cc__io_tried(&t, k, stream && k > 0 && (size_t)k < n);
            if (k != -EAGAIN) return k;
        }
        if (rc >= 0) rc = cc__io_wait(&t);
    }
    return rc != -EPERM ? rc : move_blocking(&t, read_blocking, iov, count); /* a file */
}

/* The same of a connection: all that is done for a message is here, in one frame. */
static inline ssize_t read_connection(struct cc__fd *e, int fd, uint32_t generation, void *buf, size_t n) {
    struct cc__io_try t = {.e = e, .fd = fd, .way = CC__FD_IN, .generation = generation};
    int rc;
    do {
        if (CC__LIKELY((rc = cc__io_may_try(&t)) > 0)) {
            ssize_t k = cc__sock_recv_here(t.fd, buf, n);
            cc__io_tried(&t, k, k > 0 && (size_t)k < n);
            if (CC__LIKELY(k != -EAGAIN)) return k;
        }
        if (CC__LIKELY(rc >= 0)) rc = cc__io_wait_here(&t);
    } while (rc == 0);
    return rc;
}

/* Write some of it. A socket is seldom full, so it is tried before its state is looked at. */
static ssize_t write_some(struct cc__io_try *t, struct iovec *iov, int count) {
    int rc = cc__io_hold(t);
    if (CC__UNLIKELY(rc != 0)) return rc;
    ssize_t k = write_now(t, iov, count);
    cc__io_drop(t);
    if (CC__LIKELY(k != -EAGAIN && k != CC__FDIO_FILE)) {
        cc__run_completed();
        return k;
    }
    t->tried = true;
    rc = k == CC__FDIO_FILE ? -EPERM : 0;
    while (rc == 0) {
        if ((rc = cc__io_may_try(t)) > 0) {
            k = write_now(t, iov, count);
            if (k == CC__FDIO_FILE) k = -EAGAIN; /* another descriptor by now; the wait finds that out, too */
            cc__io_tried(t, k, false);
            if (k != -EAGAIN) return k;
        }
        if (rc >= 0) rc = cc__io_wait(t);
    }
    return rc != -EPERM ? rc : move_blocking(t, write_blocking, iov, count); /* a file */
}

/* ---- what is public ---- */

/* Nothing is to be moved: only the descriptor is looked at. */
static ssize_t move_nothing(int fd) {
    struct cc__io_try t;
    int rc = cc__io_use(&t, fd);
    if (rc != 0) return rc;
    rc = cc__poll_one(fd, 0, 0) == -EBADF ? -EBADF : 0;
    cc__io_drop(&t);
    return rc;
}

static CC__NOINLINE ssize_t read_one(int fd, void *buf, size_t n) {
    struct iovec iov = {.iov_base = buf, .iov_len = n};
    return read_some(fd, &iov, 1, n);
}

ssize_t cc_read(int fd, void *buf, size_t n) {
    if (CC__UNLIKELY(n == 0)) return move_nothing(fd);
    uint32_t generation;
    struct cc__fd *e = cc__io_connection(fd, &generation);
    return CC__LIKELY(e != NULL) ? read_connection(e, fd, generation, buf, n) : read_one(fd, buf, n);
}

ssize_t cc_read_full(int fd, void *buf, size_t n) {
    size_t at = 0;
    do {
        ssize_t k = cc_read(fd, (char *)buf + at, n - at);
        if (k < 0) return k;
        if (k == 0) break;
        at += (size_t)k;
    } while (at < n);
    return (ssize_t)at;
}

/* Take k bytes off the front of some buffers. */
static void advance(struct iovec **iov, int *count, size_t k) {
    while (*count > 0 && k >= (*iov)->iov_len) {
        k -= (*iov)->iov_len;
        ++*iov;
        --*count;
    }
    if (*count == 0) return;
    (*iov)->iov_base = (char *)(*iov)->iov_base + k;
    (*iov)->iov_len -= k;
}

/* Write all of buffers that are changed meanwhile. */
static ssize_t write_all(struct cc__io_try *t, struct iovec *iov, int count, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t k = write_some(t, iov, count);
        if (k <= 0) return k < 0 ? k : -EIO; /* nothing was written, nor why: it would be so for ever */
        at += (size_t)k;
        if (at < n) advance(&iov, &count, (size_t)k);
    }
    return (ssize_t)n;
}

static ssize_t write_begin(int fd, struct iovec *iov, int count, size_t n) {
    struct cc__io_try t;
    int rc = cc__io_begin(&t, fd, CC__FD_OUT);
    return rc != 0 ? rc : write_all(&t, iov, count, n);
}

/* The rest, of which k bytes are written; or none, and why. */
static CC__COLD ssize_t write_rest(struct cc__io_try t, const char *buf, size_t n, ssize_t k) {
    if (k < 0 && k != -EAGAIN) return k;
    size_t at = k < 0 ? 0 : (size_t)k;
    struct iovec iov = {.iov_base = (void *)(uintptr_t)(buf + at), .iov_len = n - at};
    ssize_t rc = write_all(&t, &iov, 1, n - at);
    return rc < 0 ? rc : (ssize_t)n;
}

static CC__NOINLINE ssize_t write_one(int fd, const void *buf, size_t n) {
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = n};
    return write_begin(fd, &iov, 1, n);
}

ssize_t cc_write(int fd, const void *buf, size_t n) {
    if (CC__UNLIKELY(n == 0)) return move_nothing(fd);
    uint32_t generation;
    struct cc__fd *e = cc__io_connection(fd, &generation);
    if (CC__UNLIKELY(e == NULL)) return write_one(fd, buf, n);
    struct cc__io_try t = {.e = e, .fd = fd, .way = CC__FD_OUT, .generation = generation};
    if (CC__UNLIKELY(cc__io_hold(&t) != 0)) return -EBADF;
    ssize_t k = cc__sock_send_here(fd, buf, n); /* it is seldom full: most messages are written at once */
    cc__io_drop(&t);
    cc__run_completed();
    return CC__LIKELY(k == (ssize_t)n) ? k : write_rest(t, buf, n, k);
}

/* A copy of some buffers, to be changed: in `few` or on the heap. NULL: no memory. */
static struct iovec *copy_of(const struct iovec *iov, int count, struct iovec few[IOV_FEW]) {
    size_t bytes = (size_t)count * sizeof *iov;
    struct iovec *copy = count <= IOV_FEW ? few : malloc(bytes);
    if (copy != NULL) memcpy(copy, iov, bytes);
    return copy;
}

/* The sum of some buffers; negative: what is wrong with them. */
static ssize_t sum_of(const struct iovec *iov, int count) {
    size_t n = 0;
    if (count < 0 || count > IOV_MOST) return -EINVAL;
    for (int i = 0; i < count; i++)
        if (__builtin_add_overflow(n, iov[i].iov_len, &n) || n > SSIZE_MAX) return -EINVAL;
    return (ssize_t)n;
}

static ssize_t move_vector(int fd, const struct iovec *iov, int count,
                           ssize_t (*move)(int fd, struct iovec *iov, int count, size_t n)) {
    struct iovec few[IOV_FEW];
    ssize_t n = sum_of(iov, count);
    if (n <= 0) return n < 0 ? n : move_nothing(fd);
    struct iovec *copy = copy_of(iov, count, few);
    if (copy == NULL) return -ENOMEM;
    ssize_t rc = move(fd, copy, count, (size_t)n);
    if (copy != few) free(copy);
    return rc;
}

ssize_t cc_readv(int fd, const struct iovec *iov, int count) {
    return move_vector(fd, iov, count, read_some);
}

ssize_t cc_writev(int fd, const struct iovec *iov, int count) {
    return move_vector(fd, iov, count, write_begin);
}

/* ---- files to sockets ---- */

/* Some of a file by a buffer, which is made when it is needed: what sendfile() would block on, or cannot do. */
static ssize_t send_copied(struct cc__io_try *t, int in, int64_t at, size_t n, char **buf) {
    if (*buf == NULL && (*buf = malloc(COPY_BYTES)) == NULL) return -ENOMEM;
    ssize_t k = cc__io_read_at(in, *buf, n < COPY_BYTES ? n : COPY_BYTES, at);
    if (k <= 0) return k;
    struct iovec iov = {.iov_base = *buf, .iov_len = (size_t)k};
    return write_all(t, &iov, 1, (size_t)k);
}

/* Some of it by the kernel itself. */
static ssize_t send_direct(struct cc__io_try *t, int in, int64_t at, size_t n) {
    for (;;) {
        ssize_t k = cc__io_try(t);
        if (k < 0) return k;
        k = cc__fdio_sendfile(t->fd, in, at, n, cc__worker_current() != NULL);
        cc__io_tried(t, k, false);
        if (k != -EAGAIN) return k;
        if ((k = cc__io_wait(t)) < 0) return k;
    }
}

/* Whether a part of a file is in memory, as far as its two ends tell: what sendfile() has to wait for, this worker
 * would. What was read by the other way brings more of it into memory than was asked for, so that is seldom taken. */
static bool is_in_memory(int in, int64_t at, size_t n) {
    char byte;
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    return cc__fdio_read_now(in, &iov, 1, at) != -EAGAIN &&
           cc__fdio_read_now(in, &iov, 1, at + (int64_t)n - 1) != -EAGAIN;
}

/* From a descriptor that is held, to one that is begun. */
static int64_t send_from(struct cc__io_try *t, int in, int64_t at, size_t n) {
    bool direct = (cc__fd_nature(t->e) & CC__FD_OURS) != 0; /* else it may block */
    char *buf = NULL;
    size_t sent = 0;
    ssize_t k = 1;
    while (k > 0 && sent < n) {
        int64_t from = at + (int64_t)sent;
        size_t some = n - sent < SEND_BYTES ? n - sent : SEND_BYTES;
        bool now = direct && is_in_memory(in, from, some);
        k = now ? send_direct(t, in, from, some) : send_copied(t, in, from, some, &buf);
        if (now && k == -EINVAL) { /* not between these two */
            direct = false;
            k = 1;
        } else if (k > 0) {
            sent += (size_t)k;
        }
    }
    free(buf);
    return k < 0 ? k : (int64_t)sent;
}

int64_t cc_sendfile(int out, int in, int64_t at, size_t n) {
    struct cc__io_try t, file;
    if (at < 0 || n > (size_t)(INT64_MAX - at)) return -EINVAL;
    int rc = cc__io_begin(&t, out, CC__FD_OUT);
    if (rc == 0) rc = cc__io_use(&file, in);
    if (rc != 0) return rc;
    int64_t sent = send_from(&t, in, at, n);
    cc__io_drop(&file);
    return sent;
}

/* ---- the rest ---- */

int cc_close(int fd) {
    struct cc__fd *e = fd < 0 ? NULL : cc__fd_known(fd);
    if (fd < 0) return -EBADF;
    if (e == NULL) return cc__fdio_close(fd); /* nobody has ever waited for it */
    return cc__fd_close(e, fd);
}

/* For both ways at once: a select. */
static int wait_for_both(int fd) {
    const cc_case cases[] = {{.op = CC_OP_READABLE, .ns = fd}, {.op = CC_OP_WRITABLE, .ns = fd}};
    int rc = cc_select_cases(cases, CC__COUNT_OF(cases), CC_SELECT_FAIR);
    return rc < 0 ? rc : 0;
}

int cc__io_await(struct cc__io_try *t, int events) {
    bool both = events == (POLLIN | POLLOUT);
    for (;;) {
        int rc = cc__io_try(t);
        if (rc < 0) return rc;
        int got = cc__poll_one(t->fd, events, 0);
        cc__io_tried(t, got == 0 ? -EAGAIN : got, false);
        if (got != 0) return got;
        rc = both ? wait_for_both(t->fd) : cc__io_wait(t);
        if (rc != 0) return rc;
    }
}

int cc_wait_fd(int fd, int events) {
    struct cc__io_try t;
    if (events == 0 || (events & ~(POLLIN | POLLOUT)) != 0) return -EINVAL;
    int rc = cc__io_begin(&t, fd, (events & POLLOUT) != 0 ? CC__FD_OUT : CC__FD_IN);
    return rc != 0 ? rc : cc__io_await(&t, events);
}

int cc_pipe(int fd[2]) {
    int rc = cc__fdio_pipe(fd);
    if (rc != 0) return rc;
    int in = cc__io_adopt(fd[0], 0), out = cc__io_adopt(fd[1], 0);
    if (in >= 0 && out >= 0) return 0;
    if (in >= 0) (void)cc_close(in);
    if (out >= 0) (void)cc_close(out);
    return -ENOMEM;
}
