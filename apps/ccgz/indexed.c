/* SPDX-License-Identifier: MIT */
/* Inflating by an index: chunks at the same time, each by a task, written in their order.
 *
 *   writer                                       one task a chunk
 *   spawns the first few chunks                  takes a buffer of its chunk's, inflates into it, sends it
 *   for each chunk in order:                     the chunk is over: says whether it was as the index has it, and
 *     receives its buffers, writes them,           what the trailer says, if it is at the end of a member
 *       gives them back
 *     compares the checksum with the trailer
 *     spawns the next chunk in its place
 *
 * A chunk has buffers for most of it: when its turn comes the rest follows, and in the meantime the others go on. So
 * less than a chunk for each processor is enough.
 *
 * The index is found from the end of the file: parts are followed back to the beginning, and they must be all of it.
 * It is never believed. Each chunk must have the length it says, and end between two blocks at a whole byte: what comes
 * out is then what comes out of a stream. The member must have the checksum in its trailer, as anywhere. If anything is
 * not so, all is done again from the beginning, without it, and errors are named there.
 *
 * Prev: stream.c  Next: file.c */
#include "engine.h"
#include "index.h"
#include "pipeline.h"
#include "progress.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 128 * 1024, BUFFERS = 3, SOURCE = 64 * 1024, WHOLE_MAX = 16 * 1024 * 1024, HEAD_MOST = 8192 };

struct piece {
    uint8_t *data; /* NULL: the chunk is over */
    size_t bytes;
    uint32_t crc;
    uint32_t packed_crc; /* of the chunk as it is in the file */
    bool good;           /* of the chunk */
    uint8_t trailer[GZ_TRAILER];
};

typedef CC_CHAN(struct piece) piece_chan;
typedef CC_CHAN(uint8_t *) buffer_chan;

struct chunk {
    struct gz_job *job;
    cc_task task;            /* while it is busy */
    bool busy, member, last; /* it begins with a header; it ends with a trailer */
    bool ends_part;
    uint32_t part_crc; /* then: what it should be */
    uint64_t index_at; /* who says so */
    bool whole;
    uint64_t from, to; /* where it is in the file */
    size_t data_bytes;
    struct gz_source source;
    void *decoder;
    size_t made_buffers;
    buffer_chan spare;
    piece_chan pieces;
};

struct part {
    uint64_t from, index_at;
    size_t index_bytes;
};

struct work {
    struct gz_job *job;
    struct gz_found *found;
    struct part *parts; /* the last of the file first */
    size_t part_count, part_next;
    bool whole;

    /* the chunk to begin next, in a part */
    struct gz_index *index;
    struct gz_header *header;
    uint32_t chunk_next;
    size_t index_at;
    uint64_t at, header_bytes, data_left;

    /* of what was written */
    uint32_t crc, all_crc, part_crc;
    uint64_t member_bytes;
    uint64_t wrong_at; /* the index that was not true */

    size_t chunk_count;
    struct chunk *chunks;
};

/* ---- one chunk: a task ---- */

static uint8_t *take_buffer(struct chunk *c) {
    uint8_t *buffer = NULL;
    int rc = cc_try_recv(c->spare, &buffer);
    if (rc == -EAGAIN && c->made_buffers < BUFFERS && (buffer = malloc(PIECE)) != NULL) {
        c->made_buffers++;
        return buffer;
    }
    if (rc == -EAGAIN && c->made_buffers > 0) rc = cc_recv(c->spare, &buffer);
    return rc == 0 ? buffer : NULL;
}

/* Inflate until there is no more room, or the input or stream ends: then true. */
static bool inflate_some(struct chunk *c, struct gz_flow *flow, int *rc) {
    struct gz_source *s = &c->source;
    for (;;) {
        flow->in = s->at;
        flow->in_bytes = s->bytes;
        *rc = c->job->way->engine->decode(c->decoder, flow);
        s->at = flow->in;
        s->bytes = flow->in_bytes;
        if (*rc != GZ_MORE || flow->out_bytes == 0) return *rc == GZ_END;
        if (gz_source_more(s) <= 0) return true;
    }
}

