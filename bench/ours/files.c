/* SPDX-License-Identifier: MIT */
/* files: 1,000 files of 64 KiB, all in memory: opened, read and closed by 16 tasks that take the next one each. */
#include "files.h"
#include "inside.h"

#include <stdatomic.h>

enum { TASKS = 16 };

static _Atomic int next;
static _Atomic long sum;
static char buffers[TASKS][FILE_BYTES];

CC_TASK(reads, (char *, buf)) {
    char path[64];
    for (int i; (i = atomic_fetch_add(&next, 1)) < FILES;) {
        files_path(path, i);
        int fd = cc_open(path, O_RDONLY, 0), first;
        bench_check(fd >= 0 && cc_pread(fd, buf, FILE_BYTES, 0) == FILE_BYTES && cc_close(fd) == 0, "cannot read");
        memcpy(&first, buf, sizeof first);
        atomic_fetch_add(&sum, first);
    }
    return 0;
}

static void run(long count) {
    (void)count;
    atomic_store(&next, 0);
    atomic_store(&sum, 0);
    CC_NURSERY(n) {
        for (int i = 0; i < TASKS; i++) bench_check(cc_spawn(n, reads, buffers[i]) == 0, "cannot spawn");
    }
    bench_check(atomic_load(&sum) == (long)FILES * (FILES - 1) / 2, "not what was written");
}

int main(void) {
    files_make();
    bench_report("files", bench_quickest_inside_ns(run, FILES, FILES_TIMES) / 1e6, "ms");
    files_remove();
    return 0;
}
