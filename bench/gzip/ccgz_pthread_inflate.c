/* SPDX-License-Identifier: MIT */
/* What ccgz does in decompression (apps/ccgz/stream.c and indexed.c) by plain threads, to see what tasks and channels
 * cost: the same engines, windows, pieces, number of buffers and checks; a thread where ccgz has a task, and queues of
 * a mutex and two conditions where it has channels.
 *
 *     ccgz_pthread_inflate ENGINE WORKERS FILE >OUTPUT
 *
 * Without an index one thread reads and inflates, and another takes checksums and writes. With one, and two workers or
 * more, there is a thread for each chunk that is under way, one more than workers, and one that writes.
 *
 * For the benchmark only: an index of one part, and an error ends it. */
#include "engine.h"
#include "header.h"
#include "index.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFERS = 3, BEHIND = 8 };
enum { STREAM_PIECE = 256 * 1024, STREAM_SOURCE = 128 * 1024, CHUNK_PIECE = 128 * 1024, CHUNK_SOURCE = 64 * 1024 };
enum { HEADER_MOST = 80 * 1024 };

static const struct gz_engine *engine;
static int input;
static uint64_t input_bytes;

static void die(const char *what) {
    (void)fprintf(stderr, "ccgz_pthread_inflate: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- queues ---- */

struct piece {
    uint8_t *data; /* NULL: a member or a chunk is over */
    size_t bytes;
    uint32_t crc, packed_crc;
    bool ends; /* there are no more */
    uint8_t trailer[GZ_TRAILER];
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t has_some, has_room;
    struct piece items[BUFFERS + 1];
    size_t first, count, most;
};

static void queue_init(struct queue *q, size_t most) {
    memset(q, 0, sizeof *q);
    (void)pthread_mutex_init(&q->lock, NULL);
    (void)pthread_cond_init(&q->has_some, NULL);
    (void)pthread_cond_init(&q->has_room, NULL);
    q->most = most;
}

static void queue_put(struct queue *q, struct piece p) {
    pthread_mutex_lock(&q->lock);
    while (q->count == q->most) pthread_cond_wait(&q->has_room, &q->lock);
    q->items[(q->first + q->count++) % q->most] = p;
    pthread_cond_signal(&q->has_some);
    pthread_mutex_unlock(&q->lock);
}

static struct piece queue_take(struct queue *q) {
    pthread_mutex_lock(&q->lock);
    while (q->count == 0) pthread_cond_wait(&q->has_some, &q->lock);
    struct piece p = q->items[q->first];
    q->first = (q->first + 1) % q->most;
    q->count--;
    pthread_cond_signal(&q->has_room);
    pthread_mutex_unlock(&q->lock);
    return p;
}

/* Who fills buffers and who empties them. */
struct lane {
    struct queue spare, pieces;
};

static void lane_init(struct lane *l, size_t piece) {
    queue_init(&l->spare, BUFFERS);
    queue_init(&l->pieces, BUFFERS + 1);
    for (int i = 0; i < BUFFERS; i++) {
        struct piece p = {.data = malloc(piece)};
        if (p.data == NULL) die("memory");
        queue_put(&l->spare, p);
    }
}

/* ---- input ---- */

/* A window of the file that moves on. */
struct source {
    uint64_t from, to; /* the next offset to read at, and the end */
    uint8_t *memory;
    const uint8_t *at; /* up to BEHIND bytes before it can be gone back to */
    size_t bytes, room;
    bool summed;
    uint32_t crc;
};

static void source_init(struct source *s, size_t room, bool summed) {
    *s = (struct source){.memory = calloc(1, BEHIND + room), .room = room, .summed = summed};
    if (s->memory == NULL) die("memory");
}

static void source_range(struct source *s, uint64_t from, uint64_t to) {
    s->from = from;
    s->to = to;
    s->at = s->memory + BEHIND;
    s->bytes = 0;
    s->crc = 0;
}

/* False: that was all. */
static bool source_more(struct source *s) {
    memmove(s->memory, s->at - BEHIND, BEHIND + s->bytes);
    s->at = s->memory + BEHIND;
    uint8_t *end = s->memory + BEHIND + s->bytes;
    size_t room = s->room - s->bytes;
    if (room > s->to - s->from) room = (size_t)(s->to - s->from);
    ssize_t n = pread(input, end, room, (off_t)s->from);
    if (n < 0) die("read");
    if (s->summed) s->crc = gz_crc(s->crc, end, (size_t)n);
    s->from += (uint64_t)n;
    s->bytes += (size_t)n;
    return n > 0;
}

/* False: there is no other member. */
static bool skip_header(struct source *s) {
    static _Thread_local struct gz_header h;
    const char *why;
    int64_t size;
    while ((size = gz_header_parse(&h, s->at, s->bytes, &why)) == 0)
        if (!source_more(s)) break;
    if (size == 0 && s->bytes == 0) return false;
    if (size <= 0) die("a header");
    s->at += size;
    s->bytes -= (size_t)size;
    return true;
}

static void read_trailer(struct source *s, uint8_t to[GZ_TRAILER]) {
    while (s->bytes < GZ_TRAILER)
        if (!source_more(s)) die("a trailer");
    memcpy(to, s->at, GZ_TRAILER);
    s->at += GZ_TRAILER;
    s->bytes -= GZ_TRAILER;
}

/* Inflate until there is no more room, or the stream or the input ends. */
static int inflate_some(struct source *s, void *decoder, struct gz_flow *flow) {
    for (;;) {
        flow->in = s->at;
        flow->in_bytes = s->bytes;
        int rc = engine->decode(decoder, flow);
        s->at = flow->in;
        s->bytes = flow->in_bytes;
        if (rc == GZ_BAD || rc == GZ_NO_SPACE) die("the data");
        if (rc == GZ_END || flow->out_bytes == 0 || !source_more(s)) return rc;
    }
}

/* ---- output ---- */

static void put(const uint8_t *p, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(STDOUT_FILENO, p, bytes);
        if (n < 0) die("write");
        p += n;
        bytes -= (size_t)n;
    }
}

static void compare(const uint8_t trailer[GZ_TRAILER], uint32_t crc, uint64_t bytes) {
    if (gz_get32(trailer) != crc || gz_get32(trailer + 4) != (uint32_t)bytes) die("a checksum");
}

/* ---- as a stream ---- */

static struct lane stream;

static void *stream_inflater(void *arg) {
    struct source s;
    void *decoder = engine->decoder_create();
    source_init(&s, STREAM_SOURCE, false);
    if (decoder == NULL) die("memory");
    source_range(&s, 0, input_bytes);
    while (skip_header(&s)) {
        struct piece over = {.data = NULL};
        int rc = GZ_MORE;
        engine->decoder_reset(decoder);
        while (rc != GZ_END) {
            struct piece p = queue_take(&stream.spare);
            struct gz_flow flow = {.out = p.data, .out_bytes = STREAM_PIECE};
            rc = inflate_some(&s, decoder, &flow);
            if (rc != GZ_END && flow.out_bytes > 0) die("the end");
            p.bytes = STREAM_PIECE - flow.out_bytes;
            queue_put(&stream.pieces, p);
        }
        read_trailer(&s, over.trailer);
        queue_put(&stream.pieces, over);
    }
    queue_put(&stream.pieces, (struct piece){.ends = true});
    engine->decoder_destroy(decoder);
    free(s.memory);
    return arg;
}

static void as_stream(void) {
    pthread_t t;
    uint32_t crc = 0;
    uint64_t bytes = 0;
    lane_init(&stream, STREAM_PIECE);
    if (pthread_create(&t, NULL, stream_inflater, NULL) != 0) die("thread");
    for (struct piece p; p = queue_take(&stream.pieces), !p.ends;) {
        if (p.data == NULL) {
            compare(p.trailer, crc, bytes);
            crc = 0;
            bytes = 0;
            continue;
        }
        crc = gz_crc(crc, p.data, p.bytes);
        bytes += p.bytes;
        put(p.data, p.bytes);
        queue_put(&stream.spare, p);
    }
    pthread_join(t, NULL);
}

/* ---- by an index ---- */

struct chunk {
    uint64_t from, to;
    size_t bytes;
    bool first, last; /* begins with a header; ends with a trailer */
};

static struct chunk *chunks;
static size_t chunk_count, lane_count;
static struct lane *lanes;
static struct gz_index file_index;

/* The index, if there is one: then the chunks it has. */
static bool find_chunks(void) {
    static struct gz_header h;
    static uint8_t text[HEADER_MOST];
    const char *why;
    size_t n = input_bytes < sizeof text ? (size_t)input_bytes : sizeof text, at = 0;
    if (pread(input, text, n, (off_t)(input_bytes - n)) != (ssize_t)n) die("read");
    size_t size = gz_index_at_end(text, n);
    if (size == 0 || size > n || gz_header_parse(&h, text + n - size, size, &why) <= 0) return false;
    if (gz_index_find(&h, &file_index) != GZ_INDEX_HERE) return false;
    const struct gz_index *x = &file_index;
    if (x->part_bytes != input_bytes - size || x->kind != GZ_IN_MEMBER) die("an index of another kind");
    if (pread(input, text, n, 0) != (ssize_t)n) die("read");
    int64_t head = gz_header_parse(&h, text, n, &why);
    chunks = calloc(x->chunks, sizeof *chunks);
    if (head <= 0 || chunks == NULL) die("a header");
    uint64_t from = 0, left = x->data_bytes;
    for (chunk_count = 0; chunk_count < x->chunks; chunk_count++) {
        struct chunk *c = &chunks[chunk_count];
        c->first = chunk_count == 0;
        c->last = chunk_count + 1 == x->chunks;
        c->from = from;
        c->to = from + gz_index_next(x, &at) + (c->first ? (uint64_t)head : 0) + (c->last ? GZ_TRAILER : 0);
        c->bytes = (size_t)(c->last ? left : x->chunk_bytes);
        left -= c->bytes;
        from = c->to;
    }
    return true;
}

static void inflate_chunk(const struct chunk *c, struct lane *l, struct source *s, void *decoder) {
    struct piece over = {.data = NULL};
    uint8_t none;
    int rc = GZ_MORE;
    source_range(s, c->from, c->to);
    if (c->first && !skip_header(s)) die("a header");
    engine->decoder_reset(decoder);
    for (size_t left = c->bytes; left > 0;) {
        struct piece p = queue_take(&l->spare);
        p.bytes = left < CHUNK_PIECE ? left : CHUNK_PIECE;
        struct gz_flow flow = {.out = p.data, .out_bytes = p.bytes};
        rc = inflate_some(s, decoder, &flow);
        if (flow.out_bytes > 0) die("a chunk");
        p.crc = gz_crc(0, p.data, p.bytes);
        left -= p.bytes;
        queue_put(&l->pieces, p);
    }
    struct gz_flow flow = {.out = &none, .out_bytes = 1};
    if (rc == GZ_MORE) rc = inflate_some(s, decoder, &flow);
    if (flow.out_bytes != 1 || (rc == GZ_END) != c->last) die("a chunk");
    if (c->last) read_trailer(s, over.trailer);
    if (s->bytes > 0 || s->from != s->to || (!c->last && !engine->between_blocks(decoder))) die("a chunk");
    over.packed_crc = s->crc;
    queue_put(&l->pieces, over);
}

static void *chunk_inflater(void *arg) {
    struct lane *l = arg;
    struct source s;
    void *decoder = engine->decoder_create();
    source_init(&s, CHUNK_SOURCE, true);
    if (decoder == NULL) die("memory");
    for (size_t i = (size_t)(l - lanes); i < chunk_count; i += lane_count) inflate_chunk(&chunks[i], l, &s, decoder);
    engine->decoder_destroy(decoder);
    free(s.memory);
    return NULL;
}

static void by_index(size_t workers) {
    uint32_t crc = 0, part_crc = 0;
    lane_count = workers + 1;
    lanes = calloc(lane_count, sizeof *lanes);
    pthread_t *threads = calloc(lane_count, sizeof *threads);
    if (lanes == NULL || threads == NULL) die("memory");
    for (size_t i = 0; i < lane_count; i++) {
        lane_init(&lanes[i], CHUNK_PIECE);
        if (pthread_create(&threads[i], NULL, chunk_inflater, &lanes[i]) != 0) die("thread");
    }
    for (size_t i = 0; i < chunk_count; i++) {
        struct lane *l = &lanes[i % lane_count];
        struct piece p;
        while (p = queue_take(&l->pieces), p.data != NULL) {
            crc = gz_crc_join(crc, p.crc, p.bytes);
            put(p.data, p.bytes);
            queue_put(&l->spare, p);
        }
        part_crc = gz_crc_join(part_crc, p.packed_crc, chunks[i].to - chunks[i].from);
        if (chunks[i].last) compare(p.trailer, crc, file_index.data_bytes);
    }
    if (part_crc != file_index.part_crc) die("a checksum");
    for (size_t i = 0; i < lane_count; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
    size_t workers = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    struct stat st;
    cpu_set_t set;
    if (workers == 0 || (engine = gz_engine_named(argv[1])) == NULL) return 2;
    size_t processors = sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
    if (workers > processors) workers = processors; /* as ccgz has it */
    input = open(argv[3], O_RDONLY);
    if (input < 0 || fstat(input, &st) != 0) die(argv[3]);
    input_bytes = (uint64_t)st.st_size;
    if (workers > 1 && find_chunks())
        by_index(workers);
    else
        as_stream();
    return 0;
}
