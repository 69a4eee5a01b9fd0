/* SPDX-License-Identifier: MIT */
/* Sleeping workers, and waking one: never too few, rarely too many.
 *
 *   who publishes work                            a worker that finds none
 *   P1 puts it into a queue                       S1 sets its idle bit, asleep = 1
 *   P2 full fence                                 S2 stops being a searcher
 *   P3 somebody searches: returns                 S3 full fence
 *   P4 nobody is idle: returns                    S4 looks into every queue once more: if there is work,
 *   P5 searching 0 to 1, then clears an idle         it takes its bit back and searches
 *      worker's bit; there is none any more:      S5 sleeps while asleep == 1
 *      searching back to 0, and P2 again
 *   P6 asleep = 0, wakes it: by the futex, or
 *      the bell of the reactor it sleeps in
 *
 * P2 and S3: either P3/P4 sees the sleeper, or S4 sees the work. Without them both could miss:
 *     P: queue = work; reads searching 1, idle 0       S: idle = 1, searching = 0; reads queue empty
 * P5's way back: another publisher may have relied on the searcher that P5 counted and that never came; a worker that
 * went idle meanwhile is seen by the second look, and woken for it. A searcher that P3 relied on either finds the work
 * or passes S3 and S4 after it. A searcher that found work and was the last one looks whether there is more, and
 * wakes another for it: publishers may have relied on it meanwhile.
 *
 * A temporary worker that has slept for long clears its own bit, does not search, passes S3 and S4 once more and ends.
 *
 * Timers. A worker goes to sleep with the earliest timer of all workers as its timeout, unless another sleeps
 * with an earlier one. Who adds a timer that is earlier than that wakes one idle worker, which sleeps again
 * with the new timeout. The same fences make this certain.
 *
 * Reactors. A worker that has one sleeps in it; so an event ends its sleep as a timer does. Which of the two it will be
 * is said by the word, at S1: who wakes it takes the word and knows. A reactor that another thread makes for a worker
 * is work for it, as mail is: S4 finds that it would sleep in the wrong place.
 *
 * Prev: sched/park.c  Next: sched/poll.c */
#include "sched.h"

#include "../base/assert.h"
#include "../plat/futex.h"
#include "choice.h"
#include "events.h"

#include <errno.h>

/* P6: its bit is cleared, and searching counts it. */
static void rouse(struct cc__worker *w) {
    /* [ID2] release: it wakes as a searcher that sees what we published. */
    if (cc__xchg_release(&w->asleep, CC__AWAKE) == CC__ASLEEP_POLLING)
        cc__reactor_ring(&w->reactor);
    else
        cc__futex_wake(&w->asleep, 1);
    if (CC__TRACING(CC__LOG_WAKE)) cc__event_rouse(w);
}

/* P5, once searching counts the one to be woken. False: nobody is idle after all. */
static bool wake_one(struct cc__runtime *rt) {
    for (;;) {
        size_t i = cc__bits_find(&rt->idle, cc__choice_sleeper(rt));
        if (i == CC__BITS_NONE) return false;
        if (!cc__bits_clear(&rt->idle, i)) continue; /* another waker was first */
        rouse(&rt->workers[i]);
        return true;
    }
}

/* P2 to P6. */
static void notify(struct cc__runtime *rt) {
    for (;;) {
        cc__fence_full(); /* [ID1] P2, see above */
        int none = 0;
        if (cc__load_relaxed(&rt->searching) > 0) return;
        if (cc__bits_find(&rt->idle, 0) == CC__BITS_NONE) return;
        if (!cc__cas_acq_rel(&rt->searching, &none, 1) || wake_one(rt)) return;
        cc__sub_acq_rel(&rt->searching, 1);
    }
}

/* Whether nobody but the caller could be idle: it is the only worker. A temporary one that the monitor has started just
 * now may be missed: the monitor, while it has any, looks whether one sleeps while something waits. */
static bool alone(const struct cc__runtime *rt) {
    if (cc__load_relaxed(&rt->growth.running) > 1) return false;
    struct cc__worker *w = cc__worker_current();
    return w != NULL && w->runtime == rt;
}

void cc__idle_notify(struct cc__runtime *rt) {
    if (!alone(rt)) notify(rt);
}

void cc__idle_notify_many(struct cc__runtime *rt, size_t count) {
    if (alone(rt)) return;
    cc__fence_full(); /* [ID1] P2 for a batch: as many are woken as there are tasks, and sleepers */
    for (size_t i = 0; i < count && cc__bits_find(&rt->idle, 0) != CC__BITS_NONE; i++) {
        cc__add_acq_rel(&rt->searching, 1);
        if (wake_one(rt)) continue;
        cc__sub_acq_rel(&rt->searching, 1);
        break;
    }
    notify(rt);
}

void cc__idle_notify_worker(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    cc__fence_full(); /* [ID1] P2 for an inbox: S4 of its owner looks into it */
    if (!cc__bits_test(&rt->idle, w->id)) return;
    cc__add_acq_rel(&rt->searching, 1);
    if (cc__bits_clear(&rt->idle, w->id)) {
        rouse(w);
    } else {
        cc__sub_acq_rel(&rt->searching, 1);
        notify(rt); /* as after P5's way back */
    }
}

