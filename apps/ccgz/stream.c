/* SPDX-License-Identifier: MIT */
/* Inflating from the beginning to the end. One task reads and inflates, another takes checksums and writes. A
 * buffer is 256 KiB: handing it over is then nothing beside inflating it.
 *
 *   inflater                                        writer
 *   takes a buffer from `spare`                     receives pieces
 *   inflates into it, sends it as a piece           adds to the checksum, writes; the buffer is spare again
 *   a member is over: sends what its trailer says   compares
 *
 * So errors of the trailer are found when the inflater may be far ahead: the writer closes `spare` then.
 *
 * What a file may have: several members; behind the last one zeros, which are nothing, or something else, which is
 * garbage and worth a warning. Of our index it must be true what it says, though it is not used here.
 *
 * Prev: source.c  Next: indexed.c */
#include "engine.h"
#include "index.h"
#include "pipeline.h"
#include "progress.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 256 * 1024, BUFFERS = 2, SOURCE = 128 * 1024 };

struct piece {
    uint8_t *data; /* NULL: a member is over */
    size_t bytes;
    uint32_t crc, size; /* what the trailer says, which ends at */
    uint64_t offset;
};

typedef CC_CHAN(struct piece) piece_chan;
typedef CC_CHAN(uint8_t *) buffer_chan;

/* The part of a file that has an index, as it is met. */
struct part {
    bool marked; /* an index is to follow */
    bool more;   /* another part is */
    uint64_t from;
    uint64_t data_from;
};

struct work {
    struct gz_job *job;
    struct gz_found *found;
    piece_chan pieces;
    buffer_chan spare;
    size_t made_buffers;

    /* of the inflater */
    struct gz_source source;
    void *decoder;
    struct gz_header *header;
    struct gz_index *index;
    struct part part;

    /* of the writer */
    uint32_t crc;
    uint64_t member_bytes, written, skip;
    uint32_t all_crc, skip_crc; /* of all bytes so far, while some are skipped */
};

/* ---- the writer ---- */

static bool write_data(struct work *w, const struct piece *p) {
    const uint8_t *data = p->data;
    size_t bytes = p->bytes;
    w->crc = gz_crc(w->crc, data, bytes);
    w->member_bytes += bytes;
    if (w->written < w->skip) {
        size_t n = w->skip - w->written < bytes ? (size_t)(w->skip - w->written) : bytes;
        w->all_crc = gz_crc(w->all_crc, data, n);
        w->written += n;
        data += n;
        bytes -= n;
        if (w->written == w->skip && w->all_crc != w->skip_crc) {
            gz_fail(w->job, "corrupted data before byte %llu", (unsigned long long)p->offset);
            return false;
        }
    }
    int rc = gz_write(&w->job->out, data, bytes);
    if (rc != 0) gz_fail_write(w->job, rc);
    w->written += bytes;
    return rc == 0;
}

static bool end_member(struct work *w, const struct piece *p) {
    unsigned long long at = p->offset;
    if (p->crc != w->crc) {
        gz_fail(w->job, "corrupted data: the checksum at byte %llu is not that of what comes before it", at);
        return false;
    }
    if (p->size != (uint32_t)w->member_bytes) {
        gz_fail(w->job, "corrupted data: the length at byte %llu is not that of what comes before it", at + 4);
        return false;
    }
    if (w->member_bytes > 0) w->found->crc = w->crc; /* one without data is an index, or nothing */
    w->crc = 0;
    w->member_bytes = 0;
    return true;
}

static void *writer(void *arg) {
    struct work *w = arg;
    struct piece p;
    bool good = true;
    uint64_t before = 0;
    while (cc_recv(w->pieces, &p) == 0) {
        if (good) good = p.data == NULL ? end_member(w, &p) : write_data(w, &p);
        if (!good) cc_chan_close(w->spare);
        if (p.data != NULL && cc_send(w->spare, p.data) != 0) free(p.data);
        gz_progress_add(w->job->progress, p.offset - before);
        before = p.offset;
    }
    return NULL;
}

/* ---- the inflater ---- */

static uint8_t *take_buffer(struct work *w) {
    uint8_t *buffer = NULL;
    int rc = cc_try_recv(w->spare, &buffer);
    if (rc == -EAGAIN && w->made_buffers < BUFFERS && (buffer = malloc(PIECE)) != NULL) {
        w->made_buffers++;
        return buffer;
    }
    if (rc == -EAGAIN && w->made_buffers > 0) rc = cc_recv(w->spare, &buffer);
    if (rc != 0) gz_fail(w->job, "out of memory"); /* or the writer has said something */
    return rc == 0 ? buffer : NULL;
}

static void send(struct work *w, struct piece p) {
    p.offset = gz_source_offset(&w->source);
    w->found->data_bytes += p.bytes;
    if (cc_send(w->pieces, p) != 0) free(p.data);
}

static bool read_failed(struct work *w, int64_t rc) {
    gz_fail(w->job, "read error at byte %llu: %s", (unsigned long long)gz_source_offset(&w->source),
            cc_strerror((int)rc));
    return false;
}

