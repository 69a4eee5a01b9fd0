/* SPDX-License-Identifier: MIT */
/* Waiting for a descriptor, inline in whoever reads: R3 to R6 of driver/fd.c. A server's fibers are more than its cache
 * holds, and what one touches between two messages is fetched anew for each: so there is one frame from the user's call
 * to the switch, and little code (docs/decisions/0021-fetch-ahead.md).
 *
 * Prev: sched/help.c  Next: sched/fdwait.c */
#ifndef CC__SCHED_FDWAIT_HOT_H
#define CC__SCHED_FDWAIT_HOT_H

#include "leave.h"
#include "sched.h"

#include <errno.h>

/* A wait was not matched, but ended with rc; its node is off. CC__WAIT_AGAIN: it is to begin anew. */
CC__COLD int cc__fd_waited(struct cc__fd *e, enum cc__fd_way way, struct cc__wait *w, int rc);

static inline void cc__prefetch_two(uintptr_t lines) {
    cc__prefetch_to_write(lines);
    cc__prefetch_to_write(lines + CC__CACHE_LINE);
}

/* Begin to fetch what the task after the next one of the ring touches first: its fiber, the second line of its record,
 * its stack about the node that it waited with, and, below its frame and the red zone, the registers it was left with.
 * Its record itself is written when it is put there. */
static inline void cc__run_fetch_ahead(struct cc__worker *w) {
#if CC__INLINE_HOT
    uint32_t head = cc__load_relaxed(&w->begun.head);
    if ((int32_t)(cc__load_relaxed(&w->begun.tail) - head) < 2) return;
    struct cc__task *t = cc__load_relaxed(&w->begun.slot[(head + 1) & CC__RUNQ_MASK]);
    uintptr_t fiber = (uintptr_t)cc__glance(&t->fiber), node = (uintptr_t)cc__glance(&t->value);
    cc__prefetch_to_write((uintptr_t)t + CC__CACHE_LINE);
    cc__prefetch_to_write(fiber);
    cc__prefetch_to_write(node - (uintptr_t)4 * CC__CACHE_LINE); /* its registers */
    cc__prefetch_two(node - (uintptr_t)2 * CC__CACHE_LINE);
    cc__prefetch_two(node);
    cc__prefetch_two(node + (uintptr_t)2 * CC__CACHE_LINE);
    cc__prefetch_to_write(node + (uintptr_t)4 * CC__CACHE_LINE);
#else
    (void)w;
#endif
}

/* As cc__fd_wait(). */
static inline __attribute__((always_inline)) int cc__fd_wait_here(struct cc__fd *e, int fd, enum cc__fd_way way,
                                                                  uint32_t generation) {
    struct cc__task *self = cc__self_here();
    int rc;
    if (CC__UNLIKELY(self == NULL)) return -ENOMEM;
    do {
        struct cc__wait w;
        uint32_t home;
        rc = cc__poll_watch(e, fd, generation, &home);
        if (CC__UNLIKELY(rc != 0)) return rc;
        enum cc__fd_joined how = cc__fd_join(e, way, &w, self, generation, home);
        if (CC__UNLIKELY(how != CC__FD_WAITS)) return how == CC__FD_LOOK ? 0 : -EBADF;
        if (CC__LIKELY(self->fn != NULL)) cc__run_fetch_ahead(cc__worker_current());
        rc = cc__wait_cancellable_here(&w, CC__NEVER);
        if (CC__UNLIKELY(rc != 0)) rc = cc__fd_waited(e, way, &w, rc);
    } while (CC__UNLIKELY(rc == CC__WAIT_AGAIN));
    return rc;
}

#endif /* CC__SCHED_FDWAIT_HOT_H */
