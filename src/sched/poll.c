/* SPDX-License-Identifier: MIT */
/* Descriptors, as workers look at them.
 *
 * Of each eight workers one, the watcher, has the reactor for what is waited for on any of them; a descriptor stays
 * with the one where it was first waited for. It is the last of the eight: since idle workers are woken from the first
 * on, that one has the least to do besides. (Workers that are bound to processors, and so to memory, each watch their
 * own. Each worker has a reactor of its own for its calls on files.) Temporary workers have none, so that none goes
 * with them. Who looks, and when:
 *
 *   - a worker at its own and its watcher's, without waiting, at each 61st task or half millisecond, and when it has
 *     nothing to run; but not at one that its owner sleeps in;
 *   - a worker that sleeps, in its own: it is woken there by events, by its bell, or by the next timer;
 *   - the monitor at that of a worker that is stuck, each millisecond or sooner;
 *   - a plain thread at none: what it waits for is watched by the default runtime's.
 *
 * Tasks that are ready go to the ring of who looked, and nobody is woken for them: to wake a thread costs more than to
 * answer a request, and most are answered before that one would be awake. So as long as one worker is enough for what
 * arrives, one is awake, and takes much at a time. Only if some of what was in its ring is left a whole turn later,
 * which is 61 tasks or half a millisecond, or if two looks in a row took all that they may, another is called to help
 * (help.c). (Where there is no monitor that would find one of them stuck, another is woken at once.)
 *
 * Looking on. A worker that has just slept for less than waking it takes looks on for that long before it sleeps again,
 * if it is the one that searches: who sends the next event need not wait for a processor that has gone to sleep. Where
 * that one runs on the same processor it is in vain, and costs both: each time it was, twice as many short sleeps must
 * come before the next try, up to a thousand; half as many only after eight times in a row that it was not, since one
 * in vain costs more than one that is not wins.
 *
 * Rejected: one reactor that all sleep in (each wait of one worker disturbs the others: 2.2 us a message); one for each
 * (then each message wakes a worker, that for the next another one); waking a worker for each task that is ready
 * (docs/decisions/0012-reactor.md).
 *
 * Prev: sched/idle.c  Next: sched/help.c */
#include "sched.h"

#include "../plat/futex.h"
#include "choice.h"
#include "claims.h"
#include "events.h"

enum { SHORT_SLEEPS_MAX = 1023, WINS_PER_STEP = 8, EVENTS_MIN = 8 };

/* ---- workers ---- */

/* Claim what n events of a reactor are about, and put it into the ring. most: how many it would have taken. */
static bool deliver(struct cc__worker *w, struct cc__reactor *r, int n, int most) {
    struct cc__claims woken = {0};
    if (n == 0) return false;
    cc__reactor_take(r, w->events, n, &woken);
    if (woken.first == NULL) return false;
    if (w->searching) cc__idle_stop_searching(w, true); /* before: what others relied on us for, and no more */
    bool several = woken.first != woken.last;
    cc__claims_wake_here(&woken, w);
    bool full = n == most, still = full && w->poll_full;
    w->poll_full = full;
    w->help.took = true;
    if (still || (several && w->runtime->growth.off)) cc__idle_notify(w->runtime);
    return true;
}

bool cc__poll_deliver(struct cc__worker *w) {
    int n = w->event_count;
    w->event_count = 0;
    return deliver(w, &w->reactor, n, CC__REACTOR_EVENTS);
}

/* How many events to take at a look: the more there is in the ring, the fewer. The kernel keeps the rest in order. */
static int most_now(struct cc__worker *w) {
    uint32_t n = cc__runq_length(&w->begun);
    return n + EVENTS_MIN < CC__REACTOR_EVENTS ? CC__REACTOR_EVENTS - (int)n : EVENTS_MIN;
}

