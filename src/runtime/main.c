/* SPDX-License-Identifier: MIT */
/* CC_MAIN: the program's main function as a task, on a stack as large as the system gives a main thread.
 *
 * Prev: runtime/blocking.c */
#include <ccrt/main.h>

#include "../fiber/stack.h"
#include "../plat/thread.h"
#include "options.h"

#include <ccrt/debug.h>
#include <ccrt/error.h>
#include <ccrt/task.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

enum { QUEUE_MAX = 1 << 24, CANNOT_START = 125, STACK_DEFAULT = 8 << 20 };

static _Atomic int programs; /* under way: one may run within another.  W: who runs one */

struct program {
    int (*fn)(int, char **);
    int argc;
    char **argv;
};

static void *program_run(void *arg) {
    struct program *p = arg;
    return (void *)(intptr_t)p->fn(p->argc, p->argv);
}

/* A value that a program was built with, or 0 if it makes no sense. */
static unsigned long in_range(const char *name, unsigned long value, unsigned long most) {
    if (value <= most) return value;
    fprintf(stderr, "ccrt: %s=%lu, which the program was built with, is ignored: it is to be at most %lu\n", name,
            value, most);
    return 0;
}

int cc_run_main_built(int (*fn)(int argc, char **argv), int argc, char **argv, unsigned long workers,
                      unsigned long stack_bytes, unsigned long queue) {
    struct cc__built with = {
        .workers = (unsigned)in_range("CC_FIBER_WORKERS", workers, CC__WORKERS_MAX),
        .stack_bytes = in_range("CC_FIBER_STACK_SIZE", stack_bytes, CC__STACK_BYTES_MAX),
        .queue = in_range("CC_FIBER_QUEUE_INITIAL", queue, QUEUE_MAX),
    };
    cc__options_built(with);
    return cc_run_main(fn, argc, argv);
}

int cc_run_main(int (*fn)(int argc, char **argv), int argc, char **argv) {
    struct program p = {fn, argc, argv};
    size_t limit = cc__thread_stack_limit();
    cc_task_attr attr = {.name = "main",
                         .stack_bytes = limit == 0 || limit > CC__STACK_BYTES_MAX ? STACK_DEFAULT : limit};
    cc_task t = {0};
    void *result = NULL;
    struct cc__runtime *rt = NULL;
    int rc = cc__runtime_default(&rt); /* first: it prepares things that cost milliseconds where there are threads */
    (void)cc_dump_on_signal(SIGQUIT);  /* where it does not work, the program can do without */
    if (rc == 0) {
        if (cc__add_relaxed(&programs, 1) == 0) cc__monitor_unsettle(rt); /* one may have ended before */
        rc = (cc_task_spawn)(&t, &attr, program_run, &p); /* the function: the place here says nothing */
        if (rc == 0) rc = cc_task_join(t, &result);
        if (cc__sub_relaxed(&programs, 1) == 1) cc__monitor_settle(rt);
    }
    if (rc != 0) {
        fprintf(stderr, "ccrt: the program could not start: %s\n", cc_strerror(rc));
        return CANNOT_START;
    }
    return (int)(intptr_t)result;
}
