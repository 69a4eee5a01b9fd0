/* SPDX-License-Identifier: MIT */
/* Text built by hand. Nothing here allocates, locks or keeps state, so a signal handler may use it.
 *
 * Prev: base/assert.c  Next: base/env.h */
#include "text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void text_bytes(struct cc__text *t, const char *s, size_t n) {
    size_t room = t->size - t->len;
    if (n > room) n = room;
    memcpy(t->buf + t->len, s, n);
    t->len += n;
}

struct cc__text cc__text_on(char *buf, size_t size) {
    return (struct cc__text){.buf = buf, .size = size, .len = 0};
}

void cc__text_str(struct cc__text *t, const char *s) {
    text_bytes(t, s, strlen(s));
}

static void text_number(struct cc__text *t, uint64_t n, unsigned radix) {
    char digits[20]; /* 2^64 in decimal */
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[n % radix];
        n /= radix;
    } while (n != 0);
    text_bytes(t, digits + at, sizeof digits - at);
}

void cc__text_dec(struct cc__text *t, uint64_t n) {
    text_number(t, n, 10);
}

void cc__text_hex(struct cc__text *t, uintptr_t n) {
    text_bytes(t, "0x", 2);
    text_number(t, n, 16);
}

void cc__text_write(const struct cc__text *t, int fd) {
    int saved = errno; /* the interrupted code's, when called from a signal handler */
    for (size_t at = 0; at < t->len;) {
        ssize_t n = write(fd, t->buf + at, t->len - at);
        if (n == 0 || (n < 0 && errno != EINTR)) break; /* no progress, or none to hope for */
        if (n > 0) at += (size_t)n;
    }
    errno = saved;
}

void cc__text_print(const struct cc__text *t) {
    cc__text_write(t, STDERR_FILENO);
}
