/* SPDX-License-Identifier: MIT */
/* A runtime, and what its start and its end share.
 *
 * Prev: runtime/options.c  Next: runtime/runtime.c */
#ifndef CC__RUNTIME_RUNTIME_H
#define CC__RUNTIME_RUNTIME_H

#include <ccrt/runtime.h>

#include "../sched/sched.h"
#include "options.h"

struct cc_runtime {
    struct cc__runtime core;
    void *rings; /* of the global queue */
    size_t ring_bytes;
    size_t worker_bytes; /* of the places for workers */
    int64_t started_ns;
    struct cc_runtime *next; /* of those that run; guarded by the lock of account.c */
};

/* Let `started` workers end, and wait for them. */
void cc__runtime_stop_workers(struct cc__runtime *rt, unsigned started);
/* Give back all memory; no worker runs. */
void cc__runtime_free(cc_runtime *rt);

/* account.c, in this order: one more, which has a number now; its workers run; they are about to end; it is gone. */
void cc__account_begin(cc_runtime *rt);
void cc__account_started(cc_runtime *rt, const struct cc__options *o);
void cc__account_ending(cc_runtime *rt);
void cc__account_gone(cc_runtime *rt);

#endif /* CC__RUNTIME_RUNTIME_H */
