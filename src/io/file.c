/* SPDX-License-Identifier: MIT */
/* Files and directories. What is in memory is done at once; what is not, by the kernel while the caller waits, where
 * there is a ring for that (driver/files.c), else by a thread for blocking calls, as are directories always.
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

/* ---- who makes a call ---- */

/* One that goes to a thread that may block. */
struct job {
    const struct cc__file_call *call;
    int64_t result;
};

static int make_blocking(void *arg) {
    struct job *j = arg;
    j->result = cc__fdio_call(j->call);
    return 0;
}

/* The kernel, if there is a ring here; else a thread. */
static int64_t make(const struct cc__file_call *c) {
    int rc = cc_cancelled();
    if (rc != 0) return rc;
    int64_t result = cc__files_make(c);
    if (result != CC__FILES_NONE) return result;
    struct job j = {.call = c};
    rc = cc__io_block(make_blocking, &j);
    return rc != 0 ? rc : j.result;
}

/* ---- reading and writing ---- */

/* Hold the descriptor of a call at an offset. */
static int use_at(struct cc__io_try *t, int fd, int64_t at) {
    return fd < 0 ? -EBADF : at < 0 ? -EINVAL : cc__io_use(t, fd);
}

/* What is not in memory, or did not come with one call. */
static CC__COLD ssize_t read_on(int fd, char *buf, size_t n, int64_t at, ssize_t k) {
    size_t done = 0;
    for (;;) {
        struct cc__file_call c = {
            .what = CC__FILE_READ, .fd = fd, .buf = buf + done, .n = n - done, .at = at + (int64_t)done};
        if (k == -EAGAIN) k = (ssize_t)make(&c);
        if (k > 0) done += (size_t)k;
        if (k <= 0 || done == n) return k < 0 ? k : (ssize_t)done;
        k = cc__fdio_read_now(fd, &(struct iovec){buf + done, n - done}, 1, at + (int64_t)done);
    }
}

/* Less than n only at the end, though only a part of it may be in memory. */
ssize_t cc__io_read_at(int fd, void *buf, size_t n, int64_t at) {
    ssize_t k = cc__fdio_read_now(fd, &(struct iovec){buf, n}, 1, at);
    return CC__LIKELY(k == (ssize_t)n) ? k : read_on(fd, buf, n, at, k);
}

ssize_t cc_pread(int fd, void *buf, size_t n, int64_t at) {
    struct cc__io_try t;
    int rc = use_at(&t, fd, at);
    if (rc != 0) return rc;
    ssize_t k = cc__io_read_at(fd, buf, n, at);
    cc__io_drop(&t);
    cc__run_completed();
    return k;
}

/* To a descriptor that is held. */
static ssize_t write_all_at(int fd, const void *buf, size_t n, int64_t at) {
    size_t done = 0;
    do {
        struct cc__file_call c = {.what = CC__FILE_WRITE,
                                  .fd = fd,
                                  .buf = (char *)(uintptr_t)buf + done,
                                  .n = n - done,
                                  .at = at + (int64_t)done};
        struct iovec iov = {.iov_base = c.buf, .iov_len = c.n};
        ssize_t k = cc__fdio_write_now(fd, &iov, 1, c.at, cc__worker_current() != NULL);
        if (k == -EAGAIN || k == CC__FDIO_FILE) k = (ssize_t)make(&c);
        if (k < 0) return k;
        if (k == 0 && n > 0) return -EIO; /* it would be so for ever */
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

int cc_open(const char *path, int flags, unsigned mode) {
    if (path == NULL) return -EINVAL;
    int rc = cc__fdio_open_now(path, flags);
    if (rc != -EAGAIN) {
        cc__run_completed();
        return rc;
    }
    struct cc__file_call c = {.what = CC__FILE_OPEN, .path = path, .flags = flags, .mode = mode};
    return (int)make(&c);
}

int cc_fsync(int fd) {
    struct cc__io_try t;
    struct cc__file_call c = {.what = CC__FILE_SYNC, .fd = fd};
    int rc = cc__io_use(&t, fd);
    if (rc != 0) return rc;
    rc = (int)make(&c);
    cc__io_drop(&t);
    return rc;
}

int cc_stat(const char *path, struct stat *out) {
    if (path == NULL) return -EINVAL;
    int rc = cc__fdio_stat_now(path, out);
    if (rc != -EAGAIN) {
        cc__run_completed();
        return rc;
    }
    struct statx found;
    struct cc__file_call c = {.what = CC__FILE_STAT, .path = path, .statx = &found};
    rc = (int)make(&c);
    if (rc == 0) cc__fdio_stat_of(out, &found);
    return rc;
}

int cc_fstat(int fd, struct stat *out) {
    struct cc__io_try t;
    int rc = cc__io_use(&t, fd);
    if (rc != 0) return rc;
    rc = cc__fdio_stat(fd, out); /* of what is open, at once */
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
