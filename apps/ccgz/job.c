/* SPDX-License-Identifier: MIT */
/* Reading and writing, and what is said of a job.
 *
 * Who reads or writes in order, and can do nothing else meanwhile, uses the calls of the library: what is in memory is
 * read where it is asked for, a pipe parks the task. Several buffers at one go, the ends of the pipelines that compute
 * on all workers, are moved otherwise: see below.
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

/* So many bytes of some vectors are done; empty ones in front of the rest are, too. */
static void advance(struct iovec **v, int *count, size_t bytes) {
    for (; *count > 0 && bytes >= (*v)->iov_len; ++*v, --*count) bytes -= (*v)->iov_len;
    if (*count == 0) return;
    (*v)->iov_base = (uint8_t *)(*v)->iov_base + bytes;
    (*v)->iov_len -= bytes;
}

/* All of some buffers. From a file by the library's call: what is in memory is read at once. To a file by a plain
 * call: that is as quick, unless the disk is far behind, and then a thread of its own would not help for longer than
 * there are buffers, which is some milliseconds; else it would only be one more that wants a processor.
 *
 * Pipes by plain calls on a thread for that. Not by cc_readv() and cc_writev(): a pipe that a task waits for is watched
 * by one worker, and every worker here computes for milliseconds at a time without looking, while others may run dry.
 * Tried so on a busy machine, the best of 9 runs with input by a pipe took twice as long, though not the median. A
 * thread that returns wakes whoever is idle. */
struct transfer {
    ssize_t (*call)(int fd, const struct iovec *v, int count); /* readv() or writev() */
    int fd;
    struct iovec *v;
    int count;
    int64_t done; /* bytes, or a negative errno */
};

static int transfer_all(void *arg) {
    struct transfer *t = arg;
    advance(&t->v, &t->count, 0); /* empty ones are no end of the input */
    while (t->count > 0) {
        ssize_t n = t->call(t->fd, t->v, t->count);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) t->done = -errno;
        if (n <= 0) break;
        t->done += n;
        advance(&t->v, &t->count, (size_t)n);
    }
    return 0;
}

/* From a file. */
static int64_t read_file(int fd, struct iovec *v, int count) {
    int64_t done = 0;
    for (advance(&v, &count, 0); count > 0;) {
        ssize_t n = cc_readv(fd, v, count);
        if (n < 0) return n;
        if (n == 0) break;
        done += n;
        advance(&v, &count, (size_t)n);
    }
    return done;
}

int64_t gz_read_vector(struct gz_io *io, struct iovec *v, int count) {
    struct transfer t = {.call = readv, .fd = io->fd, .v = v, .count = count};
    if (io->seekable)
        t.done = read_file(io->fd, v, count);
    else
        (void)cc_blocking(transfer_all, &t);
    if (t.done > 0) io->done += (uint64_t)t.done;
    return t.done;
}

int gz_write_vector(struct gz_io *io, struct iovec *v, int count) {
    struct transfer t = {.call = writev, .fd = io->fd, .v = v, .count = count};
    for (int i = 0; i < count; i++) io->done += v[i].iov_len;
    if (io->fd >= 0) (void)(io->seekable ? transfer_all(&t) : cc_blocking(transfer_all, &t));
    return t.done < 0 ? (int)t.done : 0;
}

int64_t gz_read_some(struct gz_io *io, void *to, size_t bytes) {
    ssize_t n = cc_read(io->fd, to, bytes);
    if (n > 0) io->done += (uint64_t)n;
    return n;
}

int64_t gz_read_at(struct gz_io *io, uint64_t offset, void *to, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = cc_pread(io->fd, (uint8_t *)to + done, bytes - done, (int64_t)(io->start + offset + done));
        if (n < 0) return n;
        if (n == 0) break;
        done += (size_t)n;
    }
    return (int64_t)done;
}

int gz_write(struct gz_io *io, const void *from, size_t bytes) {
    struct iovec v = {.iov_base = (void *)(uintptr_t)from, .iov_len = bytes}; /* it is only read */
    return gz_write_vector(io, &v, 1);
}
