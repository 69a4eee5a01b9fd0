/* SPDX-License-Identifier: MIT */
/* What every task is doing, for people: the answer to "why does it hang?". docs/DEBUGGING.md shows how to use it. */
#ifndef CCRT_DEBUG_H
#define CCRT_DEBUG_H

#include <stdio.h>

#include "defs.h"

CC_BEGIN_DECLS

/* Write a report about all tasks of the process, of all runtimes: number, name or function, whether it runs (on which
 * worker), is ready or waits (for what, and for how long about), where it was spawned, and where it stands: the
 * functions of its stack, if it waits. Tasks that wait alike are put together. NULL: to stderr. The tasks go on
 * meanwhile, so it is not of one instant. What the stream has buffered is written first.
 *   Call from  fiber or thread           Blocks: the calling thread, until it is written */
CC_API void cc_dump(FILE *to);

/* From now on this signal has that report written to stderr, and the program goes on. CC_MAIN programs have it on
 * SIGQUIT (Ctrl-\), unless they did something else with that. A thread is started for it, the first time.
 *   Returns    0, also when it was done before; -EBUSY the program has a handler for it, or ignores it; -EINVAL not a
 *              signal that can be handled; -EAGAIN the system gives no more threads
 *   Call from  fiber or thread */
CC_API int cc_dump_on_signal(int signo);

CC_END_DECLS

#endif /* CCRT_DEBUG_H */
