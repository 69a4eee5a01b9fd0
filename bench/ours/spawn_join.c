/* SPDX-License-Identifier: MIT */
/* spawn_join: one task spawns a task and joins it, one after the other. */
#include "inside.h"

enum { TIMES = 5, TURNS = 100000 };

static char numbers[TURNS];

static void *same(void *arg) {
    return arg;
}

static void run(long turns) {
    for (long i = 0; i < turns; i++) {
        cc_task t;
        void *result;
        bench_check(cc_task_spawn(&t, NULL, same, &numbers[i]) == 0, "cannot spawn");
        bench_check(cc_task_join(t, &result) == 0 && result == &numbers[i], "not its result");
    }
}

int main(void) {
    bench_report("spawn_join", bench_quickest_inside_ns(run, TURNS, TIMES) / TURNS, "ns");
    return 0;
}
