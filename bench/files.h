/* SPDX-License-Identifier: MIT */
/* files: 1,000 files of 64 KiB, in a folder of their own, each opened, read and closed; when they are in memory, and
 * when they are not. */
#ifndef BENCH_FILES_H
#define BENCH_FILES_H

#include "common.h"

#include <fcntl.h>
#include <unistd.h>

enum { FILES = 1000, FILE_BYTES = 65536, FILES_TIMES = 7 };

static char files_folder[] = "/var/tmp/bench_files_XXXXXX";

static inline void files_path(char *path, size_t size, long i) {
    snprintf(path, size, "%s/%ld", files_folder, i);
}

static inline void files_each(void (*fn)(const char *path)) {
    char path[64];
    for (long i = 0; i < FILES; i++) {
        files_path(path, sizeof path, i);
        fn(path);
    }
}

static inline void files_write(const char *path) {
    static char bytes[FILE_BYTES] = "file";
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bench_check(fd >= 0 && write(fd, bytes, FILE_BYTES) == FILE_BYTES && fsync(fd) == 0 && close(fd) == 0,
                "cannot write a file");
}

/* What is in it is no more in memory. */
static inline void files_forget(const char *path) {
    int fd = open(path, O_RDONLY);
    bench_check(fd >= 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0 && close(fd) == 0, "cannot forget a file");
}

static inline void files_unlink(const char *path) {
    unlink(path);
}

static inline double files_timed(void (*read_all)(void)) {
    double start = bench_now_ns();
    read_all();
    return bench_now_ns() - start;
}

/* read_all() reads each of them once. In memory is first, as they were written: each is in one piece then. Once they
 * were read from the disk, how long it takes to read them again depends on whether their pages happen to lie in order,
 * which was so after each second time that they were forgotten: a sixth more or less, whoever reads. */
static inline void files_measure(void (*read_all)(void)) {
    double best = 0, best_cold = 0;
    bench_check(mkdtemp(files_folder) != NULL, "no folder");
    files_each(files_write);
    for (int i = 0; i < FILES_TIMES; i++) {
        double warm = files_timed(read_all);
        if (i == 0 || warm < best) best = warm;
    }
    for (int i = 0; i < FILES_TIMES; i++) {
        files_each(files_forget);
        double cold = files_timed(read_all);
        if (i == 0 || cold < best_cold) best_cold = cold;
    }
    files_each(files_unlink);
    rmdir(files_folder);
    bench_report("files", best / 1e6, "ms");
    bench_report("files_cold", best_cold / 1e6, "ms");
}

#endif /* BENCH_FILES_H */
