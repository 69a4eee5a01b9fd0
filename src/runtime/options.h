/* SPDX-License-Identifier: MIT */
/* What a runtime is made with, decided.
 *
 * Prev: runtime/env.c  Next: runtime/options.c */
#ifndef CC__RUNTIME_OPTIONS_H
#define CC__RUNTIME_OPTIONS_H

#include <ccrt/runtime.h>

#include "../sched/sched.h"

struct cc__options {
    unsigned workers;
    const char *workers_why; /* who said so, for CC_VERBOSE */
    size_t stack_bytes;
    unsigned queue_bits;
    bool round_robin, no_stealing;
    bool rings;                      /* files are the kernel's, */
    const char *io_why;              /* as who said */
    const char *io_missing;          /* why there is none of that, or NULL */
    bool huge_wanted, huge_stacks;   /* asked for, and given */
    struct cc__placement *placement; /* where its workers sit; NULL: anywhere. The runtime's, once it is made */
    size_t prewarm_tasks, prewarm_stacks, prefetch_pages;
    const char *name;
    struct cc__growth growth; /* what is allowed */
};

/* What a program, or the library, is built with; 0: it does not say. */
struct cc__built {
    unsigned workers;
    size_t stack_bytes, queue;
};
void cc__options_built(struct cc__built with); /* of the program, before its first runtime */

/* Decide; attr may be NULL.
 *   Returns    0; -EINVAL, -ENOTSUP, -ENOMEM */
int cc__options(struct cc__options *o, const cc_runtime_attr *attr);

/* What the environment calls a strategy. */
const char *cc__env_strategy(int pin);

#endif /* CC__RUNTIME_OPTIONS_H */