static bool skip_header(struct chunk *c) {
    const char *why;
    struct gz_header h;
    int64_t size = gz_source_header(&c->source, &h, &why);
    if (size <= 0) return false;
    gz_source_skip(&c->source, (size_t)size);
    return true;
}

/* Nothing more must come out of it: it ends as a member does, with a trailer, or where its bytes end. */
static bool ends_there(struct chunk *c, int rc, uint8_t trailer[GZ_TRAILER]) {
    uint8_t none;
    struct gz_flow flow = {.out = &none, .out_bytes = 1};
    struct gz_source *s = &c->source;
    if (rc == GZ_MORE && (!inflate_some(c, &flow, &rc) || flow.out_bytes != 1)) return false;
    if (!c->last)
        return rc == GZ_MORE && s->bytes == 0 && s->from == s->to && c->job->way->engine->between_blocks(c->decoder);
    while (s->bytes < GZ_TRAILER && gz_source_more(s) > 0) {
    }
    if (rc != GZ_END || s->bytes != GZ_TRAILER || s->from != s->to) return false;
    memcpy(trailer, s->at, GZ_TRAILER);
    return true;
}

static bool inflate_pieces(struct chunk *c, struct piece *over) {
    size_t left = c->data_bytes;
    int rc = GZ_MORE;
    gz_source_range(&c->source, c->from, c->to);
    if (c->member && !skip_header(c)) return false;
    c->job->way->engine->decoder_reset(c->decoder);
    while (left > 0) {
        uint8_t *buffer = take_buffer(c);
        if (buffer == NULL) return false;
        size_t room = left < PIECE ? left : PIECE;
        struct gz_flow flow = {.out = buffer, .out_bytes = room};
        (void)inflate_some(c, &flow, &rc);
        struct piece p = {.data = buffer, .bytes = room - flow.out_bytes};
        p.crc = gz_crc(0, buffer, p.bytes);
        if (cc_send(c->pieces, p) != 0) free(buffer);
        if (flow.out_bytes > 0) return false;
        left -= room;
    }
    bool good = ends_there(c, rc, over->trailer);
    over->packed_crc = c->source.crc;
    return good;
}

/* The same at one go, of a member. */
static bool inflate_whole(struct chunk *c, struct piece *over) {
    const size_t bytes = (size_t)(c->to - c->from);
    struct gz_header h;
    const char *why;
    struct piece p = {.data = malloc(c->data_bytes), .bytes = c->data_bytes};
    uint8_t *in = malloc(bytes);
    bool good = p.data != NULL && in != NULL && gz_read_at(&c->job->in, c->from, in, bytes) == (int64_t)bytes;
    if (good) {
        int64_t head = gz_header_parse(&h, in, bytes, &why);
        good = head > 0 && (size_t)head + GZ_TRAILER < bytes;
        if (good) memcpy(over->trailer, in + bytes - GZ_TRAILER, GZ_TRAILER);
        size_t stream = bytes - (size_t)(good ? head : 0) - GZ_TRAILER;
        good = good && c->job->way->engine->decode_whole(c->decoder, in + head, stream, p.data, p.bytes) == 0;
    }
    if (good) over->packed_crc = gz_crc(0, in, bytes);
    free(in);
    if (good) p.crc = gz_crc(0, p.data, p.bytes);
    if (!good || cc_send(c->pieces, p) != 0) free(p.data);
    return good;
}

static void *inflate_chunk(void *arg) {
    struct chunk *c = arg;
    struct piece over = {.data = NULL};
    over.good = c->whole ? inflate_whole(c, &over) : inflate_pieces(c, &over);
    (void)cc_send(c->pieces, over);
    return NULL;
}

