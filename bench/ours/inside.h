/* SPDX-License-Identifier: MIT */
/* What the programs that measure tasks share: a runtime with as many workers as are asked for, and one task of it
 * that does the measuring. */
#ifndef BENCH_INSIDE_H
#define BENCH_INSIDE_H

#include <ccrt.h>

#include "common.h"

static inline cc_runtime *bench_runtime(void) {
    cc_runtime *rt;
    cc_runtime_attr attr = {.workers = bench_workers()};
    bench_check(cc_runtime_create(&rt, &attr) == 0, "cannot create a runtime");
    bench_check(attr.workers == 0 || cc_runtime_workers(rt) == attr.workers, "not so many workers");
    return rt;
}

/* Run fn(arg) as a task of a new runtime; returns when it has ended and the runtime with it. */
static inline void bench_inside(void *(*fn)(void *), void *arg) {
    cc_runtime *rt = bench_runtime();
    cc_task t;
    bench_check(cc_runtime_spawn(rt, &t, NULL, fn, arg) == 0, "cannot spawn");
    bench_check(cc_task_join(t, NULL) == 0, "cannot join");
    cc_runtime_destroy(rt);
}

struct bench_timed {
    double (*by)(void (*run)(long), long count, int times);
    void (*run)(long);
    long count;
    int times;
    double ns;
};

static inline void *bench_timed_task(void *arg) {
    struct bench_timed *timed = (struct bench_timed *)arg;
    timed->ns = timed->by(timed->run, timed->count, timed->times);
    return NULL;
}

/* bench_quickest_ns() and bench_quartile_ns() inside a task. */
static inline double bench_quickest_inside_ns(void (*run)(long), long count, int times) {
    struct bench_timed timed = {.by = bench_quickest_ns, .run = run, .count = count, .times = times};
    bench_inside(bench_timed_task, &timed);
    return timed.ns;
}
static inline double bench_quartile_inside_ns(void (*run)(long), long count, int times) {
    struct bench_timed timed = {.by = bench_quartile_ns, .run = run, .count = count, .times = times};
    bench_inside(bench_timed_task, &timed);
    return timed.ns;
}

#endif /* BENCH_INSIDE_H */
