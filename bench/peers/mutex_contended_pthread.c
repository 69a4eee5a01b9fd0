/* SPDX-License-Identifier: MIT */
/* mutex_contended: eight threads that all want one pthread mutex, on as many cpus as there are workers. */
#include "wake.h"

#include <pthread.h>

enum { THREADS = 8, LOCKS = 100000, TIMES = 31 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long counted;

static void *lock_often(void *arg) {
    for (long i = 0; i < *(long *)arg; i++) {
        pthread_mutex_lock(&m);
        counted++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void run(long locks) {
    pthread_t thread[THREADS];
    counted = 0;
    for (int i = 0; i < THREADS; i++)
        bench_check(pthread_create(&thread[i], NULL, lock_often, &locks) == 0, "no thread");
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    bench_check(counted == THREADS * locks, "two had it at once");
}

int main(void) {
    if (bench_workers() == 1) bench_run_on_first(1);
    bench_report("mutex_contended", bench_quartile_ns(run, LOCKS, TIMES) / ((double)THREADS * LOCKS), "ns");
    return 0;
}
