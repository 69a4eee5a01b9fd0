/* SPDX-License-Identifier: MIT */
/* The transitions that only futures have, beside those of state.c. Their wakers are counted in the same word, so that
 * who lets go last of a future that is ready is told so by that step, and by no other. future/future.c says who does
 * what when.
 *
 * Prev: task/state.c  Next: task/wait.c */
#include "../base/assert.h"
#include "task.h"

bool cc__state_future_begin(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control);
    if (cc__state_of(c) != CC__IDLE) return false;
    cc__store_relaxed(&t->control, CC__ACTIVE); /* the queue publishes it */
    return true;
}

void cc__state_hold(struct cc__task *t) {
    uint64_t c = cc__add_relaxed(&t->control, CC__CONTROL_WAKER); /* who has one may make another: it cannot go */
    CC_CHECK((c & CC__CONTROL_WAKERS) != CC__CONTROL_WAKERS, "a future has too many wakers");
}

/* What is left when the last is gone of a future that is ready. */
static uint64_t over_or_awaited(uint64_t c) {
    return (c & CC__CONTROL_AWAITED) != 0 ? cc__with_state(c, CC__DONE) : CC__IDLE;
}

static enum cc__held held(uint64_t c) {
    if (cc__state_of(c) == CC__IDLE) return CC__OVER;
    return cc__state_of(c) == CC__DONE && (c & CC__CONTROL_WAKERS) == 0 ? CC__AWAITED : CC__HELD;
}

enum cc__held cc__state_let_go(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control), next;
    do {
        CC_CHECK((c & CC__CONTROL_WAKERS) != 0, "a waker was dropped that was not cloned");
        next = c - CC__CONTROL_WAKER;
        if (cc__state_of(c) == CC__DONE && (next & CC__CONTROL_WAKERS) == 0) next = over_or_awaited(next);
        /* [FT1] release: what was done with a waker comes before the owner's freeing it; acquire: for the last. */
    } while (!cc__cas_weak_acq_rel(&t->control, &c, next));
    return held(next);
}

enum cc__held cc__state_ready(struct cc__task *t) {
    uint64_t c = cc__load_relaxed(&t->control), next;
    do {
        CC_ASSERT(cc__state_of(c) == CC__ACTIVE);
        next = (c & CC__CONTROL_WAKERS) != 0 ? cc__with_state(c, CC__DONE) : over_or_awaited(c);
    } while (!cc__cas_weak_acq_rel(&t->control, &c, next)); /* [FT1] as above */
    return held(next);
}

void cc__state_over(struct cc__task *t) {
    CC_ASSERT(cc__state_of(cc__load_relaxed(&t->control)) == CC__DONE);
    cc__store_release(&t->control, CC__IDLE); /* [FT1] */
}

bool cc__state_await(struct cc__task *t) {
    uint64_t c = cc__load_acquire(&t->control); /* [FT1] acquire: what it did is seen */
    do {
        if (cc__state_of(c) == CC__IDLE) return false;
        if ((c & CC__CONTROL_AWAITED) != 0) return true;
    } while (!cc__cas_weak_acq_rel(&t->control, &c, c | CC__CONTROL_AWAITED)); /* [FT1] acquire */
    return true;
}
