/* SPDX-License-Identifier: MIT */
/* What a poll function polls: the part that all have in common, sleeps, joins, other futures. Channels are in
 * chan/poll.c. sched/polls.h has the protocol.
 *
 * Prev: future/future.c  Next: chan/chan.h */
#include <ccrt/future.h>

#include "../plat/clock.h"
#include "../plat/thread.h"
#include "../sched/claims.h"
#include "../sched/leave.h"
#include "../sched/polls.h"

#include <errno.h>

enum { GIVE_UP_SPINS = 100 };

bool cc__polled_may_go_on(void) {
    struct cc__worker *w = cc__worker_current();
    if (CC__LIKELY(w->budget > 0)) return true;
    w->again = true;
    return false;
}

/* The wait it is in, of its node or its timer. No more of the node is read: it may be about to be taken off a list. */
static struct cc__wait wait_of(struct cc__future *p) {
    uint64_t epoch = p->polls == CC__POLLS_LIST ? p->wait.epoch : p->timer.epoch;
    return (struct cc__wait){.task = cc__polled_task(p), .epoch = epoch};
}

static enum cc__outcome outcome_of(struct cc__future *p) {
    struct cc__wait w = wait_of(p);
    CC_CHECK(cc__wait_is_of(&w, cc__polled_task(p)), "a poll function has waited while it polled for something");
    enum cc__outcome outcome = cc__wait_outcome(&w);
    if (outcome != CC__PENDING) CC__EDGE_ACQUIRE(cc__polled_task(p));
    return outcome;
}

/* Its wait is decided. */
static void wait_over(struct cc__future *p) {
    if (p->polls == CC__POLLS_TIMER) cc__timers_remove(p->set, &p->timer); /* who fired it holds that lock to the end */
    cc__polled_task(p)->polls = 0;
}

/* Decide it; or it was claimed, and will be decided. */
static enum cc__outcome give_up(struct cc__future *p) {
    struct cc__wait w = wait_of(p);
    if (cc__wait_decide(w.task, w.epoch, CC__CANCELLED)) {
        if (p->polls == CC__POLLS_LIST) p->leave(&p->wait);
        wait_over(p);
        return CC__CANCELLED;
    }
    enum cc__outcome outcome;
    for (unsigned spins = 0; (outcome = outcome_of(p)) == CC__PENDING; spins++) {
        if (spins < GIVE_UP_SPINS)
            cc__cpu_relax();
        else
            cc__thread_yield(); /* its claimer lost the cpu */
    }
    wait_over(p);
    return outcome;
}

int cc__polled_look(struct cc__future *p, const void *object, enum cc__outcome *outcome) {
    CC_CHECK((p->polls == CC__POLLS_TIMER ? NULL : p->wait.object) == object,
             "a poll function polls for something else while it waits; it has to give that up first");
    *outcome = outcome_of(p);
    if (*outcome == CC__PENDING) {
        if (!cc__polled_cancelled(p)) return -EAGAIN;
        *outcome = give_up(p);
        return *outcome == CC__CANCELLED ? -ECANCELED : CC__POLL_OVER;
    }
    wait_over(p);
    return CC__POLL_OVER;
}

int cc_poll_cancel(cc_future *f) {
    struct cc__future *p = cc__polled_self(f);
    if (!cc__polled_task(p)->polls) return -ESRCH;
    bool list = p->polls == CC__POLLS_LIST;
    switch (give_up(p)) {
    case CC__MATCHED:
    case CC__TIMED_OUT: return 0;
    case CC__CLOSED:
        if (list && p->wait.tag != 0) return (int)p->wait.tag; /* a channel's code */
        return -ECANCELED;                                     /* a join is told to look again: it did not */
    case CC__PENDING:
    case CC__CANCELLED: break;
    }
    return -ECANCELED;
}

/* ---- sleeping ---- */