static bool look_at(struct cc__worker *w, struct cc__reactor *r) {
    int most = most_now(w);
    return cc__reactor_on(r) && deliver(w, r, cc__reactor_look(r, w->events, most), most);
}

bool cc__poll_look(struct cc__worker *w) {
    if (cc__poll_own(w) && look_at(w, &w->reactor)) return true;
    struct cc__worker *other = w->watcher;
    return other != w && cc__load_relaxed(&other->asleep) != CC__ASLEEP_POLLING && look_at(w, &other->reactor);
}

bool cc__poll_spin(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    if (w->poll_owed != 0 || cc__load_relaxed(&rt->searching) != 1 || w->tier > 0) return false;
    int64_t until = cc__choice_now() + cc__choice_spin_ns();
    do {
        if (cc__poll_look(w)) {
            if (++w->poll_won % WINS_PER_STEP == 0) w->poll_step /= 2;
            return true;
        }
        if (cc__steal_queued(rt)) return true;
        if (cc__load_relaxed(&rt->stopping) != 0) return false;
    } while (cc__choice_now() < until);
    w->poll_won = 0;
    if (w->poll_step < SHORT_SLEEPS_MAX) w->poll_step = w->poll_step * 2 + 1;
    w->poll_owed = w->poll_step;
    return false;
}

bool cc__poll_sleep(struct cc__worker *w, int64_t until_ns) {
    bool timed = until_ns != CC__NO_DEADLINE, owes = w->poll_owed > 0; /* else nobody asks for the time */
    int64_t before = timed || owes ? cc__choice_now() : 0;
    if (timed && until_ns <= before) return true;
    w->event_count = cc__reactor_sleep(&w->reactor, w->events, timed ? until_ns - before : -1);
    int64_t after = timed || owes ? cc__choice_now() : 0;
    if (owes && w->event_count > 0 && after - before < cc__choice_spin_ns()) w->poll_owed--;
    return w->event_count > 0 || (timed && after >= until_ns);
}

/* ---- for others ---- */

void cc__poll_for(struct cc__worker *w) {
    struct cc__poll_event events[CC__REACTOR_EVENTS];
    struct cc__claims woken = {0};
    int n = cc__reactor_look(&w->reactor, events, CC__REACTOR_EVENTS);
    cc__reactor_take(&w->reactor, events, n, &woken);
    cc__claims_wake(&woken);
}

void cc__poll_end(struct cc__runtime *rt) {
    for (unsigned i = 0; i < rt->base_count; i++) {
        struct cc__claims woken = {0};
        cc__reactor_end(&rt->workers[i].reactor, &woken);
        cc__claims_wake(&woken);
    }
}

/* ---- who waits ---- */

/* The worker whose reactor is to watch a descriptor that is waited for here. */
static int choose(struct cc__worker **out, int fd) {
    struct cc__worker *w = cc__worker_current();
    struct cc__runtime *rt = w == NULL ? NULL : w->runtime;
    int rc = w == NULL ? cc__runtime_default(&rt) : 0;
    if (rc == 0) *out = w != NULL ? w->watcher : rt->workers[(unsigned)fd % rt->base_count].watcher;
    return rc;
}

int cc__poll_watch_anew(struct cc__fd *e, int fd, uint32_t generation, uint32_t *home) {
    struct cc__worker *owner = NULL;
    uint32_t now = *home;
    int rc = choose(&owner, fd);
    if (rc == 0) rc = cc__reactor_start(&owner->reactor);
    if (rc < 0) return rc;
    if (rc == 1 && owner != cc__worker_current()) cc__idle_notify_worker(owner); /* it is to sleep in it */
    *home = cc__load_relaxed(&owner->reactor.number);
    if (!cc__fd_hold(e, generation)) return -EBADF;
    rc = cc__reactor_watch(&owner->reactor, fd, generation, now == *home);
    cc__fd_release(e, fd);
    if (rc == 0) cc__fd_watched(e, generation, *home);
    return rc;
}
