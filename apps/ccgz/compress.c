/* SPDX-License-Identifier: MIT */
/* Compression. A task reads blocks, each block is compressed by a task of its own, and a third task writes them in
 * their order:
 *
 *   reader                            one task a block             writer
 *   takes a block from `spare`        takes an encoder, or         receives blocks from `ordered`
 *   copies the end of the last        makes one                    writes header, block, trailer, index
 *   one before it, reads it           compresses, checksum         puts the block back into `spare`
 *   spawns into `ordered`
 *
 * Blocks and encoders go round, so memory is bounded by their number, whatever the input's size. The reader is one
 * block ahead: whether a block is the last one must be known before it is compressed.
 *
 * Every block but the first of a chunk may refer to the 32 KiB before it, so that blocks cost little; the first ones
 * may not, so that inflating can begin there. What ends a chunk is a whole byte, as for every block.
 *
 * An error makes the writer close `spare`, at which the reader gives up. The writer goes on until all blocks have come
 * back.
 *
 * Prev: index.c  Next: stream.c */
#include "pipeline.h"
#include "engine.h"
#include "index.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

enum { AHEAD = 4, BATCH = 8, VECTORS = 3 * BATCH };

struct work;

struct block {
    struct work *work;
    size_t dictionary; /* bytes before `in` that it refers to */
    size_t bytes;
    bool first, last; /* of a part */
    bool ends;        /* the last of all */
    bool ends_chunk;
    uint32_t crc;
    size_t made; /* bytes in `out`; 0: no memory for an encoder */
    uint8_t *in; /* GZ_WINDOW bytes are before it */
    uint8_t *out;
    uint8_t memory[];
};

typedef CC_CHAN(struct block *) block_chan;
typedef CC_CHAN(void *) encoder_chan;

struct work {
    struct gz_job *job;
    const struct gz_way *way;
    cc_ordered *ordered;
    block_chan spare;
    encoder_chan encoders;
    bool indexed; /* W: reader, before the first block.  R: all */
    size_t made_blocks, window;

    /* of the reader: blocks that were read and not yet spawned, and how many to read at a time */
    struct block *ahead[AHEAD];
    size_t ahead_count, ahead_next, ahead_most;

    struct gz_index *index;

    /* of the writer: the part so far, and its last chunk */
    uint32_t crc, part_crc;
    uint64_t data_bytes, part_bytes, chunk_made;
    struct iovec vectors[VECTORS]; /* what is to be written */
    int vector_count;
    size_t small_bytes;
    uint8_t small[512]; /* what of it is in no block */
};

/* ---- blocks ---- */

static struct block *block_create(struct work *w) {
    size_t in = GZ_WINDOW + w->way->block;
    struct block *b = malloc(sizeof *b + in + gz_encode_room(w->way->block));
    if (b == NULL) return NULL;
    b->work = w;
    b->in = b->memory + GZ_WINDOW;
    b->out = b->memory + in;
    return b;
}

/* One that nobody uses. NULL: the writer has given up, there is no memory, or there is none and it is not to wait. */
static struct block *block_take(struct work *w, bool waits) {
    struct block *b = NULL;
    int rc = cc_try_recv(w->spare, &b);
    if (rc == -EAGAIN && w->made_blocks < w->window) {
        b = block_create(w);
        if (b != NULL) w->made_blocks++;
        if (b != NULL || w->made_blocks < 2) return b; /* with two, one comes back */
    }
    if (rc == -EAGAIN && waits) rc = cc_recv(w->spare, &b);
    return rc == 0 ? b : NULL;
}

/* ---- the tasks ---- */

static void *compress_block(void *arg) {
    struct block *b = arg;
    struct work *w = b->work;
    void *encoder = NULL;
    if (cc_try_recv(w->encoders, &encoder) != 0) encoder = w->way->engine->encoder_create(w->way->level);
    b->made = 0;
    if (encoder == NULL) return b;
    b->crc = gz_crc(0, b->in, b->bytes);
    b->made = gz_encode(w->way->engine, encoder, b->in, b->bytes, b->dictionary, b->last, b->out);
    if (cc_try_send(w->encoders, encoder) != 0) w->way->engine->encoder_destroy(encoder);
    return b;
}

/* Read into as many blocks as are spare, at one go: at first one, so that work begins soon, then more. A pipe is not
 * waited for longer than one block takes. False: an error, or the writer has given up. */
