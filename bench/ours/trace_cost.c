/* SPDX-License-Identifier: MIT */
/* trace_cost: yields, spawns into a nursery, spawns that are joined; with CC_TRACE and without. Each time is divided by
 * the events that the trace has of it, so that the difference between the two is the cost of one. There are fewer of
 * each than the trace has room for. */
#include "inside.h"

enum { TASKS = 100, YIELDS = 2000, BATCH = 50000, TURNS = 50000, TIMES = 5 };

/* A yield is one event: from one task to the next. */
CC_TASK(yield_many, (long, yields)) {
    for (; yields > 0; yields--) cc_yield();
    return 0;
}
static void run_yields(long yields) {
    CC_NURSERY(n) {
        for (int i = 0; i < TASKS; i++) bench_check(cc_spawn(n, yield_many, yields) == 0, "cannot spawn");
    }
}

/* Two: the spawn, and from one to the next. */
CC_TASK(nothing, (int, unused)) {
    return unused;
}
static void run_batch(long tasks) {
    CC_NURSERY(n) {
        for (long i = 0; i < tasks; i++) bench_check(cc_spawn(n, nothing, 0) == 0, "cannot spawn");
    }
}

/* Four: the spawn, from the joiner to the task, the unpark of the joiner, and from the task to the joiner. */
static void *same(void *arg) {
    return arg;
}
static void run_joins(long turns) {
    for (long i = 0; i < turns; i++) {
        cc_task t;
        bench_check(cc_task_spawn(&t, NULL, same, NULL) == 0, "cannot spawn");
        bench_check(cc_task_join(t, NULL) == 0, "cannot join");
    }
}

int main(void) {
    double yields = bench_quickest_inside_ns(run_yields, YIELDS, TIMES) / ((double)TASKS * YIELDS);
    double batch = bench_quickest_inside_ns(run_batch, BATCH, TIMES) / BATCH / 2;
    double joins = bench_quickest_inside_ns(run_joins, TURNS, TIMES) / TURNS / 4;
    bench_report("yield_event", yields, "ns");
    bench_report("batch_event", batch, "ns");
    bench_report("join_event", joins, "ns");
    return 0;
}