static bool chunk_init(struct chunk *c, struct work *w) {
    const struct gz_engine *engine = w->job->way->engine;
    c->job = w->job;
    c->whole = w->whole;
    c->decoder = c->whole ? engine->whole_create() : engine->decoder_create();
    return c->decoder != NULL && gz_source_init(&c->source, &w->job->in, SOURCE) == 0 &&
           cc_chan_create(c->pieces, BUFFERS + 1) == 0 && cc_chan_create(c->spare, BUFFERS) == 0;
}

static void chunk_fini(struct chunk *c) {
    if (c->job == NULL) return; /* it was never begun */
    const struct gz_engine *engine = c->job->way->engine;
    uint8_t *buffer;
    while (c->spare.ch != NULL && cc_try_recv(c->spare, &buffer) == 0) free(buffer);
    cc_chan_destroy(c->spare);
    cc_chan_destroy(c->pieces);
    if (c->decoder != NULL) (c->whole ? engine->whole_destroy : engine->decoder_destroy)(c->decoder);
    gz_source_fini(&c->source);
}

/* ---- which chunks there are ---- */

/* The index that ends at `end`: where it begins, or false. */
static bool read_index(struct work *w, uint64_t end, struct part *p) {
    uint8_t tail[64];
    const char *why;
    size_t n = end < sizeof tail ? (size_t)end : sizeof tail;
    if (gz_read_at(&w->job->in, end - n, tail, n) != (int64_t)n) return false;
    p->index_bytes = gz_index_at_end(tail, n);
    if (p->index_bytes == 0 || p->index_bytes > end) return false;
    p->index_at = end - p->index_bytes;
    uint8_t *text = malloc(p->index_bytes);
    bool good = text != NULL && gz_read_at(&w->job->in, p->index_at, text, p->index_bytes) == (int64_t)p->index_bytes &&
                gz_header_parse(w->header, text, p->index_bytes, &why) > 0 &&
                gz_index_find(w->header, w->index) == GZ_INDEX_HERE && w->index->part_bytes <= p->index_at;
    free(text);
    p->from = good ? p->index_at - w->index->part_bytes : 0;
    return good;
}

/* Whether chunks can be inflated as a whole: they are members, and no larger than we would have made them. */
static bool may_be_whole(const struct gz_index *x) {
    if (x->kind != GZ_MEMBERS || x->chunk_bytes > WHOLE_MAX) return false;
    const uint64_t most = gz_encode_room((size_t)x->chunk_bytes) + HEAD_MOST + GZ_TRAILER;
    size_t at = 0;
    for (uint32_t i = 0; i < x->chunks; i++)
        if (gz_index_next(x, &at) > most) return false;
    return true;
}

/* All parts, from the end of the file to its beginning. */
static bool find_parts(struct work *w) {
    struct part p;
    for (uint64_t end = w->job->in.size; end > 0; end = p.from) {
        if (!read_index(w, end, &p)) return false;
        if (w->part_count == 0 && w->index->more) return false;
        struct part *more = realloc(w->parts, (w->part_count + 1) * sizeof p);
        if (more == NULL) return false;
        w->parts = more;
        w->parts[w->part_count++] = p;
        if (!may_be_whole(w->index)) w->whole = false;
    }
    w->part_next = w->part_count;
    return w->part_count > 0;
}

