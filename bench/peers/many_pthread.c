/* SPDX-License-Identifier: MIT */
/* many: threads of the system, with the smallest stacks they allow. Ten thousand: a million are beyond
 * the kernel's limits. Their stacks in the kernel, 16 KiB each, are not in the memory figure. */
#include <limits.h>
#include <pthread.h>

#include "common.h"

enum { THREADS = 10000 };

static pthread_barrier_t begun, release;

static void *wait_once(void *arg) {
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&release);
    return arg;
}

int main(void) {
    static pthread_t threads[THREADS];
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN);
    pthread_barrier_init(&begun, NULL, THREADS + 1);
    pthread_barrier_init(&release, NULL, THREADS + 1);

    double start = bench_now_ns();
    for (int i = 0; i < THREADS; i++)
        bench_check(pthread_create(&threads[i], &attr, wait_once, NULL) == 0, "cannot create so many threads");
    pthread_barrier_wait(&begun);
    bench_report("create", (bench_now_ns() - start) / THREADS, "ns");
    bench_report_memory(THREADS);

    pthread_barrier_wait(&release);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}
