/* SPDX-License-Identifier: MIT */
/* Every transition of a task's control word, and nothing else.
 *
 * Park and unpark. The word holds state and pending unpark together, so there is no pair of variables whose
 * order could go wrong.
 *
 *   waiter (W)                                   waker (U)
 *   W1 eats a pending note: if there was one,    U1 stores what the waiter waits for
 *      it returns                                U2 cc__state_unpark:
 *   W2 looks at what it waits for                   PARKED: to ACTIVE, and queues it
 *   W3 switches away: its stack is quiet            ACTIVE: sets note
 *   W4 cc__state_park, on another stack:
 *      ACTIVE without note: to PARKED
 *      ACTIVE with note: eats it; the task is
 *      queued
 *
 * Each step is one read-modify-write of the same word, so they are totally ordered. If U2 comes before W1,
 * the note is eaten and the waiter looks again; between W1 and W4, W4 fails; after W4, U2 queues it. In each
 * case the waiter looks after U1 and sees it: U2's release reaches the acquire of W1 or of W4, and what W4 or
 * another U2 acquired reaches the waiter through the queue. A wake-up that finds the task queued already, by
 * another's, leaves a note: its next park returns at once.
 *
 * W4 happens on another stack: a waiter that published PARKED while still on its own could be resumed by
 * another worker on a stack in use.
 *
 * The end is a plain store: all that others may do to the word of an active task is to leave a note, or the
 * cancel bit, and an ended task has no use for them. Their compare-and-swap fails on DONE, or was first.
 *
 * Futures have a few more, in state_future.c.
 *
 * Rejected: a separate latch (needs two seq_cst operations and has been got wrong, five times over); reading
 * the waiter's flag after W4 (its frame may be gone); a change of the word when a task is taken from its queue
 * (docs/decisions/0005-active.md).
 *
 * Prev: task/state_hot.h  Next: task/state_future.c */
#include "../base/assert.h"
#include "task.h"
#include "state_hot.h"

void cc__state_begin(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control);
    CC_ASSERT(cc__state_of(c) == CC__IDLE);
    /* [TS1] release: who holds a handle of this generation sees the record set up for it. */
    cc__store_release(&t->control, cc__with_state(c, CC__ACTIVE));
}

void cc__state_set_thread(struct cc__task *t) {
    cc__store_relaxed(&t->control, cc__load_relaxed(&t->control) | CC__CONTROL_THREAD);
}

void cc__state_set_cancel(struct cc__task *t) {
    cc__or_relaxed(&t->control, CC__CONTROL_CANCEL); /* who takes it is who set it */
}

enum cc__unparked cc__state_cancel(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control), next;
    do {
        switch (cc__state_of(c)) {
        case CC__PARKED: next = cc__with_state(c, CC__ACTIVE) | CC__CONTROL_CANCEL; break;
        case CC__ACTIVE: next = c | CC__CONTROL_NOTE | CC__CONTROL_CANCEL; break;
        default: return CC__UNPARK_GONE;
        }
        /* [TS2] release: the cancelled scope is seen by who takes the bit; and as an unpark. */
    } while (!cc__cas_weak_acq_rel(&t->control, &c, next));
    if (cc__state_of(c) != CC__PARKED) return CC__UNPARK_NOTED;
    return (c & CC__CONTROL_THREAD) != 0 ? CC__UNPARK_WAKE : CC__UNPARK_QUEUE;
}

void cc__state_resume(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control);
    while (cc__state_of(c) == CC__PARKED) /* timed out: nobody woke it */
        if (cc__cas_weak_acq_rel(&t->control, &c, cc__with_state(c, CC__ACTIVE))) return;
    cc__fence_acquire(); /* [TS2] a waker made it ACTIVE: what it wrote before is seen */
}

void cc__state_finish(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control);
    CC_ASSERT(cc__state_of(c) == CC__ACTIVE);
    /* Relaxed: the joiners' lock, or the pool, hands over the result and the record. */
    cc__store_relaxed(&t->control, cc__with_state(c & ~CC__CONTROL_NOTE, CC__DONE));
}

void cc__state_free(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control);
    uint64_t next = (c & ~(CC__CONTROL_GENERATION - 1)) + CC__CONTROL_GENERATION; /* IDLE, no bits */
    /* [TS1] release: who sees the next generation sees the end of the old task. */
    cc__store_release(&t->control, next);
}
