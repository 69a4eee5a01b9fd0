/* SPDX-License-Identifier: MIT */
/* The window. It begins small; only a header that does not fit makes it grow, up to a limit.
 *
 * Prev: compress.c  Next: stream.c */
#include "source.h"
#include "engine.h"

#include <stdlib.h>
#include <string.h>

int gz_source_init(struct gz_source *s, struct gz_io *io, size_t room) {
    memset(s, 0, sizeof *s);
    s->io = io;
    s->room = room;
    s->memory = calloc(1, GZ_SOURCE_BEHIND + s->room);
    s->at = s->memory + GZ_SOURCE_BEHIND;
    return s->memory == NULL ? -ENOMEM : 0;
}

void gz_source_range(struct gz_source *s, uint64_t from, uint64_t to) {
    s->at = s->memory + GZ_SOURCE_BEHIND;
    s->bytes = 0;
    s->from = from;
    s->to = to;
    s->crc = 0;
}

void gz_source_fini(struct gz_source *s) {
    free(s->memory);
}

void gz_source_sum_begin(struct gz_source *s) {
    s->crc = 0;
    s->summed = s->at;
}

static void sum_to(struct gz_source *s, const uint8_t *end) {
    if (s->summed == NULL || end <= s->summed) return;
    s->crc = gz_crc(s->crc, s->summed, (size_t)(end - s->summed));
    s->summed = end;
}

uint32_t gz_source_sum(struct gz_source *s) {
    sum_to(s, s->at);
    return s->crc;
}

/* More room, for a header. */
static int grow(struct gz_source *s) {
    size_t room = s->room * 2, summed = s->summed == NULL ? 0 : (size_t)(s->summed - s->memory);
    if (room > GZ_SOURCE_MAX) return -ENOSPC;
    uint8_t *memory = realloc(s->memory, GZ_SOURCE_BEHIND + room);
    if (memory == NULL) return -ENOMEM;
    s->memory = memory;
    s->room = room;
    s->at = memory + GZ_SOURCE_BEHIND;
    if (s->summed != NULL) s->summed = memory + summed;
    return 0;
}

int64_t gz_source_more(struct gz_source *s) {
    if (s->memory == NULL) return -ENOMEM;
    const uint8_t *kept =
        s->memory + ((size_t)(s->at - s->memory) - GZ_SOURCE_BEHIND); /* may be gone back to: not summed yet */
    sum_to(s, kept);
    if (s->summed != NULL) s->summed = s->memory + (s->summed - kept);
    memmove(s->memory, kept, GZ_SOURCE_BEHIND + s->bytes);
    s->at = s->memory + GZ_SOURCE_BEHIND;
    if (s->bytes == s->room) {
        int rc = grow(s);
        if (rc != 0) return rc;
    }
    uint8_t *end = s->memory + GZ_SOURCE_BEHIND + s->bytes;
    size_t room = s->room - s->bytes;
    int64_t got;
    if (s->to == 0) {
        got = gz_read_some(s->io, end, room);
    } else {
        if (room > s->to - s->from) room = (size_t)(s->to - s->from);
        got = room == 0 ? 0 : gz_read_at(s->io, s->from, end, room);
        if (got > 0) {
            s->from += (uint64_t)got;
            s->crc = gz_crc(s->crc, end, (size_t)got);
        }
    }
    if (got > 0) s->bytes += (size_t)got;
    return got;
}

void gz_source_skip(struct gz_source *s, size_t bytes) {
    s->at += bytes;
    s->bytes -= bytes;
}

uint64_t gz_source_offset(const struct gz_source *s) {
    return (s->to == 0 ? s->io->done : s->from) - s->bytes;
}

int64_t gz_source_header(struct gz_source *s, struct gz_header *h, const char **why) {
    for (;;) {
        int64_t size = gz_header_parse(h, s->at, s->bytes, why);
        if (size > 0) return size;
        if (size < 0) return -EBADMSG;
        int64_t got = gz_source_more(s);
        if (got == -ENOSPC) *why = "its header is too long";
        if (got <= 0) return got == -ENOSPC ? -EBADMSG : got;
    }
}
