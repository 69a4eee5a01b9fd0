/* SPDX-License-Identifier: MIT */
/* files: 64 tasks, each of which takes the next file that is left, until there is none. */
#include "files.h"

#include <ccrt.h>
#include <stdatomic.h>

enum { READERS = 64 };

static atomic_long next;
static char buffers[READERS][FILE_BYTES];
static cc_runtime *rt;

static void *reads(void *arg) {
    char path[64], *buf = arg;
    for (long i; (i = atomic_fetch_add(&next, 1)) < FILES;) {
        files_path(path, sizeof path, i);
        int fd = cc_open(path, O_RDONLY, 0);
        bench_check(fd >= 0 && cc_pread(fd, buf, FILE_BYTES, 0) == FILE_BYTES && cc_close(fd) == 0, "cannot read");
    }
    return arg;
}

static void read_all(void) {
    cc_task t[READERS];
    atomic_store(&next, 0);
    for (int i = 0; i < READERS; i++)
        bench_check(cc_runtime_spawn(rt, &t[i], NULL, reads, buffers[i]) == 0, "cannot spawn");
    for (int i = 0; i < READERS; i++) cc_task_join(t[i], NULL);
}

int main(void) {
    bench_check(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = bench_workers()}) == 0, "no runtime");
    files_measure(read_all);
    cc_runtime_destroy(rt);
    return 0;
}
