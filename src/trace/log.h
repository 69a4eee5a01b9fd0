/* SPDX-License-Identifier: MIT */
/* Log lines on stderr: "ccrt: TOPIC: ...", each by one write(2), so that those of several threads do not mix. Whether
 * they are wanted is asked by CC__TRACING() with a bit of trace.h.
 *
 * Prev: trace/write.c  Next: trace/log.c */
#ifndef CC__TRACE_LOG_H
#define CC__TRACE_LOG_H

#include "../base/text.h"
#include "trace.h"

struct cc__log {
    char buf[256]; /* a longer line is cut */
    struct cc__text text;
};

void cc__log_begin(struct cc__log *l, const char *topic);
void cc__log_end(struct cc__log *l); /* writes it */

/* A line of the thread that watches the workers, if CC_DEBUG_SYSMON asks for it: "ccrt: monitor: BEFORE N AFTER". */
CC__COLD void cc__log_monitor_line(const char *before, uint64_t n, const char *after);
static inline void cc__log_monitor(const char *before, uint64_t n, const char *after) {
    if (CC__TRACING(CC__LOG_MONITOR)) cc__log_monitor_line(before, n, after);
}

#endif /* CC__TRACE_LOG_H */
