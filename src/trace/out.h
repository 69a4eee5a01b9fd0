/* SPDX-License-Identifier: MIT */
/* A file of trace events in JSON, complete after each flush: what closes it is overwritten by what comes next.
 *
 * Prev: trace/store.c  Next: trace/out.c */
#ifndef CC__TRACE_OUT_H
#define CC__TRACE_OUT_H

#include "../base/base.h"

#include <stdbool.h>

struct cc__trace_file {
    int fd;          /* -1: none */
    int rc;          /* the first thing that went wrong */
    bool seeks;      /* or what was written stays: then only one flush */
    bool comma;      /* there is an event before the next */
    bool bare;       /* the next field is the first between its braces */
    uint64_t arrows; /* that there are: each has a number */
    double ns_per_cycle;
    int64_t at; /* bytes before the buffer */
    size_t len;
    char buf[32 * 1024];
};

/* Both return 0, or a negative errno. */
int cc__out_open(struct cc__trace_file *out, const char *path);
int cc__out_flush(struct cc__trace_file *out, uint64_t lost);
void cc__out_close(struct cc__trace_file *out);

/* An event: begin, fields, end. A field's value is quoted, escaped and made valid UTF-8 if it is text. */
void cc__out_begin(struct cc__trace_file *out, char phase, uint64_t pid, uint64_t tid);
void cc__out_text(struct cc__trace_file *out, const char *key, const char *value);
void cc__out_number(struct cc__trace_file *out, const char *key, uint64_t value);
void cc__out_address(struct cc__trace_file *out, const char *key, uintptr_t value);
void cc__out_place(struct cc__trace_file *out, const char *key, const char *file, int line);
void cc__out_time(struct cc__trace_file *out, const char *key, uint64_t ns); /* in microseconds */
void cc__out_args(struct cc__trace_file *out);                               /* the fields that follow are its "args" */
void cc__out_end(struct cc__trace_file *out, bool args);

#endif /* CC__TRACE_OUT_H */
