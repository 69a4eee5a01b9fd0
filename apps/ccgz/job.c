/* SPDX-License-Identifier: MIT */
/* Reading and writing, and what is said of a job.
 *
 * All calls go to threads that are there for that: a pipe may keep its reader for hours, and even a file whose pages
 * are in memory is better read so. It takes 24 us for 128 KiB instead of 6, but the workers go on computing: read in
 * place, and marked as blocking, such calls were found to last whenever the machine was busy, more workers came and
 * went, and compression took a tenth more time.
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

/* One call of the system, on this thread or another. */
struct call {
    enum { READ, READ_AT, WRITE } kind;
    int fd;
    void *to;
    const void *from;
    size_t bytes;
    off_t at;
    ssize_t done; /* or a negative errno */
};

static int make_call(void *arg) {
    struct call *c = arg;
    do {
        c->done = c->kind == READ      ? read(c->fd, c->to, c->bytes)
                  : c->kind == READ_AT ? pread(c->fd, c->to, c->bytes, c->at)
                                       : write(c->fd, c->from, c->bytes);
    } while (c->done < 0 && errno == EINTR);
    if (c->done < 0) c->done = -errno;
    return 0;
}

static ssize_t call(const struct gz_io *io, struct call *c) {
    c->fd = io->fd;
    (void)cc_blocking(make_call, c);
    return c->done;
}

int64_t gz_read_some(struct gz_io *io, void *to, size_t bytes) {
    struct call c = {.kind = READ, .to = to, .bytes = bytes};
    ssize_t done = call(io, &c);
    if (done > 0) io->done += (uint64_t)done;
    return done;
}

int64_t gz_read_all(struct gz_io *io, void *to, size_t bytes) {
    size_t got = 0;
    while (got < bytes) {
        int64_t done = gz_read_some(io, (uint8_t *)to + got, bytes - got);
        if (done < 0) return done;
        if (done == 0) break;
        got += (size_t)done;
    }
    return (int64_t)got;
}

int64_t gz_read_at(struct gz_io *io, uint64_t offset, void *to, size_t bytes) {
    size_t got = 0;
    while (got < bytes) {
        struct call c = {
            .kind = READ_AT, .to = (uint8_t *)to + got, .bytes = bytes - got, .at = (off_t)(io->start + offset + got)};
        ssize_t done = call(io, &c);
        if (done < 0) return done;
        if (done == 0) break;
        got += (size_t)done;
    }
    return (int64_t)got;
}

int gz_write(struct gz_io *io, const void *from, size_t bytes) {
    const uint8_t *p = from;
    io->done += bytes;
    while (bytes > 0 && io->fd >= 0) {
        struct call c = {.kind = WRITE, .from = p, .bytes = bytes};
        ssize_t done = call(io, &c);
        if (done < 0) return (int)done;
        p += done;
        bytes -= (size_t)done;
    }
    return 0;
}
