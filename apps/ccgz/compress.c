/* SPDX-License-Identifier: MIT */
/* Compression. A task reads blocks and puts them together to runs, each run is compressed by a task of its own, and a
 * third task writes them in their order:
 *
 *   reader                             one task a run               writer
 *   takes blocks from `spare`,         takes an encoder, or         receives runs from `ordered`
 *   reads them; a run from `idle`      makes one                    writes header, run, trailer, index
 *   copies the end of the last one     compresses, checksum         puts the run back into `idle`
 *   before it; spawns into `ordered`   puts blocks into `spare`
 *
 * Blocks, runs and encoders go round, so memory is bounded by their number, whatever the input's size. The reader is
 * one block ahead: whether a block is the last one must be known before it is compressed.
 *
 * Every run but the first of a chunk may refer to the 32 KiB before it, so that runs cost little; the first ones may
 * not, so that inflating can begin there. What ends a chunk is a whole byte, as for every run.
 *
 * A run is two blocks of a file, if the engine takes input in pieces: an encoder that goes on has the 32 KiB before a
 * block in its tables, which are filled anew for one that begins there, and flushes nothing between them. Four would
 * save as much again, half a percent of the time, and take 1 MB more with two workers. A run is one block towards the
 * end of a file, so that all workers come to it at the same time; and where it is not known how much is to come: nobody
 * waits for input that he could do without.
 *
 * One run at most waits to be begun. A worker begins with the newest of several, and those that are made before an
 * older one wait for it, with their buffers: with two waiting there were at times none left, and workers were idle for
 * 2 to 5 % of the time.
 *
 * No more runs are compressed at the same time than there are processors, also while workers are made up for: eight on
 * two would push each other's windows out of the caches, and take 7 % longer. Nor are there more workers than that,
 * however many were asked for: taking turns among eight took 4 to 9 % longer.
 *
 * An error makes the writer close `spare` and `idle`, at which the reader gives up. The writer goes on until all runs
 * have come back.
 *
 * Prev: index.c  Next: stream.c */
#include "pipeline.h"
#include "engine.h"
#include "index.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_MAX = 2, AHEAD = 4, BATCH = 8, VECTORS = 3 * BATCH };
enum { BLOCKS_LEAST = RUN_MAX + 2 }; /* a run that is not full yet, the block after it, and one that comes back */
enum { RUN_BYTES = 256 * 1024 };     /* larger blocks make no longer runs: memory */
enum { RUNS_LEFT = 8 };              /* no run is more of what is left than one of so many */

struct work;

struct block {
    size_t bytes;
    uint8_t in[];
};

struct run {
    struct work *work;
    struct block *blocks[RUN_MAX];
    size_t count, most;
    size_t dictionary; /* bytes it refers to that are before it */
    uint64_t bytes;
    bool first, last; /* of a part */
    bool ends;        /* the last of all */
    bool ends_chunk;
    uint32_t crc;
    size_t made; /* bytes in `out`; 0: no memory for an encoder */
    uint8_t before[GZ_WINDOW];
    uint8_t out[];
};

typedef CC_CHAN(struct block *) block_chan;
typedef CC_CHAN(struct run *) run_chan;
typedef CC_CHAN(void *) encoder_chan;

struct work {
    struct gz_job *job;
    const struct gz_way *way;
    cc_ordered *ordered;
    block_chan spare;
    run_chan idle;
    encoder_chan encoders;
    cc_sem to_begin;                  /* how many more runs may wait to be begun, */
    cc_sem at_once;                   /* and how many more may be compressed */
    bool indexed;                     /* W: reader, before the first run.  R: all */
    size_t run_most, run_room;        /* blocks in a run; bytes that it may become */
    size_t block_window, made_blocks; /* how many there may be, and are */
    size_t run_window, made_runs;

    /* of the reader: blocks that were read and are in no run yet, and how many to read at a time */
    struct block *ahead[AHEAD];
    size_t ahead_count, ahead_next, ahead_most;
    uint64_t taken; /* bytes of blocks that are in runs */

    struct gz_index *index;

    /* of the writer: the part so far, and its last chunk */
    uint32_t crc, part_crc;
    uint64_t data_bytes, part_bytes, chunk_made;
    struct iovec vectors[VECTORS]; /* what is to be written */
    int vector_count;
    size_t small_bytes;
    uint8_t small[512]; /* what of it is in no run */
};

