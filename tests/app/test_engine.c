/* SPDX-License-Identifier: MIT */
/* Goal: what every engine makes is a stream that every engine takes, also where its encoder gives up and the data is
 * stored instead.
 * Method: each engine as it is, and as one whose encoder always gives up, is given blocks from none to several stored
 * ones, the last of a stream and others; what it makes must fit into the room there is for it, and be inflated again by
 * all of them to what it was: put together, or each on its own, as the engine has it. Noise is among the data.
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
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
