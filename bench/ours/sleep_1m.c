/* SPDX-License-Identifier: MIT */
/* sleep_1m: a million tasks that each sleep once, for 1 to 1,000 ms; from the first spawn until all have ended. */
#include "inside.h"

enum { LONGEST_MS = 1000, TASKS = 1000000 };

static unsigned char marks[TASKS];

CC_TASK(sleep_once, (int, id)) {
    int rc = cc_sleep_ms(1 + id % LONGEST_MS);
    marks[id] = rc == 0;
    return rc;
}

static void *run(void *arg) {
    (void)arg;
    double start = bench_now_ns(), start_cpu = bench_cpu_ns();
    CC_NURSERY(n) {
        for (int i = 0; i < TASKS; i++) bench_check(cc_spawn(n, sleep_once, i) == 0, "cannot spawn");
    }
    double wall = bench_now_ns() - start, cpu = bench_cpu_ns() - start_cpu;

    bench_check(wall >= LONGEST_MS * 1e6, "some slept too short");
    for (int i = 0; i < TASKS; i++) bench_check(marks[i] == 1, "a task did not sleep");
    bench_report("wall", wall / 1e6, "ms");
    bench_report("cpu", cpu / 1e6, "ms");
    return NULL;
}

int main(void) {
    bench_inside(run, NULL);
    return 0;
}
