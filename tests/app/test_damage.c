/* SPDX-License-Identifier: MIT */
/* Goal: ccgz finds every damage: a file that is cut off anywhere, or has any one byte wrong, is never taken for good,
 * by any engine, by its index or without it, and every error names a byte; and nothing that is fed to it makes it
 * crash, hang or read what it should not.
 * Method: small files with and without an index, by every engine, in memory. Each is decompressed at 1,000 lengths less
 * than its own and with 1,000 bytes changed in turn, by all engines, as a file, where the index is used, and as a
 * stream. Then whatever a fuzzer makes of them: bits, bytes, pieces moved, lengths changed, mostly in headers and
 * indexes, with checksums mended now and then so that it gets further. What comes out of what is taken for good must be
 * the data, and of what a fuzzer made, whatever zlib makes of it as a stream. Seeds are printed.
 * Timeout: 240
 */
#include "engine.h"
#include "index.h"
#include "pipeline.h"
#include "test.h"

#include <sys/mman.h>

enum { DATA = 200000, BLOCK = 32768 };

static uint8_t data[DATA];

static uint64_t next_random(void) {
    static uint64_t x;
    if (x == 0) x = test_seed();
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x * 2685821657736338717u >> 32;
}
static cc_runtime *runtime;

/* ---- running jobs on files in memory ---- */

static void run_job(struct gz_job *job, struct gz_found *found) {
    struct gz_run r = {job, found};
    cc_task t;
    assert_int_equal(cc_runtime_spawn(runtime, &t, NULL, gz_run, &r), 0);
    assert_int_equal(cc_task_join(t, NULL), 0);
}

static int file_with(const void *content, size_t bytes) {
    int fd = memfd_create("ccgz", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, content, bytes, 0), (ssize_t)bytes);
    return fd;
}

static size_t content_of(int fd, uint8_t **to) {
    off_t size = lseek(fd, 0, SEEK_END);
    *to = malloc((size_t)size + 1);
    assert_int_equal(pread(fd, *to, (size_t)size, 0), size);
    return (size_t)size;
}

/* A compressed file. */
struct packed {
    uint8_t *bytes;
    size_t size;
};

static struct packed pack(const struct gz_engine *engine, bool index, size_t bytes) {
    const struct gz_way way = {
        .engine = engine, .level = 6, .workers = 2, .at_once = 2, .block = BLOCK, .chunk = BLOCK, .index = index};
    struct gz_job job;
    struct packed p;
    gz_job_init(&job, &way);
    gz_io_init(&job.in, file_with(data, bytes));
    gz_io_init(&job.out, memfd_create("ccgz", MFD_CLOEXEC));
    job.header_name = "some name";
    job.header_time = 1700000000;
    run_job(&job, NULL);
    assert_int_equal(job.status, GZ_OK);
    p.size = content_of(job.out.fd, &p.bytes);
    close(job.in.fd);
    close(job.out.fd);
    return p;
}

/* Every error and every warning is about a place, and says which. */
static bool names_a_byte(const char *text) {
    const char *at = strstr(text, "byte ");
    return at != NULL && at[5] >= '0' && at[5] <= '9';
}

/* Decompress: the status, and what came out. */
static int unpack_any(const struct gz_engine *engine, const void *packed, size_t size, bool stream,
                      struct gz_found *found, struct packed *out) {
    const struct gz_way way = {.engine = engine, .workers = 2, .index = true};
    struct gz_job job;
    gz_job_init(&job, &way);
    gz_io_init(&job.in, file_with(packed, size));
    gz_io_init(&job.out, memfd_create("ccgz", MFD_CLOEXEC));
    if (stream) job.in.seekable = false;
    run_job(&job, found);
    if (job.status != GZ_OK && !names_a_byte(job.text)) fail_msg("no byte is named: %s", job.text);
    out->size = content_of(job.out.fd, &out->bytes);
    close(job.in.fd);
    close(job.out.fd);
    return job.status;
}

