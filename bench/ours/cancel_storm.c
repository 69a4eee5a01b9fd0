/* SPDX-License-Identifier: MIT */
/* cancel_storm: a hundred thousand tasks that wait to receive, cancelled by their nursery and joined.
 *
 * Spawning them, until all wait, is timed as well; with BENCH_PHASE=spawn that is the figure reported. */
#include "inside.h"

#include <stdatomic.h>

enum { TASKS = 100000, TIMES = 5 };

typedef CC_CHAN(int64_t) numbers;

static _Atomic long begun, cancelled;

CC_TASK(wait_in_vain, (numbers, c), (numbers, all_begun), (long, tasks)) {
    int64_t x;
    if (atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed) == tasks - 1)
        bench_check(cc_send(all_begun, 1) == 0, "cannot send");
    bench_check(cc_recv(c, &x) == -ECANCELED, "not cancelled");
    atomic_fetch_add_explicit(&cancelled, 1, memory_order_relaxed);
    return 0;
}

static void storm(long tasks, double *spawn_ns, double *cancel_ns) {
    numbers c, all_begun;
    int64_t x;
    double start = bench_now_ns(), middle = 0;
    bench_check(cc_chan_create(c, 0) == 0 && cc_chan_create(all_begun, 1) == 0, "cannot create a channel");
    atomic_store(&begun, 0);
    atomic_store(&cancelled, 0);
    CC_NURSERY(n) {
        for (long i = 0; i < tasks; i++)
            bench_check(cc_spawn(n, wait_in_vain, c, all_begun, tasks) == 0, "cannot spawn");
        bench_check(cc_recv(all_begun, &x) == 0, "cannot receive");
        middle = bench_now_ns();
        cc_nursery_cancel(n);
    }
    double end = bench_now_ns();
    if (*spawn_ns == 0 || middle - start < *spawn_ns) *spawn_ns = middle - start;
    if (*cancel_ns == 0 || end - middle < *cancel_ns) *cancel_ns = end - middle;
    bench_check(atomic_load(&cancelled) == tasks, "not all were cancelled");
    cc_chan_destroy(c);
    cc_chan_destroy(all_begun);
}

static void *run(void *arg) {
    const char *phase = getenv("BENCH_PHASE");
    int swap = phase != NULL && strcmp(phase, "spawn") == 0;
    double spawn_ns = 0, cancel_ns = 0;
    (void)arg;
    for (int i = 0; i < TIMES; i++) storm(TASKS, &spawn_ns, &cancel_ns);
    bench_report("cancel_storm", (swap ? spawn_ns : cancel_ns) / TASKS, "ns");
    bench_report(swap ? "cancel" : "spawn", (swap ? cancel_ns : spawn_ns) / TASKS, "ns");
    return NULL;
}

int main(void) {
    bench_inside(run, NULL);
    return 0;
}
