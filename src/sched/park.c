/* SPDX-License-Identifier: MIT */
/* Waiting: the one way to block, for tasks and for plain threads.
 *
 * A blocking call reads: try; begin a wait; put its node on a list under the list's lock; cc__wait_for(); take the
 * node off; decode the outcome. cc__park() itself may return for no reason; cc__wait_for() loops until the wait is
 * decided.
 *
 * Prev: sched/claims.h  Next: sched/idle.c */
#include <ccrt/park.h>

#include "sched.h"

#include "../base/assert.h"
#include "../plat/clock.h"
#include "../plat/futex.h"
#include "claims.h"
#include "events.h"
#include "leave.h"

#include <errno.h>
#include <stdlib.h>

enum { MONITOR_NS = 2000000 };

/* The low half of the control word, where the state is: what a thread sleeps on. All our processors are
 * little-endian. */
static _Atomic uint32_t *state_word(struct cc__task *t) {
    _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the state is in the first half of the word");
    return (_Atomic uint32_t *)(void *)&t->control;
}

static void thread_record_end(void *record) {
    struct cc__task *t = record;
    if (t->has_locals) cc__locals_end(t);
    cc__task_free(NULL, t);
}
static struct cc__at_end thread_record_at_end = {.fn = thread_record_end};

/* The record of a plain thread, for as long as the thread lives. */
static CC__COLD struct cc__task *thread_record(struct cc__fiber *root) {
    struct cc__task *t = cc__task_alloc(NULL);
    if (t == NULL) return NULL;
    if (cc__at_end_arm(&thread_record_at_end, t) != 0) {
        thread_record_end(t);
        return NULL;
    }
    cc__state_set_thread(t);
    t->fiber = root;
    t->serial = (uint32_t)cc__thread_id();
    root->task = t;
    return t;
}

struct cc__task *cc__self(void) {
    struct cc__fiber *f = cc__fiber_current();
    if (CC__UNLIKELY(f == NULL) && cc__fiber_attach(&f) != 0) return NULL;
    while (f->up != NULL) f = *f->up;
    return CC__LIKELY(f->task != NULL) ? f->task : thread_record(f);
}

static void thread_sleep(struct cc__task *self, int64_t deadline_ns, bool timed) {
    if (!timed) cc__monitor_rouse();               /* perhaps nobody is left now who could wake anybody */
    bool first = !timed && !cc__monitor_started(); /* who waits for longer than that has time to start one */
    for (;;) {
        uint32_t now = cc__load_acquire(state_word(self));
        if ((now & CC__CONTROL_STATE) != CC__PARKED) break;
        int rc = cc__futex_wait(state_word(self), now, first ? cc__now_ns() + MONITOR_NS : deadline_ns);
        if (rc != -ETIMEDOUT) continue;
        if (!first) break;
        cc__monitor_start();
        first = false;
    }
    cc__state_resume(self);
}

/* Plain threads that wait with a limit: they may wake others when it is over. W: they.  R: the monitor */
static _Atomic unsigned timed_threads;

unsigned cc__park_timed_threads(void) {
    return cc__load_relaxed(&timed_threads);
}

void cc__thread_park(struct cc__task *self, int64_t deadline_ns, uintptr_t waits_for) {
    struct cc__fiber *f = self->fiber; /* for reports; a sleep by the kernel, so the clock may be read */
    f->waits_for = waits_for;
    f->since_ns = cc__now_ns();
    bool timed = deadline_ns != CC__NO_DEADLINE && deadline_ns != CC__NEVER;
    if (timed) cc__add_relaxed(&timed_threads, 1); /* before it is PARKED, for who looks at both */
    if (cc__state_park(self)) thread_sleep(self, deadline_ns, timed);
    if (timed) cc__sub_relaxed(&timed_threads, 1);
    CC__EDGE_ACQUIRE(self);
}

/* What is left to do for one that was unparked; a task goes to *next if that is not NULL. tell: it was not looked yet
 * whether anybody is to be told. */
static inline void unparked(struct cc__task *t, enum cc__unparked how, struct cc__task **next, bool tell) {
    if (tell && CC__TRACING(CC__TRACE_UNPARK | CC__LOG_WAKE)) cc__event_unparked(t, how);
    switch (how) {
    case CC__UNPARK_QUEUE:
        if (next != NULL)
            *next = t;
        else
            cc__ready(t);
        break;
    case CC__UNPARK_WAKE: cc__futex_wake(state_word(t), 1); break;
    case CC__UNPARK_NOTED:
    case CC__UNPARK_GONE: break;
    }
}

