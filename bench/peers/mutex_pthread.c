/* SPDX-License-Identifier: MIT */
/* mutex: a thread locks and unlocks a pthread mutex that nobody else wants; another thread exists, or the C library
 * would leave out what makes it a lock. */
#include "common.h"

#include <pthread.h>
#include <unistd.h>

enum { LOCKS = 1000000, TIMES = 7 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long counted;

static void run(long locks) {
    counted = 0;
    for (long i = 0; i < locks; i++) {
        pthread_mutex_lock(&m);
        counted++;
        pthread_mutex_unlock(&m);
    }
    bench_check(counted == locks, "it was not locked so often");
}

static void *sleeps(void *arg) {
    for (;;) pause();
    return arg;
}

int main(void) {
    pthread_t other;
    bench_check(pthread_create(&other, NULL, sleeps, NULL) == 0, "no second thread");
    bench_report("mutex", bench_quickest_ns(run, LOCKS, TIMES) / LOCKS, "ns");
    return 0;
}
