/* SPDX-License-Identifier: MIT */
/* Headers and trailers. What is parsed may be anything: every length is looked at before it is used.
 *
 * Prev: engine.c  Next: index.c */
#include "header.h"
#include "engine.h"

#include <string.h>

enum { TEXT = 1, HEADER_CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, RESERVED = 0xe0 };
enum { OS_UNIX = 3, BEST = 2, FASTEST = 4 };

uint32_t gz_get32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void gz_put32(uint8_t *p, uint32_t v) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (8 * i));
}

static int64_t bad(const char **why, const char *text) {
    *why = text;
    return -1;
}

/* The size with a text that ends with 0 from `at` on, or 0. */
static size_t behind_text(const uint8_t *text, size_t bytes, size_t at) {
    const uint8_t *end = at < bytes ? memchr(text + at, 0, bytes - at) : NULL;
    return end == NULL ? 0 : (size_t)(end - text) + 1;
}

static size_t parse_name(struct gz_header *h, const uint8_t *text, size_t bytes, size_t at) {
    size_t end = behind_text(text, bytes, at);
    if (end > 0 && end - at <= GZ_NAME_MAX) memcpy(h->name, text + at, end - at);
    return end;
}

static size_t parse_extra(struct gz_header *h, const uint8_t *text, size_t bytes, size_t at) {
    if (bytes - at < 2) return 0;
    size_t n = (size_t)text[at] | (size_t)text[at + 1] << 8;
    if (bytes - at - 2 < n) return 0;
    h->extra = text + at + 2;
    h->extra_bytes = n;
    return at + 2 + n;
}

int64_t gz_header_parse(struct gz_header *h, const uint8_t *text, size_t bytes, const char **why) {
    h->name[0] = 0;
    h->extra = NULL;
    h->extra_bytes = 0;
    if (bytes >= 1 && text[0] != GZ_ID1) return bad(why, "not in gzip format");
    if (bytes >= 2 && text[1] != GZ_ID2) return bad(why, "not in gzip format");
    if (bytes < GZ_HEADER_FIXED) return 0;
    if (text[2] != GZ_DEFLATE) return bad(why, "unknown method of compression");
    unsigned flags = text[3];
    if ((flags & RESERVED) != 0) return bad(why, "unknown flags in its header");
    h->time = gz_get32(text + 4);
    memcpy(h->fixed, text, sizeof h->fixed);
    size_t at = GZ_HEADER_FIXED;
    if ((flags & EXTRA) != 0 && (at = parse_extra(h, text, bytes, at)) == 0) return 0;
    if ((flags & NAME) != 0 && (at = parse_name(h, text, bytes, at)) == 0) return 0;
    if ((flags & COMMENT) != 0 && (at = behind_text(text, bytes, at)) == 0) return 0;
    if ((flags & HEADER_CRC) != 0) {
        if (bytes - at < 2) return 0;
        unsigned said = (unsigned)text[at] | (unsigned)text[at + 1] << 8;
        if (said != (gz_crc(0, text, at) & 0xffff)) return bad(why, "corrupted header");
        at += 2;
    }
    return (int64_t)at;
}

size_t gz_header_make(uint8_t *to, int level, uint32_t time, const char *name, const uint8_t *extra,
                      size_t extra_bytes) {
    uint8_t *p = to;
    *p++ = GZ_ID1;
    *p++ = GZ_ID2;
    *p++ = GZ_DEFLATE;
    *p++ = (uint8_t)((extra != NULL ? EXTRA : 0) | (name != NULL ? NAME : 0));
    gz_put32(p, time);
    p += 4;
    *p++ = level == 9 ? BEST : level == 1 ? FASTEST : 0;
    *p++ = OS_UNIX;
    if (extra != NULL) {
        *p++ = (uint8_t)extra_bytes;
        *p++ = (uint8_t)(extra_bytes >> 8);
        memcpy(p, extra, extra_bytes);
        p += extra_bytes;
    }
    if (name != NULL) {
        size_t n = strlen(name) + 1;
        memcpy(p, name, n);
        p += n;
    }
    return (size_t)(p - to);
}

void gz_trailer_make(uint8_t *to, uint32_t crc, uint64_t bytes) {
    gz_put32(to, crc);
    gz_put32(to + 4, (uint32_t)bytes);
}
