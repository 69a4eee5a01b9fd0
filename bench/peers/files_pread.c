/* SPDX-License-Identifier: MIT */
/* files by plain calls on two threads that are there already. */
#define _GNU_SOURCE
#include "files.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 2 };

static pthread_barrier_t begin, end;
static _Atomic int next, over;
static _Atomic long sum;

static void *reads(void *arg) {
    static char buffers[THREADS][FILE_BYTES];
    char path[64], *buf = buffers[*(int *)arg];
    while (pthread_barrier_wait(&begin), !atomic_load(&over)) {
        for (int i; (i = atomic_fetch_add(&next, 1)) < FILES;) {
            files_path(path, i);
            int fd = open(path, O_RDONLY | O_CLOEXEC), first;
            bench_check(fd >= 0 && pread(fd, buf, FILE_BYTES, 0) == FILE_BYTES && close(fd) == 0, "cannot read");
            memcpy(&first, buf, sizeof first);
            atomic_fetch_add(&sum, first);
        }
        pthread_barrier_wait(&end);
    }
    return NULL;
}

static void run(long count) {
    (void)count;
    atomic_store(&next, 0);
    atomic_store(&sum, 0);
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    bench_check(atomic_load(&sum) == (long)FILES * (FILES - 1) / 2, "not what was written");
}

int main(void) {
    pthread_t threads[THREADS];
    int ids[THREADS];
    pthread_barrier_init(&begin, NULL, THREADS + 1);
    pthread_barrier_init(&end, NULL, THREADS + 1);
    files_make();
    for (int i = 0; i < THREADS; i++) {
        ids[i] = i;
        bench_check(pthread_create(&threads[i], NULL, reads, &ids[i]) == 0, "no thread");
    }
    bench_report("files", bench_quickest_ns(run, FILES, FILES_TIMES) / 1e6, "ms");
    atomic_store(&over, 1);
    pthread_barrier_wait(&begin);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    files_remove();
    return 0;
}
