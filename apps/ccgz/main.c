/* SPDX-License-Identifier: MIT */
/* ccgz: gzip on all processors. This is the program; what it does with a file is in process.c.
 *
 * Next: process.c */
#include "app.h"
#include "engine.h"
#include "file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int gz_app_say(struct gz_app *app, int status, const char *path, const char *format, ...) {
    va_list list;
    if (status == GZ_ERROR || app->status == GZ_OK) app->status = status;
    if (status == GZ_WARNING && app->o.quiet) return status;
    (void)fflush(stdout);
    (void)fprintf(stderr, "ccgz: %s: ", path);
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    va_end(list);
    (void)fputc('\n', stderr);
    return status;
}

/* ---- the runtime ---- */

/* Nothing here blocks a worker for long but computing, and no more of them are to compute than were asked for: nobody
 * need watch them. */
void gz_app_run(struct gz_app *app, struct gz_job *job, struct gz_found *found) {
    const unsigned workers = app->o.way.workers;
    const cc_runtime_attr attr = {.workers = workers, .no_monitor = 1, .name = "ccgz"};
    const cc_task_attr task = {.name = "ccgz", .priority = CC_PRIORITY_HIGH};
    struct gz_run r = {.job = job, .found = found};
    cc_task t;
    int rc = app->runtime != NULL ? 0 : cc_runtime_create(&app->runtime, &attr);
    if (rc == 0) rc = cc_runtime_spawn(app->runtime, &t, &task, gz_run, &r);
    if (rc == 0) rc = cc_task_join(t, NULL);
    if (rc != 0) (void)gz_fail(job, "%s", cc_strerror(rc));
}

/* ---- directories ---- */

static void process(struct gz_app *app, const char *path);

static int is_entry(const struct dirent *e) {
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

/* What nobody has named must be a file: a pipe could be waited for for ever, and a device may never end. */
static void process_entry(struct gz_app *app, const char *path) {
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        (void)gz_app_say(app, GZ_WARNING, path, "is not a directory or a regular file -- ignored");
    else
        process(app, path);
}

static void process_directory(struct gz_app *app, const char *path) {
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_entry, alphasort);
    if (n < 0) (void)gz_app_say(app, GZ_ERROR, path, "%s", cc_strerror(-errno));
    for (int i = 0; i < n; i++) {
        char *inner = NULL;
        const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
        if (asprintf(&inner, "%s%s%s", path, slash, entries[i]->d_name) >= 0) process_entry(app, inner);
        free(inner);
        free(entries[i]);
    }
    free(entries);
}

static void process(struct gz_app *app, const char *path) {
    struct stat st;
    if (strcmp(path, "-") == 0) {
        gz_app_stdin(app);
    } else if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        if (app->o.recursive)
            process_directory(app, path);
        else
            (void)gz_app_say(app, GZ_WARNING, path, "is a directory -- ignored");
    } else {
        gz_app_file(app, path);
    }
}

/* Standard descriptors that are closed would be those of files that are opened next: messages would go into them. What
 * is put there instead can neither be read as input nor written as output. */
static bool occupy_standard(void) {
    static const int flags[] = {O_WRONLY, O_RDONLY, O_RDWR};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd]) != fd) return false;
    return true;
}

int main(int argc, char **argv) {
    struct gz_app app;
    if (!occupy_standard()) return GZ_ERROR;
    memset(&app, 0, sizeof app);
    int rc = gz_options_parse(&app.o, argc, argv);
    if (rc >= 0) return rc;
    gz_target_signals();
    /* A large block may take its time. NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread so far */
    (void)setenv("CC_DEBUG_STALL", "0", 0);
    if (app.o.file_count == 0) gz_app_stdin(&app);
    for (int i = 0; i < app.o.file_count; i++) process(&app, app.o.files[i]);
    if (app.o.mode == GZ_LIST) gz_app_list_totals(&app);
    if (app.runtime != NULL) cc_runtime_destroy(app.runtime);
    rc = fflush(stdout) != 0 ? -errno : ferror(stdout) ? -EIO : 0;
    int closed = gz_output_finish(STDOUT_FILENO, app.o.synchronous);
    if (rc == 0) rc = closed;
    if (rc != 0 && app.status != GZ_ERROR)
        (void)gz_app_say(&app, GZ_ERROR, "standard output", "write error: %s", cc_strerror(rc));
    return app.status;
}
