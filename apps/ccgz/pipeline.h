/* SPDX-License-Identifier: MIT */
/* The work itself: from a job's input to its output. Each runs as a task of a runtime, reports to the job, and returns
 * when all it has started has ended. */
#ifndef CCGZ_PIPELINE_H
#define CCGZ_PIPELINE_H

#include "header.h"
#include "job.h"

void gz_compress(struct gz_job *job);

/* What was found while inflating. */
struct gz_found {
    uint64_t data_bytes; /* all members together */
    uint32_t crc;        /* of the last one that has data */
    uint32_t time;
    bool is_gzip;               /* the first one's header was read; these are from there */
    char name[GZ_NAME_MAX + 1]; /* as it is there, whatever that may be */
};
void gz_decompress(struct gz_job *job, struct gz_found *found);

/* Either, as a task; without `found` it compresses. */
struct gz_run {
    struct gz_job *job;
    struct gz_found *found;
};
void *gz_run(void *run);

/* What an index that was not true leaves: the checksum of what was written by it, and where it is. */
struct gz_left {
    uint32_t written_crc;
    uint64_t index_at;
};

/* Its two ways. By an index: 1, done; 0, there is none to be used; -1, it was not true: begin anew. The other goes from
 * the beginning to the end; its first `skip` bytes were written before, and their checksum then was `skip_crc`. */
int gz_inflate_indexed(struct gz_job *job, struct gz_found *found, struct gz_left *left);
void gz_inflate_stream(struct gz_job *job, struct gz_found *found, uint64_t skip, uint32_t skip_crc);

/* What indexes say is in a file; false: they do not cover it. */
bool gz_index_total(struct gz_job *job, uint64_t *data_bytes);

#endif /* CCGZ_PIPELINE_H */
