/* SPDX-License-Identifier: MIT */
/* Goal: CC_MAIN runs the program as a task, with its arguments, on a large stack, and hands on its result. One that ran
 * within it leaves it as it was.
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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* So many workers sleep in the kernel at once: it takes one more to wake them. */
static void *reads(void *pipe) {
    char c;
    return read(*(int *)pipe, &c, 1) == 1 ? NULL : pipe;
}
static bool grows(unsigned workers) {
    int fd[2], good = pipe(fd) == 0;
    cc_task t[64];
    if (workers > 64) return true;
    for (unsigned i = 0; i < workers; i++) t[i] = cc_fiber_spawn_task(reads, fd);
    good = good && cc_sleep_ms(20) == 0;
    for (unsigned i = 0; i < workers; i++) good = good && write(fd[1], "x", 1) == 1;
    for (unsigned i = 0; i < workers; i++) {
        void *result = fd;
        good = good && cc_task_join(t[i], &result) == 0 && result == NULL;
    }
    return good && close(fd[0]) == 0 && close(fd[1]) == 0;
}

/* Room in the kernel's table of descriptors, which grows in time, before there are threads. */
static long room_for_descriptors(void) {
    char line[128];
    long room = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "FDSize:", 7) == 0) room = strtol(line + 7, NULL, 10);
    if (f != NULL) fclose(f);
    return room;
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
    if (getenv("CC_SYSMON") == NULL && !grows(stats.workers)) return 9;
    if (room_for_descriptors() < 512) return 10;
    puts("ok");
    return 0;
}
