/* SPDX-License-Identifier: MIT */
/* Leaving the running task, inline in whoever blocks.
 *
 * A processor predicts returns by a small stack of the calls it has seen. After a switch that stack is another
 * fiber's, so every return from the switch up to the user's code is mispredicted, some 20 cycles each: the fewer
 * functions there are between the two, the better. Calls made and left after the switch are paired again.
 *
 * Prev: sched/run.c  Next: sched/polls.h */
#ifndef CC__SCHED_LEAVE_H
#define CC__SCHED_LEAVE_H

#include <ccrt/scope.h>

#include "../plat/futex.h"
#include "../trace/edges.h"
#include "sched.h"
#include "slot.h"

static inline struct cc__task *cc__worker_picked(struct cc__worker *w, struct cc__task *t, uint32_t streak) {
    w->until_look--;
    w->lifo_streak = streak;
    cc__store_relaxed(&w->tick, cc__load_relaxed(&w->tick) + 1);
    return t;
}

/* cc__worker_pick() where that is what is in the slot, or the first of a ring, as it mostly is. */
static inline __attribute__((always_inline)) struct cc__task *cc__worker_pick_here(struct cc__worker *w) {
    struct cc__task *t = NULL;
    if (CC__UNLIKELY(w->until_look <= 1 || w->next != NULL || cc__load_relaxed(&w->runtime->inject.high) > 0))
        return cc__worker_pick(w);
    bool again = w->lifo_streak < CC__LIFO_MAX;
    if (CC__LIKELY(again || cc__rings_empty(w))) t = cc__slot_take(w);
    if (t != NULL) return cc__worker_picked(w, t, again ? w->lifo_streak + 1 : 0);
#if CC__INLINE_HOT
    bool in_order = (w->ring_looks + 1) % CC__OTHER_WAY_EVERY != 0 && !cc__jobs_any(w);
    if (in_order && cc__load_relaxed(&w->slot.task) == NULL) {
        t = cc__runq_pop(&w->begun);
        if (t == NULL) t = cc__runq_pop(&w->fresh);
        if (t != NULL) {
            w->ring_looks++;
            return cc__worker_picked(w, t, 0);
        }
    }
#endif
    return cc__worker_pick(w);
}

/* cc__run_next_fiber() for one that has been begun, as most have. */
static inline struct cc__fiber *cc__run_next_here(struct cc__worker *w, struct cc__task *next) {
    if (CC__UNLIKELY(next == NULL || next->fiber == NULL)) return cc__run_next_fiber(w, next);
    cc__store_relaxed(&w->current, next);
    w->budget = CC__BUDGET;
    return next->fiber;
}

/* What is left to do for one that was left to park; and cc__run_arrive() where that is it. */
static inline void cc__run_parked(struct cc__worker *w) {
    struct cc__task *t = w->left_task;
    cc__count(&w->count.parked);
    if (!cc__state_park(t)) cc__ready(t);
}
static inline __attribute__((always_inline)) void cc__run_arrive_here(struct cc__worker *w, bool yielded) {
#if CC__INLINE_HOT
    if (CC__LIKELY(w->left == CC__LEFT_PARKING)) {
        w->left = CC__LEFT_NOTHING;
        cc__run_parked(w);
        return;
    }
    struct cc__task *t = w->left_task;
    if (yielded && w->left == CC__LEFT_YIELDING && cc__ready_is_plain(t) && w->in_turn) {
        w->left = CC__LEFT_NOTHING;
        cc__ready_yielded(w, t);
        return;
    }
#else
    (void)yielded;
#endif
    cc__run_arrive(w);
}

/* Leave the running task; returns when it runs again, perhaps on another worker. waits_for: see fiber.h. */
static inline __attribute__((always_inline)) void cc__run_leave(struct cc__worker *w, enum cc__left left,
                                                                uintptr_t waits_for) {
    cc__waitlist_none_held("PARK-UNDER-LOCK");
    if (CC__UNLIKELY(w->over != NULL)) cc__finish_tell(w);
    if (CC__UNLIKELY(cc__forks_own_any(&w->forks))) cc__forks_flush(w);
    struct cc__task *self = cc__load_relaxed(&w->current), *next;
    CC_ASSERT(self->stack_class != CC__STACKLESS && "a poll function waits");
    next = cc__worker_pick_here(w);
    if (next == NULL && left != CC__LEFT_PARKING && !w->retiring) return; /* nobody else wants to run */
    struct cc__fiber *from = cc__fiber_current(), *to = cc__run_next_here(w, next);
    self->fiber = from;
    if (left == CC__LEFT_PARKING) {
        self->value = (void *)waits_for; /* for who fetches it ahead */
        from->waits_for = waits_for;
        from->since_ns = cc__load_relaxed(&w->runtime->coarse_ns);
    }
    w->left = left;
    w->left_task = self;
    if (cc__fiber_switch(from, to)) cc__run_switched(cc__worker_current());
    cc__run_arrive_here(cc__worker_current(), left == CC__LEFT_YIELDING);
}

