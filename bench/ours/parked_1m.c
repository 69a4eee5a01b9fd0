/* SPDX-License-Identifier: MIT */
/* parked_1m: a million tasks that all park, then end: time to create one, and its memory.
 *
 * There is no warm-up: fresh memory is what is measured. Its memory includes the handle by which it is unparked. */
#include "inside.h"

#include <stdatomic.h>

enum { TASKS = 1000000 };

static cc_parker parkers[TASKS], creator;
static _Atomic int hold = 1, creating = 1;
static _Atomic long begun, ended;

CC_TASK(park_once, (int, id)) {
    parkers[id] = cc_parker_self();
    if (atomic_fetch_add(&begun, 1) == TASKS - 1) {
        atomic_store(&creating, 0);
        cc_unpark(creator);
    }
    while (atomic_load(&hold) == 1) cc_park_if(&hold, 1);
    atomic_fetch_add(&ended, 1);
    return 0;
}

static void *run(void *arg) {
    (void)arg;
    creator = cc_parker_self();
    double start = bench_now_ns();
    CC_NURSERY(n) {
        for (int i = 0; i < TASKS; i++) bench_check(cc_spawn(n, park_once, i) == 0, "cannot spawn");
        while (atomic_load(&creating) == 1) cc_park_if(&creating, 1);
        bench_report("create", (bench_now_ns() - start) / TASKS, "ns");
        bench_report_memory(TASKS);
        bench_check(atomic_load(&begun) == TASKS && atomic_load(&ended) == 0, "not all tasks are parked");

        atomic_store(&hold, 0);
        for (int i = 0; i < TASKS; i++) cc_unpark(parkers[i]);
    }
    bench_check(atomic_load(&ended) == TASKS, "not all tasks ended");
    return NULL;
}

int main(void) {
    bench_inside(run, NULL);
    return 0;
}
