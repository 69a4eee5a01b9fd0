/* SPDX-License-Identifier: MIT */
/* startup: oneTBB with its default number of workers: an arena, one task in it, then all workers ended. Once a
 * process. The caller is one of the arena's threads, and may run the task itself. */
#define TBB_PREVIEW_WAITING_FOR_WORKERS 1
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "common.h"

int main() {
    double start = bench_now_ns();
    tbb::task_scheduler_handle scheduler{tbb::attach{}};
    tbb::task_arena arena;
    bool ran = false;
    arena.execute([&] {
        tbb::task_group group;
        group.run([&] { ran = true; });
        group.wait();
    });
    arena.terminate();
    bool ended = tbb::finalize(scheduler, std::nothrow);
    double taken = bench_now_ns() - start;
    bench_check(ran, "the task did not run");
    bench_check(ended, "the workers did not end");
    bench_report("startup", taken / 1e6, "ms");
    return 0;
}
