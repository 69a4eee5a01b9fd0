/* SPDX-License-Identifier: MIT */
/* spawn_batch: one task spawns a hundred thousand into one nursery and waits for all. Each only leaves a mark. */
#include "inside.h"

enum { TASKS = 100000, TIMES = 10 };

static unsigned char marks[TASKS];

CC_TASK(mark, (int, id)) {
    marks[id] = 1;
    return 0;
}

static void run(long tasks) {
    memset(marks, 0, sizeof marks);
    CC_NURSERY(n) {
        for (int i = 0; i < tasks; i++) bench_check(cc_spawn(n, mark, i) == 0, "cannot spawn");
    }
    for (long i = 0; i < tasks; i++) bench_check(marks[i] == 1, "a task did not run");
}

int main(void) {
    bench_report("spawn_batch", bench_quickest_inside_ns(run, TASKS, TIMES) / TASKS, "ns");
    return 0;
}