/* The same, where what is taken for good must be the data. */
static int unpack(const struct gz_engine *engine, const void *packed, size_t size, bool stream,
                  struct gz_found *found) {
    struct packed out;
    int status = unpack_any(engine, packed, size, stream, found, &out);
    if (status != GZ_ERROR) {
        assert_int_equal(out.size, DATA);
        assert_memory_equal(out.bytes, data, DATA);
    }
    free(out.bytes);
    return status;
}

static int set_up(void **state) {
    (void)state;
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < sizeof data; i++) { /* words, some of them again and again, and noise */
        x = x * 6364136223846793005u + 1442695040888963407u;
        data[i] = i % 4000 < 3000 ? (uint8_t)("the quick brown fox "[(x >> 33) % 20]) : (uint8_t)(x >> 40);
    }
    const cc_runtime_attr attr = {.workers = 2};
    return cc_runtime_create(&runtime, &attr);
}

static int tear_down(void **state) {
    (void)state;
    cc_runtime_destroy(runtime);
    return 0;
}

/* ---- tests ---- */

#define EACH_ENGINE(e) for (const struct gz_engine *const *e = gz_engines(); *e != NULL; e++)

/* Each in turn. */
static const struct gz_engine *engine_at(size_t i) {
    size_t count = 0;
    while (gz_engines()[count] != NULL) count++;
    return gz_engines()[i % count];
}

static void whole_files_are_good(void **state) {
    (void)state;
    struct gz_found found;
    EACH_ENGINE(maker)
    for (int index = 0; index < 2; index++) {
        struct packed p = pack(*maker, index, DATA);
        EACH_ENGINE(reader)
        for (int stream = 0; stream < 2; stream++)
            assert_int_equal(unpack(*reader, p.bytes, p.size, stream, &found), GZ_OK);
        assert_string_equal(found.name, "some name");
        assert_int_equal(found.time, 1700000000);
        assert_int_equal(found.data_bytes, DATA);
        free(p.bytes);
    }
}

/* Cut off anywhere: always an error, also between members, where nothing but the index says that more follows. At each
 * of the first and last lengths, and others over all of it. */
static void truncations(void **state) {
    (void)state;
    struct gz_found found;
    const size_t count = test_scaled(1000);
    EACH_ENGINE(maker) {
        struct packed p = pack(*maker, true, DATA);
        for (size_t i = 0; i < count; i++) {
            size_t size = i % 10 == 0 ? i / 10 : i % 10 == 1 ? p.size - 1 - i / 10 : p.size * i / count;
            const struct gz_engine *reader = engine_at(i / 2);
            if (unpack(reader, p.bytes, size, (i / 10 + i) % 2 == 0, &found) != GZ_ERROR)
                fail_msg("%s, %s: %zu of %zu bytes were taken for good", (*maker)->name, reader->name, size, p.size);
        }
        free(p.bytes);
    }
}

static void truncated_at_byte(void **state) {
    (void)state;
    struct packed p = pack(&gz_engine_zlib, true, DATA);
    const struct gz_way way = {.engine = &gz_engine_zlib, .workers = 2, .index = true};
    struct gz_found found;
    struct gz_job job;
    char want[80];
    gz_job_init(&job, &way);
    gz_io_init(&job.in, file_with(p.bytes, p.size / 2));
    run_job(&job, &found);
    (void)snprintf(want, sizeof want, "unexpected end of file at byte %zu", p.size / 2);
    assert_string_equal(job.text, want);
    close(job.in.fd);
    p.bytes[p.size / 2] ^= 0xff;
    gz_job_init(&job, &way);
    gz_io_init(&job.in, file_with(p.bytes, p.size));
    run_job(&job, &found);
    assert_int_equal(job.status, GZ_ERROR);
    assert_true(names_a_byte(job.text));
    close(job.in.fd);
    free(p.bytes);
}

