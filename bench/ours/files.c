/* SPDX-License-Identifier: MIT */
/* files: 64 tasks, each of which takes the next file that is left, until there is none. */
#include "files.h"

#include "inside.h"

#include <stdatomic.h>

enum { READERS = 64 };

static atomic_long next;
static char buffers[READERS][FILE_BYTES];

CC_TASK(reads, (char *, buf)) {
    char path[64];
    for (long i; (i = atomic_fetch_add(&next, 1)) < FILES;) {
        files_path(path, sizeof path, i);
        int fd = cc_open(path, O_RDONLY, 0);
        bench_check(fd >= 0 && cc_pread(fd, buf, FILE_BYTES, 0) == FILE_BYTES && cc_close(fd) == 0, "cannot read");
    }
    return 0;
}

static void read_all(void) {
    atomic_store(&next, 0);
    CC_NURSERY(n) {
        for (int i = 0; i < READERS; i++) bench_check(cc_spawn(n, reads, buffers[i]) == 0, "cannot spawn");
    }
}

static void *measure(void *arg) {
    files_measure(read_all);
    return arg;
}

int main(void) {
    bench_inside(measure, NULL);
    return 0;
}