/* Wait for an unpark, or for nothing; the first where it is known that it is a task that waits. */
static inline __attribute__((always_inline)) void cc__park_task(struct cc__task *self, uintptr_t waits_for) {
    if (cc__state_take_note(self))
        CC__EDGE_ACQUIRE(self); /* else it is told when it is resumed */
    else
        cc__run_leave(cc__worker_current(), CC__LEFT_PARKING, waits_for);
}
static inline __attribute__((always_inline)) void cc__park(struct cc__task *self, uintptr_t waits_for) {
    if (CC__LIKELY(self->fn != NULL))
        cc__park_task(self, waits_for);
    else if (cc__state_take_note(self))
        CC__EDGE_ACQUIRE(self);
    else
        cc__thread_park(self, CC__NO_DEADLINE, waits_for);
}

/* Wait until a wait is decided. Whoever decides it unparks then: so it is not looked at before. */
static inline __attribute__((always_inline)) enum cc__outcome cc__wait_decided(struct cc__wait *w, bool is_task) {
    struct cc__task *self = w->task;
    enum cc__outcome outcome;
    do {
        if (CC__UNLIKELY(cc__state_take_cancel(self)))
            cc__cancel_heed(w);
        else
            is_task ? cc__park_task(self, (uintptr_t)w) : cc__park(self, (uintptr_t)w);
        outcome = cc__wait_outcome(w);
    } while (CC__UNLIKELY(outcome == CC__PENDING));
    return outcome;
}
static inline __attribute__((always_inline)) enum cc__outcome cc__wait_for_ever(struct cc__wait *w) {
    return cc__wait_decided(w, false);
}

/* An operation completed without waiting: now and then it yields. */
static inline void cc__run_completed(void) {
    struct cc__worker *w = cc__worker_current();
    if (w == NULL) return;
    if (CC__LIKELY(w->budget > 0))
        w->budget--;
    else
        cc__run_operation();
}

/* The record of whoever runs here; as cc__self(). */
static inline struct cc__task *cc__self_here(void) {
    const struct cc__fiber *f = cc__fiber_current();
    if (CC__LIKELY(f != NULL && f->up == NULL && f->task != NULL)) return f->task;
    return cc__self();
}

/* Whether it, which runs here, has forks that it has not joined. */
static inline bool cc__has_forks(const struct cc__task *self) {
    struct cc__worker *w = cc__worker_current();
    return (w != NULL && cc__forks_own_any(&w->forks)) || (self->fiber != NULL && self->fiber->forks != NULL);
}

/* 0, or the negative code that a nursery is cancelled with. */
static inline int cc__nursery_cancelled(const cc_nursery *n) {
    return cc__load_acquire((const _Atomic int *)(const void *)&n->priv_cancelled); /* [CN2] */
}

/* Whether a nursery in this chain, up to the first shield, is cancelled; at its top is the runtime, the root nursery
 * of all its tasks. */
static inline bool cc__chain_cancelled(const struct cc__task *self, const cc_priv_scope *s) {
    for (; s != NULL; s = s->up) {
        if (s->kind == CC__SCOPE_SHIELD) return false;
        if (s->kind == CC__SCOPE_NURSERY && cc__nursery_cancelled((const cc_nursery *)(const void *)s) != 0)
            return true;
    }
    return self->runtime != NULL && cc__load_acquire(&self->runtime->cancelled) != 0; /* [CN2] */
}

/* cc__wait_cancellable() for most: tasks that are listed, have no deadline, and are not cancelled. */
static inline __attribute__((always_inline)) int cc__wait_cancellable_here(struct cc__wait *w, int64_t deadline_ns) {
    const struct cc__task *self = w->task;
    const cc_priv_scope *s = self->scope;
    if (CC__UNLIKELY(deadline_ns != CC__NEVER || self->fn == NULL || (self->nursery != NULL && !self->listed) ||
                     (s != NULL && s->deadline_ns != CC__NEVER)))
        return cc__wait_cancellable(w, deadline_ns);
    if (CC__UNLIKELY(cc__chain_cancelled(self, s))) return cc__wait_cancellable(w, deadline_ns);
    enum cc__outcome outcome = cc__wait_decided(w, true);
    return CC__LIKELY(outcome == CC__MATCHED) ? 0 : cc__cancel_decode(w, outcome, deadline_ns);
}

#endif /* CC__SCHED_LEAVE_H */
