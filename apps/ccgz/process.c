/* SPDX-License-Identifier: MIT */
/* One file: which it is, whether it is to be touched at all, and what becomes of it. The rules and the words are
 * gzip's where it has some.
 *
 * Prev: main.c  Next: list.c */
#include "app.h"
#include "file.h"
#include "progress.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that is worked on. */
struct file {
    struct gz_app *app;
    char *path; /* with the suffix it was found by */
    struct stat st;
    char *to; /* NULL: standard output, or nowhere */
    bool replace;
    struct gz_job job;
    struct gz_found *found;
    struct gz_progress progress;
};

static bool makes_file(const struct gz_options *o) {
    return !o->to_stdout && (o->mode == GZ_COMPRESS || o->mode == GZ_DECOMPRESS);
}

/* ---- running ---- */

/* The reader of our output is gone: end as the signal would have it, without a word. */
static void broken_pipe(void) {
    struct sigaction old;
    if (sigaction(SIGPIPE, NULL, &old) == 0 && old.sa_handler == SIG_IGN) return;
    (void)signal(SIGPIPE, SIG_DFL);
    (void)raise(SIGPIPE);
}

/* Run the job; false: it failed, and that was said. */
static bool run(struct file *f) {
    const struct gz_options *o = &f->app->o;
    bool bar = !o->quiet && isatty(STDERR_FILENO) && !(f->job.out.fd >= 0 && isatty(f->job.out.fd));
    if (bar) {
        gz_progress_begin(&f->progress, f->path, f->job.in.seekable ? f->job.in.size : 0);
        f->job.progress = &f->progress;
    }
    gz_app_run(f->app, &f->job, o->mode == GZ_COMPRESS ? NULL : f->found);
    if (bar) gz_progress_end(&f->progress);
    if (f->job.write_error == -EPIPE) broken_pipe();
    if (f->job.status != GZ_OK) (void)gz_app_say(f->app, f->job.status, f->path, "%s", f->job.text);
    return f->job.status != GZ_ERROR;
}

static void prepare_header(struct file *f) {
    const struct gz_options *o = &f->app->o;
    if (o->time && S_ISREG(f->st.st_mode) && f->st.st_mtime > 0 && f->st.st_mtime <= (time_t)UINT32_MAX)
        f->job.header_time = (uint32_t)f->st.st_mtime;
    if (!o->name || f->path == NULL || strcmp(f->path, "stdin") == 0) return;
    const char *slash = strrchr(f->path, '/');
    f->job.header_name = slash == NULL ? f->path : slash + 1;
}

static void report(const struct file *f, const char *made) {
    const struct gz_options *o = &f->app->o;
    if (o->verbose == 0) return;
    uint64_t small = f->job.out.done, large = f->job.in.done;
    if (o->mode == GZ_TEST) {
        (void)fprintf(stderr, "%s:\tOK\n", f->path);
        return;
    }
    if (o->mode == GZ_DECOMPRESS) {
        large = f->job.out.done;
        small = f->job.in.seekable ? f->job.in.size : f->job.in.done;
    }
    (void)fprintf(stderr, "%s:\t%5.1f%%", f->path, large > 0 ? 100.0 * (1 - (double)small / (double)large) : 0);
    if (made != NULL) (void)fprintf(stderr, " -- %s %s", o->keep ? "created" : "replaced with", made);
    (void)fputc('\n', stderr);
}

/* ---- is it to be touched ---- */

/* Whether what has the output's name is the input, or the link by which it was found: the output would be there for a
 * moment, and go with the input. */
static bool is_input(const struct file *f, const struct stat *there) {
    struct stat named;
    if (there->st_dev == f->st.st_dev && there->st_ino == f->st.st_ino) return true;
    return lstat(f->path, &named) == 0 && there->st_dev == named.st_dev && there->st_ino == named.st_ino;
}

