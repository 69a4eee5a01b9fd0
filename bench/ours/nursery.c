/* SPDX-License-Identifier: MIT */
/* nursery: open a nursery, spawn a thousand tasks into it and join them, again and again. */
#include "inside.h"

enum { NURSERIES = 200, TASKS = 1000, TIMES = 5 };

static long marks[TASKS];

CC_TASK(mark, (int, id), (long, nursery)) {
    marks[id] = nursery;
    return 0;
}

static void one(long number) {
    CC_NURSERY(n) {
        for (int i = 0; i < TASKS; i++) bench_check(cc_spawn(n, mark, i, number) == 0, "cannot spawn");
    }
    for (int i = 0; i < TASKS; i++) bench_check(marks[i] == number, "a task did not run");
}

static void run(long nurseries) {
    static long number;
    for (long i = 0; i < nurseries; i++) one(++number);
}

int main(void) {
    double tasks = (double)NURSERIES * TASKS;
    bench_report("nursery", bench_quickest_inside_ns(run, NURSERIES, TIMES) / tasks, "ns");
    return 0;
}