static bool ended_early(struct work *w) {
    const struct gz_source *s = &w->source;
    gz_fail(w->job, "unexpected end of file at byte %llu", (unsigned long long)gz_source_offset(s) + s->bytes);
    return false;
}

/* Inflate until a buffer is full or the stream ends: GZ_MORE or GZ_END; else it was said why not. */
static int inflate_piece(struct work *w, struct gz_flow *flow) {
    const struct gz_engine *engine = w->job->way->engine;
    struct gz_source *s = &w->source;
    for (;;) {
        flow->in = s->at;
        flow->in_bytes = s->bytes;
        int rc = engine->decode(w->decoder, flow);
        s->at = flow->in;
        s->bytes = flow->in_bytes;
        if (rc == GZ_BAD)
            gz_fail(w->job, "corrupted data at byte %llu", (unsigned long long)gz_source_offset(s));
        else if (rc == GZ_NO_SPACE)
            gz_fail(w->job, "out of memory");
        if (rc != GZ_MORE || flow->out_bytes == 0) return rc;
        int64_t got = gz_source_more(s);
        if (got > 0) continue;
        if (got == 0)
            (void)ended_early(w);
        else
            (void)read_failed(w, got);
        return GZ_BAD;
    }
}

static bool inflate_member(struct work *w) {
    int rc = GZ_MORE;
    w->job->way->engine->decoder_reset(w->decoder);
    while (rc == GZ_MORE) {
        uint8_t *buffer = take_buffer(w);
        if (buffer == NULL) return false;
        struct gz_flow flow = {.out = buffer, .out_bytes = PIECE};
        rc = inflate_piece(w, &flow);
        send(w, (struct piece){.data = buffer, .bytes = (size_t)(flow.out - buffer)}); /* also what precedes an error */
    }
    return rc == GZ_END;
}

static bool read_trailer(struct work *w) {
    struct gz_source *s = &w->source;
    while (s->bytes < GZ_TRAILER) {
        int64_t got = gz_source_more(s);
        if (got < 0) return read_failed(w, got);
        if (got == 0) return ended_early(w);
    }
    send(w, (struct piece){.crc = gz_get32(s->at), .size = gz_get32(s->at + 4)});
    gz_source_skip(s, GZ_TRAILER);
    return true;
}

/* ---- indexes, which are only looked at ---- */

static void damaged_index(struct work *w, uint64_t offset) {
    gz_warn(w->job, "damaged index at byte %llu; the data is good", (unsigned long long)offset);
}

/* Bits behind the last block mean nothing to others; here they are as we have made them. */
static bool ends_as_index(struct work *w, size_t header_bytes) {
    struct gz_source *s = &w->source;
    while (s->bytes < header_bytes + GZ_INDEX_ENDING)
        if (gz_source_more(s) <= 0) return false;
    return gz_index_ends(s->at + header_bytes);
}

/* What a header says of our index, and whether it is true. */
static void look_for_index(struct work *w, size_t header_bytes) {
    struct part *p = &w->part;
    uint64_t here = gz_source_offset(&w->source);
    switch (gz_index_find(w->header, w->index)) {
    case GZ_INDEX_NONE: break;
    case GZ_INDEX_DAMAGED:
        damaged_index(w, here);
        p->marked = p->more = false;
        break;
    case GZ_INDEX_MARK:
        if (p->marked) damaged_index(w, here);
        p->marked = true;
        p->more = false;
        p->from = here;
        p->data_from = w->found->data_bytes;
        gz_source_sum_begin(&w->source);
        break;
    case GZ_INDEX_HERE:
        if (!ends_as_index(w, header_bytes) || !p->marked || w->index->part_crc != gz_source_sum(&w->source) ||
            w->index->part_bytes != here - p->from || w->index->data_bytes != w->found->data_bytes - p->data_from)
            damaged_index(w, here);
        p->marked = false;
        p->more = w->index->more;
        w->source.summed = NULL;
        break;
    }
}

/* The input ends where it may. */
static bool ends_well(struct work *w) {
    return w->part.marked || w->part.more ? ended_early(w) : true;
}

/* ---- members ---- */

/* Behind the last member: zeros are nothing. */
static bool read_garbage(struct work *w) {
    struct gz_source *s = &w->source;
    uint64_t from = gz_source_offset(s);
    for (;;) {
        for (size_t i = 0; i < s->bytes; i++) {
            if (s->at[i] == 0) continue;
            gz_warn(w->job, "decompressed, but there is garbage from byte %llu on", (unsigned long long)from);
            return ends_well(w);
        }
        gz_source_skip(s, s->bytes);
        int64_t got = gz_source_more(s);
        if (got < 0) return read_failed(w, got);
        if (got == 0) return ends_well(w);
    }
}

