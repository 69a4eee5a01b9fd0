/* SPDX-License-Identifier: MIT */
/* The index: where in a file inflating can begin. docs/decisions/0011-gzip-index.md says why it is as it is.
 *
 * A part of a file is one member with data, or several; behind it stands a member without data, whose header has the
 * index in its extra field. Every other program takes that for what it is: nothing. The first header of a part has a
 * mark that an index follows, so that one that is missing is missed.
 *
 *   mark:   'c' 'g' 2 0, version, kind
 *   index:  'c' 'g' length, version, kind (and 128: another part follows), crc of the part (4), then as numbers of
 *           7 bits a byte: bytes of the part, bytes of its data, bytes of data in each chunk but the last, chunks,
 *           bytes of each chunk; crc of all that (4), length of the extra field (2) */
#ifndef CCGZ_INDEX_H
#define CCGZ_INDEX_H

#include "header.h"

enum gz_index_kind {
    GZ_IN_MEMBER, /* chunks are pieces of one member's deflate stream; none refers to what is before it */
    GZ_MEMBERS,   /* chunks are members */
};

enum { GZ_CHUNKS_MAX = 13000, GZ_MARK = 6 };

struct gz_index {
    enum gz_index_kind kind;
    bool more;           /* another part follows */
    uint32_t part_crc;   /* of all its bytes */
    uint64_t part_bytes; /* from the first header to the last trailer */
    uint64_t data_bytes;
    uint64_t chunk_bytes;
    uint32_t chunks;
    size_t used; /* of sizes */
    uint8_t sizes[GZ_CHUNKS_MAX * 5];
};

void gz_index_begin(struct gz_index *x, enum gz_index_kind kind, uint64_t chunk_bytes);
/* One chunk more, of so many compressed bytes. */
void gz_index_add(struct gz_index *x, uint64_t bytes);
/* Write the member that has it; there is room for GZ_INDEX_ROOM. Returns its size. */
enum { GZ_INDEX_ROOM = GZ_EXTRA_MAX + 64 };
size_t gz_index_make(const struct gz_index *x, uint8_t *to);

/* The mark, for the first header. */
void gz_index_mark(uint8_t to[GZ_MARK], enum gz_index_kind kind);

/* What a header's extra field has of ours. */
enum gz_index_found {
    GZ_INDEX_NONE,
    GZ_INDEX_MARK,
    GZ_INDEX_HERE, /* and *x is what it says */
    GZ_INDEX_DAMAGED
};
/* With x NULL only a mark is looked for: an index is GZ_INDEX_DAMAGED, then. */
enum gz_index_found gz_index_find(const struct gz_header *h, struct gz_index *x);

/* Whether what follows that header is as it should be. */
enum { GZ_INDEX_ENDING = 2 + GZ_TRAILER };
bool gz_index_ends(const uint8_t after[GZ_INDEX_ENDING]);

/* The next size from *at on, which begins as 0; 0 behind the last. */
uint64_t gz_index_next(const struct gz_index *x, size_t *at);

/* Whether the bytes that end a file end with an index, and how many bytes that member has; 0: no. */
size_t gz_index_at_end(const uint8_t *end, size_t bytes);

#endif /* CCGZ_INDEX_H */
