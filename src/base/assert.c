/* SPDX-License-Identifier: MIT */
/* The end of a failed check: one line on stderr, then abort().
 *
 * It may run on a fiber's stack with little room left, so it formats into a small buffer by hand and
 * calls nothing that allocates.
 *
 * Prev: base/assert.h  Next: base/error.c */
#include "assert.h"

#include "atomic.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* W: whoever starts first.  R: cc__fail. Only a pointer to code, so relaxed is enough. */
static cc__fail_context_fn *_Atomic fail_context;

void cc__fail_set_context(cc__fail_context_fn *fn) {
    cc__store_relaxed(&fail_context, fn);
}

void cc__fail(const char *kind, const char *reason, const char *file, int line) {
    char buf[512];
    struct cc__text t = cc__text_on(buf, sizeof buf);
    cc__fail_context_fn *context = cc__load_relaxed(&fail_context);
    const char *base = strrchr(file, '/');

    cc__text_str(&t, "ccrt: ");
    cc__text_str(&t, kind);
    cc__text_str(&t, ": ");
    if (context != NULL) t.len += context(t.buf + t.len, (t.size - t.len) / 2); /* leaves room for why and where */
    cc__text_str(&t, reason);
    cc__text_str(&t, " (");
    cc__text_str(&t, base != NULL ? base + 1 : file);
    cc__text_str(&t, ":");
    cc__text_dec(&t, (uint64_t)line);
    cc__text_str(&t, ")\n");
    if (t.len == t.size) t.buf[t.size - 1] = '\n'; /* cut, but a line */
    cc__text_print(&t);
    abort();
}