/* Begin the next part: its index, and its first header. False: it is not as it should be. */
static bool begin_part(struct work *w) {
    struct part *p = &w->parts[--w->part_next], same;
    struct gz_source s;
    const char *why;
    if (!read_index(w, p->index_at + p->index_bytes, &same) || same.from != p->from) return false;
    if (gz_source_init(&s, &w->job->in, SOURCE) != 0) return false;
    gz_source_range(&s, p->from, p->index_at);
    int64_t size = gz_source_header(&s, w->header, &why);
    struct gz_index *none = NULL; /* a mark needs none */
    bool good = size > 0 && w->header->extra_bytes == GZ_MARK && gz_index_find(w->header, none) == GZ_INDEX_MARK;
    gz_source_fini(&s);
    if (good && !w->found->is_gzip) {
        w->found->is_gzip = true;
        w->found->time = w->header->time;
        memcpy(w->found->name, w->header->name, sizeof w->found->name);
    }
    w->at = p->from;
    w->header_bytes = w->index->kind == GZ_MEMBERS || size < 0 ? 0 : (uint64_t)size;
    w->chunk_next = 0;
    w->index_at = 0;
    w->data_left = w->index->data_bytes;
    return good;
}

/* The next chunk of all: 1; 0: there is none; -1: this is not what the index says. */
static int next_chunk(struct work *w, struct chunk *c) {
    if (w->chunk_next == w->index->chunks || w->part_next == w->part_count) {
        if (w->part_next == 0) return 0;
        if (!begin_part(w)) return -1;
    }
    const struct gz_index *x = w->index;
    const bool members = x->kind == GZ_MEMBERS;
    bool ends = ++w->chunk_next == x->chunks;
    c->member = members || w->chunk_next == 1;
    c->last = members || ends;
    c->from = w->at;
    c->to = c->from + (w->chunk_next == 1 ? w->header_bytes : 0) + gz_index_next(x, &w->index_at) +
            (ends && !members ? GZ_TRAILER : 0);
    c->data_bytes = (size_t)(ends ? w->data_left : x->chunk_bytes);
    w->data_left -= c->data_bytes;
    c->ends_part = ends;
    c->part_crc = x->part_crc;
    c->index_at = w->parts[w->part_next].index_at;
    w->at = c->to;
    return !ends || c->to == w->parts[w->part_next].index_at ? 1 : -1;
}

/* ---- writing ---- */

/* Write pieces at one go. */
static bool write_pieces(struct work *w, const struct piece *p, size_t n) {
    struct iovec v[BUFFERS];
    for (size_t i = 0; i < n; i++) {
        v[i] = (struct iovec){.iov_base = p[i].data, .iov_len = p[i].bytes};
        w->crc = gz_crc_join(w->crc, p[i].crc, p[i].bytes);
        w->all_crc = gz_crc_join(w->all_crc, p[i].crc, p[i].bytes);
        w->member_bytes += p[i].bytes;
        w->found->data_bytes += p[i].bytes;
    }
    int rc = gz_write_vector(&w->job->out, v, (int)n);
    if (rc != 0) gz_fail_write(w->job, rc);
    return rc == 0;
}

static bool end_member(struct work *w, const uint8_t trailer[GZ_TRAILER]) {
    bool good = gz_get32(trailer) == w->crc && gz_get32(trailer + 4) == (uint32_t)w->member_bytes;
    w->found->crc = w->crc;
    w->crc = 0;
    w->member_bytes = 0;
    return good;
}

/* Receive all of a chunk, and write it while things are good. Whether they still are. */
static bool drain(struct work *w, struct chunk *c, bool good) {
    struct piece over = {.data = NULL};
    for (bool ended = false; !ended;) {
        struct piece p[BUFFERS];
        size_t n = 0;
        int rc = cc_recv(c->pieces, &p[0]);
        while (rc == 0 && p[n].data != NULL && ++n < BUFFERS) rc = cc_try_recv(c->pieces, &p[n]);
        ended = rc == 0 && n < BUFFERS;
        if (ended) over = p[n];
        if (good && n > 0) good = write_pieces(w, p, n);
        for (size_t i = 0; i < n; i++)
            if (c->whole || cc_send(c->spare, p[i].data) != 0) free(p[i].data);
    }
    (void)cc_task_join(c->task, NULL);
    c->busy = false;
    if (!good || !over.good) return false;
    gz_progress_add(w->job->progress, c->to - c->from);
    w->part_crc = gz_crc_join(w->part_crc, over.packed_crc, c->to - c->from);
    if (c->ends_part && w->part_crc != c->part_crc) return false;
    if (c->ends_part) w->part_crc = 0;
    return c->last ? end_member(w, over.trailer) : true;
}

