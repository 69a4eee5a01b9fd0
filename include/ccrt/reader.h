/* SPDX-License-Identifier: MIT */
/* Reading with a buffer: lines, and what ends with some byte; and writing with one. The memory is the caller's.
 *
 *     char room[4096], *line;
 *     size_t len;
 *     cc_reader r;
 *     cc_reader_init(&r, fd, room, sizeof room);
 *     while ((rc = cc_reader_line(&r, &line, &len)) == 1) ...
 *
 * One fiber or thread uses a reader, or a writer, at a time. */
#ifndef CCRT_READER_H
#define CCRT_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "defs.h"

CC_BEGIN_DECLS

typedef struct cc_reader {
    int fd;
    char *priv_buf;
    size_t priv_size, priv_at, priv_end; /* what was read and not given yet */
    uint64_t priv_left;                  /* that may still be given */
    int priv_over;                       /* the end came */
} cc_reader;

/* Read from fd by a buffer; nothing is read yet. */
CC_API void cc_reader_init(cc_reader *r, int fd, void *buf, size_t size);

/* From here on the end comes after n bytes at the latest, those in the buffer counted; nothing behind them is read, and
 * what is in the buffer already is kept. The next limit begins there: the next body of a connection, or UINT64_MAX for
 * none. */
CC_API void cc_reader_limit(cc_reader *r, uint64_t n);

/* The next line, without its newline, or what there is before the end; it lies in the buffer, with a 0 in the newline's
 * place if there was one, and is good until the next call.
 *   Returns    1; 0 the end; -EMSGSIZE it is longer than the buffer; errors as cc_read()
 *   Call from  fiber or thread           Blocks: the caller only */
CC_API int cc_reader_line(cc_reader *r, char **line, size_t *len);

/* The same up to and with some other byte, unchanged. */
CC_API int cc_reader_until(cc_reader *r, int byte, char **out, size_t *len);

/* n bytes, fewer only at the end; errors as cc_read(). */
CC_API ssize_t cc_reader_exactly(cc_reader *r, void *buf, size_t n);

typedef struct cc_writer {
    int fd;
    char *priv_buf;
    size_t priv_size, priv_at;
} cc_writer;

/* Write to fd by a buffer. */
CC_API void cc_writer_init(cc_writer *w, int fd, void *buf, size_t size);

/* Write n bytes, to the buffer as long as they fit.
 *   Returns    n; errors as cc_write(): what was in the buffer may be lost */
CC_API ssize_t cc_writer_write(cc_writer *w, const void *buf, size_t n);

/* Write what is in the buffer.
 *   Returns    0; errors as cc_write() */
CC_API int cc_writer_flush(cc_writer *w);

CC_END_DECLS

#endif /* CCRT_READER_H */
