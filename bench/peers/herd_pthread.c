/* SPDX-License-Identifier: MIT */
/* herd: a thousand threads that wait for one condition, of which one is woken, or all: herd.h. On as many cpus as there
 * are workers. */
#include "wake.h"

#include <pthread.h>

typedef pthread_mutex_t herd_mutex;
typedef pthread_cond_t herd_cond;
#define LOCK pthread_mutex_lock
#define UNLOCK pthread_mutex_unlock
#define WAIT pthread_cond_wait
#define SIGNAL pthread_cond_signal
#define BROADCAST pthread_cond_broadcast
#include "herd.h"

static void *graze(void *arg) {
    herd_graze();
    return arg;
}

int main(void) {
    static pthread_t thread[HERD];
    if (bench_workers() == 1) bench_run_on_first(1);
    for (int i = 0; i < HERD; i++) bench_check(pthread_create(&thread[i], NULL, graze, NULL) == 0, "no thread");
    herd_measure();
    for (int i = 0; i < HERD; i++) pthread_join(thread[i], NULL);
    return 0;
}
