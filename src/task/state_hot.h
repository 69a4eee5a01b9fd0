/* SPDX-License-Identifier: MIT */
/* The transitions of every park and wake, inline in release builds; see state.c, of which this is a part.
 *
 * Prev: task/task.h  Next: task/state.c */
#ifndef CC__TASK_STATE_HOT_H
#define CC__TASK_STATE_HOT_H

#include "../base/assert.h"
#include "task.h"

CC__HOT bool cc__state_take_note(struct cc__task *t) {
    if ((cc__load_relaxed(&t->control) & CC__CONTROL_NOTE) == 0) return false;
    /* [TS2] acquire: pairs with the release of the unpark that set it: what it announced is seen. */
    return (cc__and_acq_rel(&t->control, ~CC__CONTROL_NOTE) & CC__CONTROL_NOTE) != 0;
}

CC__HOT bool cc__state_take_cancel(struct cc__task *t) {
    if ((cc__load_relaxed(&t->control) & CC__CONTROL_CANCEL) == 0) return false;
    /* [TS2] acquire: what was cancelled, and what a note announced, is seen. */
    return (cc__and_acq_rel(&t->control, ~(CC__CONTROL_CANCEL | CC__CONTROL_NOTE)) & CC__CONTROL_CANCEL) != 0;
}

CC__HOT bool cc__state_park(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control), next;
    do {
        CC_ASSERT(cc__state_of(c) == CC__ACTIVE);
        next = (c & CC__CONTROL_NOTE) != 0 ? c & ~CC__CONTROL_NOTE : cc__with_state(c, CC__PARKED);
        /* [TS3] release: the quiet stack is seen by the unparker, and so by who runs it next; [TS2] acquire:
         * what the unpark of a note announced is handed on, through the queue. */
    } while (!cc__cas_weak_acq_rel(&t->control, &c, next));
    return cc__state_of(next) == CC__PARKED;
}

CC__HOT enum cc__unparked cc__state_unpark(struct cc__task *t, uint32_t generation) {
    uint64_t c = cc__load_relaxed(&t->control), next;
    do {
        if (cc__task_generation(c) != generation) return CC__UNPARK_GONE;
        switch (cc__state_of(c)) {
        case CC__PARKED: next = cc__with_state(c, CC__ACTIVE); break;
        case CC__ACTIVE: next = c | CC__CONTROL_NOTE; break; /* a change of nothing if it is set: ours is seen, too */
        default: return CC__UNPARK_GONE;
        }
        /* [TS2] release: what the caller wrote before is seen by the task; [TS3] acquire: its stack is quiet
         * for whoever the caller hands it to. */
    } while (!cc__cas_weak_acq_rel(&t->control, &c, next));
    if (cc__state_of(c) != CC__PARKED) return CC__UNPARK_NOTED;
    return (c & CC__CONTROL_THREAD) != 0 ? CC__UNPARK_WAKE : CC__UNPARK_QUEUE;
}

CC__HOT bool cc__state_take_parked(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control);
    if ((c & (CC__CONTROL_STATE | CC__CONTROL_THREAD)) != CC__PARKED || t->stack_class == CC__STACKLESS) return false;
    /* [TS3] acquire: as an unpark. What the caller writes goes with the task, through the queue. */
    return cc__cas_acquire(&t->control, &c, cc__with_state(c, CC__ACTIVE));
}

#endif /* CC__TASK_STATE_HOT_H */
