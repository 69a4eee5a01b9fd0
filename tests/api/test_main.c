/* SPDX-License-Identifier: MIT */
/* Goal: CC_MAIN runs the program as a task, with its arguments, on a large stack, and hands on its result.
 * Method: this program is one.
 */
#include <ccrt.h>
#include <stdio.h>
#include <string.h>

static __attribute__((noinline)) int deep(int n) {
    volatile char frame[1024];
    frame[0] = (char)n;
    return n == 0 ? 0 : deep(n - 1) + (frame[0] != (char)n);
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
    puts("ok");
    return 0;
}
