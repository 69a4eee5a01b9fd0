/* SPDX-License-Identifier: MIT */
/* CC_MAIN(argc, argv) { ... }: a program whose main function is a task, on a stack as large as the system's limit. */
#ifndef CCRT_MAIN_H
#define CCRT_MAIN_H

#include "defs.h"

CC_BEGIN_DECLS

/* Run fn(argc, argv) as a task of the default runtime.
 *   Returns    what it returned; 125 with a message if it could not start
 *   Call from  the main thread */
CC_API int cc_run_main(int (*fn)(int argc, char **argv), int argc, char **argv);

/* The same, with what the program was built with: CC_FIBER_WORKERS, CC_FIBER_STACK_SIZE, CC_FIBER_QUEUE_INITIAL; 0: not
 * said. They are defaults of all its runtimes: what the environment or an attribute says goes before them. Values out
 * of
 * range are reported and ignored. */
CC_API int cc_run_main_built(int (*fn)(int argc, char **argv), int argc, char **argv, unsigned long workers,
                             unsigned long stack_bytes, unsigned long queue);

CC_END_DECLS

#ifdef CC_FIBER_WORKERS
#define CC_PRIV_WORKERS CC_FIBER_WORKERS
#else
#define CC_PRIV_WORKERS 0
#endif
#ifdef CC_FIBER_STACK_SIZE
#define CC_PRIV_STACK_SIZE CC_FIBER_STACK_SIZE
#else
#define CC_PRIV_STACK_SIZE 0
#endif
#ifdef CC_FIBER_QUEUE_INITIAL
#define CC_PRIV_QUEUE_INITIAL CC_FIBER_QUEUE_INITIAL
#else
#define CC_PRIV_QUEUE_INITIAL 0
#endif

/* NOLINTBEGIN(bugprone-macro-parentheses): they are declared */
#define CC_MAIN(argc, argv)                                                                                            \
    static int cc_main_(int, char **);                                                                                 \
    int main(int cc_count, char **cc_words) {                                                                          \
        return cc_run_main_built(cc_main_, cc_count, cc_words, CC_PRIV_WORKERS, CC_PRIV_STACK_SIZE,                    \
                                 CC_PRIV_QUEUE_INITIAL);                                                               \
    }                                                                                                                  \
    static int cc_main_(int argc __attribute__((unused)), char **argv __attribute__((unused)))
/* NOLINTEND(bugprone-macro-parentheses) */

#endif /* CCRT_MAIN_H */