static bool begin_chunk(struct work *w, struct chunk *c) {
    int rc = next_chunk(w, c);
    if (rc > 0) c->busy = cc_task_spawn(&c->task, NULL, inflate_chunk, c) == 0;
    if (rc == 0 || c->busy) return true;
    w->wrong_at = w->parts[w->part_next].index_at;
    return false;
}

static bool inflate_all(struct work *w) {
    bool good = true;
    for (size_t i = 0; i < w->chunk_count && good; i++)
        good = chunk_init(&w->chunks[i], w) && begin_chunk(w, &w->chunks[i]);
    for (size_t i = 0; w->chunks[i].busy; i = (i + 1) % w->chunk_count) {
        bool before = good;
        good = drain(w, &w->chunks[i], good);
        if (before && !good) w->wrong_at = w->chunks[i].index_at;
        if (good) good = begin_chunk(w, &w->chunks[i]);
    }
    return good;
}

int gz_inflate_indexed(struct gz_job *job, struct gz_found *found, struct gz_left *left) {
    struct work w = {.job = job, .found = found, .whole = job->way->engine->whole};
    w.chunk_count = (size_t)job->way->workers + 1; /* one is written */
    w.index = malloc(sizeof *w.index);
    w.header = malloc(sizeof *w.header);
    w.chunks = calloc(w.chunk_count, sizeof *w.chunks);
    memset(found, 0, sizeof *found);
    int done = 0;
    if (w.index != NULL && w.header != NULL && w.chunks != NULL && find_parts(&w) &&
        (w.whole || job->way->workers > 1)) {
        job->in_parallel = true;
        w.wrong_at = w.parts[0].index_at; /* unless another turns out to be */
        done = inflate_all(&w) || gz_status(job) == GZ_ERROR ? 1 : -1;
        for (size_t i = 0; i < w.chunk_count; i++) chunk_fini(&w.chunks[i]);
    }
    *left = (struct gz_left){.written_crc = w.all_crc, .index_at = w.wrong_at};
    free(w.chunks);
    free(w.parts);
    free(w.header);
    free(w.index);
    return done;
}

bool gz_index_total(struct gz_job *job, uint64_t *data_bytes) {
    struct work w = {.job = job, .index = malloc(sizeof *w.index), .header = malloc(sizeof *w.header)};
    *data_bytes = 0;
    bool good = w.index != NULL && w.header != NULL && job->in.seekable && find_parts(&w);
    for (size_t i = 0; i < w.part_count && good; i++) {
        struct part same;
        good = read_index(&w, w.parts[i].index_at + w.parts[i].index_bytes, &same);
        *data_bytes += w.index->data_bytes;
    }
    free(w.parts);
    free(w.header);
    free(w.index);
    return good;
}

/* ---- either way ---- */

void gz_decompress(struct gz_job *job, struct gz_found *found) {
    const struct gz_way *way = job->way;
    struct gz_left left = {.written_crc = 0};
    uint64_t written = job->out.done;
    int done = 0;
    if (way->index && job->in.seekable && (way->workers > 1 || way->engine->whole))
        done = gz_inflate_indexed(job, found, &left);
    if (done == 1) return;
    job->in_parallel = false;
    written = job->out.done - written;
    if (written > 0 && job->out.rewinds && ftruncate(job->out.fd, 0) == 0 && lseek(job->out.fd, 0, SEEK_SET) == 0)
        written = job->out.done = 0;
    gz_inflate_stream(job, found, written, left.written_crc);
    if (done < 0 && gz_status(job) == GZ_OK)
        gz_warn(job, "its index at byte %llu is not true; the data is good", (unsigned long long)left.index_at);
}
