/* SPDX-License-Identifier: MIT */
/* A runtime, and what its start and its end share.
 *
 * Prev: runtime/options.c  Next: runtime/runtime.c */
#ifndef CC__RUNTIME_RUNTIME_H
#define CC__RUNTIME_RUNTIME_H

#include <ccrt/runtime.h>

#include "../sched/sched.h"

struct cc_runtime {
    struct cc__runtime core;
    void *rings; /* of the global queue */
    size_t ring_bytes;
    size_t worker_bytes; /* of the places for workers */
};

/* Let `started` workers end, and wait for them. */
void cc__runtime_stop_workers(struct cc__runtime *rt, unsigned started);
/* Give back all memory; no worker runs. */
void cc__runtime_free(cc_runtime *rt);

#endif /* CC__RUNTIME_RUNTIME_H */