/* Input that is not gzip, as it is. */
static bool copy(struct work *w) {
    struct gz_source *s = &w->source;
    for (;;) {
        size_t n = s->bytes < PIECE ? s->bytes : PIECE;
        if (n > 0) {
            uint8_t *buffer = take_buffer(w);
            if (buffer == NULL) return false;
            memcpy(buffer, s->at, n);
            gz_source_skip(s, n);
            send(w, (struct piece){.data = buffer, .bytes = n});
        }
        int64_t got = s->bytes > 0 ? 1 : gz_source_more(s);
        if (got < 0) return read_failed(w, got);
        if (got == 0) return true;
    }
}

/* Whether it is to be copied: so is what does not begin as gzip files do, also what is too short for that. */
static bool is_copied(const struct work *w) {
    const uint8_t *at = w->source.at;
    return w->job->copy && !w->found->is_gzip && (w->source.bytes < 2 || at[0] != GZ_ID1 || at[1] != GZ_ID2);
}

static bool not_gzip(struct work *w, const char *why) {
    if (is_copied(w)) return copy(w);
    const uint8_t *at = w->source.at;
    if (w->found->is_gzip && (at[0] != GZ_ID1 || (w->source.bytes > 1 && at[1] != GZ_ID2))) return read_garbage(w);
    gz_fail(w->job, "%s, at byte %llu", why, (unsigned long long)gz_source_offset(&w->source));
    return false;
}

static void *inflater(void *arg) {
    struct work *w = arg;
    struct gz_found *f = w->found;
    bool good = true;
    while (good) {
        const char *why = "";
        int64_t size = gz_source_header(&w->source, w->header, &why);
        if (size == -EBADMSG) {
            (void)not_gzip(w, why);
            return NULL;
        }
        if (size < 0) {
            (void)read_failed(w, size);
            return NULL;
        }
        if (size == 0) {
            if (f->is_gzip && w->source.bytes == 0)
                (void)ends_well(w);
            else if (is_copied(w))
                (void)copy(w);
            else if (f->is_gzip && w->source.bytes == 1) /* the first byte of a header may as well be garbage */
                (void)read_garbage(w);
            else
                (void)ended_early(w);
            return NULL;
        }
        if (!f->is_gzip) {
            f->is_gzip = true;
            f->time = w->header->time;
            memcpy(f->name, w->header->name, sizeof f->name);
        }
        look_for_index(w, (size_t)size);
        gz_source_skip(&w->source, (size_t)size);
        good = inflate_member(w) && read_trailer(w);
    }
    return NULL;
}

/* ---- all of it ---- */

static int prepare(struct work *w) {
    w->header = calloc(1, sizeof *w->header);
    w->index = malloc(sizeof *w->index);
    w->decoder = w->job->way->engine->decoder_create();
    int rc = gz_source_init(&w->source, &w->job->in, SOURCE);
    if (rc == 0) rc = w->header == NULL || w->index == NULL || w->decoder == NULL ? -ENOMEM : 0;
    if (rc == 0) rc = cc_chan_create(w->pieces, BUFFERS);
    if (rc == 0) rc = cc_chan_create(w->spare, BUFFERS);
    return rc;
}

static void release(struct work *w) {
    uint8_t *buffer;
    while (w->spare.ch != NULL && cc_try_recv(w->spare, &buffer) == 0) free(buffer);
    cc_chan_destroy(w->spare);
    cc_chan_destroy(w->pieces);
    if (w->decoder != NULL) w->job->way->engine->decoder_destroy(w->decoder);
    gz_source_fini(&w->source);
    free(w->index);
    free(w->header);
}

/* The two work at the same time, if there are workers for both: each has its own. Who wakes the other goes on for long,
 * and would otherwise keep it, since tasks that wake each other stay together. */
static int run_both(struct work *w) {
    const bool apart = w->job->way->workers > 1;
    const cc_task_attr first = {.name = "inflater", .worker = apart ? 1 : 0};
    const cc_task_attr second = {.name = "writer", .worker = apart ? 2 : 0};
    cc_task inflating, writing;
    int rc = cc_task_spawn(&writing, &second, writer, w);
    if (rc != 0) return rc;
    rc = cc_task_spawn(&inflating, &first, inflater, w);
    if (rc == 0) (void)cc_task_join(inflating, NULL);
    cc_chan_close(w->pieces);
    (void)cc_task_join(writing, NULL);
    return rc;
}

void gz_inflate_stream(struct gz_job *job, struct gz_found *found, uint64_t skip, uint32_t skip_crc) {
    struct work w = {.job = job, .found = found, .skip = skip, .skip_crc = skip_crc};
    memset(found, 0, sizeof *found);
    int rc = prepare(&w);
    if (rc == 0) rc = run_both(&w);
    if (rc != 0)
        gz_fail(job, "%s", cc_strerror(rc));
    else if (w.written < skip)
        gz_fail(job, "corrupted data: at byte %llu there is less of it than before",
                (unsigned long long)gz_source_offset(&w.source));
    release(&w);
}

void *gz_run(void *run) {
    struct gz_run *r = run;
    if (r->found == NULL)
        gz_compress(r->job);
    else
        gz_decompress(r->job, r->found);
    return NULL;
}