static inline void unpark(struct cc__task *t, uint32_t generation, struct cc__task **next, bool tell) {
    unparked(t, cc__state_unpark(t, generation), next, tell);
}

void cc__unpark(struct cc__task *t, uint32_t generation) {
    CC__EDGE_RELEASE(t);
    unpark(t, generation, NULL, true);
}

void cc__unpark_to_cancel(struct cc__task *t) {
    CC__EDGE_RELEASE(t);
    unparked(t, cc__state_cancel(t), NULL, true);
}

/* A future may be freed once it knows that its wait is decided, a task's record never: so it is held as by one of its
 * wakers, from before that until it was unparked (polls.h). */
static inline bool hold(struct cc__task *t) {
    if (CC__LIKELY(t->stack_class != CC__STACKLESS)) return false;
    cc__state_hold(t);
    return true;
}

/* Settle a claimed wait, and unpark: as unpark(). quick: it is a task's or thread's, and nobody is to be told. */
static inline __attribute__((always_inline)) void wake_claimed(struct cc__wait *node, enum cc__outcome outcome,
                                                               struct cc__task **next, bool quick) {
    struct cc__task *t = node->task; /* the node is gone as soon as its wait is settled */
    if (CC__LIKELY(node->taken)) {
        cc__wait_overrule(node, outcome);
        unparked(t, CC__UNPARK_QUEUE, next, false);
        return;
    }
    uint32_t generation = cc__task_generation(cc__load_relaxed(&t->control));
    bool held = !quick && hold(t);
    if (!quick) CC__EDGE_RELEASE(t);
    cc__wait_settle(node, outcome);
    unpark(t, generation, next, !quick);
    if (held) cc__future_let_go(t);
}

static inline bool is_quick(const struct cc__task *t) {
    return t->stack_class != CC__STACKLESS && !CC__TRACING(CC__TELL_WAKES);
}

static CC__COLD void wake_slowly(struct cc__wait *node, enum cc__outcome outcome, struct cc__task **next) {
    wake_claimed(node, outcome, next, false);
}

void cc__wake_claimed(struct cc__wait *node, enum cc__outcome outcome) {
    if (CC__LIKELY(is_quick(node->task)))
        wake_claimed(node, outcome, NULL, true);
    else
        wake_slowly(node, outcome, NULL);
}

void cc__claims_wake(const struct cc__claims *c) {
    for (struct cc__wait *w = c->first, *next; w != NULL; w = next) {
        next = cc__wait_of(w->node.next); /* it is gone as soon as it is settled */
        cc__wake_claimed(w, (enum cc__outcome)w->outcome);
    }
}

void cc__claims_wake_here(const struct cc__claims *c, struct cc__worker *w) {
    for (struct cc__wait *node = c->first, *next; node != NULL; node = next) {
        next = cc__wait_of(node->node.next);
        struct cc__task *ready = NULL, *t = node->task;
        bool here = t->runtime == w->runtime && cc__ready_is_plain(t) && !w->spills;
        wake_claimed(node, (enum cc__outcome)node->outcome, here ? &ready : NULL, is_quick(t));
        if (ready == NULL) continue;
        cc__count(&w->count.woken);
        cc__ready_taken(w, ready);
    }
}

/* Where a task is put that is to run next on w, or NULL: it cannot be. */
static inline struct cc__task **next_here(struct cc__worker *w, const struct cc__task *t) {
    return t->runtime == w->runtime && cc__ready_is_plain(t) && w->next == NULL ? &w->next : NULL;
}

void cc__wake_next(struct cc__worker *w, struct cc__wait *node, enum cc__outcome outcome) {
    if (CC__TRACING(CC__TELL_WAKES))
        wake_slowly(node, outcome, next_here(w, node->task)); /* no future's */
    else
        cc__wake_next_untold(w, node, outcome);
}

void cc__wake_next_untold(struct cc__worker *w, struct cc__wait *node, enum cc__outcome outcome) {
    wake_claimed(node, outcome, next_here(w, node->task), true);
}

