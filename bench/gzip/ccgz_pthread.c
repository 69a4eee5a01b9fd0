/* SPDX-License-Identifier: MIT */
/* The twin of ccgz's compression (apps/ccgz/compress.c) by plain threads, to see what tasks and channels cost: the same
 * engine, blocks, runs, chunks, index and number of buffers; a pool of threads, a thread that reads and one that
 * writes, with one mutex and a condition for each kind of waiting.
 *
 *     ccgz_pthread WORKERS FILE >OUTPUT
 *
 * For the benchmark only: level 6, zlib, and an error ends it. */
#include "engine.h"
#include "header.h"
#include "index.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEVEL = 6, WINDOW = 32768, BLOCK = 128 * 1024, CHUNK = 512 * 1024, RUN_MAX = 2, RUNS_LEFT = 8 };

struct block {
    struct block *next; /* in the list of the spare ones */
    size_t bytes;
    uint8_t *in;
};

struct run {
    struct run *next; /* in the list of those to be compressed, or of the idle ones */
    struct block *blocks[RUN_MAX];
    size_t count, most, dictionary, bytes, made;
    bool last, ends_chunk, done;
    uint32_t crc;
    uint8_t before[WINDOW];
    uint8_t *out;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER, has_spare = PTHREAD_COND_INITIALIZER,
                      has_idle = PTHREAD_COND_INITIALIZER, has_result = PTHREAD_COND_INITIALIZER;
static struct block *spare; /* with the lock, as are the next */
static struct run *to_do, **to_do_end = &to_do, *idle;
static struct run **in_order;
static size_t window, first, count;
static bool closed;

static const struct gz_engine *engine;
static size_t run_room;
static int input;
static uint64_t input_left;

static void die(const char *what) {
    (void)fprintf(stderr, "ccgz_pthread: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- a worker ---- */

static void compress_run(struct run *r, void *encoder) {
    struct iovec pieces[RUN_MAX];
    const struct gz_input in = {
        .pieces = pieces, .count = (int)r->count, .before = {.iov_base = r->before, .iov_len = r->dictionary}};
    r->crc = 0;
    for (size_t i = 0; i < r->count; i++) {
        pieces[i] = (struct iovec){.iov_base = r->blocks[i]->in, .iov_len = r->blocks[i]->bytes};
        r->crc = gz_crc(r->crc, pieces[i].iov_base, pieces[i].iov_len);
    }
    r->made = gz_encode(engine, encoder, &in, r->last, r->out, run_room);
}

static void *worker(void *arg) {
    void *encoder = engine->encoder_create(LEVEL);
    if (encoder == NULL) die("encoder");
    pthread_mutex_lock(&lock);
    for (;;) {
        while (to_do == NULL && !closed) pthread_cond_wait(&has_work, &lock);
        struct run *r = to_do;
        if (r == NULL) break;
        to_do = r->next;
        if (to_do == NULL) to_do_end = &to_do;
        pthread_mutex_unlock(&lock);
        compress_run(r, encoder);
        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < r->count; i++) {
            r->blocks[i]->next = spare;
            spare = r->blocks[i];
        }
        pthread_cond_signal(&has_spare);
        r->done = true;
        if (in_order[first] == r) pthread_cond_signal(&has_result);
    }
    pthread_mutex_unlock(&lock);
    engine->encoder_destroy(encoder);
    return arg;
}

/* ---- the reader ---- */

static struct block *take_spare(void) {
    pthread_mutex_lock(&lock);
    while (spare == NULL) pthread_cond_wait(&has_spare, &lock);
    struct block *b = spare;
    spare = b->next;
    pthread_mutex_unlock(&lock);
    return b;
}

static struct run *take_idle(void) {
    pthread_mutex_lock(&lock);
    while (idle == NULL) pthread_cond_wait(&has_idle, &lock);
    struct run *r = idle;
    idle = r->next;
    pthread_mutex_unlock(&lock);
    size_t share = (size_t)(input_left / BLOCK / RUNS_LEFT);
    r->most = share < 1 ? 1 : share < RUN_MAX ? share : RUN_MAX;
    r->count = r->bytes = r->dictionary = 0;
    return r;
}

static struct block *read_block(void) {
    struct block *b = take_spare();
    b->bytes = 0;
    ssize_t got = 1;
    while (b->bytes < BLOCK && got > 0) {
        got = read(input, b->in + b->bytes, BLOCK - b->bytes);
        if (got < 0) die("read");
        b->bytes += (size_t)got;
    }
    return b;
}

static void submit(struct run *r) {
    r->done = false;
    r->next = NULL;
    pthread_mutex_lock(&lock);
    *to_do_end = r;
    to_do_end = &r->next;
    in_order[(first + count++) % window] = r;
    closed = r->last;
    pthread_cond_signal(&has_work);
    if (closed) pthread_cond_broadcast(&has_work);
    pthread_mutex_unlock(&lock);
}

static void *reader(void *arg) {
    struct run *r = NULL;
    size_t in_chunk = 0;
    for (struct block *b = read_block(), *next = NULL;; b = next) {
        bool ends = b->bytes < BLOCK;
        if (!ends) next = read_block();
        ends = ends || next->bytes == 0;
        if (r == NULL) r = take_idle();
        r->blocks[r->count++] = b;
        r->bytes += b->bytes;
        input_left -= b->bytes < input_left ? b->bytes : input_left;
        in_chunk += b->bytes;
        r->last = ends;
        r->ends_chunk = ends || in_chunk >= CHUNK;
        if (r->ends_chunk) in_chunk = 0;
        if (!r->ends_chunk && r->count < r->most) continue;
        struct run *then = ends ? NULL : take_idle();
        if (!r->ends_chunk) {
            then->dictionary = WINDOW;
            memcpy(then->before, b->in + b->bytes - WINDOW, WINDOW);
        }
        submit(r);
        r = then;
        if (ends) return arg;
    }
}

/* ---- the writer ---- */

static uint64_t part_bytes;
static uint32_t part_crc;

static void put(const void *from, size_t bytes) {
    const uint8_t *p = from;
    part_bytes += bytes;
    part_crc = gz_crc(part_crc, from, bytes);
    while (bytes > 0) {
        ssize_t n = write(STDOUT_FILENO, p, bytes);
        if (n < 0) die("write");
        p += n;
        bytes -= (size_t)n;
    }
}

static struct run *take_result(void) {
    pthread_mutex_lock(&lock);
    while (count == 0 || !in_order[first]->done) pthread_cond_wait(&has_result, &lock);
    struct run *r = in_order[first];
    first = (first + 1) % window;
    count--;
    pthread_mutex_unlock(&lock);
    return r;
}

static void give_back(struct run *r) {
    pthread_mutex_lock(&lock);
    r->next = idle;
    idle = r;
    pthread_cond_signal(&has_idle);
    pthread_mutex_unlock(&lock);
}

static void writer(void) {
    static struct gz_index index;
    static uint8_t text[GZ_INDEX_ROOM];
    uint8_t mark[GZ_MARK], trailer[GZ_TRAILER];
    uint32_t crc = 0;
    size_t chunk_made = 0;
    bool last = false;
    gz_index_begin(&index, GZ_IN_MEMBER, CHUNK);
    gz_index_mark(mark, GZ_IN_MEMBER);
    put(text, gz_header_make(text, LEVEL, 0, NULL, mark, GZ_MARK));
    while (!last) {
        struct run *r = take_result();
        last = r->last;
        put(r->out, r->made);
        crc = gz_crc_join(crc, r->crc, r->bytes);
        index.data_bytes += r->bytes;
        chunk_made += r->made;
        if (r->ends_chunk) {
            gz_index_add(&index, chunk_made);
            chunk_made = 0;
        }
        give_back(r);
    }
    gz_trailer_make(trailer, crc, index.data_bytes);
    put(trailer, sizeof trailer);
    index.part_bytes = part_bytes;
    index.part_crc = part_crc;
    put(text, gz_index_make(&index, text));
}

static void make_buffers(size_t blocks) {
    for (size_t i = 0; i < blocks; i++) {
        struct block *b = calloc(1, sizeof *b);
        if (b == NULL || (b->in = malloc(BLOCK)) == NULL) die("memory");
        b->next = spare;
        spare = b;
    }
    for (size_t i = 0; i < window; i++) {
        struct run *r = calloc(1, sizeof *r);
        if (r == NULL || (r->out = malloc(run_room)) == NULL) die("memory");
        r->next = idle;
        idle = r;
    }
}

int main(int argc, char **argv) {
    size_t workers = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    if (workers == 0) return 2;
    engine = &gz_engine_zlib;
    input = open(argv[2], O_RDONLY);
    struct stat st;
    if (input < 0 || fstat(input, &st) != 0) die(argv[2]);
    input_left = (uint64_t)st.st_size;
    window = workers + 5;
    run_room = gz_encode_room((size_t)RUN_MAX * BLOCK);
    in_order = calloc(window, sizeof *in_order);
    pthread_t *threads = calloc(workers + 1, sizeof *threads);
    if (in_order == NULL || threads == NULL) die("memory");
    make_buffers(RUN_MAX * (workers + 2) + 1);
    for (size_t i = 0; i <= workers; i++)
        if (pthread_create(&threads[i], NULL, i == workers ? reader : worker, NULL) != 0) die("thread");
    writer();
    for (size_t i = 0; i <= workers; i++) pthread_join(threads[i], NULL);
    return 0;
}
