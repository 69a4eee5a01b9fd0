/* SPDX-License-Identifier: MIT */
/* What the rows of ccgz share: running a program on a file, and what it took. Which program is in BENCH_GZIP: ccgz (if
 * it is not set), its twin by threads, or a peer; so all are started and measured by the same code. */
#ifndef BENCH_GZIP_H
#define BENCH_GZIP_H

#include "common.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What one run took. */
struct gzip_run {
    double wall_ms, cpu_ms, memory_bytes, size_bytes;
};

static inline const char *gzip_program(void) {
    const char *name = getenv("BENCH_GZIP");
    return name == NULL ? "ccgz" : name;
}

static inline int gzip_is(const char *name) {
    return strcmp(gzip_program(), name) == 0;
}

/* The workers as an option: of BENCH_GZIP_WORKERS, or the row's. */
static inline const char *gzip_workers(void) {
    const char *own = getenv("BENCH_GZIP_WORKERS"), *all = getenv("BENCH_WORKERS");
    return own != NULL ? own : all != NULL ? all : "2";
}

/* Run a command, its stdout to a file. */
static inline struct gzip_run gzip_run(const char *const *command, const char *out) {
    struct gzip_run r;
    struct rusage used;
    struct stat st;
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    double start = bench_now_ns();
    bench_check(posix_spawnp(&pid, command[0], &files, NULL, (char **)command, environ) == 0, command[0]);
    bench_check(wait4(pid, &status, 0, &used) == pid && status == 0, "the program failed");
    r.wall_ms = (bench_now_ns() - start) / 1e6;
    r.cpu_ms = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
    r.memory_bytes = (double)used.ru_maxrss * 1024;
    r.size_bytes = stat(out, &st) == 0 ? (double)st.st_size : 0;
    posix_spawn_file_actions_destroy(&files);
    return r;
}

/* The same so many times: the quickest. */
static inline struct gzip_run gzip_quickest(const char *const *command, const char *out, int times) {
    struct gzip_run best = gzip_run(command, out);
    for (int i = 1; i < times; i++) {
        struct gzip_run r = gzip_run(command, out);
        if (r.wall_ms < best.wall_ms) best = r;
    }
    return best;
}

/* A file of so many megabytes, made once. */
static inline const char *gzip_corpus(const char *megabytes) {
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", BENCH_CORPUS, megabytes);
    if (access(path, R_OK) == 0) return path;
    (void)mkdir(BENCH_CORPUS, 0700);
    const char *const make[] = {"python3", BENCH_SOURCE "/gzip/corpus.py", path, megabytes, NULL};
    (void)gzip_run(make, "/dev/null");
    return path;
}

/* The engine of ccgz that is fastest, of those it was built with. */
static inline const char *gzip_fastest(void) {
    static const char *const names[] = {"isal", "libdeflate"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char command[600];
        (void)snprintf(command, sizeof command, "%s --engine %s -V >/dev/null 2>&1", BENCH_CCGZ, names[i]);
        if (system(command) == 0) return names[i];
    }
    return "zlib";
}

/* Wall time, and how many megabytes of data a second that is, which is shown only. */
static inline void gzip_report_wall(const char *metric, const char *megabytes, double wall_ms) {
    char name[64];
    (void)snprintf(name, sizeof name, "%s_%s", metric, megabytes);
    bench_report(name, wall_ms, "ms");
    (void)snprintf(name, sizeof name, "%s_rate_%s", metric, megabytes);
    bench_report(name, strtod(megabytes, NULL) * 1e3 / wall_ms, "MB/s");
}

static inline void gzip_report(const char *metric, const char *megabytes, double value, const char *unit) {
    char name[64];
    (void)snprintf(name, sizeof name, "%s_%s", metric, megabytes);
    bench_report(name, value, unit);
}

#endif /* BENCH_GZIP_H */
