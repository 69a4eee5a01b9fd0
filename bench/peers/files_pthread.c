/* SPDX-License-Identifier: MIT */
/* files: two threads, each of which takes the next file that is left, until there is none. */
#include "files.h"

#include <pthread.h>
#include <stdatomic.h>

enum { READERS = 2 };

static atomic_long next;
static char buffers[READERS][FILE_BYTES];

static void *reads(void *arg) {
    char path[64], *buf = arg;
    for (long i; (i = atomic_fetch_add(&next, 1)) < FILES;) {
        files_path(path, sizeof path, i);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        bench_check(fd >= 0 && pread(fd, buf, FILE_BYTES, 0) == FILE_BYTES && close(fd) == 0, "cannot read");
    }
    return arg;
}

static void read_all(void) {
    pthread_t t[READERS];
    atomic_store(&next, 0);
    for (int i = 0; i < READERS; i++)
        bench_check(pthread_create(&t[i], NULL, reads, buffers[i]) == 0, "cannot start a thread");
    for (int i = 0; i < READERS; i++) pthread_join(t[i], NULL);
}

int main(void) {
    files_measure(read_all);
    return 0;
}
