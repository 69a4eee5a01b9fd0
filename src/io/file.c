/* SPDX-License-Identifier: MIT */
/* Files and directories: tried without waiting, then on a thread for blocking calls.
 *
 * Prev: io/net.c  Next: io/buffer.c */
#include <ccrt/file.h>

#include "../plat/fdio.h"
#include "../sched/leave.h"
#include "io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* One call, for a thread that may block. */
struct call {
    int fd, flags;
    unsigned mode;
    const char *path;
    void *buf;
    size_t n;
    int64_t at;
    struct stat *stat;
};

/* ---- reading and writing ---- */

static int read_blocking(void *arg) {
    struct call *c = arg;
    struct iovec iov = {.iov_base = c->buf, .iov_len = c->n};
    ssize_t k = cc__fdio_read(c->fd, &iov, 1, c->at);
    c->n = k < 0 ? 0 : (size_t)k;
    return k < 0 ? (int)k : 0;
}
static int write_blocking(void *arg) {
    struct call *c = arg;
    struct iovec iov = {.iov_base = c->buf, .iov_len = c->n};
    ssize_t k = cc__fdio_write(c->fd, &iov, 1, c->at, false);
    c->n = k < 0 ? 0 : (size_t)k;
    return k < 0 ? (int)k : 0;
}

/* Hold the descriptor of a call at an offset. */
static int use_at(struct cc__io_try *t, int fd, int64_t at) {
    return fd < 0 ? -EBADF : at < 0 ? -EINVAL : cc__io_use(t, fd);
}

ssize_t cc_pread(int fd, void *buf, size_t n, int64_t at) {
    struct cc__io_try t;
    struct iovec iov = {.iov_base = buf, .iov_len = n};
    int rc = use_at(&t, fd, at);
    if (rc != 0) return rc;
    ssize_t k = cc__fdio_read_now(fd, &iov, 1, at);
    if (k == -EAGAIN) {
        struct call c = {.fd = fd, .buf = buf, .n = n, .at = at};
        rc = cc__io_block(read_blocking, &c);
        k = rc != 0 ? rc : (ssize_t)c.n;
    } else {
        cc__run_completed();
    }
    cc__io_drop(&t);
    return k;
}

/* To a descriptor that is held. */
static ssize_t write_all_at(int fd, const void *buf, size_t n, int64_t at) {
    size_t done = 0;
    do {
        struct call c = {.fd = fd, .buf = (char *)(uintptr_t)buf + done, .n = n - done, .at = at + (int64_t)done};
        struct iovec iov = {.iov_base = c.buf, .iov_len = c.n};
        ssize_t k = cc__fdio_write_now(fd, &iov, 1, c.at, cc__worker_current() != NULL);
        if (k == -EAGAIN) {
            int rc = cc__io_block(write_blocking, &c);
            k = rc != 0 ? rc : (ssize_t)c.n;
        }
        if (k < 0) return k;
        done += (size_t)k;
    } while (done < n);
    cc__run_completed();
    return (ssize_t)n;
}

ssize_t cc_pwrite(int fd, const void *buf, size_t n, int64_t at) {
    struct cc__io_try t;
    int rc = use_at(&t, fd, at);
    if (rc != 0) return rc;
    ssize_t k = write_all_at(fd, buf, n, at);
    cc__io_drop(&t);
    return k;
}

/* ---- the rest ---- */

static int open_blocking(void *arg) {
    struct call *c = arg;
    c->fd = cc__fdio_open(c->path, c->flags, c->mode);
    return 0;
}
static int sync_blocking(void *arg) {
    return cc__fdio_sync(((struct call *)arg)->fd, false);
}
static int stat_blocking(void *arg) {
    struct call *c = arg;
    return cc__fdio_stat(c->fd, c->path, c->stat);
}

int cc_open(const char *path, int flags, unsigned mode) {
    struct call c = {.path = path, .flags = flags, .mode = mode};
    if (path == NULL) return -EINVAL;
    int rc = cc__io_block(open_blocking, &c);
    return rc != 0 ? rc : c.fd;
}

int cc_fsync(int fd) {
    struct cc__io_try t;
    struct call c = {.fd = fd};
    int rc = cc__io_use(&t, fd);
    if (rc != 0) return rc;
    rc = cc__io_block(sync_blocking, &c);
    cc__io_drop(&t);
    return rc;
}

int cc_stat(const char *path, struct stat *out) {
    struct call c = {.path = path, .stat = out};
    return path == NULL ? -EINVAL : cc__io_block(stat_blocking, &c);
}

int cc_fstat(int fd, struct stat *out) {
    struct cc__io_try t;
    int rc = cc__io_use(&t, fd);
    if (rc != 0) return rc;
    rc = cc__fdio_stat(fd, NULL, out); /* of what is open, at once */
    cc__io_drop(&t);
    return rc;
}

/* ---- directories ---- */

enum { ENTRIES_BYTES = 32768 };

struct cc_dir {
    int fd;
    size_t at, end; /* of what was read */
    _Alignas(16) char entries[ENTRIES_BYTES];
};

static int entries_blocking(void *arg) {
    struct cc_dir *d = arg;
    ssize_t n = cc__fdio_entries(d->fd, d->entries, sizeof d->entries);
    d->at = 0;
    d->end = n < 0 ? 0 : (size_t)n;
    return n < 0 ? (int)n : 0;
}

int cc_dir_open(cc_dir **out, const char *path) {
    if (out == NULL) return -EINVAL;
    int fd = cc_open(path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) return fd;
    cc_dir *d = malloc(sizeof *d);
    if (d == NULL) {
        cc__fdio_close(fd);
        return -ENOMEM;
    }
    d->fd = fd;
    d->at = d->end = 0;
    *out = d;
    return 0;
}

int cc_dir_next(cc_dir *d, cc_dirent *out) {
    for (;;) {
        if (d->at == d->end) {
            int rc = cc__io_block(entries_blocking, d);
            if (rc != 0 || d->end == 0) return rc;
        }
        d->at = cc__fdio_entry(d->entries, d->at, &out->name, &out->type);
        if (strcmp(out->name, ".") != 0 && strcmp(out->name, "..") != 0) return 1;
    }
}

void cc_dir_close(cc_dir *d) {
    if (d == NULL) return;
    cc__fdio_close(d->fd);
    free(d);
}
