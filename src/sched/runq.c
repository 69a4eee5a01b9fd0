/* SPDX-License-Identifier: MIT */
/* A worker's own queues: rings of 256, first in first out; the owner appends, anyone takes from the head.
 *
 *   owner appends                                thief takes n
 *   A1 reads head (acquire): is there room       T1 reads head (acquire), then tail (acquire)
 *   A2 writes slot[tail]                         T2 reads slots head .. head+n-1
 *   A3 tail+1 (release)                          T3 CAS head to head+n (release): they are its own
 *
 * T2 may read a slot that another thief took and the owner has refilled; then head has moved and T3 fails.
 * A1's acquire of the head that T3 released means that the thief has read the slots before they are
 * overwritten. head and tail run on and wrap; 32 bits are enough because a thief would have to sleep through
 * 2^32 pushes between T1 and T3.
 *
 * Full: half goes to the global queue in one batch; new tasks in a bundle, of which the newest are taken first, so that
 * a tree of tasks is not spread out in memory before its first leaf runs (docs/decisions/0010-newest-first.md).
 *
 * Prev: sched/runq_hot.h  Next: sched/mpmc.c */
#include "runq_hot.h"

bool cc__runq_empty(struct cc__runq *q) {
    return cc__load_acquire(&q->head) == cc__load_acquire(&q->tail);
}

static void overflow(struct cc__worker *w, struct cc__runq *q, struct cc__task *const *tasks, uint32_t n) {
    struct cc__inject *to = &w->runtime->inject;
    if (q == &w->begun)
        cc__inject_push_many(to, CC__LANE_BEGUN, tasks, n);
    else if (w->in_turn)
        cc__inject_push_many(to, CC_PRIORITY_NORMAL, tasks, n);
    else
        cc__inject_push_new(to, tasks, n);
    if (q == &w->fresh) w->in_turn = false; /* until one yields again */
}

/* Move half of a full queue, and one more, to the global queue. False: a thief made room meanwhile. */
static bool push_overflow(struct cc__worker *w, struct cc__runq *q, struct cc__task *t, uint32_t head) {
    uint32_t n = CC__RUNQ_SLOTS / 2;
    struct cc__task *half[CC__RUNQ_OVERFLOW];
    for (uint32_t i = 0; i < n; i++) half[i] = cc__load_relaxed(&q->slot[(head + i) & CC__RUNQ_MASK]);
    /* [RQ2] release: as T3. */
    if (!cc__cas_acq_rel(&q->head, &head, head + n)) return false;
    half[n] = t;
    overflow(w, q, half, n + 1);
    return true;
}

void cc__runq_push_full(struct cc__worker *w, struct cc__runq *q, struct cc__task *t, uint32_t head) {
    if (!push_overflow(w, q, t, head)) cc__runq_push(w, q, t);
}

uint32_t cc__runq_take_half(struct cc__runq *victim, struct cc__task **got) {
    uint32_t n, head = cc__load_acquire(&victim->head);
    do {
        /* [RQ1] acquire: pairs with the release of tail in push; the slots below it may be read. */
        uint32_t tail = cc__load_acquire(&victim->tail), waiting = tail - head;
        n = waiting - waiting / 2;
        if (n == 0) return 0;
        if (n > CC__RUNQ_SLOTS / 2) { /* head is from before, tail from after: look again */
            head = cc__load_acquire(&victim->head);
            n = 0;
            continue;
        }
        for (uint32_t i = 0; i < n; i++) got[i] = cc__load_relaxed(&victim->slot[(head + i) & CC__RUNQ_MASK]);
        /* [RQ2] release: the slots were read before the owner may refill them. */
    } while (n == 0 || !cc__cas_acq_rel(&victim->head, &head, head + n));
    return n;
}

struct cc__task *cc__runq_steal(struct cc__worker *w, struct cc__runq *q, struct cc__runq *victim) {
    struct cc__task *got[CC__RUNQ_SLOTS / 2];
    uint32_t n = cc__runq_take_half(victim, got);
    if (n == 0) return NULL;
    for (uint32_t i = 1; i < n; i++) cc__runq_push(w, q, got[i]);
    cc__store_relaxed(&w->count.stolen, cc__load_relaxed(&w->count.stolen) + n);
    return got[0];
}
