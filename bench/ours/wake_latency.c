/* SPDX-License-Identifier: MIT */
/* wake_latency: a plain thread unparks a task of a runtime that is otherwise idle: from just before cc_unpark() to
 * the task's first instruction after parking. Between two wakes its workers have the time to fall asleep. */
#include "wake.h"

#include "inside.h"

#include <stdatomic.h>

static _Atomic int turn; /* of the wake that the task waits for, or has seen */
static _Atomic int ready;
static cc_parker sleeper;
static double woken_ns;

static void *sleep_often(void *arg) {
    (void)arg;
    sleeper = cc_parker_self();
    for (int i = 0; i < BENCH_WAKES; i++) {
        atomic_store(&ready, i + 1);
        while (atomic_load(&turn) == i) cc_park_if(&turn, i);
        woken_ns = bench_now_ns();
    }
    atomic_store(&ready, BENCH_WAKES + 1);
    return NULL;
}

static double wake(int i) {
    double start = bench_now_ns();
    atomic_store(&turn, i + 1);
    cc_unpark(sleeper);
    while (atomic_load(&ready) != i + 2) bench_pause();
    return woken_ns - start;
}

int main(void) {
    bench_run_on_first(0);
    cc_runtime *rt = bench_runtime();
    bench_run_on_first(1);
    cc_task t;
    bench_check(cc_runtime_spawn(rt, &t, NULL, sleep_often, NULL) == 0, "cannot spawn");
    while (atomic_load(&ready) != 1) bench_pause();
    bench_report_wakes(wake);
    bench_check(cc_task_join(t, NULL) == 0, "cannot join");
    cc_runtime_destroy(rt);
    return 0;
}
