/* SPDX-License-Identifier: MIT */
/* What the program's own files share. */
#ifndef CCGZ_APP_H
#define CCGZ_APP_H

#include "options.h"
#include "pipeline.h"

#include <sys/stat.h>

struct gz_app {
    struct gz_options o;
    cc_runtime *runtime;
    int status; /* what the program ends with */
    struct {
        uint64_t files, compressed, plain;
    } listed;
};

/* Run a job on the runtime, which is started for the first one; `found` is for all but compressing. */
void gz_app_run(struct gz_app *app, struct gz_job *job, struct gz_found *found);

/* Say something of a file, on stderr, and remember it. Returns the status. */
int gz_app_say(struct gz_app *app, int status, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* One file, or standard input and output. */
void gz_app_file(struct gz_app *app, const char *path);
void gz_app_stdin(struct gz_app *app);

/* List one: compressed bytes are those of its input. And the sums, at the end. */
void gz_app_list(struct gz_app *app, struct gz_job *job, const char *path, const struct stat *st);
void gz_app_list_totals(struct gz_app *app);

#endif /* CCGZ_APP_H */
