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

CC_END_DECLS

/* NOLINTBEGIN(bugprone-macro-parentheses): they are declared */
#define CC_MAIN(argc, argv)                                                                                            \
    static int cc_main_(int, char **);                                                                                 \
    int main(int cc_count, char **cc_words) {                                                                          \
        return cc_run_main(cc_main_, cc_count, cc_words);                                                              \
    }                                                                                                                  \
    static int cc_main_(int argc __attribute__((unused)), char **argv __attribute__((unused)))
/* NOLINTEND(bugprone-macro-parentheses) */

#endif /* CCRT_MAIN_H */
