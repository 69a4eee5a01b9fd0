/* SPDX-License-Identifier: MIT */
/* Cancellation and deadlines, as a waiter sees them.
 *
 * A task runs under a chain of scopes, innermost first: those it opened itself, then the nursery it is a child of,
 * then what that nursery's owner had opened around it, and so on. They lie in frames that outlive the task's use of
 * them. Each knows the nearest deadline in force inside it, so looking at the innermost is enough; whether something
 * is cancelled takes a walk up to the first shield.
 *
 *   waiter (W)                                        canceller (C)
 *   W1 if it is not on its nursery's list yet:        C1 locks the nursery, marks it
 *      locks that, goes on the list, unlocks          C2 for each on the list, and the owner: unparks it, and
 *   W2 walks up the chain: cancelled: returns            sets its cancel bit
 *   W3 takes its cancel bit, and any note: if it      C3 unlocks
 *      was set, walks once more: cancelled: decides
 *      its own wait
 *   W4 else parks
 *   W5 nothing is decided: W3 again
 *
 * Nobody but the waiter itself decides that it is cancelled. W3, W4 and C2 are read-modify-writes of one word, the
 * task's control word, so they are in order: W4 meets C2's note, or C2 undoes W4, and W3 comes again, finds the bit,
 * and so sees C1. A bit that was taken in an earlier wait is why there is W2: who took it sees C1 from then on. And one
 * who comes to the list after C1 sees the mark by the lock.
 *
 * Rejected: full fences before W2 and after C1, with which C can decide W's wait (a fence in every wait, for what
 * happens once).
 *
 * A nursery cancels those inside it (scope/nursery.c), and a runtime that ends tells all its tasks: their cancel bit
 * makes them cancel the nurseries they own when they wait next, whatever they wait for.
 *
 * Prev: sched/events.c  Next: scope/nursery.c */
#include <ccrt/scope.h>

#include "sched.h"

#include "../plat/clock.h"
#include "leave.h"

#include <errno.h>

/* Whether the deadline that passed is the task's own scope's, not the one its nursery inherited. */
static bool deadline_is_own(const struct cc__task *self, int64_t now) {
    const struct cc_nursery *home = self->is_fork ? self->home : self->nursery;
    const cc_priv_scope *base = home == NULL ? NULL : &home->priv_scope;
    if (base == NULL || base->deadline_ns > now) return true;
    for (const cc_priv_scope *s = self->scope; s != NULL && s != base; s = s->up)
        if (s->kind == CC__SCOPE_SHIELD) return true; /* the inherited one does not reach in here */
    return false;
}

int cc__cancel_code(const struct cc__task *self) {
    const cc_priv_scope *s = self->scope;
    if (cc__chain_cancelled(self, s)) return -ECANCELED;
    if (s == NULL || s->deadline_ns == CC__NEVER) return 0;
    int64_t now = cc__now_ns();
    if (now < s->deadline_ns) return 0;
    return deadline_is_own(self, now) ? -ETIMEDOUT : -ECANCELED;
}

int cc_cancelled(void) {
    struct cc__task *self = cc__self();
    return self == NULL ? 0 : cc__cancel_code(self);
}

void cc__cancel_pass_on(struct cc__task *self) {
    for (cc_priv_scope *s = self->scope; s != NULL && s->owner == self; s = s->up)
        if (s->kind == CC__SCOPE_NURSERY && cc__chain_cancelled(self, s->up))
            cc__nursery_cancel((cc_nursery *)(void *)s, -ECANCELED);
}

void cc__cancel_heed(const struct cc__wait *w) {
    struct cc__task *self = w->task;
    cc__cancel_pass_on(self);
    if (cc__wait_may_be_cancelled(w) && cc__chain_cancelled(self, self->scope))
        cc__wait_decide(self, w->epoch, CC__CANCELLED); /* unless somebody was first, who unparks it */
}

void cc__cancel_listen(struct cc__task *self) {
    if (self->nursery != NULL && !self->listed) cc__nursery_list(self);
}

/* 0, or the code that the wait was cancelled with before it has begun. */
static int look(struct cc__wait *w) {
    struct cc__task *self = w->task;
    cc__cancel_listen(self);
    int code = cc__cancel_code(self);
    return code != 0 && cc__wait_decide(self, w->epoch, CC__CANCELLED) ? code : 0; /* else it was matched before */
}

int cc__cancel_decode(const struct cc__wait *w, enum cc__outcome outcome, int64_t deadline_ns) {
    struct cc__task *self = w->task;
    int code;
    switch (outcome) {
    case CC__MATCHED: return 0;
    case CC__CLOSED: return -EPIPE;
    case CC__TIMED_OUT:
        if (self->scope == NULL || deadline_ns <= self->scope->deadline_ns) return CC__OWN_DEADLINE;
        return deadline_is_own(self, cc__now_ns()) ? -ETIMEDOUT : -ECANCELED;
    case CC__CANCELLED:
    case CC__PENDING: break;
    }
    code = cc__cancel_code(self);
    return code != 0 ? code : CC__WAIT_AGAIN;
}

int cc__wait_cancellable(struct cc__wait *w, int64_t deadline_ns) {
    int rc = look(w);
    if (rc != 0) return rc;
    const cc_priv_scope *s = w->task->scope;
    int64_t until = s != NULL && s->deadline_ns < deadline_ns ? s->deadline_ns : deadline_ns;
    return cc__cancel_decode(w, cc__wait_for(w, until), deadline_ns);
}
