/* SPDX-License-Identifier: MIT */
/* Goal: CC_MAIN runs the program as a task, with its arguments, on a large stack, and hands on its result.
 * What it was built with is what its runtimes have.
 * Method: this program is one, built with three workers and larger stacks, and says things that make no sense besides.
 */
#undef CC_FIBER_WORKERS
#undef CC_FIBER_STACK_SIZE
#undef CC_FIBER_QUEUE_INITIAL
#define CC_FIBER_WORKERS 3
#define CC_FIBER_STACK_SIZE 1000000
#define CC_FIBER_QUEUE_INITIAL 64
#include <ccrt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) int deep(int n) {
    volatile char frame[1024];
    frame[0] = (char)n;
    return n == 0 ? 0 : deep(n - 1) + (frame[0] != (char)n);
}

static void *deep_task(void *arg) {
    deep(800); /* 800 KiB of frames */
    return arg;
}

static int twice(int argc, char **argv) {
    (void)argv;
    return argc * 2;
}

CC_MAIN(argc, argv) {
    if (argc != 1 || argv[1] != NULL) return 1;
    if (!cc_task_valid(cc_task_self())) return 2;
    if (cc_task_self_name() == NULL || strcmp(cc_task_self_name(), "main") != 0) return 3;
    if (deep(4000) != 0) return 4; /* 4 MiB of frames */
    if (cc_run_main(twice, 21, argv) != 42) return 5;
    cc_runtime_stats stats;
    cc_runtime_stats_get(NULL, &stats);
    if (getenv("CC_WORKERS") == NULL && stats.workers != 3) return 6;
    if (cc_task_join(cc_fiber_spawn_task(deep_task, NULL), NULL) != 0) return 7;
    if (cc_run_main_built(twice, 21, argv, 1000000, 1ul << 60, 1ul << 60) != 42) return 8; /* reported, and ignored */
    puts("ok");
    return 0;
}
