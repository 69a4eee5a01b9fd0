/* SPDX-License-Identifier: MIT */
/* startup: create a runtime with its default number of workers, run one task, join it, end the runtime. Once a
 * process: whatever is set up on first use is part of it. */
#include <ccrt.h>

#include "common.h"

static char answer;

static void *same(void *arg) {
    return arg;
}

int main(void) {
    double start = bench_now_ns();
    cc_runtime *rt;
    cc_task t;
    void *result;
    bench_check(cc_runtime_create(&rt, NULL) == 0, "cannot create a runtime");
    bench_check(cc_runtime_spawn(rt, &t, NULL, same, &answer) == 0, "cannot spawn");
    bench_check(cc_task_join(t, &result) == 0 && result == &answer, "not its result");
    cc_runtime_destroy(rt);
    bench_report("startup", (bench_now_ns() - start) / 1e6, "ms");
    return 0;
}
