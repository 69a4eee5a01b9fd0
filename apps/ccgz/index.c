/* SPDX-License-Identifier: MIT */
/* Writing and reading indexes. A reader believes nothing: an index that is not whole, by its own checksum or by its
 * sums, is none.
 *
 * Prev: header.c  Next: compress.c */
#include "index.h"
#include "engine.h"

#include <string.h>

enum { VERSION = 1, SUBFIELD = 4, MORE = 128 };

/* Of the member that has an index: its header up to the extra field's length, and what follows that field: a last,
 * empty block, no checksum and no length. */
static const uint8_t opening[GZ_HEADER_FIXED] = {GZ_ID1, GZ_ID2, GZ_DEFLATE, 4, 0, 0, 0, 0, 0, 255};
static const uint8_t ending[GZ_INDEX_ENDING] = {3, 0};

/* ---- numbers ---- */

static size_t put_number(uint8_t *to, uint64_t v) {
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) to[n++] = (uint8_t)(v | 0x80);
    to[n++] = (uint8_t)v;
    return n;
}

/* Returns how many bytes it has; 0: it is none. */
static size_t get_number(const uint8_t *from, size_t bytes, uint64_t *v) {
    *v = 0;
    for (size_t n = 0; n < bytes && n < 9; n++) {
        *v |= (uint64_t)(from[n] & 0x7f) << (7 * n);
        if (from[n] < 0x80) return n + 1;
    }
    return 0;
}

/* ---- writing ---- */

void gz_index_begin(struct gz_index *x, enum gz_index_kind kind, uint64_t chunk_bytes) {
    x->kind = kind;
    x->more = false;
    x->part_crc = 0;
    x->part_bytes = x->data_bytes = 0;
    x->chunk_bytes = chunk_bytes;
    x->chunks = 0;
    x->used = 0;
}

void gz_index_add(struct gz_index *x, uint64_t bytes) {
    x->used += put_number(x->sizes + x->used, bytes);
    x->chunks++;
}

void gz_index_mark(uint8_t to[GZ_MARK], enum gz_index_kind kind) {
    const uint8_t mark[GZ_MARK] = {'c', 'g', 2, 0, VERSION, (uint8_t)kind};
    memcpy(to, mark, sizeof mark);
}

size_t gz_index_make(const struct gz_index *x, uint8_t *to) {
    uint8_t *extra = to + sizeof opening + 2, *own = extra + SUBFIELD, *p = own;
    *p++ = VERSION;
    *p++ = (uint8_t)(x->kind | (x->more ? MORE : 0));
    gz_put32(p, x->part_crc);
    p += 4;
    p += put_number(p, x->part_bytes);
    p += put_number(p, x->data_bytes);
    p += put_number(p, x->chunk_bytes);
    p += put_number(p, x->chunks);
    memcpy(p, x->sizes, x->used);
    p += x->used;
    gz_put32(p, gz_crc(0, own, (size_t)(p - own)));
    p += 4;
    size_t extra_bytes = (size_t)(p - extra) + 2;
    *p++ = (uint8_t)extra_bytes;
    *p++ = (uint8_t)(extra_bytes >> 8);
    memcpy(to, opening, sizeof opening);
    extra[-2] = (uint8_t)extra_bytes;
    extra[-1] = (uint8_t)(extra_bytes >> 8);
    const uint8_t subfield[SUBFIELD] = {'c', 'g', (uint8_t)(extra_bytes - SUBFIELD),
                                        (uint8_t)((extra_bytes - SUBFIELD) >> 8)};
    memcpy(extra, subfield, sizeof subfield);
    memcpy(p, ending, sizeof ending);
    return (size_t)(p - to) + sizeof ending;
}

/* ---- reading ---- */

uint64_t gz_index_next(const struct gz_index *x, size_t *at) {
    uint64_t v;
    size_t n = get_number(x->sizes + *at, x->used - *at, &v);
    *at += n;
    return n > 0 ? v : 0;
}

/* Whether its numbers fit together. */
static bool adds_up(const struct gz_index *x) {
    if (x->chunks == 0 || x->chunks > GZ_CHUNKS_MAX || x->chunk_bytes == 0) return false;
    if (x->chunk_bytes > UINT32_MAX || x->kind > GZ_MEMBERS) return false;
    if (x->data_bytes > x->chunks * x->chunk_bytes || x->data_bytes <= (x->chunks - 1) * x->chunk_bytes) return false;
    uint64_t sum = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < x->chunks; i++) {
        uint64_t bytes = gz_index_next(x, &at);
        if (bytes == 0 || bytes > UINT32_MAX) return false;
        sum += bytes;
    }
    return at == x->used && (x->kind == GZ_MEMBERS ? sum == x->part_bytes : sum < x->part_bytes);
}

static enum gz_index_found parse(const struct gz_header *h, const uint8_t *own, size_t bytes, struct gz_index *x) {
    if (x == NULL || bytes < 6 + 4 + 2 || own[0] != VERSION || memcmp(h->fixed, opening, sizeof opening) != 0)
        return GZ_INDEX_DAMAGED;
    size_t end = bytes - 6; /* what the checksum is of */
    if (gz_get32(own + end) != gz_crc(0, own, end)) return GZ_INDEX_DAMAGED;
    if (((size_t)own[end + 4] | (size_t)own[end + 5] << 8) != h->extra_bytes) return GZ_INDEX_DAMAGED;
    x->kind = own[1] & ~MORE;
    x->more = (own[1] & MORE) != 0;
    x->part_crc = gz_get32(own + 2);
    uint64_t *const numbers[] = {&x->part_bytes, &x->data_bytes, &x->chunk_bytes};
    size_t at = 6, n = 1;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && n > 0; i++)
        at += n = get_number(own + at, end - at, numbers[i]);
    uint64_t chunks = 0;
    if (n > 0) at += n = get_number(own + at, end - at, &chunks);
    if (n == 0 || chunks > GZ_CHUNKS_MAX || end - at > sizeof x->sizes) return GZ_INDEX_DAMAGED;
    x->chunks = (uint32_t)chunks;
    x->used = end - at;
    memcpy(x->sizes, own + at, x->used);
    return adds_up(x) ? GZ_INDEX_HERE : GZ_INDEX_DAMAGED;
}

enum gz_index_found gz_index_find(const struct gz_header *h, struct gz_index *x) {
    const uint8_t *p = h->extra;
    for (size_t left = h->extra_bytes; p != NULL && left >= SUBFIELD;) {
        size_t n = (size_t)p[2] | (size_t)p[3] << 8;
        if (n > left - SUBFIELD) return GZ_INDEX_NONE;
        if (p[0] == 'c' && p[1] == 'g')
            return n != 2 ? parse(h, p + SUBFIELD, n, x) : p[4] == VERSION ? GZ_INDEX_MARK : GZ_INDEX_DAMAGED;
        p += SUBFIELD + n;
        left -= SUBFIELD + n;
    }
    return GZ_INDEX_NONE;
}

bool gz_index_ends(const uint8_t after[GZ_INDEX_ENDING]) {
    return memcmp(after, ending, sizeof ending) == 0;
}

size_t gz_index_at_end(const uint8_t *end, size_t bytes) {
    if (bytes < sizeof opening + 2 + SUBFIELD + 2 + sizeof ending) return 0;
    const uint8_t *p = end + bytes - sizeof ending;
    if (!gz_index_ends(p)) return 0;
    return sizeof opening + 2 + ((size_t)p[-2] | (size_t)p[-1] << 8) + sizeof ending;
}