static bool read_ahead(struct work *w) {
    struct iovec v[AHEAD];
    size_t n = 0, block = w->way->block;
    for (struct block *b; n < w->ahead_most && (b = block_take(w, n == 0)) != NULL; n++) {
        w->ahead[n] = b;
        v[n] = (struct iovec){.iov_base = b->in, .iov_len = block};
    }
    if (n == 0) {
        gz_fail(w->job, "out of memory"); /* or something was said before */
        return false;
    }
    w->ahead_next = 0;
    w->ahead_count = n;
    if (w->job->in.seekable && w->ahead_most < AHEAD) w->ahead_most *= 2;
    int64_t got = gz_read_vector(&w->job->in, v, (int)n);
    if (got < 0) {
        gz_fail(w->job, "read error: %s", cc_strerror((int)got));
        return false;
    }
    size_t left = (size_t)got;
    for (size_t i = 0; i < n; i++) {
        w->ahead[i]->bytes = left < block ? left : block;
        left -= w->ahead[i]->bytes;
    }
    while (w->ahead_count > 1 && w->ahead[w->ahead_count - 1]->bytes == 0) free(w->ahead[--w->ahead_count]);
    return true;
}

/* The next block of input, empty at its end; `before` is the one before it. NULL: an error, or the writer has given
 * up. */
static struct block *read_block(struct work *w, const struct block *before) {
    if (w->ahead_next == w->ahead_count && !read_ahead(w)) return NULL;
    struct block *b = w->ahead[w->ahead_next++];
    b->dictionary = 0;
    if (before != NULL && w->way->engine->dictionary && !w->way->independent && before->bytes >= GZ_WINDOW) {
        b->dictionary = GZ_WINDOW;
        memcpy(b->in - GZ_WINDOW, before->in + before->bytes - GZ_WINDOW, GZ_WINDOW);
    }
    return b;
}

/* Where blocks stand in chunks and parts. */
struct place {
    uint64_t in_chunk; /* bytes before this block */
    uint32_t chunks;
    bool first;
};

static void put_in_place(struct work *w, struct place *at, struct block *b, bool ends) {
    const bool members = !w->way->engine->joins;
    if (at->in_chunk == 0) b->dictionary = w->indexed ? 0 : b->dictionary;
    at->in_chunk += b->bytes;
    b->first = at->first;
    b->ends = ends;
    b->ends_chunk = ends || members || at->in_chunk >= w->way->chunk;
    if (b->ends_chunk) {
        at->in_chunk = 0;
        at->chunks++;
    }
    b->last = ends || (w->indexed && at->chunks == GZ_CHUNKS_MAX);
    at->first = b->last;
    if (b->last) at->chunks = 0;
}

/* Whether an index is of use: only if there is more than one chunk. */
static bool wants_index(const struct work *w, bool only_block) {
    const struct gz_io *in = &w->job->in;
    return w->way->index && !only_block && !(in->seekable && in->size <= w->way->chunk);
}

static void *reader(void *arg) {
    struct work *w = arg;
    struct place at = {.first = true};
    bool begun = false;
    for (struct block *b = read_block(w, NULL), *next; b != NULL; b = next) {
        bool ends = b->bytes < w->way->block;
        next = ends ? NULL : read_block(w, b);
        if (!ends && next == NULL) {
            free(b);
            break;
        }
        if (!ends && next->bytes == 0) {
            ends = true;
            free(next);
            next = NULL;
        }
        if (!begun) w->indexed = wants_index(w, ends);
        begun = true;
        put_in_place(w, &at, b, ends);
        int rc = cc_ordered_spawn(w->ordered, compress_block, b);
        if (rc == 0) continue;
        gz_fail(w->job, "%s", cc_strerror(rc));
        free(b);
        free(next);
        break;
    }
    cc_ordered_close(w->ordered);
    return NULL;
}

/* ---- the writer ---- */

/* Write what was put. */
static bool flush(struct work *w) {
    int rc = gz_write_vector(&w->job->out, w->vectors, w->vector_count);
    if (rc != 0) gz_fail_write(w->job, rc);
    w->vector_count = 0;
    w->small_bytes = 0;
    return rc == 0;
}

/* To be written next. What is in a block is there until the flush; the rest is copied, or written at once. */
static bool put(struct work *w, const void *from, size_t bytes, bool in_block) {
    const bool copied = !in_block && bytes <= sizeof w->small;
    w->part_bytes += bytes;
    if (w->indexed) w->part_crc = gz_crc(w->part_crc, from, bytes);
    if ((w->vector_count == VECTORS || (copied && bytes > sizeof w->small - w->small_bytes)) && !flush(w)) return false;
    if (copied) {
        from = memcpy(w->small + w->small_bytes, from, bytes);
        w->small_bytes += bytes;
    }
    w->vectors[w->vector_count++] = (struct iovec){.iov_base = (void *)from, .iov_len = bytes};
    return in_block || copied || flush(w);
}

