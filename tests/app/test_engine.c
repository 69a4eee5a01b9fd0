/* SPDX-License-Identifier: MIT */
/* Goal: what every engine makes is a stream that every engine takes, also where its encoder gives up and the data is
 * stored instead.
 * Method: each engine as it is, and as one whose encoder always gives up, is given blocks from none to several stored
 * ones, the last of a stream and others; what it makes must fit into the room there is for it, and be inflated again by
 * all of them to what it was: put together, or each on its own, as the engine has it. The data is noise. Whether a
 * stream that is cut off ends between two blocks is asked at every byte of one with blocks of all kinds: where they
 * were put together it does, and all engines say the same everywhere, however the input came.
 */
#include "engine.h"
#include "job.h"
#include "test.h"

enum { MOST = 300000, COUNT = 3 };

static uint8_t data[MOST], back[COUNT * MOST + 1];

#define EACH_ENGINE(e) for (const struct gz_engine *const *e = gz_engines(); *e != NULL; e++)

static size_t gives_up(void *encoder, const struct gz_input *in, bool last, uint8_t *out, size_t room) {
    (void)encoder;
    (void)in;
    (void)last;
    (void)out;
    (void)room;
    return 0;
}

/* Inflate a stream, all of it: the bytes it had. */
static size_t inflate_all(const struct gz_engine *engine, const uint8_t *in, size_t bytes, uint8_t *out, size_t room) {
    void *decoder = engine->decoder_create();
    assert_non_null(decoder);
    engine->decoder_reset(decoder);
    struct gz_flow flow = {.in = in, .in_bytes = bytes, .out = out, .out_bytes = room};
    assert_int_equal(engine->decode(decoder, &flow), GZ_END);
    assert_int_equal(flow.in_bytes, 0);
    engine->decoder_destroy(decoder);
    return (size_t)(flow.out - out);
}

/* Some blocks of the data, by an engine: what they become, and where each ends. */
static size_t deflate_blocks(const struct gz_engine *engine, size_t bytes, uint8_t *out, size_t room,
                             size_t ends[COUNT]) {
    void *encoder = engine->encoder_create(6);
    size_t made = 0;
    assert_non_null(encoder);
    for (int i = 0; i < COUNT; i++) {
        const struct iovec piece = {.iov_base = data, .iov_len = bytes};
        const struct gz_input in = {.pieces = &piece, .count = 1};
        size_t n = gz_encode(engine, encoder, &in, i + 1 == COUNT, out + made, room);
        assert_true(n > 0 && n <= room);
        ends[i] = made += n;
    }
    engine->encoder_destroy(encoder);
    return made;
}

static void round_trip(const struct gz_engine *engine, size_t bytes) {
    const size_t room = gz_encode_room(bytes);
    size_t ends[COUNT];
    uint8_t *out = malloc(COUNT * room);
    assert_non_null(out);
    size_t made = deflate_blocks(engine, bytes, out, room, ends);
    EACH_ENGINE(reader) {
        if (engine->joins) {
            assert_int_equal(inflate_all(*reader, out, made, back, sizeof back), COUNT * bytes);
        } else {
            for (size_t i = 0, from = 0, to = 0; i < COUNT; from = ends[i++], to += bytes)
                assert_int_equal(inflate_all(*reader, out + from, ends[i] - from, back + to, bytes + 1), bytes);
        }
        for (size_t i = 0; i < COUNT; i++) assert_memory_equal(back + i * bytes, data, bytes);
    }
    free(out);
}

static const size_t sizes[] = {0, 1, 100, 65535, 65536, 131070, MOST};

static void every_size(const struct gz_engine *engine) {
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) round_trip(engine, sizes[i]);
}

static void streams_are_taken_by_all(void **state) {
    (void)state;
    EACH_ENGINE(e) every_size(*e);
}

static void stored_where_the_encoder_gives_up(void **state) {
    (void)state;
    EACH_ENGINE(e) {
        struct gz_engine engine = **e;
        engine.encode = gives_up;
        every_size(&engine);
    }
}

