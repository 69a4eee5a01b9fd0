/* SPDX-License-Identifier: MIT */
/* One piece of work: what goes in, what comes out, and what is to be said of it.
 *
 * Everything that reads, inflates, deflates or writes gets a job, and tells it what went wrong. The first error is the
 * one that counts: what follows from it is not said. */
#ifndef CCGZ_JOB_H
#define CCGZ_JOB_H

#include <ccrt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* What gzip's exit codes mean. */
enum { GZ_OK = 0, GZ_ERROR = 1, GZ_WARNING = 2 };

enum { GZ_WINDOW = 32768 }; /* how far back deflate refers */

struct gz_engine;
struct gz_progress;

/* A file that is read or written. */
struct gz_io {
    int fd;         /* -1: what is written goes nowhere */
    bool seekable;  /* a regular file, with a position of its own */
    uint64_t start; /* that position when it was opened, and bytes from there on */
    uint64_t size;
    uint64_t done; /* bytes read or written so far; of one task at a time */
    bool rewinds;  /* output that nobody has seen: it may be begun anew */
};

/* How to compress and decompress. */
struct gz_way {
    const struct gz_engine *engine;
    int level;
    unsigned workers;
    unsigned at_once; /* of them that compress at the same time */
    size_t block;     /* bytes compressed by one task */
    size_t chunk;     /* bytes from one place where inflating can begin to the next; a multiple of block */
    bool independent; /* every block is such a place */
    bool index;       /* the output has an index; indexes of the input are used */
};

struct gz_job {
    const struct gz_way *way;
    struct gz_io in, out;
    bool copy;               /* input that is not gzip is copied as it is */
    const char *header_name; /* to be put into the header; NULL: none */
    uint32_t header_time;
    struct gz_progress *progress; /* NULL: none */
    bool in_parallel;             /* it was inflated by its index */

    cc_mutex lock; /* of the next three, while tasks are at work */
    int status;
    int write_error; /* a negative errno; 0: none */
    char text[240];
};

void gz_job_init(struct gz_job *job, const struct gz_way *way);

/* It failed; returns GZ_ERROR. And: it went well, but something is to be said; returns GZ_WARNING. */
int gz_fail(struct gz_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
int gz_warn(struct gz_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
int gz_fail_write(struct gz_job *job, int code);
int gz_status(struct gz_job *job);

/* Say what fd is. */
void gz_io_init(struct gz_io *io, int fd);

/* Read what is there. How much, 0 at the end, or a negative errno. */
int64_t gz_read_some(struct gz_io *io, void *to, size_t bytes);
/* Read at an offset from the start, until the buffer is full or the file ends; moves nothing. */
int64_t gz_read_at(struct gz_io *io, uint64_t offset, void *to, size_t bytes);
/* Write all. 0, or a negative errno. */
int gz_write(struct gz_io *io, const void *from, size_t bytes);

/* The same with several buffers at one go; reading until all are full, or the input ends. Who must wait for a worker
 * after each call waits only once. The vectors are changed. */
int64_t gz_read_vector(struct gz_io *io, struct iovec *v, int count);
int gz_write_vector(struct gz_io *io, struct iovec *v, int count);

#endif /* CCGZ_JOB_H */
