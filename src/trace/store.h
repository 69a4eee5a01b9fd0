/* SPDX-License-Identifier: MIT */
/* Chunks of records, for who keeps and who writes them.
 *
 * Prev: trace/trace.h  Next: trace/store.c */
#ifndef CC__TRACE_STORE_H
#define CC__TRACE_STORE_H

#include "trace.h"

enum { CC__TRACE_CHUNK_BYTES = 64 * 1024 };
enum { CC__TRACE_CHUNK_EVENTS = (CC__TRACE_CHUNK_BYTES - 2 * (int)sizeof(uint64_t)) / (int)sizeof(struct cc__event) };

struct cc__trace_chunk {
    struct cc__trace_chunk *next; /* guarded by the store's lock */
    uint64_t spare;
    struct cc__event event[CC__TRACE_CHUNK_EVENTS];
};
_Static_assert(sizeof(struct cc__trace_chunk) <= CC__TRACE_CHUNK_BYTES, "a chunk");

struct cc__trace_file;

/* A log, as it was at some instant. */
struct cc__trace_part {
    const struct cc__trace_log *log;
    const struct cc__trace_chunk *first;
    uint64_t count; /* records to be written; */
    uint64_t more;  /* of those after them, up to here, only spawns count: of tasks that another's records run */
};
/* Write the records of some logs, up to an instant (in cycles), and add how many came later to *late.
 *   Returns    0, or a negative errno */
int cc__trace_write(struct cc__trace_file *out, const struct cc__trace_part *part, size_t parts, uint64_t until,
                    uint64_t *late);

#endif /* CC__TRACE_STORE_H */
