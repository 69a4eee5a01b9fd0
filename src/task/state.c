/* SPDX-License-Identifier: MIT */
/* Every transition of a task's control word, and nothing else.
 *
 * Park and unpark. The word holds state and pending unpark together, so there is no pair of variables whose
 * order could go wrong.
 *
 *   waiter (W)                                   waker (U)
 *   W1 eats a pending note: if there was one,    U1 stores what the waiter waits for
 *      it returns                                U2 cc__state_unpark:
 *   W2 looks at what it waits for                   PARKED: to ASSIGNED, and queues it
 *   W3 switches away: its stack is quiet            OWNED: sets note
 *   W4 cc__state_park, on another stack:            ASSIGNED: a change of nothing
 *      OWNED without note: to PARKED
 *      OWNED with note: to ASSIGNED, queued
 *
 * Each step is one read-modify-write of the same word, so they are totally ordered. If U2 comes before W1,
 * the note is eaten and the waiter looks again; between W1 and W4, W4 fails; after W4, U2 queues it. In each
 * case the waiter runs after U1 and sees it: U2's release reaches the acquire of W1, of W4's failure (whose
 * release reaches cc__state_own), or of cc__state_own.
 *
 * W4 happens on another stack: a waiter that published PARKED while still on its own could be resumed by
 * another worker on a stack in use.
 *
 * Rejected: a separate latch (needs two seq_cst operations and has been got wrong, five times over); reading
 * the waiter's flag after W4 (its frame may be gone).
 *
 * Prev: task/task.h  Next: task/wait.c */
#include "../base/assert.h"
#include "task.h"

static uint64_t with_state(uint64_t control, enum cc__task_state state) {
    return (control & ~CC__CONTROL_STATE) | (uint64_t)state;
}

static enum cc__task_state state_of(uint64_t control) {
    return (enum cc__task_state)(control & CC__CONTROL_STATE);
}

void cc__state_assign(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control);
    CC_ASSERT(state_of(c) == CC__IDLE);
    /* [TS1] release: what the spawner set up is seen by whoever owns it, and by whoever unparks it. */
    cc__store_release(&t->control, with_state(c, CC__ASSIGNED));
}

void cc__state_own(struct cc__task *t, uint32_t worker) {
    const uint64_t worker_mask = UINT64_C(0xffffff) << 8;
    uint64_t c = cc__load_relaxed(&t->control), owned;
    if (state_of(c) == CC__OWNED) return; /* it yielded: it never stopped being owned */
    do {
        CC_ASSERT(state_of(c) == CC__ASSIGNED);
        owned = (with_state(c, CC__OWNED) & ~worker_mask) | ((uint64_t)(worker & 0xffffff) << 8);
        /* [TS1] acquire: what the spawner, or the waker before its unpark, wrote is seen by the task. */
    } while (!cc__cas_weak_acq_rel(&t->control, &c, owned));
}

void cc__state_disown(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control);
    do {
        CC_ASSERT(state_of(c) == CC__OWNED);
        /* [TS1] release: as cc__state_assign(). */
    } while (!cc__cas_weak_acq_rel(&t->control, &c, with_state(c, CC__ASSIGNED)));
}

bool cc__state_take_note(struct cc__task *t) {
    if ((cc__load_relaxed(&t->control) & CC__CONTROL_NOTE) == 0) return false;
    /* [TS2] acquire: pairs with the release of the unpark that set it: what it announced is seen. */
    return (cc__and_acq_rel(&t->control, ~CC__CONTROL_NOTE) & CC__CONTROL_NOTE) != 0;
}

void cc__state_set_cancel(struct cc__task *t) {
    cc__or_acq_rel(&t->control, CC__CONTROL_CANCEL); /* [TS2] release: the cancelled scope is seen by who takes it */
}

bool cc__state_take_cancel(struct cc__task *t) {
    if ((cc__load_relaxed(&t->control) & CC__CONTROL_CANCEL) == 0) return false;
    return (cc__and_acq_rel(&t->control, ~CC__CONTROL_CANCEL) & CC__CONTROL_CANCEL) != 0; /* [TS2] acquire */
}