int cc_poll_sleep_ms(cc_future *f, int64_t ms) {
    struct cc__future *p = cc__polled_self(f);
    enum cc__outcome outcome;
    if (cc__polled_task(p)->polls) {
        int rc = cc__polled_look(p, NULL, &outcome);
        return rc == CC__POLL_OVER ? 0 : rc;
    }
    if (!cc__polled_may_go_on()) return -EAGAIN;
    if (cc__polled_cancelled(p)) return -ECANCELED;
    if (ms < 0) ms = 0;
    struct cc__task *t = cc__polled_task(p);
    int64_t now = cc__now_ns(), most = (CC__NEVER - 1 - now) / 1000000, when = now + (ms > most ? most : ms) * 1000000;
    struct cc__wait w;
    cc__wait_begin(&w, t, CC__BY_ANY, NULL, "sleep");
    cc__polled_begins(p, CC__POLLS_TIMER);
    p->timer = (struct cc__timer){.when_ns = when, .task = t, .epoch = w.epoch};
    p->set = &cc__worker_current()->timers;
    if (cc__timers_add(p->set, &p->timer)) cc__idle_timer_added(t->runtime, when);
    if (CC__LIKELY(!cc__polled_cancelled(p)))
        return -EAGAIN; /* who ends the runtime finds the timer, or is seen here */
    return give_up(p) == CC__CANCELLED ? -ECANCELED : 0;
}

/* ---- joining ---- */

static void leave_joiners(struct cc__wait *w) {
    struct cc__task *t = w->object;
    cc__waitlist_leave(&t->joiners, w);
}

int cc_poll_join(cc_future *f, cc_task task, void **result) {
    struct cc__future *p = cc__polled_self(f);
    enum cc__outcome outcome;
    if (cc__polled_task(p)->polls) {
        int rc = cc__polled_look(p, task.priv_record, &outcome);
        if (rc != CC__POLL_OVER) return rc;
    } else if (!cc__polled_may_go_on()) {
        return -EAGAIN;
    }
    cc__wait_begin(&p->wait, cc__polled_task(p), CC__BY_ANY, task.priv_record, "join");
    int rc = cc__join_poll(task, &p->wait, result);
    if (rc != -EAGAIN) return rc; /* one that has ended was counted there */
    cc__polled_begins(p, CC__POLLS_LIST);
    p->leave = leave_joiners;
    if (!cc__polled_cancelled(p)) return -EAGAIN;
    (void)give_up(p);
    return -ECANCELED;
}

/* ---- other futures ---- */

static void leave_awaiters(struct cc__wait *w) {
    struct cc__future *other = w->object;
    cc__waitlist_leave(&other->awaiters, w);
}

int cc_poll_await(cc_future *f, cc_future *other) {
    struct cc__future *p = cc__polled_self(f), *o = (struct cc__future *)(void *)other;
    enum cc__outcome outcome;
    CC_CHECK(o != NULL && o != p, "a future awaits itself");
    if (cc__polled_task(p)->polls) {
        int rc = cc__polled_look(p, o, &outcome);
        return rc == CC__POLL_OVER ? 0 : rc;
    }
    if (!cc__polled_may_go_on()) return -EAGAIN;
    struct cc__waitlist *l = &o->awaiters;
    cc__waitlist_lock(l);
    int rc = cc__state_await(cc__polled_task(o)) ? -EAGAIN : 0;
    if (rc == -EAGAIN && cc__polled_cancelled(p)) rc = -ECANCELED;
    if (rc == -EAGAIN) {
        cc__wait_begin(&p->wait, cc__polled_task(p), CC__BY_ANY, o, "await");
        cc__waitlist_append(l, &p->wait);
        cc__polled_begins(p, CC__POLLS_LIST);
        p->leave = leave_awaiters;
    }
    cc__waitlist_unlock(l);
    if (rc == 0) CC__EDGE_ACQUIRE(cc__polled_task(o));
    cc__run_completed();
    return rc;
}