/* One byte wrong: with an index always found, also in headers, of which a checksum is there; where only the index is
 * wrong that is a warning, and the data comes out whole. */
static void corruptions(void **state) {
    (void)state;
    struct gz_found found;
    const size_t count = test_scaled(1000);
    size_t warnings = 0;
    EACH_ENGINE(maker) {
        struct packed p = pack(*maker, true, DATA);
        for (size_t i = 0; i < count; i++) {
            size_t at = i < 40 ? i : i < 140 && p.size > 140 ? p.size - 1 - (i - 40) : next_random() % p.size;
            uint8_t wrong = (uint8_t)(1 + next_random() % 255);
            const struct gz_engine *reader = engine_at(i / 2);
            p.bytes[at] ^= wrong;
            int status = unpack(reader, p.bytes, p.size, i % 2 == 0, &found);
            if (status == GZ_OK)
                fail_msg("%s, %s: byte %zu with %#x was taken for good", (*maker)->name, reader->name, at, wrong);
            warnings += status == GZ_WARNING;
            p.bytes[at] ^= wrong;
        }
        free(p.bytes);
    }
    assert_true(warnings > 0);
}

/* Change something. */
static size_t mutate(uint8_t *bytes, size_t size, size_t room) {
    size_t at = next_random() % size, n = 1 + next_random() % 16;
    if (next_random() % 2 == 0) at = next_random() % 2 == 0 ? at % 30 : size - 1 - at % (size < 120 ? size : 120);
    if (n > size - at) n = size - at;
    switch (next_random() % 6) {
    case 0: bytes[at] ^= (uint8_t)(1u << next_random() % 8); break;
    case 1: bytes[at] = (uint8_t)next_random(); break;
    case 2: memset(bytes + at, next_random() % 2 == 0 ? 0xff : 0, n); break;
    case 3: memmove(bytes + at, bytes + next_random() % (size - n + 1), n); break;
    case 4: /* less */ memmove(bytes + at, bytes + at + n, size - at - n); return size - n > 0 ? size - n : 1;
    default: /* more */
        if (size + n > room) break;
        memmove(bytes + at + n, bytes + at, size - at);
        return size + n;
    }
    return size;
}

/* Make the checksum of an index right again: what it says is then believed until it turns out wrong. */
static void mend_index(uint8_t *bytes, size_t size) {
    size_t n = gz_index_at_end(bytes, size);
    if (n == 0 || n > size || n < 12 + 4 + 12 + 10) return;
    uint8_t *own = bytes + size - n + 12 + 4;
    size_t own_bytes = n - 12 - 4 - 10;
    gz_put32(own + own_bytes - 6, gz_crc(0, own, own_bytes - 6));
}

static void fuzz(void **state) {
    (void)state;
    struct gz_found found;
    const size_t count = test_scaled(1000), small = 3 * BLOCK + 5;
    size_t good = 0, both = 0;
    EACH_ENGINE(maker) {
        struct packed p = pack(*maker, true, small), first, second;
        size_t room = p.size + 64;
        uint8_t *bytes = malloc(room);
        for (size_t i = 0; i < count; i++) {
            memcpy(bytes, p.bytes, p.size);
            size_t size = p.size;
            for (uint64_t n = 1 + next_random() % 3; n > 0; n--) size = mutate(bytes, size, room);
            if (next_random() % 2 == 0) mend_index(bytes, size);
            const struct gz_engine *reader = engine_at(i / 2);
            int one = unpack_any(&gz_engine_zlib, bytes, size, true, &found, &first);
            if (one == GZ_OK) assert_true(found.data_bytes <= small); /* a member may be gone, none is made up */
            int other = unpack_any(reader, bytes, size, i % 2 == 0, &found, &second);
            good += other != GZ_ERROR;
            if (one != GZ_ERROR && other != GZ_ERROR) {
                assert_int_equal(second.size, first.size);
                assert_memory_equal(second.bytes, first.bytes, first.size);
                both++;
            }
            free(first.bytes);
            free(second.bytes);
        }
        free(bytes);
        free(p.bytes);
    }
    assert_true(good < count); /* most of it is found */
    assert_true(both > 0);
}

