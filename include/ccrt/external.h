/* SPDX-License-Identifier: MIT */
/* Waits that something outside this process may end.
 *
 * When every task waits and nothing in the process can wake one, the library says so and ends the program: it would
 * hang for ever. It takes nothing for certain that it cannot see: other threads, signal handlers of the program's own,
 * timers and pending calls all count as what may wake a task. What it cannot know of is a wake-up from elsewhere, by
 * memory shared with another process say, or that a program means to wait for ever. */
#ifndef CCRT_EXTERNAL_H
#define CCRT_EXTERNAL_H

#include "defs.h"
#include "scope.h"

CC_BEGIN_DECLS

/* One more, or one fewer, that something outside may wake: while there is one, no deadlock is reported.
 *   Call from  fiber or thread */
CC_API void cc_external_wait(int change);

/* Of the macro below. */
typedef struct cc_priv_external {
    char priv_unused;
} cc_priv_external;
CC_API cc_priv_external *cc_priv_external_enter(cc_priv_external *e);
CC_API void cc_priv_external_leave(cc_priv_external *e);

CC_END_DECLS

/* CC_EXTERNAL_WAIT { cc_park_if(&flag, 0); } */
#define CC_EXTERNAL_WAIT CC_PRIV_EXTERNAL(__COUNTER__)
#define CC_PRIV_EXTERNAL(id)                                                                                           \
    CC_PRIV_BRACES(id, cc_priv_external, cc_priv_external_leave, cc_priv_external_enter(CC_PRIV_BRACES_OF(id)))

#endif /* CCRT_EXTERNAL_H */