/* With room as it is asked for, no engine gives up on what cannot be compressed. */
static void there_is_room_for_noise(void **state) {
    (void)state;
    static uint8_t out[2 * MOST];
    EACH_ENGINE(e)
    for (int level = 1; level < 10; level++) {
        if (strcmp((*e)->name, "isal") == 0) continue; /* it says nothing of what it needs */
        void *encoder = (*e)->encoder_create(level);
        assert_non_null(encoder);
        for (size_t bytes = 1; bytes <= MOST; bytes += bytes / 3 + 1) {
            const struct iovec piece = {.iov_base = data, .iov_len = bytes};
            const struct gz_input in = {.pieces = &piece, .count = 1};
            size_t made = (*e)->encode(encoder, &in, true, out, gz_encode_room(bytes));
            if (made == 0) fail_msg("%s -%d gives up on %zu bytes", (*e)->name, level, bytes);
        }
        (*e)->encoder_destroy(encoder);
    }
}

/* A stream of blocks of all kinds, and where one can begin anew. */
static size_t mixed_stream(uint8_t *out, size_t room, bool can_begin[]) {
    static uint8_t words[3000];
    void *encoder = gz_engine_zlib.encoder_create(9);
    size_t made = 0;
    assert_non_null(encoder);
    for (size_t i = 0; i < sizeof words; i++) words[i] = (uint8_t) "a few words and 12345 "[data[i] % 22];
    for (int i = 0; i < 8; i++) {
        static const size_t bytes[] = {3, 700, 5, 1, 1500, 900, 2, 10};
        const bool noise = i == 1 || i == 5; /* is stored; a few words are in a fixed code, many in one of their own */
        const struct iovec piece = {.iov_base = noise ? data : words, .iov_len = bytes[i]};
        const struct gz_input in = {.pieces = &piece, .count = 1};
        if (i > 0) can_begin[made] = true;
        made += gz_engine_zlib.encode(encoder, &in, i == 7, out + made, room - made);
    }
    gz_engine_zlib.encoder_destroy(encoder);
    return made;
}

/* Inflate so many bytes of a stream, in pieces of so many: whether that is between two blocks. */
static bool is_between(const struct gz_engine *engine, const uint8_t *in, size_t bytes, size_t piece) {
    void *decoder = engine->decoder_create();
    assert_non_null(decoder);
    engine->decoder_reset(decoder);
    struct gz_flow flow = {.in = in, .out = back, .out_bytes = sizeof back};
    int rc = GZ_MORE;
    for (size_t at = 0; at < bytes; at += flow.in_bytes) {
        size_t n = bytes - at < piece ? bytes - at : piece;
        flow.in = in + at;
        flow.in_bytes = n;
        rc = engine->decode(decoder, &flow);
        assert_int_equal(rc, GZ_MORE);
        assert_int_equal(flow.in_bytes, 0);
        flow.in_bytes = n;
    }
    flow.in_bytes = 0;
    assert_int_equal(engine->decode(decoder, &flow), GZ_MORE); /* once more, with nothing */
    bool between = engine->between_blocks(decoder);
    engine->decoder_destroy(decoder);
    return between;
}

static void ends_between_blocks(void **state) {
    (void)state;
    static uint8_t out[10000];
    static bool can_begin[sizeof out];
    static const size_t pieces[] = {1, 7, sizeof out};
    size_t made = mixed_stream(out, sizeof out, can_begin), places = 0;
    for (size_t bytes = 0; bytes < made; bytes++) {
        const bool between = is_between(&gz_engine_zlib, out, bytes, 1);
        if (can_begin[bytes]) assert_true(between);
        places += between;
        EACH_ENGINE(e)
        for (size_t i = 0; i < 3; i++)
            if (is_between(*e, out, bytes, pieces[i]) != between)
                fail_msg("%s at %zu of %zu, by %zu: not %d", (*e)->name, bytes, made, pieces[i], between);
    }
    assert_in_range(places, 8, 30); /* those, the beginning, and what happens to be one */
}

static int set_up(void **state) {
    (void)state;
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < sizeof data; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        data[i] = (uint8_t)(x >> 40);
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_taken_by_all),
        cmocka_unit_test(stored_where_the_encoder_gives_up),
        cmocka_unit_test(there_is_room_for_noise),
        cmocka_unit_test(ends_between_blocks),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