/* Extra fields that are ours by their name, but too short for anything. */
static void neither_mark_nor_index(void **state) {
    (void)state;
    static struct gz_index index;
    for (uint8_t n = 0; n < 2; n++) {
        const uint8_t extra[GZ_MARK] = {'c', 'g', n, 0, 1, 0};
        const struct gz_header h = {.extra = extra, .extra_bytes = sizeof extra};
        assert_int_equal(gz_index_find(&h, &index), GZ_INDEX_DAMAGED);
        assert_int_equal(gz_index_find(&h, NULL), GZ_INDEX_DAMAGED); /* UndefinedBehaviorSanitizer looks on */
    }
}

/* The most address space this process has had, in KiB. */
static long most_memory(void) {
    char line[256];
    long most = -1;
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "VmPeak:", 7) == 0) most = strtol(line + 7, NULL, 10);
    (void)fclose(f);
    return most;
}

/* An index of chunks that are far larger than their data can become, in a file with holes that has that size: there is
 * no memory for what it says. */
static void chunks_that_are_too_large(void **state) {
    (void)state;
    static struct gz_index index;
    static uint8_t text[GZ_INDEX_ROOM];
    const uint64_t chunk = (uint64_t)1 << 30;
    EACH_ENGINE(maker) {
        struct packed p = pack(*maker, true, DATA);
        int fd = file_with(p.bytes, p.size);
        gz_index_begin(&index, GZ_MEMBERS, BLOCK);
        for (int i = 0; i < 3; i++) gz_index_add(&index, chunk);
        index.part_bytes = 3 * chunk;
        index.data_bytes = (uint64_t)3 * BLOCK;
        size_t n = gz_index_make(&index, text);
        assert_int_equal(pwrite(fd, text, n, (off_t)index.part_bytes), (ssize_t)n);
        assert_int_equal(pwrite(fd, "garbage", 7, (off_t)p.size), 7);
        const struct gz_way way = {.engine = *maker, .workers = 2, .index = true};
        struct gz_found found;
        struct gz_job job;
        gz_job_init(&job, &way);
        gz_io_init(&job.in, fd);
        long before = most_memory();
        run_job(&job, &found);
        assert_int_equal(job.status, GZ_WARNING);
        assert_int_equal(found.data_bytes, DATA);
        assert_true(most_memory() - before < (long)(chunk / 1024 / 2));
        close(fd);
        free(p.bytes);
    }
}

/* An index that lies, with all checksums right: what comes out is the data all the same. */
static void lying_index(void **state) {
    (void)state;
    struct gz_found found;
    EACH_ENGINE(maker) {
        struct packed p = pack(*maker, true, DATA);
        size_t n = gz_index_at_end(p.bytes, p.size);
        for (size_t at = p.size - n + 18; at < p.size - 16; at++)
            for (int by = 1; by < 128; by += 42) {
                uint8_t *b = p.bytes + at, old = *b;
                *b = (uint8_t)((*b & 0x80) | ((*b + by) & 0x7f));
                mend_index(p.bytes, p.size);
                assert_int_equal(unpack(*maker, p.bytes, p.size, false, &found), GZ_WARNING);
                *b = old;
            }
        mend_index(p.bytes, p.size);
        assert_int_equal(unpack(*maker, p.bytes, p.size, false, &found), GZ_OK);
        free(p.bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files_are_good),
        cmocka_unit_test(truncations),
        cmocka_unit_test(truncated_at_byte),
        cmocka_unit_test(corruptions),
        cmocka_unit_test(lying_index),
        cmocka_unit_test(fuzz),
        cmocka_unit_test(neither_mark_nor_index),
        cmocka_unit_test(chunks_that_are_too_large),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