/* Whether an existing output may go: by -f, or by an answer on the terminal; but never if it is the input. */
static bool may_replace(struct file *f, const char *path) {
    struct gz_app *app = f->app;
    struct stat there;
    char answer[16] = "";
    f->replace = app->o.force;
    if (lstat(path, &there) != 0) return true;
    if (is_input(f, &there)) {
        (void)gz_app_say(app, GZ_ERROR, path, "is the input itself; not overwritten");
        return false;
    }
    if (f->replace) return true;
    if (!isatty(STDIN_FILENO) || app->o.quiet) {
        (void)gz_app_say(app, GZ_WARNING, path, "already exists; not overwritten");
        return false;
    }
    (void)fprintf(stderr, "ccgz: %s already exists; do you wish to overwrite (y or n)? ", path);
    (void)fflush(stderr);
    f->replace = fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
    if (f->replace) return true;
    (void)gz_app_say(app, GZ_WARNING, path, "not overwritten");
    return false;
}

/* Kinds of files that are left alone. */
static bool is_suitable(struct file *f) {
    const struct gz_options *o = &f->app->o;
    if (S_ISDIR(f->st.st_mode)) {
        (void)gz_app_say(f->app, GZ_WARNING, f->path, "is a directory -- ignored");
        return false;
    }
    if (!makes_file(o)) return true;
    if (!S_ISREG(f->st.st_mode)) {
        (void)gz_app_say(f->app, GZ_WARNING, f->path, "is not a directory or a regular file -- ignored");
        return false;
    }
    if ((f->st.st_mode & (S_ISUID | S_ISGID)) != 0) {
        (void)gz_app_say(f->app, GZ_WARNING, f->path, "is set-user-ID or set-group-ID on execution -- ignored");
        return false;
    }
    if (f->st.st_nlink > 1 && !o->force && !o->keep) {
        (void)gz_app_say(f->app, GZ_WARNING, f->path, "has %lu other link%s -- ignored",
                         (unsigned long)f->st.st_nlink - 1, f->st.st_nlink == 2 ? "" : "s");
        return false;
    }
    return true;
}

/* What it is to be called; NULL: it is left alone, and that was said. */
static char *output_name(struct file *f) {
    const struct gz_options *o = &f->app->o;
    if (o->mode == GZ_COMPRESS) {
        char *plain = gz_name_plain(f->path, o->suffix);
        free(plain);
        if (plain == NULL || o->force) return gz_name_compressed(f->path, o->suffix);
        if (!o->recursive || o->verbose > 0)
            (void)gz_app_say(f->app, GZ_WARNING, f->path, "already has a suffix of compressed files -- unchanged");
        return NULL;
    }
    char *plain = gz_name_plain(f->path, o->suffix);
    if (plain == NULL && (!o->recursive || o->verbose > 0))
        (void)gz_app_say(f->app, GZ_WARNING, f->path, "unknown suffix -- ignored");
    return plain;
}

/* Open the input, for decompression also with the suffix behind its name. Where only regular files are taken, nobody
 * waits for one who writes to a pipe; elsewhere he is waited for, or the pipe would be empty. */
