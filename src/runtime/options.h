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
    size_t prewarm_tasks, prewarm_stacks, prefetch_pages;
    const char *name;
    struct cc__growth growth; /* what is allowed */
};

/* Decide; attr may be NULL.
 *   Returns    0; -EINVAL */
int cc__options(struct cc__options *o, const cc_runtime_attr *attr);

#endif /* CC__RUNTIME_OPTIONS_H */
