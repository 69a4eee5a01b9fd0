/* SPDX-License-Identifier: MIT */
/* Readers and writers with a buffer. A reader moves what it has to the front only when it needs room behind it.
 *
 * Prev: io/file.c  Next: io/signal.c */
#include <ccrt/io.h>
#include <ccrt/reader.h>

#include "../base/base.h"

#include <errno.h>
#include <string.h>

void cc_reader_init(cc_reader *r, int fd, void *buf, size_t size) {
    *r = (cc_reader){.fd = fd, .priv_buf = buf, .priv_size = size, .priv_left = UINT64_MAX};
}

void cc_reader_limit(cc_reader *r, uint64_t n) {
    r->priv_left = n;
}

/* How much of what is in the buffer may be given; the rest is kept for when the limit is another. */
static size_t available(const cc_reader *r) {
    size_t have = r->priv_end - r->priv_at;
    return have < r->priv_left ? have : (size_t)r->priv_left;
}

/* Give so much of it. */
static char *give(cc_reader *r, size_t n) {
    char *at = r->priv_buf + r->priv_at;
    r->priv_at += n;
    if (r->priv_left != UINT64_MAX) r->priv_left -= n;
    return at;
}

/* Read into memory, when all that is in the buffer may be given, as far as the limit allows besides; as cc_read(). */
static ssize_t fetch(cc_reader *r, void *into, size_t n) {
    uint64_t more = r->priv_left - available(r);
    if (n > more) n = (size_t)more;
    ssize_t k = n == 0 || r->priv_over ? 0 : cc_read(r->fd, into, n);
    if (k == 0 && n > 0) r->priv_over = 1;
    return k;
}

/* More into the buffer: 1, 0 the end, -EMSGSIZE there is no room. */
static int fill(cc_reader *r) {
    if (r->priv_left == available(r)) return 0;
    if (r->priv_at > 0 && r->priv_end == r->priv_size) {
        memmove(r->priv_buf, r->priv_buf + r->priv_at, r->priv_end - r->priv_at);
        r->priv_end -= r->priv_at;
        r->priv_at = 0;
    }
    if (r->priv_end == r->priv_size) return -EMSGSIZE;
    ssize_t k = fetch(r, r->priv_buf + r->priv_end, r->priv_size - r->priv_end);
    if (k <= 0) return (int)k;
    r->priv_end += (size_t)k;
    return 1;
}

int cc_reader_until(cc_reader *r, int byte, char **out, size_t *len) {
    size_t seen = 0; /* of what is there, none of it is the byte */
    for (;;) {
        size_t have = available(r);
        char *from = r->priv_buf + r->priv_at, *hit = have == seen ? NULL : memchr(from + seen, byte, have - seen);
        int rc = hit != NULL ? 1 : fill(r);
        if (rc < 0) return rc;
        if (rc == 0 && have == 0) return 0;
        if (hit == NULL && rc == 1) {
            seen = have;
            continue;
        }
        *len = hit != NULL ? (size_t)(hit - from) + 1 : have;
        *out = give(r, *len);
        return 1;
    }
}

int cc_reader_line(cc_reader *r, char **line, size_t *len) {
    int rc = cc_reader_until(r, '\n', line, len);
    if (rc == 1 && (*line)[*len - 1] == '\n') (*line)[--*len] = 0;
    return rc;
}

ssize_t cc_reader_exactly(cc_reader *r, void *buf, size_t n) {
    size_t have = available(r), done = have < n ? have : n;
    memcpy(buf, give(r, done), done);
    while (done < n) {
        ssize_t k = fetch(r, (char *)buf + done, n - done);
        if (k < 0) return k;
        if (k == 0) break;
        done += (size_t)k;
        if (r->priv_left != UINT64_MAX) r->priv_left -= (uint64_t)k;
    }
    return (ssize_t)done;
}

/* ---- writing ---- */

void cc_writer_init(cc_writer *w, int fd, void *buf, size_t size) {
    *w = (cc_writer){.fd = fd, .priv_buf = buf, .priv_size = size};
}

int cc_writer_flush(cc_writer *w) {
    size_t n = w->priv_at;
    w->priv_at = 0;
    ssize_t k = n == 0 ? 0 : cc_write(w->fd, w->priv_buf, n);
    return k < 0 ? (int)k : 0;
}

ssize_t cc_writer_write(cc_writer *w, const void *buf, size_t n) {
    if (n > w->priv_size - w->priv_at) {
        int rc = cc_writer_flush(w);
        if (rc != 0) return rc;
        if (n >= w->priv_size) return cc_write(w->fd, buf, n);
    }
    memcpy(w->priv_buf + w->priv_at, buf, n);
    w->priv_at += n;
    return (ssize_t)n;
}
