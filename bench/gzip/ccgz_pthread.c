/* SPDX-License-Identifier: MIT */
/* The twin of ccgz's compression (apps/ccgz/compress.c) by plain threads, to see what tasks and channels cost: the same
 * engine, blocks, chunks, index and number of buffers; a pool of threads, a thread that reads and one that writes,
 * with one mutex and a condition for each kind of waiting.
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
#include <unistd.h>

enum { LEVEL = 6, WINDOW = 32768, BLOCK = 128 * 1024, CHUNK = 512 * 1024 };

struct block {
    struct block *next; /* in the list of those to be compressed, or of the spare ones */
    size_t dictionary, bytes, made;
    bool last, ends_chunk, done;
    uint32_t crc;
    uint8_t *in, *out;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER, has_spare = PTHREAD_COND_INITIALIZER,
                      has_result = PTHREAD_COND_INITIALIZER;
static struct block *to_do, **to_do_end = &to_do, *spare; /* with the lock, as are the next */
static struct block **in_order;
static size_t window, first, count;
static bool closed;

static const struct gz_engine *engine;
static int input;

static void die(const char *what) {
    (void)fprintf(stderr, "ccgz_pthread: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- a worker ---- */

static void *worker(void *arg) {
    void *encoder = engine->encoder_create(LEVEL);
    if (encoder == NULL) die("encoder");
    pthread_mutex_lock(&lock);
    for (;;) {
        while (to_do == NULL && !closed) pthread_cond_wait(&has_work, &lock);
        struct block *b = to_do;
        if (b == NULL) break;
        to_do = b->next;
        if (to_do == NULL) to_do_end = &to_do;
        pthread_mutex_unlock(&lock);
        b->crc = gz_crc(0, b->in, b->bytes);
        b->made = gz_encode(engine, encoder, b->in, b->bytes, b->dictionary, b->last, b->out);
        pthread_mutex_lock(&lock);
        b->done = true;
        if (in_order[first] == b) pthread_cond_signal(&has_result);
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

static struct block *read_block(const struct block *before) {
    struct block *b = take_spare();
    b->dictionary = before == NULL ? 0 : WINDOW;
    if (before != NULL) memcpy(b->in - WINDOW, before->in + before->bytes - WINDOW, WINDOW);
    b->bytes = 0;
    ssize_t got = 1;
    while (b->bytes < BLOCK && got > 0) {
        got = read(input, b->in + b->bytes, BLOCK - b->bytes);
        if (got < 0) die("read");
        b->bytes += (size_t)got;
    }
    return b;
}

static void submit(struct block *b) {
    b->done = false;
    b->next = NULL;
    pthread_mutex_lock(&lock);
    *to_do_end = b;
    to_do_end = &b->next;
    in_order[(first + count++) % window] = b;
    closed = b->last;
    pthread_cond_signal(&has_work);
    if (closed) pthread_cond_broadcast(&has_work);
    pthread_mutex_unlock(&lock);
}

static void *reader(void *arg) {
    size_t in_chunk = 0;
    for (struct block *b = read_block(NULL), *next = NULL;; b = next) {
        bool ends = b->bytes < BLOCK;
        if (!ends) next = read_block(b);
        ends = ends || next->bytes == 0;
        if (in_chunk == 0) b->dictionary = 0;
        in_chunk += b->bytes;
        b->last = ends;
        b->ends_chunk = ends || in_chunk >= CHUNK;
        if (b->ends_chunk) in_chunk = 0;
        submit(b);
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

static struct block *take_result(void) {
    pthread_mutex_lock(&lock);
    while (count == 0 || !in_order[first]->done) pthread_cond_wait(&has_result, &lock);
    struct block *b = in_order[first];
    first = (first + 1) % window;
    count--;
    pthread_mutex_unlock(&lock);
    return b;
}

static void give_back(struct block *b) {
    pthread_mutex_lock(&lock);
    b->next = spare;
    spare = b;
    pthread_cond_signal(&has_spare);
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
        struct block *b = take_result();
        last = b->last;
        put(b->out, b->made);
        crc = gz_crc_join(crc, b->crc, b->bytes);
        index.data_bytes += b->bytes;
        chunk_made += b->made;
        if (b->ends_chunk) {
            gz_index_add(&index, chunk_made);
            chunk_made = 0;
        }
        give_back(b);
    }
    gz_trailer_make(trailer, crc, index.data_bytes);
    put(trailer, sizeof trailer);
    index.part_bytes = part_bytes;
    index.part_crc = part_crc;
    put(text, gz_index_make(&index, text));
}

int main(int argc, char **argv) {
    size_t workers = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    if (workers == 0) return 2;
    engine = &gz_engine_zlib;
    input = open(argv[2], O_RDONLY);
    if (input < 0) die(argv[2]);
    window = 2 * workers + 7;
    in_order = calloc(window, sizeof *in_order);
    pthread_t *threads = calloc(workers + 1, sizeof *threads);
    if (in_order == NULL || threads == NULL) die("memory");
    for (size_t i = 0; i < window; i++) {
        struct block *b = calloc(1, sizeof *b);
        uint8_t *memory = malloc(WINDOW + BLOCK + gz_encode_room(BLOCK));
        if (b == NULL || memory == NULL) die("memory");
        b->in = memory + WINDOW;
        b->out = b->in + BLOCK;
        b->next = spare;
        spare = b;
    }
    for (size_t i = 0; i <= workers; i++)
        if (pthread_create(&threads[i], NULL, i == workers ? reader : worker, NULL) != 0) die("thread");
    writer();
    for (size_t i = 0; i <= workers; i++) pthread_join(threads[i], NULL);
    return 0;
}
