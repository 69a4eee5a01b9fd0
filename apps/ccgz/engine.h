/* SPDX-License-Identifier: MIT */
/* Engines: libraries that deflate and inflate, behind one interface. All of them make and take raw deflate; headers,
 * trailers and checksums are ours. */
#ifndef CCGZ_ENGINE_H
#define CCGZ_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* What an encoder reads: one piece or several, and what comes before, if there is something. */
struct gz_input {
    const struct iovec *pieces;
    int count;
    struct iovec before;
};

/* What a decoder reads and writes; it moves both ways on. */
struct gz_flow {
    const uint8_t *in;
    size_t in_bytes;
    uint8_t *out;
    size_t out_bytes;
};

/* What decoding says. */
enum {
    GZ_END,     /* the last block is over; `in` is behind it, up to 8 bytes before where it began at worst */
    GZ_MORE,    /* there is more: give it room or input */
    GZ_BAD,     /* this is not deflate */
    GZ_NO_SPACE /* no memory */
};

struct gz_engine {
    const char *name;
    const char *version;
    size_t block;    /* how many bytes to compress at a time, unless told otherwise */
    bool dictionary; /* a block can refer to the 32 KiB before it */
    bool joins;      /* what it makes of several blocks can be put together to one stream; else each is a member */
    bool pieces;     /* takes several pieces of input as one */
    bool whole;      /* inflates streams as a whole, by decode_whole */

    /* A thing that deflates at a level from 0 to 9, for one caller at a time; NULL: no memory. */
    void *(*encoder_create)(int level);
    void (*encoder_destroy)(void *encoder);
    /* Deflate. What is before it may be referred to. The result ends with a whole byte; with `last`, it ends the
     * stream. Its size, or 0: it does not fit. */
    size_t (*encode)(void *encoder, const struct gz_input *in, bool last, uint8_t *out, size_t room);

    /* A thing that inflates, begun anew by decoder_reset. */
    void *(*decoder_create)(void);
    void (*decoder_destroy)(void *decoder);
    void (*decoder_reset)(void *decoder);
    int (*decode)(void *decoder, struct gz_flow *flow); /* one of the above */
    /* After GZ_MORE that left room and input none: whether that is between two blocks, with no bit of the input left.
     * Then, and only then, whoever begins anew with what follows inflates what this one would have. */
    bool (*between_blocks)(const void *decoder);

    /* Inflate a whole stream into exactly `bytes`, consuming all of `in`: 0, or -1. For a decoder of its own. */
    void *(*whole_create)(void);
    void (*whole_destroy)(void *decoder);
    int (*decode_whole)(void *decoder, const uint8_t *in, size_t in_bytes, uint8_t *out, size_t bytes);
};

extern const struct gz_engine gz_engine_zlib;
#if CCGZ_LIBDEFLATE
extern const struct gz_engine gz_engine_libdeflate;
#endif
#if CCGZ_ISAL
extern const struct gz_engine gz_engine_isal;
#endif

/* By name; NULL: there is none, or not here. All of them, ended by NULL; and the one that inflates fastest. */
const struct gz_engine *gz_engine_named(const char *name);
const struct gz_engine *const *gz_engines(void);
const struct gz_engine *gz_engine_fastest(void);

/* Room for what any engine makes of so many bytes, or what is made here if that does not fit: stored blocks. */
size_t gz_encode_room(size_t bytes);
size_t gz_encode(const struct gz_engine *engine, void *encoder, const struct gz_input *in, bool last, uint8_t *out,
                 size_t room);

/* Checksums, by the fastest code there is. */
uint32_t gz_crc(uint32_t crc, const void *data, size_t bytes);
uint32_t gz_crc_join(uint32_t first, uint32_t second, uint64_t second_bytes);

#endif /* CCGZ_ENGINE_H */
