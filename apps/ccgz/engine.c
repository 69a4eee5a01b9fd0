/* SPDX-License-Identifier: MIT */
/* Which engines there are, and what does not depend on them: stored blocks and checksums.
 *
 * Prev: job.c  Next: engine_zlib.c, engine_libdeflate.c, engine_isal.c */
#include "engine.h"

#include <string.h>
#include <zlib.h>
#if CCGZ_LIBDEFLATE
#include <libdeflate.h>
#elif CCGZ_ISAL
#include <isa-l/crc.h>
#endif

static const struct gz_engine *const engines[] = {
    &gz_engine_zlib,
#if CCGZ_LIBDEFLATE
    &gz_engine_libdeflate,
#endif
#if CCGZ_ISAL
    &gz_engine_isal,
#endif
    NULL,
};

const struct gz_engine *const *gz_engines(void) {
    return engines;
}

const struct gz_engine *gz_engine_named(const char *name) {
    for (const struct gz_engine *const *e = engines; *e != NULL; e++)
        if (strcmp((*e)->name, name) == 0) return *e;
    return NULL;
}

const struct gz_engine *gz_engine_fastest(void) {
#if CCGZ_ISAL
    return &gz_engine_isal;
#elif CCGZ_LIBDEFLATE
    return &gz_engine_libdeflate;
#else
    return &gz_engine_zlib;
#endif
}

/* ---- stored blocks ---- */

enum { STORED_MAX = 65535, STORED_HEAD = 5, SYMBOLS = 16383 };

/* zlib looks every SYMBOLS bytes whether to store what does not get shorter. libdeflate says itself what it needs.
 * ISA-L says nothing; what of it does not fit is stored. */
size_t gz_encode_room(size_t bytes) {
    size_t room = bytes + STORED_HEAD * (bytes / SYMBOLS + 1) + STORED_HEAD + 64;
#if CCGZ_LIBDEFLATE
    size_t other = libdeflate_deflate_compress_bound(NULL, bytes);
    if (other > room) room = other;
#endif
    return room;
}

static size_t store_piece(const uint8_t *in, size_t bytes, bool last, uint8_t *out) {
    uint8_t *p = out;
    do {
        size_t n = bytes < STORED_MAX ? bytes : STORED_MAX;
        *p++ = last && n == bytes;
        *p++ = (uint8_t)n;
        *p++ = (uint8_t)(n >> 8);
        *p++ = (uint8_t)~n;
        *p++ = (uint8_t)(~n >> 8);
        memcpy(p, in, n);
        p += n;
        in += n;
        bytes -= n;
    } while (bytes > 0);
    return (size_t)(p - out);
}

size_t gz_encode(const struct gz_engine *engine, void *encoder, const struct gz_input *in, bool last, uint8_t *out,
                 size_t room) {
    size_t made = engine->encode(encoder, in, last, out, room);
    if (made > 0) return made;
    if (!engine->joins) last = true; /* every one is a stream of its own */
    for (int i = 0; i < in->count; i++) {
        const struct iovec *piece = &in->pieces[i];
        made += store_piece(piece->iov_base, piece->iov_len, last && i + 1 == in->count, out + made);
    }
    return made;
}

/* ---- checksums ---- */

uint32_t gz_crc(uint32_t crc, const void *data, size_t bytes) {
#if CCGZ_LIBDEFLATE
    return libdeflate_crc32(crc, data, bytes);
#elif CCGZ_ISAL
    return crc32_gzip_refl(crc, data, bytes);
#else
    return (uint32_t)crc32_z(crc, data, bytes);
#endif
}

uint32_t gz_crc_join(uint32_t first, uint32_t second, uint64_t second_bytes) {
    return (uint32_t)crc32_combine(first, second, (z_off_t)second_bytes);
}
