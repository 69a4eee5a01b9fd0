/* SPDX-License-Identifier: MIT */
/* The header and trailer of a gzip member (RFC 1952). */
#ifndef CCGZ_HEADER_H
#define CCGZ_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GZ_HEADER_FIXED = 10, /* bytes before what is optional */
    GZ_TRAILER = 8,
    GZ_EXTRA_MAX = 65535,
    GZ_NAME_MAX = 4095, /* longer names in headers are not kept */
    /* the first of two that open every gzip member; and the only method there is */
    GZ_ID1 = 0x1f,
    GZ_ID2 = 0x8b,
    GZ_DEFLATE = 8,
};

struct gz_header {
    uint32_t time;              /* seconds since 1970; 0: not said */
    char name[GZ_NAME_MAX + 1]; /* empty: not said */
    const uint8_t *extra;       /* in the text that was parsed; NULL: none */
    size_t extra_bytes;
    uint8_t fixed[GZ_HEADER_FIXED];
};

/* Parse what begins with a header. Returns its size; 0: there must be more; -1: this is no header, and *why says so. */
int64_t gz_header_parse(struct gz_header *h, const uint8_t *text, size_t bytes, const char **why);

/* Write one: extra and name may be NULL. Returns its size; there is room for 16 + extra_bytes + strlen(name). */
size_t gz_header_make(uint8_t *to, int level, uint32_t time, const char *name, const uint8_t *extra,
                      size_t extra_bytes);

void gz_trailer_make(uint8_t *to, uint32_t crc, uint64_t bytes);

uint32_t gz_get32(const uint8_t *p);
void gz_put32(uint8_t *p, uint32_t v);

#endif /* CCGZ_HEADER_H */
