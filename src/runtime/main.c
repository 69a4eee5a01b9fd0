/* SPDX-License-Identifier: MIT */
/* CC_MAIN: the program's main function as a task, on a stack as large as the system gives a main thread.
 *
 * Prev: runtime/blocking.c */
#include <ccrt/main.h>

#include "../fiber/stack.h"
#include "../plat/thread.h"

#include <ccrt/debug.h>
#include <ccrt/error.h>
#include <ccrt/task.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

enum { CANNOT_START = 125, STACK_DEFAULT = 8 << 20 };

struct program {
    int (*fn)(int, char **);
    int argc;
    char **argv;
};

static void *program_run(void *arg) {
    struct program *p = arg;
    return (void *)(intptr_t)p->fn(p->argc, p->argv);
}

int cc_run_main(int (*fn)(int argc, char **argv), int argc, char **argv) {
    struct program p = {fn, argc, argv};
    size_t limit = cc__thread_stack_limit();
    cc_task_attr attr = {.name = "main",
                         .stack_bytes = limit == 0 || limit > CC__STACK_BYTES_MAX ? STACK_DEFAULT : limit};
    cc_task t;
    void *result = NULL;
    (void)cc_dump_on_signal(SIGQUIT);                     /* where it does not work, the program can do without */
    int rc = (cc_task_spawn)(&t, &attr, program_run, &p); /* the function: the place here says nothing */
    if (rc == 0) rc = cc_task_join(t, &result);
    if (rc != 0) {
        fprintf(stderr, "ccrt: the program could not start: %s\n", cc_strerror(rc));
        return CANNOT_START;
    }
    return (int)(intptr_t)result;
}