/* The header of a part, or of a member in it. */
static bool put_header(struct work *w, bool first) {
    uint8_t mark[GZ_MARK], small[16 + GZ_MARK], *header = small;
    enum gz_index_kind kind = w->way->engine->joins ? GZ_IN_MEMBER : GZ_MEMBERS;
    const char *name = first ? w->job->header_name : NULL;
    if (name != NULL && (header = malloc(sizeof small + strlen(name) + 1)) == NULL) {
        gz_fail(w->job, "out of memory");
        return false;
    }
    bool marked = first && w->indexed;
    gz_index_mark(mark, kind);
    size_t n = gz_header_make(header, w->way->level, w->job->header_time, name, marked ? mark : NULL, GZ_MARK);
    if (marked) {
        gz_index_begin(w->index, kind, w->way->chunk);
    }
    bool good = put(w, header, n, false);
    if (header != small) free(header);
    return good;
}

static bool put_index(struct work *w, bool more) {
    uint8_t *text = malloc(GZ_INDEX_ROOM);
    if (text == NULL) {
        gz_fail(w->job, "out of memory");
        return false;
    }
    w->index->part_bytes = w->part_bytes;
    w->index->part_crc = w->part_crc;
    w->index->more = more;
    bool good = put(w, text, gz_index_make(w->index, text), false);
    free(text);
    return good;
}

/* Write a block, and what goes before and after it. */
static bool put_block(struct work *w, const struct block *b) {
    uint8_t trailer[GZ_TRAILER];
    const bool members = !w->way->engine->joins;
    if (b->made == 0) {
        gz_fail(w->job, "out of memory");
        return false;
    }
    if (b->first) w->part_bytes = w->part_crc = 0;
    uint64_t from = w->part_bytes;
    if ((b->first || members) && !put_header(w, b->first)) return false;
    if (members) {
        w->chunk_made = w->part_bytes - from;
        w->crc = 0;
        w->data_bytes = 0;
    }
    w->crc = gz_crc_join(w->crc, b->crc, b->bytes);
    w->data_bytes += b->bytes;
    w->chunk_made += b->made;
    if (w->indexed) w->index->data_bytes += b->bytes;
    if (!put(w, b->out, b->made, true)) return false;
    gz_trailer_make(trailer, w->crc, w->data_bytes);
    if ((b->last || members) && !put(w, trailer, sizeof trailer, false)) return false;
    if (members) w->chunk_made += sizeof trailer;
    if (b->ends_chunk) {
        if (w->indexed) gz_index_add(w->index, w->chunk_made);
        w->chunk_made = 0;
    }
    if (!b->last) return true;
    w->crc = 0;
    w->data_bytes = 0;
    return !w->indexed || put_index(w, !b->ends);
}

/* What is there is written at one go. */
static void writer(struct work *w) {
    void *result;
    bool good = true;
    while (cc_ordered_recv(w->ordered, &result) == 0) {
        struct block *batch[BATCH];
        size_t n = 0;
        do batch[n++] = result;
        while (n < BATCH && cc_ordered_try_recv(w->ordered, &result) == 0);
        for (size_t i = 0; i < n && good; i++) good = put_block(w, batch[i]);
        if (good) good = flush(w);
        if (!good) cc_chan_close(w->spare);
        for (size_t i = 0; i < n; i++) {
            uint64_t bytes = batch[i]->bytes;
            if (cc_send(w->spare, batch[i]) != 0) free(batch[i]);
            if (good) gz_progress_add(w->job->progress, bytes);
        }
    }
}

/* ---- all of it ---- */

static void release(struct work *w) {
    struct block *b;
    void *encoder;
    while (w->ahead_next < w->ahead_count) free(w->ahead[w->ahead_next++]);
    while (w->spare.ch != NULL && cc_try_recv(w->spare, &b) == 0) free(b);
    while (w->encoders.ch != NULL && cc_try_recv(w->encoders, &encoder) == 0) w->way->engine->encoder_destroy(encoder);
    cc_chan_destroy(w->spare);
    cc_chan_destroy(w->encoders);
    cc_ordered_destroy(w->ordered);
    free(w->index);
}

void gz_compress(struct gz_job *job) {
    struct work w = {.job = job, .way = job->way};
    const cc_task_attr first = {.name = "reader", .priority = CC_PRIORITY_HIGH};
    cc_task t;
    w.ahead_most = 1;
    w.window = 2 * (size_t)w.way->workers + 7;
    w.index = malloc(sizeof *w.index); /* pages of it that are not used cost nothing */
    int rc = w.index == NULL ? -ENOMEM : cc_ordered_create(&w.ordered, w.window);
    if (rc == 0) rc = cc_chan_create(w.spare, w.window); /* NOLINT(bugprone-sizeof-expression): of pointers */
    if (rc == 0) rc = cc_chan_create(w.encoders, w.way->workers);
    if (rc == 0) rc = cc_task_spawn(&t, &first, reader, &w);
    if (rc == 0) {
        writer(&w);
        (void)cc_task_join(t, NULL);
    } else {
        gz_fail(job, "%s", cc_strerror(rc));
    }
    release(&w);
}