static bool open_input(struct file *f, const char *path) {
    const struct gz_options *o = &f->app->o;
    int flags = O_RDONLY | O_NOCTTY | (makes_file(o) ? O_NONBLOCK : 0) | (o->force || !makes_file(o) ? 0 : O_NOFOLLOW);
    int fd = cc_open(path, flags, 0);
    f->path = strdup(path);
    if (fd == -ENOENT && o->mode != GZ_COMPRESS) {
        char *longer = gz_name_compressed(path, o->suffix);
        int other = longer == NULL ? -ENOMEM : cc_open(longer, flags, 0);
        if (longer != NULL && other != -ENOENT) { /* what is there, even if it cannot be opened */
            fd = other;
            free(f->path);
            f->path = longer;
        } else {
            free(longer);
        }
    }
    int code = f->path == NULL ? -ENOMEM : fd < 0 ? fd : fstat(fd, &f->st) != 0 ? -errno : 0;
    if (code != 0) {
        const char *why = code == -ELOOP ? "is a symbolic link; -f takes what it points to" : cc_strerror(code);
        (void)gz_app_say(f->app, GZ_ERROR, f->path == NULL ? path : f->path, "%s", why);
        if (fd >= 0) (void)cc_close(fd);
        return false;
    }
    if (makes_file(o)) (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    gz_io_init(&f->job.in, fd);
    return true;
}

/* ---- outputs ---- */

/* With -N, name and time are what the header says. */
static bool restore_name(struct file *f, struct gz_target *t, struct stat *like) {
    const struct gz_options *o = &f->app->o;
    if (o->mode != GZ_DECOMPRESS) return true;
    if (o->time && f->found->time != 0) like->st_mtim = (struct timespec){.tv_sec = (time_t)f->found->time};
    char *name = o->name && f->found->name[0] != 0 ? gz_name_beside(f->path, f->found->name) : NULL;
    if (name == NULL) return !o->name || may_replace(f, f->to);
    free(t->path);
    t->path = name;
    return may_replace(f, name);
}

static void to_file(struct file *f) {
    const struct gz_options *o = &f->app->o;
    struct gz_target t;
    struct stat like = f->st;
    bool named_later = o->mode == GZ_DECOMPRESS && o->name;
    if (!named_later && !may_replace(f, f->to)) return;
    int rc = gz_target_open(&t, f->to);
    if (rc != 0) {
        (void)gz_app_say(f->app, GZ_ERROR, f->to, "%s", cc_strerror(rc));
        return;
    }
    gz_io_init(&f->job.out, t.fd);
    f->job.out.rewinds = true;
    if (!run(f) || !restore_name(f, &t, &like)) {
        gz_target_abandon(&t);
        return;
    }
    char *made = strdup(t.path);
    rc = gz_target_finish(&t, &like, f->replace, o->synchronous);
    if (rc != 0) {
        (void)gz_app_say(f->app, GZ_ERROR, made == NULL ? f->to : made, "%s", cc_strerror(rc));
    } else {
        report(f, made);
        if (!o->keep && unlink(f->path) != 0)
            (void)gz_app_say(f->app, GZ_WARNING, f->path, "cannot remove it: %s", cc_strerror(-errno));
    }
    free(made);
}

/* Compressed data is not for terminals, unless one insists. */
static bool is_terminal(struct gz_app *app, int fd) {
    if (app->o.force || !isatty(fd)) return false;
    const bool out = fd == STDOUT_FILENO;
    (void)gz_app_say(app, GZ_ERROR, out ? "standard output" : "standard input",
                     "compressed data not %s a terminal; -f does it all the same", out ? "written to" : "read from");
    return true;
}

/* To standard output, or nowhere. */
static void to_stream(struct file *f) {
    const struct gz_options *o = &f->app->o;
    if (o->mode == GZ_LIST) {
        gz_app_list(f->app, &f->job, f->path, &f->st);
        return;
    }
    if (o->mode == GZ_COMPRESS && is_terminal(f->app, STDOUT_FILENO)) return;
    if (o->mode != GZ_TEST) gz_io_init(&f->job.out, STDOUT_FILENO);
    f->job.copy = o->force && o->mode == GZ_DECOMPRESS;
    if (run(f)) report(f, NULL);
}

/* ---- all of it ---- */

static bool file_init(struct file *f, struct gz_app *app) {
    memset(f, 0, sizeof *f);
    f->app = app;
    gz_job_init(&f->job, &app->o.way);
    f->found = calloc(1, sizeof *f->found);
    if (f->found == NULL) (void)gz_app_say(app, GZ_ERROR, "ccgz", "out of memory");
    return f->found != NULL;
}

static void file_fini(struct file *f) {
    if (f->job.in.fd > STDIN_FILENO) (void)cc_close(f->job.in.fd);
    free(f->found);
    free(f->path);
    free(f->to);
}

void gz_app_file(struct gz_app *app, const char *path) {
    struct file f;
    if (file_init(&f, app) && open_input(&f, path) && is_suitable(&f)) {
        prepare_header(&f);
        if (!makes_file(&app->o))
            to_stream(&f);
        else if ((f.to = output_name(&f)) != NULL)
            to_file(&f);
    }
    file_fini(&f);
}

void gz_app_stdin(struct gz_app *app) {
    struct file f;
    if (app->o.mode != GZ_COMPRESS && is_terminal(app, STDIN_FILENO)) return;
    if (file_init(&f, app)) {
        f.path = strdup("stdin");
        gz_io_init(&f.job.in, STDIN_FILENO);
        (void)fstat(STDIN_FILENO, &f.st);
        prepare_header(&f);
        if (f.path != NULL) to_stream(&f);
    }
    file_fini(&f);
}
