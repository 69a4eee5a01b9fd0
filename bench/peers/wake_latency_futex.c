/* SPDX-License-Identifier: MIT */
/* wake_latency, the limit: a thread wakes another by a bare futex. */
#include "wake.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int turn, ready;
static double woken_ns;

static void *sleep_often(void *arg) {
    (void)arg;
    for (int i = 0; i < BENCH_WAKES; i++) {
        atomic_store(&ready, i + 1);
        while (atomic_load(&turn) == i) syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
        woken_ns = bench_now_ns();
    }
    atomic_store(&ready, BENCH_WAKES + 1);
    return NULL;
}

static double wake(int i) {
    double start = bench_now_ns();
    atomic_store(&turn, i + 1);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    while (atomic_load(&ready) != i + 2) bench_pause();
    return woken_ns - start;
}

int main(void) {
    pthread_t t;
    bench_run_on_first(0);
    bench_check(pthread_create(&t, NULL, sleep_often, NULL) == 0, "cannot create a thread");
    bench_run_on_first(1);
    while (atomic_load(&ready) != 1) bench_pause();
    bench_report_wakes(wake);
    bench_check(pthread_join(t, NULL) == 0, "cannot join");
    return 0;
}