/* ---- blocks and runs ---- */

static struct block *block_create(struct work *w) {
    struct block *b = malloc(sizeof *b + w->way->block);
    if (b != NULL) w->made_blocks++;
    return b;
}

/* One that nobody uses. NULL: the writer has given up, there is no memory, or there is none and it is not to wait. */
static struct block *block_take(struct work *w, bool waits) {
    struct block *b = NULL;
    int rc = cc_try_recv(w->spare, &b);
    if (rc == -EAGAIN && w->made_blocks < w->block_window) {
        b = block_create(w);
        if (b != NULL || w->made_blocks < BLOCKS_LEAST) return b; /* with so many, one comes back */
    }
    if (rc == -EAGAIN && waits) rc = cc_recv(w->spare, &b);
    return rc == 0 ? b : NULL;
}

static void block_give(struct work *w, struct block *b) {
    if (cc_send(w->spare, b) != 0) free(b);
}

/* Begin a run with a block to come. NULL: the writer has given up, or there is no memory. */
static struct run *run_take(struct work *w) {
    struct run *r = NULL;
    int rc = cc_try_recv(w->idle, &r);
    if (rc == -EAGAIN && w->made_runs < w->run_window && (r = malloc(sizeof *r + w->run_room)) != NULL) {
        w->made_runs++;
        rc = 0;
    }
    if (rc == -EAGAIN && w->made_runs > 0) rc = cc_recv(w->idle, &r);
    if (rc != 0) {
        gz_fail(w->job, "out of memory"); /* or something was said before */
        return NULL;
    }
    r->work = w;
    r->count = r->dictionary = 0;
    r->bytes = 0;
    return r;
}

static void run_drop(struct run *r) {
    for (size_t i = 0; r != NULL && i < r->count; i++) free(r->blocks[i]);
    free(r);
}

/* How many blocks are to be in the next one. Not by the number of workers: what is made does not depend on that. */
static size_t run_length(const struct work *w) {
    const struct gz_io *in = &w->job->in;
    if (!in->seekable || in->size <= w->taken) return 1;
    uint64_t share = (in->size - w->taken) / w->way->block / RUNS_LEFT;
    return share < 1 ? 1 : share < w->run_most ? (size_t)share : w->run_most;
}

/* ---- the tasks ---- */

static void *compress_run(void *arg) {
    struct run *r = arg;
    struct work *w = r->work;
    struct iovec pieces[RUN_MAX];
    const struct gz_input in = {
        .pieces = pieces, .count = (int)r->count, .before = {.iov_base = r->before, .iov_len = r->dictionary}};
    void *encoder = NULL;
    cc_sem_acquire(&w->at_once, 1);
    cc_sem_release(&w->to_begin, 1);
    if (cc_try_recv(w->encoders, &encoder) != 0) encoder = w->way->engine->encoder_create(w->way->level);
    r->made = 0;
    r->crc = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct block *b = r->blocks[i];
        pieces[i] = (struct iovec){.iov_base = b->in, .iov_len = b->bytes};
        r->crc = gz_crc(r->crc, b->in, b->bytes);
    }
    if (encoder != NULL) {
        r->made = gz_encode(w->way->engine, encoder, &in, r->last, r->out, w->run_room);
        if (cc_try_send(w->encoders, encoder) != 0) w->way->engine->encoder_destroy(encoder);
    }
    cc_sem_release(&w->at_once, 1);
    for (size_t i = 0; i < r->count; i++) block_give(w, r->blocks[i]);
    return r;
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

/* The next block of input, empty at its end. NULL: an error, or the writer has given up. */
static struct block *read_block(struct work *w) {
    if (w->ahead_next == w->ahead_count && !read_ahead(w)) return NULL;
    return w->ahead[w->ahead_next++];
}

/* Where runs stand in chunks and parts. */
struct place {
    uint64_t in_chunk; /* bytes before this block */
    uint32_t chunks;
    bool first;
};

