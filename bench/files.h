/* SPDX-License-Identifier: MIT */
/* The files of the row of that name: 1,000 of 64 KiB in a folder of their own. Each begins with its number. */
#ifndef BENCH_FILES_H
#define BENCH_FILES_H

#include "common.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

enum { FILES = 1000, FILE_BYTES = 65536, FILES_TIMES = 15 };

static char files_folder[] = "/tmp/ccrt-bench-XXXXXX";

static inline void files_path(char path[64], int i) {
    snprintf(path, 64, "%s/%d", files_folder, i);
}

static inline void files_make(void) {
    static char data[FILE_BYTES];
    char path[64];
    bench_check(mkdtemp(files_folder) != NULL, "no folder");
    for (int i = 0; i < FILES; i++) {
        files_path(path, i);
        memcpy(data, &i, sizeof i);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        bench_check(fd >= 0 && write(fd, data, FILE_BYTES) == FILE_BYTES && close(fd) == 0, "cannot write");
    }
}

static inline void files_remove(void) {
    char path[64];
    for (int i = 0; i < FILES; i++) {
        files_path(path, i);
        unlink(path);
    }
    rmdir(files_folder);
}

#endif /* BENCH_FILES_H */
