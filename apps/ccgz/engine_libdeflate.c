/* SPDX-License-Identifier: MIT */
/* libdeflate: whole buffers only. So each block is a member of its own, and a member of an indexed file is inflated at
 * one go; what comes as a stream is left to an engine that knows streams.
 *
 * So are chunks from the middle of a member. Its streams always end with a last block, which such a chunk has not. One
 * can be put behind it; but then nothing tells whether that was taken for a block, or for what was missing of one that
 * does not end there.
 *
 * Prev: engine.c  Next: header.h */
#include "engine.h"

#include <libdeflate.h>

static void *encoder_create(int level) {
    return libdeflate_alloc_compressor(level);
}

static void encoder_destroy(void *encoder) {
    libdeflate_free_compressor(encoder);
}

static size_t encode(void *encoder, const struct gz_input *in, bool last, uint8_t *out, size_t room) {
    (void)last;
    return libdeflate_deflate_compress(encoder, in->pieces->iov_base, in->pieces->iov_len, out, room);
}

static void *whole_create(void) {
    return libdeflate_alloc_decompressor();
}

static void whole_destroy(void *decoder) {
    libdeflate_free_decompressor(decoder);
}

static int decode_whole(void *decoder, const uint8_t *in, size_t in_bytes, uint8_t *out, size_t bytes) {
    size_t consumed, made;
    enum libdeflate_result rc = libdeflate_deflate_decompress_ex(decoder, in, in_bytes, out, bytes, &consumed, &made);
    return rc == LIBDEFLATE_SUCCESS && consumed == in_bytes && made == bytes ? 0 : -1;
}

/* As a stream: the other's functions. */
#if CCGZ_ISAL
#define STREAM gz_engine_isal
#else
#define STREAM gz_engine_zlib
#endif

static void *decoder_create(void) {
    return STREAM.decoder_create();
}

static void decoder_destroy(void *decoder) {
    STREAM.decoder_destroy(decoder);
}

static void decoder_reset(void *decoder) {
    STREAM.decoder_reset(decoder);
}

static int decode(void *decoder, struct gz_flow *flow) {
    return STREAM.decode(decoder, flow);
}

static bool between_blocks(const void *decoder) {
    return STREAM.between_blocks(decoder);
}

const struct gz_engine gz_engine_libdeflate = {
    .name = "libdeflate",
    .version = LIBDEFLATE_VERSION_STRING,
    .block = (size_t)1024 * 1024,
    .whole = true,
    .encoder_create = encoder_create,
    .encoder_destroy = encoder_destroy,
    .encode = encode,
    .decoder_create = decoder_create,
    .decoder_destroy = decoder_destroy,
    .decoder_reset = decoder_reset,
    .decode = decode,
    .between_blocks = between_blocks,
    .whole_create = whole_create,
    .whole_destroy = whole_destroy,
    .decode_whole = decode_whole,
};
