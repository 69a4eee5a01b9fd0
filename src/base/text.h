/* SPDX-License-Identifier: MIT */
/* Text built by hand into a caller's buffer: for signal handlers and failing checks, where printf
 * may not be called. What does not fit is cut off. */
#ifndef CC__BASE_TEXT_H
#define CC__BASE_TEXT_H

#include "base.h"

struct cc__text {
    char *buf;
    size_t size; /* of buf; len never exceeds it */
    size_t len;
};

struct cc__text cc__text_on(char *buf, size_t size);
void cc__text_str(struct cc__text *t, const char *s);
void cc__text_dec(struct cc__text *t, uint64_t n);
void cc__text_hex(struct cc__text *t, uintptr_t n); /* with 0x */

/* Write it to a descriptor, all of it, past EINTR; print: to stderr. Async-signal-safe; both preserve errno. */
void cc__text_write(const struct cc__text *t, int fd);
void cc__text_print(const struct cc__text *t);

#endif /* CC__BASE_TEXT_H */
