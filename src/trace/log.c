/* SPDX-License-Identifier: MIT */
/* Log lines. See log.h.
 *
 * Prev: trace/log.h  Next: fiber/ctx.h */
#include "log.h"

void cc__log_begin(struct cc__log *l, const char *topic) {
    l->text = cc__text_on(l->buf, sizeof l->buf);
    cc__text_str(&l->text, "ccrt: ");
    cc__text_str(&l->text, topic);
    cc__text_str(&l->text, ": ");
}

void cc__log_end(struct cc__log *l) {
    cc__text_str(&l->text, "\n");
    if (l->text.len == l->text.size) l->buf[l->text.size - 1] = '\n'; /* cut, but a line */
    cc__text_print(&l->text);
}

void cc__log_monitor_line(const char *before, uint64_t n, const char *after) {
    struct cc__log l;
    cc__log_begin(&l, "monitor");
    cc__text_str(&l.text, before);
    cc__text_str(&l.text, " ");
    cc__text_dec(&l.text, n);
    cc__text_str(&l.text, " ");
    cc__text_str(&l.text, after);
    cc__log_end(&l);
}
