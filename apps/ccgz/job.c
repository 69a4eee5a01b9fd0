/* SPDX-License-Identifier: MIT */
/* Reading and writing, and what is said of a job.
 *
 * All calls go to threads that are there for that: a pipe may keep its reader for hours, and even a file whose pages
 * are in memory is better read so. It takes 24 us for 128 KiB instead of 6, but the workers go on computing: read in
 * place, and marked as blocking, such calls were found to last whenever the machine was busy, more workers came and
 * went, and compression took a tenth more time. A task that comes back from such a call has to wait until some worker
 * has compressed its block: so as much as there is goes with one call.
 *
 * Next: engine.h */
#include "job.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void gz_job_init(struct gz_job *job, const struct gz_way *way) {
    memset(job, 0, sizeof *job);
    job->way = way;
    job->in.fd = job->out.fd = -1;
}

/* ---- what is said ---- */

static void say(struct gz_job *job, int status, const char *format, va_list list) {
    cc_mutex_lock(&job->lock);
    if (job->status == GZ_OK || (job->status == GZ_WARNING && status == GZ_ERROR)) {
        job->status = status;
        (void)vsnprintf(job->text, sizeof job->text, format, list);
    }
    cc_mutex_unlock(&job->lock);
}

int gz_fail(struct gz_job *job, const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(job, GZ_ERROR, format, list);
    va_end(list);
    return GZ_ERROR;
}

int gz_warn(struct gz_job *job, const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(job, GZ_WARNING, format, list);
    va_end(list);
    return GZ_WARNING;
}

int gz_fail_write(struct gz_job *job, int code) {
    cc_mutex_lock(&job->lock);
    job->write_error = code;
    cc_mutex_unlock(&job->lock);
    return gz_fail(job, "write error: %s", cc_strerror(code));
}

int gz_status(struct gz_job *job) {
    cc_mutex_lock(&job->lock);
    int status = job->status;
    cc_mutex_unlock(&job->lock);
    return status;
}

/* ---- reading and writing ---- */

void gz_io_init(struct gz_io *io, int fd) {
    struct stat st;
    memset(io, 0, sizeof *io);
    io->fd = fd;
    if (fd < 0 || fstat(fd, &st) != 0) return;
    off_t at = S_ISREG(st.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
    if (at < 0) return;
    io->seekable = true;
    io->start = (uint64_t)at;
    io->size = st.st_size > at ? (uint64_t)(st.st_size - at) : 0;
}

/* Calls of the system until all is read or written, or the input ends; on another thread. */
struct call {
    ssize_t (*fn)(const struct call *c);
    int fd;
    struct iovec *v;
    int count;
    bool once;     /* what one call does is enough */
    off_t at;      /* for READ_AT */
    uint64_t done; /* bytes */
    int code;      /* 0, or a negative errno */
};

static ssize_t call_read(const struct call *c) {
    return readv(c->fd, c->v, c->count);
}

static ssize_t call_read_at(const struct call *c) {
    return preadv(c->fd, c->v, c->count, c->at + (off_t)c->done);
}

static ssize_t call_write(const struct call *c) {
    return writev(c->fd, c->v, c->count);
}

/* So many bytes are done. */
static void advance(struct call *c, size_t bytes) {
    c->done += bytes;
    for (; c->count > 0 && bytes >= c->v->iov_len; c->v++, c->count--) bytes -= c->v->iov_len;
    if (c->count == 0) return;
    c->v->iov_base = (uint8_t *)c->v->iov_base + bytes;
    c->v->iov_len -= bytes;
}

static int make_calls(void *arg) {
    struct call *c = arg;
    advance(c, 0); /* empty ones are no end of the input */
    while (c->count > 0) {
        ssize_t n = c->fn(c);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) c->code = -errno;
        if (n <= 0) break;
        advance(c, (size_t)n);
        if (c->once) break;
    }
    return 0;
}

static int64_t call(const struct gz_io *io, struct call *c) {
    c->fd = io->fd;
    (void)cc_blocking(make_calls, c);
    return c->code != 0 ? c->code : (int64_t)c->done;
}

int64_t gz_read_vector(struct gz_io *io, struct iovec *v, int count) {
    struct call c = {.fn = call_read, .v = v, .count = count};
    int64_t done = call(io, &c);
    if (done > 0) io->done += (uint64_t)done;
    return done;
}

int64_t gz_read_some(struct gz_io *io, void *to, size_t bytes) {
    struct iovec v = {.iov_base = to, .iov_len = bytes};
    struct call c = {.fn = call_read, .v = &v, .count = 1, .once = true};
    int64_t done = call(io, &c);
    if (done > 0) io->done += (uint64_t)done;
    return done;
}

int64_t gz_read_at(struct gz_io *io, uint64_t offset, void *to, size_t bytes) {
    struct iovec v = {.iov_base = to, .iov_len = bytes};
    struct call c = {.fn = call_read_at, .v = &v, .count = 1, .at = (off_t)(io->start + offset)};
    return call(io, &c);
}

int gz_write_vector(struct gz_io *io, struct iovec *v, int count) {
    struct call c = {.fn = call_write, .v = v, .count = count};
    for (int i = 0; i < count; i++) io->done += v[i].iov_len;
    int64_t done = io->fd < 0 ? 0 : call(io, &c);
    return done < 0 ? (int)done : 0;
}

int gz_write(struct gz_io *io, const void *from, size_t bytes) {
    struct iovec v = {.iov_base = (void *)from, .iov_len = bytes}; /* it is not written to */
    return gz_write_vector(io, &v, 1);
}