void cc__idle_blocks(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    if (cc__forks_own_any(&w->forks)) cc__forks_open(w);
    if (!cc__steal_visible(w)) return;
    if (cc__bits_find(&rt->idle, 0) != CC__BITS_NONE)
        notify(rt);
    else
        cc__monitor_ring();
}

void cc__idle_timer_added(struct cc__runtime *rt, int64_t when_ns) {
    cc__fence_full(); /* [ID1] P2 for timers: the timer is in its set, now look who sleeps how long */
    if (cc__load_relaxed(&rt->sleeper_until) > when_ns) notify(rt);
}

bool cc__idle_start_searching(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    if (w->searching) return true;
    if (2 * (unsigned)cc__load_relaxed(&rt->searching) >= cc__worker_count(rt)) return false;
    cc__add_acq_rel(&rt->searching, 1);
    w->searching = true;
    return true;
}

static int64_t next_timer(struct cc__runtime *rt) {
    int64_t next = CC__NEVER;
    unsigned count = cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++) {
        int64_t when = cc__load_relaxed(&rt->workers[i].timers.next_ns);
        if (when < next) next = when;
    }
    return next;
}

void cc__idle_stop_searching(struct cc__worker *w, bool found) {
    struct cc__runtime *rt = w->runtime;
    if (!w->searching) return;
    w->searching = false;
    int before = cc__sub_acq_rel(&rt->searching, 1);
    CC_ASSERT(before > 0);
    if (!found || before > 1 || alone(rt)) return;
    cc__fence_full(); /* [ID1] P2 for those who relied on us: we see what they published, or they see us gone */
    bool timer = next_timer(rt) < cc__load_relaxed(&rt->sleeper_until); /* that we slept for, perhaps */
    if (timer || cc__steal_visible(w)) notify(rt);
}

/* Take our own bit back. False: a waker took it first, and made us a searcher. */
static bool claim_self(struct cc__worker *w) {
    return cc__bits_clear(&w->runtime->idle, w->id);
}

/* Wait for a waker, or for the next timer if nobody else waits for it. A temporary worker does not wait for ever: true,
 * its time is up. */
static bool sleep_until_woken(struct cc__worker *w, int64_t now, int64_t timer) {
    struct cc__runtime *rt = w->runtime;
    bool timed = timer < cc__load_relaxed(&rt->sleeper_until), tired = false;
    int64_t until = timed ? timer : CC__NO_DEADLINE, retire = CC__NEVER;
    if (timed) cc__store_relaxed(&rt->sleeper_until, timer);
    if (w->temporary) retire = now + rt->growth.idle_ns;
    if (w->temporary && (!timed || retire < timer)) until = retire;
    cc__count(&w->count.slept);
    /* [ID2] acquire: pairs with the waker's release. */
    for (uint32_t how; (how = cc__load_acquire(&w->asleep)) != CC__AWAKE && !tired;) {
        if (CC__UNLIKELY(how == CC__ASLEEP_POLLING))
            tired = cc__poll_sleep(w, until);
        else
            tired = cc__futex_wait(&w->asleep, CC__ASLEEP, until) == -ETIMEDOUT;
    }
    if (timed) cc__cas_relaxed(&rt->sleeper_until, &timer, CC__NEVER);
    return tired && w->temporary && until == retire;
}

/* Whether a worker whose bit is cleared, and which does not search, can go. */
static bool can_retire(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    cc__fence_full(); /* [ID1] S3 once more: who published and found our bit set could not clear it; we see the work */
    if (cc__load_relaxed(&rt->stopping) != 0 || cc__steal_anything(w)) return false;
    if (next_timer(rt) < cc__load_relaxed(&rt->sleeper_until)) notify(rt); /* others sleep on because we did not */
    return true;
}

bool cc__idle_sleep(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    bool polls = cc__poll_own(w);
    cc__store_relaxed(&w->asleep, polls ? CC__ASLEEP_POLLING : CC__ASLEEP);
    cc__bits_set(&rt->idle, w->id);
    cc__idle_stop_searching(w, false);
    cc__fence_full(); /* [ID1] S3, see above */
    int64_t timer = next_timer(rt);
    bool stay = cc__load_acquire(&rt->stopping) != 0 || cc__steal_anything(w), tired = false;
    stay = stay || cc__poll_own(w) != polls;
    int64_t now = cc__choice_now();
    if (!stay && timer > now) {
        tired = sleep_until_woken(w, now, timer);
        cc__coarse_tell(rt, cc__choice_now()); /* nobody may have told the time meanwhile */
    }
    if (claim_self(w)) {
        cc__store_relaxed(&w->asleep, CC__AWAKE);
        if (tired && can_retire(w)) return false;
        cc__add_acq_rel(&rt->searching, 1);
    } else {
        /* Its waker is about to clear the word, or has: it must not find a later sleep. */
        while (cc__load_acquire(&w->asleep) != CC__AWAKE) cc__cpu_relax();
    }
    w->searching = true;
    cc__monitor_rouse();
    return cc__load_acquire(&rt->stopping) == 0;
}

void cc__idle_wake_all(struct cc__runtime *rt) {
    cc__fence_full(); /* [ID1] as P2: `stopping` is set */
    unsigned count = cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++) {
        cc__add_acq_rel(&rt->searching, 1);
        if (!wake_one(rt)) {
            cc__sub_acq_rel(&rt->searching, 1);
            return;
        }
    }
}
