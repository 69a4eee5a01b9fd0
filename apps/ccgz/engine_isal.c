/* SPDX-License-Identifier: MIT */
/* ISA-L: by far the fastest, with four levels of its own. Ours from 0 to 9 are spread over them: 0 and 1 are its 0,
 * 2 and 3 its 1, 4 and 5 its 2, the rest its 3.
 *
 * Prev: engine.c  Next: header.h */
#include "engine.h"

#include <isa-l.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

struct encoder {
    struct isal_zstream z;
    uint32_t level, level_bytes;
    uint8_t level_buffer[];
};

static void *encoder_create(int level) {
    static const uint32_t bytes[] = {ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
                                     ISAL_DEF_LVL3_DEFAULT};
    uint32_t own = level >= 6 ? 3 : (uint32_t)level / 2;
    struct encoder *e = malloc(sizeof *e + bytes[own]);
    if (e == NULL) return NULL;
    e->level = own;
    e->level_bytes = bytes[own];
    return e;
}

static size_t encode(void *encoder, const struct gz_input *in, bool last, uint8_t *out, size_t room) {
    struct encoder *e = encoder;
    isal_deflate_init(&e->z);
    e->z.level = e->level;
    e->z.level_buf = e->level_bytes > 0 ? e->level_buffer : NULL;
    e->z.level_buf_size = e->level_bytes;
    e->z.end_of_stream = last;
    e->z.flush = last ? NO_FLUSH : FULL_FLUSH;
    e->z.next_in = in->pieces->iov_base; /* it is not written to */
    e->z.avail_in = (uint32_t)in->pieces->iov_len;
    e->z.next_out = out;
    e->z.avail_out = (uint32_t)room;
    int rc = isal_deflate(&e->z);
    enum isal_zstate_state done = last ? ZSTATE_END : ZSTATE_NEW_HDR;
    bool whole = rc == COMP_OK && e->z.avail_in == 0 && e->z.avail_out > 0 && e->z.internal_state.state == done;
    return whole ? room - e->z.avail_out : 0;
}

static void *decoder_create(void) {
    struct inflate_state *s = malloc(sizeof *s);
    if (s != NULL) isal_inflate_init(s);
    return s;
}

static void decoder_reset(void *decoder) {
    isal_inflate_reset(decoder);
}

/* It reads up to 8 bytes ahead; at the end of the stream they are given back, even if that is before where this input
 * began. */
static int decode(void *decoder, struct gz_flow *flow) {
    struct inflate_state *s = decoder;
    s->next_in = (uint8_t *)flow->in;
    s->avail_in = (uint32_t)flow->in_bytes;
    s->next_out = flow->out;
    s->avail_out = (uint32_t)flow->out_bytes;
    int rc = isal_inflate(s);
    bool ended = rc == ISAL_DECOMP_OK && s->block_state == ISAL_BLOCK_FINISH;
    size_t ahead = ended ? (size_t)s->read_in_length / 8 : 0;
    flow->in = s->next_in - ahead;
    flow->in_bytes = s->avail_in + ahead;
    flow->out = s->next_out;
    flow->out_bytes = s->avail_out;
    return ended ? GZ_END : rc == ISAL_DECOMP_OK ? GZ_MORE : GZ_BAD;
}

/* It looks for the header of a block as soon as the one before it is over, and keeps what there is of it. */
static bool between_blocks(const void *decoder) {
    const struct inflate_state *s = decoder;
    bool header = s->block_state == ISAL_BLOCK_NEW_HDR || s->block_state == ISAL_BLOCK_HDR;
    return header && s->read_in_length == 0 && s->tmp_in_size == 0;
}

const struct gz_engine gz_engine_isal = {
    .name = "isal",
    .version = TEXT(ISAL_MAJOR_VERSION) "." TEXT(ISAL_MINOR_VERSION) "." TEXT(ISAL_PATCH_VERSION),
    .block = (size_t)1024 * 1024,
    .joins = true,
    .encoder_create = encoder_create,
    .encoder_destroy = free,
    .encode = encode,
    .decoder_create = decoder_create,
    .decoder_destroy = free,
    .decoder_reset = decoder_reset,
    .decode = decode,
    .between_blocks = between_blocks,
};