void cc__wake_first(struct cc__waitlist *l, enum cc__outcome outcome) {
    struct cc__wait *w = cc__waitlist_take_first(l);
    struct cc__task *waiter = w->task; /* the node is gone as soon as its wait is decided */
    uint32_t generation = cc__task_generation(cc__load_relaxed(&waiter->control));
    bool held = hold(waiter);
    if (!w->one_of)
        cc__wait_decide(waiter, w->epoch, outcome);
    else if (cc__wait_claim(w)) {
        CC__EDGE_RELEASE(waiter);
        cc__wait_settle(w, outcome);
    }
    cc__waitlist_unlock(l);
    cc__unpark(waiter, generation);
    if (CC__UNLIKELY(held)) cc__future_let_go(waiter);
}

void cc__wake_all(struct cc__waitlist *l, enum cc__outcome outcome) {
    struct cc__task *waiter = NULL;
    uint32_t generation = 0;
    for (struct cc__wait *w; (w = cc__waitlist_take_first(l)) != NULL;) {
        if (waiter != NULL) cc__unpark(waiter, generation); /* the one before, with the lock: seldom any */
        waiter = w->task;
        generation = cc__task_generation(cc__load_relaxed(&waiter->control));
        cc__wait_decide(waiter, w->epoch, outcome);
    }
    cc__waitlist_unlock(l); /* the last touch of the list */
    if (waiter != NULL) cc__unpark(waiter, generation);
}

static enum cc__outcome thread_wait(struct cc__wait *w, int64_t deadline_ns) {
    enum cc__outcome outcome;
    while ((outcome = cc__wait_outcome(w)) == CC__PENDING) {
        if (cc__state_take_cancel(w->task)) {
            cc__cancel_heed(w);
            continue;
        }
        if (!cc__state_take_note(w->task)) cc__thread_park(w->task, deadline_ns, (uintptr_t)w);
        if (deadline_ns == CC__NEVER || cc__now_ns() < deadline_ns) continue;
        cc__wait_decide(w->task, w->epoch, CC__TIMED_OUT);
        deadline_ns = CC__NEVER; /* now it is decided, or claimed by one that will settle it and unpark us */
    }
    CC__EDGE_ACQUIRE(w->task);
    return outcome;
}

enum cc__outcome cc__wait_for(struct cc__wait *w, int64_t deadline_ns) {
    struct cc__task *self = w->task;
    if (self->fn == NULL) return thread_wait(w, deadline_ns);
    if (deadline_ns == CC__NEVER) return cc__wait_for_ever(w);
    struct cc__timer timer = {.when_ns = deadline_ns, .task = self, .epoch = w->epoch};
    struct cc__timers *set = &cc__worker_current()->timers;
    if (cc__timers_add(set, &timer)) cc__idle_timer_added(self->runtime, deadline_ns);
    enum cc__outcome outcome = cc__wait_for_ever(w);
    cc__timers_remove(set, &timer);
    return outcome;
}

void *cc_local_get(cc_local key) {
    struct cc__task *self = cc__self();
    return self == NULL ? NULL : cc__local_get(self, key);
}

int cc_local_set(cc_local key, void *value) {
    struct cc__task *self = cc__self();
    if (self != NULL && self->stack_class == CC__STACKLESS) return -ENOTSUP; /* a future has no room for them */
    return self == NULL ? -ENOMEM : cc__local_set(self, key, value);
}

cc_parker cc_parker_self(void) {
    struct cc__task *self = cc__self();
    CC_CHECK(self != NULL, "no memory to let this thread wait");
    CC_CHECK(self->stack_class != CC__STACKLESS, "a poll function asks for a parker; it has a waker");
    return (cc_parker){.priv_record = self, .priv_generation = cc__task_generation(cc__load_relaxed(&self->control))};
}

void cc_priv_park_if(const void *flag, int expected) {
    struct cc__task *self = cc__self();
    CC_CHECK(self != NULL, "no memory to let this thread wait");
    /* Acquire: pairs with the release store that who unparks made to the flag before. */
    int is = cc__load_acquire((const _Atomic int *)flag);
    if (CC__TRACING(CC__LOG_PARK)) cc__event_park_if(self, flag, is, expected);
    if (is == expected)
        cc__park(self, (uintptr_t)flag | CC__WAITS_FLAG);
    else
        cc__run_operation();
}

void cc_unpark(cc_parker p) {
    if (p.priv_record != NULL) cc__unpark(p.priv_record, p.priv_generation);
}