/* Put a block to the end of a run. True: the run is over with it. */
static bool put_in_run(struct work *w, struct place *at, struct run *r, struct block *b, bool ends) {
    const bool members = !w->way->engine->joins;
    if (r->count == 0) {
        r->first = at->first;
        r->most = run_length(w);
    }
    r->blocks[r->count++] = b;
    r->bytes += b->bytes;
    w->taken += b->bytes;
    at->in_chunk += b->bytes;
    r->ends = ends;
    r->ends_chunk = ends || members || at->in_chunk >= w->way->chunk;
    if (r->ends_chunk) {
        at->in_chunk = 0;
        at->chunks++;
    }
    r->last = ends || (w->indexed && at->chunks == GZ_CHUNKS_MAX);
    at->first = r->last;
    if (r->last) at->chunks = 0;
    return r->last || (w->indexed && r->ends_chunk) || r->count == r->most;
}

/* What the run after one refers to: it is copied before that one is let go. */
static void copy_dictionary(const struct work *w, const struct run *from, struct run *to) {
    const struct block *b = from->blocks[from->count - 1];
    if (!w->way->engine->dictionary || w->way->independent || b->bytes < GZ_WINDOW) return;
    if (from->last || (w->indexed && from->ends_chunk)) return;
    to->dictionary = GZ_WINDOW;
    memcpy(to->before, b->in + b->bytes - GZ_WINDOW, GZ_WINDOW);
}

/* Whether an index is of use: only if there is more than one chunk. */
static bool wants_index(const struct work *w, bool only_block) {
    const struct gz_io *in = &w->job->in;
    return w->way->index && !only_block && !(in->seekable && in->size <= w->way->chunk);
}

/* Let a run go. The one after it, unless it is the last of all; NULL also: an error. */
static struct run *let_go(struct work *w, struct run *r) {
    struct run *next = NULL;
    if (!r->ends && (next = run_take(w)) != NULL) copy_dictionary(w, r, next);
    int rc = next == NULL && !r->ends ? -ENOMEM : 0;
    if (rc == 0) {
        cc_sem_acquire(&w->to_begin, 1);
        rc = cc_ordered_spawn(w->ordered, compress_run, r);
    }
    if (rc == 0) return next;
    gz_fail(w->job, "%s", cc_strerror(rc)); /* or something was said before */
    run_drop(r);
    run_drop(next);
    return NULL;
}

/* Put blocks together to runs. */
static void read_all(struct work *w) {
    struct place at = {.first = true};
    struct run *r = run_take(w);
    bool begun = false;
    for (struct block *b = read_block(w), *next; b != NULL; b = next) {
        bool ends = b->bytes < w->way->block;
        next = ends ? NULL : read_block(w);
        bool good = r != NULL && (ends || next != NULL);
        if (next != NULL && next->bytes == 0) {
            ends = true;
            free(next);
            next = NULL;
        }
        if (!good) {
            free(b);
            free(next);
            break;
        }
        if (!begun) w->indexed = wants_index(w, ends);
        begun = true;
        if (put_in_run(w, &at, r, b, ends)) r = let_go(w, r);
    }
    run_drop(r);
}

