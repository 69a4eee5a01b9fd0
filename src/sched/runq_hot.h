/* SPDX-License-Identifier: MIT */
/* What a worker does with its own rings for every task that yields or is not the next one, inline in release builds:
 * see wait_hot.h. The protocol is told in runq.c.
 *
 * Prev: sched/ready.c  Next: sched/runq.c */
#ifndef CC__SCHED_RUNQ_HOT_H
#define CC__SCHED_RUNQ_HOT_H

#include "sched.h"

enum { CC__RUNQ_MASK = CC__RUNQ_SLOTS - 1 };

/* runq.c: where there was no room. Apart, so that who finds room needs no frame. */
void cc__runq_push_full(struct cc__worker *w, struct cc__runq *q, struct cc__task *t, uint32_t head);

CC__HOT void cc__runq_push(struct cc__worker *w, struct cc__runq *q, struct cc__task *t) {
    uint32_t tail = cc__load_relaxed(&q->tail);
    /* [RQ2] acquire: a thief that moved head has read its slots. Pairs with the CAS in steal and pop. */
    uint32_t head = cc__load_acquire(&q->head);
    if (CC__UNLIKELY(tail - head >= CC__RUNQ_SLOTS)) {
        cc__runq_push_full(w, q, t, head);
        return;
    }
    cc__store_relaxed(&q->slot[tail & CC__RUNQ_MASK], t);
    /* [RQ1] release: publishes the slot and the task; a thief that sees the new tail may read both. */
    cc__store_release(&q->tail, tail + 1);
}

CC__HOT struct cc__task *cc__runq_pop(struct cc__runq *q) {
    uint32_t tail = cc__load_relaxed(&q->tail); /* our own */
    uint32_t head = cc__load_acquire(&q->head);
    while (head != tail) {
        struct cc__task *t = cc__load_relaxed(&q->slot[head & CC__RUNQ_MASK]);
        if (CC__LIKELY(cc__cas_acq_rel(&q->head, &head, head + 1))) return t; /* [RQ2] */
    }
    return NULL;
}

#endif /* CC__SCHED_RUNQ_HOT_H */
