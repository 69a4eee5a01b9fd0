/* SPDX-License-Identifier: MIT */
/* Input as a window that moves on: what was read and not yet consumed is in one piece. */
#ifndef CCGZ_SOURCE_H
#define CCGZ_SOURCE_H

#include "header.h"
#include "job.h"

enum { GZ_SOURCE_BEHIND = 8, GZ_SOURCE_MAX = 4 * 65536 };

struct gz_source {
    struct gz_io *io;
    uint8_t *memory;
    size_t room;
    const uint8_t *at; /* up to GZ_SOURCE_BEHIND bytes before it can be gone back to */
    size_t bytes;
    uint64_t from, to;     /* with a range: the next offset to read at, and its end; else both 0 */
    uint32_t crc;          /* of the range, as far as it was read; or of what gz_source_sum() says */
    const uint8_t *summed; /* up to here; NULL: nobody wants it */
};

/* All of io from where it is, so much at a time; or only a range of a file. 0, or -ENOMEM. */
int gz_source_init(struct gz_source *s, struct gz_io *io, size_t room);
void gz_source_range(struct gz_source *s, uint64_t from, uint64_t to);
void gz_source_fini(struct gz_source *s);

/* Read more behind what is there: how much, 0 at the end, or a negative errno; -ENOSPC: what is there is too long. */
int64_t gz_source_more(struct gz_source *s);
void gz_source_skip(struct gz_source *s, size_t bytes);
/* Where `at` is, in bytes from the start of the input. */
uint64_t gz_source_offset(const struct gz_source *s);

/* Begin a checksum of what is consumed; and what it is so far. */
void gz_source_sum_begin(struct gz_source *s);
uint32_t gz_source_sum(struct gz_source *s);

/* Parse the header that stands at `at`, reading what is missing. Its size, of which nothing is consumed; 0: the input
 * ends within it; negative: an errno; -EBADMSG: it is none, and *why says so. */
int64_t gz_source_header(struct gz_source *s, struct gz_header *h, const char **why);

#endif /* CCGZ_SOURCE_H */