static void *reader(void *arg) {
    struct work *w = arg;
    read_all(w);
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

/* To be written next. What is in a run is there until the flush; the rest is copied, or written at once. */
static bool put(struct work *w, const void *from, size_t bytes, bool in_run) {
    const bool copied = !in_run && bytes <= sizeof w->small;
    w->part_bytes += bytes;
    if (w->indexed) w->part_crc = gz_crc(w->part_crc, from, bytes);
    if ((w->vector_count == VECTORS || (copied && bytes > sizeof w->small - w->small_bytes)) && !flush(w)) return false;
    if (copied) {
        from = memcpy(w->small + w->small_bytes, from, bytes);
        w->small_bytes += bytes;
    }
    w->vectors[w->vector_count++] = (struct iovec){.iov_base = (void *)from, .iov_len = bytes};
    return in_run || copied || flush(w);
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

/* Write a run, and what goes before and after it. */
static bool put_run(struct work *w, const struct run *r) {
    uint8_t trailer[GZ_TRAILER];
    const bool members = !w->way->engine->joins;
    if (r->made == 0) {
        gz_fail(w->job, "out of memory");
        return false;
    }
    if (r->first) w->part_bytes = w->part_crc = 0;
    uint64_t from = w->part_bytes;
    if ((r->first || members) && !put_header(w, r->first)) return false;
    if (members) {
        w->chunk_made = w->part_bytes - from;
        w->crc = 0;
        w->data_bytes = 0;
    }
    w->crc = gz_crc_join(w->crc, r->crc, r->bytes);
    w->data_bytes += r->bytes;
    w->chunk_made += r->made;
    if (w->indexed) w->index->data_bytes += r->bytes;
    if (!put(w, r->out, r->made, true)) return false;
    gz_trailer_make(trailer, w->crc, w->data_bytes);
    if ((r->last || members) && !put(w, trailer, sizeof trailer, false)) return false;
    if (members) w->chunk_made += sizeof trailer;
    if (r->ends_chunk) {
        if (w->indexed) gz_index_add(w->index, w->chunk_made);
        w->chunk_made = 0;
    }
    if (!r->last) return true;
    w->crc = 0;
    w->data_bytes = 0;
    return !w->indexed || put_index(w, !r->ends);
}

/* What is there is written at one go. */
static void writer(struct work *w) {
    void *result;
    bool good = true;
    while (cc_ordered_recv(w->ordered, &result) == 0) {
        struct run *batch[BATCH];
        size_t n = 0;
        do batch[n++] = result;
        while (n < BATCH && cc_ordered_try_recv(w->ordered, &result) == 0);
        for (size_t i = 0; i < n && good; i++) good = put_run(w, batch[i]);
        if (good) good = flush(w);
        if (!good) {
            cc_chan_close(w->spare);
            cc_chan_close(w->idle);
        }
        for (size_t i = 0; i < n; i++) {
            uint64_t bytes = batch[i]->bytes;
            if (cc_send(w->idle, batch[i]) != 0) free(batch[i]);
            if (good) gz_progress_add(w->job->progress, bytes);
        }
    }
}

/* ---- all of it ---- */

static int prepare(struct work *w) {
    const struct gz_way *way = w->way;
    const size_t at_once = way->at_once;
    const bool runs = way->engine->pieces && !way->independent && w->job->in.seekable && way->block < RUN_BYTES;
    w->run_most = !runs ? 1 : RUN_BYTES / way->block < RUN_MAX ? RUN_BYTES / way->block : RUN_MAX;
    w->run_room = gz_encode_room(w->run_most * way->block);
    w->run_window = runs ? at_once + 5 : 2 * at_once + 7; /* some are written, one is read, one waits */
    w->block_window = runs ? w->run_most * (at_once + 2) + 1 : w->run_window;
    w->ahead_most = 1;
    cc_sem_release(&w->to_begin, runs ? 1 : (unsigned)w->run_window);
    cc_sem_release(&w->at_once, way->at_once);
    w->index = malloc(sizeof *w->index); /* pages of it that are not used cost nothing */
    int rc = w->index == NULL ? -ENOMEM : cc_ordered_create(&w->ordered, w->run_window);
    if (rc == 0) rc = cc_chan_create(w->spare, w->block_window); /* NOLINT(bugprone-sizeof-expression): of pointers */
    if (rc == 0) rc = cc_chan_create(w->idle, w->run_window);    /* NOLINT(bugprone-sizeof-expression) */
    if (rc == 0) rc = cc_chan_create(w->encoders, at_once);
    return rc;
}

static void release(struct work *w) {
    struct block *b;
    struct run *r;
    void *encoder;
    while (w->ahead_next < w->ahead_count) free(w->ahead[w->ahead_next++]);
    while (w->spare.ch != NULL && cc_try_recv(w->spare, &b) == 0) free(b);
    while (w->idle.ch != NULL && cc_try_recv(w->idle, &r) == 0) free(r);
    while (w->encoders.ch != NULL && cc_try_recv(w->encoders, &encoder) == 0) w->way->engine->encoder_destroy(encoder);
    cc_chan_destroy(w->spare);
    cc_chan_destroy(w->idle);
    cc_chan_destroy(w->encoders);
    cc_ordered_destroy(w->ordered);
    free(w->index);
}

void gz_compress(struct gz_job *job) {
    struct work w = {.job = job, .way = job->way};
    const cc_task_attr first = {.name = "reader", .priority = CC_PRIORITY_HIGH};
    cc_task t;
    int rc = prepare(&w);
    if (rc == 0) rc = cc_task_spawn(&t, &first, reader, &w);
    if (rc == 0) {
        writer(&w);
        (void)cc_task_join(t, NULL);
    } else {
        gz_fail(job, "%s", cc_strerror(rc));
    }
    release(&w);
}
