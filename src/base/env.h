/* SPDX-License-Identifier: MIT */
/* What the environment asks for: read once, in runtime/env.c, before the first worker starts; from then on it does not
 * change and anyone may read it. docs/ENVIRONMENT.md says what each variable does.
 *
 * Prev: base/text.c  Next: base/env.c */
#ifndef CC__BASE_ENV_H
#define CC__BASE_ENV_H

/* A field a variable; flags are 0 or 1. */
struct cc__env {
    int workers;       /* CC_WORKERS; 0: not given */
    int io;            /* CC_IO: CC_IO_* of ccrt/runtime.h; 0: not given */
    const char *trace; /* CC_TRACE: a file; NULL: none */
    int pin;           /* CC_PIN: as CC_PIN_* in <ccrt/runtime.h>; 0: not given */
    int fiber_stats, verbose, sysmon;
    int debug_join, debug_wake, debug_inbox, debug_sysmon, park_debug;
    int chan_debug, chan_debug_verbose, chan_no_lockfree;
    int debug_stall, debug_deadlock, debug_deadlock_runtime, debug_inbox_dump, deadlock_abort;
};

/* W: cc__env_read(), before any worker starts or channel is made.  R: all. */
extern struct cc__env cc__env __attribute__((visibility("hidden")));

/* Read it, once a process; what is not understood is told on stderr, a line each, and ignored. In runtime/env.c, the
 * one place that looks at the environment. */
void cc__env_read(void);

#endif /* CC__BASE_ENV_H */