/* To PARKED, or with a note pending to `noted` without it. Returns whether it is parked. */
static bool park_or(struct cc__task *t, enum cc__task_state noted) {
    uint64_t c = cc__load_relaxed(&t->control), next;
    do {
        CC_ASSERT(state_of(c) == CC__OWNED);
        bool note = (c & CC__CONTROL_NOTE) != 0;
        next = with_state(c & ~CC__CONTROL_NOTE, note ? noted : CC__PARKED);
        /* [TS3] release: the quiet stack is seen by the unparker, and so by who runs it next; with a note,
         * [TS2] acquire and release: what the unpark announced is handed on to who owns it next. */
    } while (!cc__cas_weak_acq_rel(&t->control, &c, next));
    return state_of(next) == CC__PARKED;
}

bool cc__state_park(struct cc__task *t) {
    return park_or(t, CC__ASSIGNED);
}

bool cc__state_thread_park(struct cc__task *t) {
    return park_or(t, CC__OWNED);
}

void cc__state_thread_resume(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control);
    while (state_of(c) == CC__PARKED) /* timed out: nobody woke it */
        if (cc__cas_weak_acq_rel(&t->control, &c, with_state(c, CC__OWNED))) return;
    cc__fence_acquire(); /* [TS3] a waker made it OWNED: what it wrote before is seen */
}

enum cc__unparked cc__state_unpark(struct cc__task *t, uint32_t generation) {
    uint64_t c = cc__load_relaxed(&t->control), next;
    enum cc__unparked result;
    do {
        if (cc__task_generation(c) != generation) return CC__UNPARK_GONE;
        switch (state_of(c)) {
        case CC__PARKED:
            result = t->fn != NULL ? CC__UNPARK_QUEUE : CC__UNPARK_WAKE;
            next = with_state(c, t->fn != NULL ? CC__ASSIGNED : CC__OWNED);
            break;
        case CC__OWNED:
            result = CC__UNPARK_NOTED;
            next = c | CC__CONTROL_NOTE;
            break;
        case CC__ASSIGNED: /* it will run: a change of nothing, so that it sees what we wrote before */
            result = CC__UNPARK_NOTED;
            next = c;
            break;
        default: return CC__UNPARK_GONE;
        }
        /* [TS2] release: what the caller wrote before is seen by the task; [TS3] acquire: its stack is quiet
         * for whoever the caller hands it to; [TS1] release: the same for its next owner. */
    } while (!cc__cas_weak_acq_rel(&t->control, &c, next));
    return result;
}

bool cc__state_finish(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control), next;
    do {
        CC_ASSERT(state_of(c) == CC__OWNED);
        next = with_state(c & ~CC__CONTROL_NOTE, CC__DONE);
        /* [TS4] release: the result is seen by whoever releases the handle and finds it done; acquire: a
         * handle released before is seen to be. */
    } while (!cc__cas_weak_acq_rel(&t->control, &c, next));
    return (c & CC__CONTROL_RELEASED) != 0;
}

enum cc__released cc__state_release(struct cc__task *t, uint32_t generation, bool only_done) {
    uint64_t c = cc__load_acquire(&t->control);
    do {
        if (cc__task_generation(c) != generation || (c & CC__CONTROL_RELEASED) != 0 || state_of(c) == CC__IDLE)
            return CC__RELEASE_STALE;
        if (state_of(c) != CC__DONE && only_done) return CC__RELEASE_LATER;
        /* [TS4] acquire: pairs with the release in cc__state_finish(); the result may be read. */
    } while (!cc__cas_weak_acq_rel(&t->control, &c, c | CC__CONTROL_RELEASED));
    return state_of(c) == CC__DONE ? CC__RELEASE_FREE : CC__RELEASE_LATER;
}

void cc__state_free(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control);
    uint64_t next = (c & ~(CC__CONTROL_GENERATION - 1)) + CC__CONTROL_GENERATION; /* IDLE, no bits */
    /* [TS1] release: who takes the record from the pool and assigns it has all the old task wrote behind it. */
    cc__store_release(&t->control, next);
}
