/* SPDX-License-Identifier: MIT */
/* -l. What an index says is told at once; other files are decompressed to nowhere, since a trailer tells neither of
 * members before the last nor of more than 4 GiB.
 *
 * Prev: process.c  Next: progress.c */
#include "app.h"
#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void print_line(uint64_t compressed, uint64_t plain, const char *name) {
    double ratio = plain > 0 ? 100.0 * (1 - (double)compressed / (double)plain) : 0;
    (void)printf("%19llu %19llu %5.1f%% %s\n", (unsigned long long)compressed, (unsigned long long)plain, ratio, name);
}

static void print_details(const struct gz_found *found, const struct gz_options *o, const struct stat *st) {
    char text[32] = "";
    struct tm local;
    time_t when = o->time || found->time != 0 ? (time_t)found->time : st->st_mtime;
    if (found->time == 0) when = st->st_mtime;
    if (localtime_r(&when, &local) != NULL) (void)strftime(text, sizeof text, "%b %e %H:%M", &local);
    (void)printf("defla %08x %s ", found->crc, text);
}

void gz_app_list(struct gz_app *app, struct gz_job *job, const char *path, const struct stat *st) {
    const struct gz_options *o = &app->o;
    struct gz_found *found = calloc(1, sizeof *found);
    if (found == NULL) {
        (void)gz_app_say(app, GZ_ERROR, path, "out of memory");
        return;
    }
    bool known = o->verbose == 0 && !o->name && o->way.index && gz_index_total(job, &found->data_bytes);
    if (!known) gz_app_run(app, job, found);
    uint64_t compressed = job->in.seekable ? job->in.size : job->in.done;
    if (job->status != GZ_ERROR) {
        char *plain = gz_name_plain(path, o->suffix);
        const char *name = o->name && found->name[0] != 0 ? found->name : plain != NULL ? plain : path;
        if (app->listed.files++ == 0)
            (void)printf("%s         compressed        uncompressed  ratio uncompressed_name\n",
                         o->verbose > 0 ? "method  crc     date  time  " : "");
        if (o->verbose > 0) print_details(found, o, st);
        print_line(compressed, found->data_bytes, name);
        app->listed.compressed += compressed;
        app->listed.plain += found->data_bytes;
        free(plain);
    }
    if (job->status != GZ_OK) (void)gz_app_say(app, job->status, path, "%s", job->text);
    free(found);
}

void gz_app_list_totals(struct gz_app *app) {
    if (app->listed.files < 2) return;
    (void)printf("%s", app->o.verbose > 0 ? "                            " : "");
    print_line(app->listed.compressed, app->listed.plain, "(totals)");
}
