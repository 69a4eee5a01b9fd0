/* SPDX-License-Identifier: MIT */
/* The monitor: one thread of the process that notices what workers cannot: that one of them is stuck.
 *
 * A worker is stuck when it has run the same task for a quarter of a millisecond: its tick has not moved. That alone
 * is no harm. But its timers may be due, and tasks may wait there that others take only when they have nothing else to
 * do, and nobody looks at its descriptors; so the monitor does, fires the timers, moves the tasks to the global queue,
 * which all look into now and then, and sees to it that somebody looks for the tasks: an idle worker, if there is one,
 * is woken. Else
 *
 *   - workers that sleep in the kernel, or said that they will (CC_BLOCKING), are made up for at once: as many run as
 *     the runtime was made with;
 *   - where all that run compute (one that only waits for a cpu would not gain by others), what was begun and is ready
 *     again gets a worker at once: there is one for such tasks alone. When they have computed for ten milliseconds
 *     each, half as many more workers are started for what is new, and again after a while, up to a limit: they get
 *     their share of the cpus from the kernel. Sooner would only cost: tasks that are a little shorter than that take
 *     turns.
 *
 * What has been started goes again (grow.c). The monitor itself starts when there may be something to watch: with the
 * second task of a runtime, or when a thread has waited for a task for two milliseconds.
 *
 * It looks every quarter millisecond while tasks wait and workers are blocked that can be made up for, and once more
 * so soon when it has found one stuck; up to five milliseconds apart while tasks wait, since each look takes a cpu from
 * one that computes; up to ten otherwise; but not later than a timer of a worker that is not idle, and each millisecond
 * while one that watches descriptors is at work and another sleeps that could answer in its place: or only each fourth,
 * if no worker was stuck for a second, since a look takes some 20 us from whoever answers. When all workers
 * have been idle for a while it sleeps until one is woken:
 *
 *   monitor                                       a worker that is woken
 *   M1 asleep = 1                                 W1 its idle bit is cleared
 *   M2 full fence                                 W2 full fence
 *   M3 all are idle: sleeps until the bell rings  W3 asleep: takes that back, rings
 *
 * A plain thread that begins to wait without a limit rouses it too: perhaps nobody is left now who could wake anybody.
 *
 * Either M3 sees W1, or W3 sees M1. No wake-up of a task depends on the monitor: without it, what is stuck is stuck for
 * as long as it lasts.
 *
 * Prev: sched/grow.c  Next: sched/finish.c */
#include "sched.h"

#include "../base/env.h"
#include "../plat/clock.h"
#include "../plat/futex.h"
#include "../plat/thread.h"
#include "../trace/log.h"

#include <errno.h>
#include <limits.h>

enum {
    TICK_NS = 250000,       /* between two looks at what is stuck, and how long that takes */
    POLLING_NS = 1000000,   /* at most, while one that is stuck has a reactor; or may get stuck, and others are idle; */
    GUARDING_NS = 4000000,  /* that, if no worker was stuck */
    LATELY_NS = 1000000000, /* for so long */
    KNOWN_NS = 1000000,     /* twice that from the look that says how one is stuck to the next */
    WAITING_NS = 5000000,   /* at most, while tasks wait */
    QUIET_NS = 10000000,    /* at most, while none does */
    FORKS_STILL = 6,        /* looks at forks that have not changed */
    LINGER_NS = 50000000,   /* all idle for so long: it sleeps */
    GRACE_NS = 1000000000,  /* and when it has slept for so long, it looks whether that is a deadlock */
    CALM_NS = 10000000      /* no worker computes for long since then: those that were started for that are too many */
};

static const int64_t STALL_NS = INT64_C(5000000000); /* one task for so long is reported; */
static const int64_t HOG_NS = INT64_C(10000000);     /* computing for so long, others that wait get a worker */

static struct {
    cc__lock lock;                /* held while it looks */
    struct cc__runtime *runtimes; /* guarded by lock */
    _Atomic bool started;         /* W: with the lock.  R: anyone, as a hint */
    cc__thread thread;
    _Atomic uint32_t runs;   /* futex word: 1 when its thread has begun.  W: the monitor.  R: who ends a runtime */
    _Atomic uint32_t bell;   /* futex word: one more each time it rings.  W: any thread.  R: the monitor */
    _Atomic uint32_t asleep; /* 1: until the bell rings.  W: the monitor, who rouses it.  [MN3] */
} monitor = {.lock = CC__LOCK_INIT};

/* What a look at a runtime found. */
struct survey {
    unsigned running, idle; /* workers; */
    unsigned blocked;       /* those that sleep in the kernel, or are about to; */
    unsigned burning;       /* those that compute for long, */
    unsigned hogging;       /* and very long; */
    unsigned express;       /* 1: one of them all takes only what was begun */
    bool fresh;             /* one was found stuck just now, and it is not known how */
    bool waiting;           /* tasks that some other worker could run, */
    bool left;              /* and that nobody may be coming to: of one that is stuck, or in the global queue */
    bool watches;           /* one that is not idle has a reactor; */
    bool polls;             /* one that is stuck has, which is looked at in its place */
    int64_t timer_ns;       /* the next one of a worker that is not idle */
};

/* ---- looking ---- */

/* Whether the task that this worker runs, if there is one, has said that it blocks. */
static bool says_blocking(struct cc__worker *w) {
    return cc__load_relaxed(&w->blocking) == cc__load_relaxed(&w->tick) + 1;
}

/* Bring up to date what is known of a worker. */
static void watch(struct cc__worker *w, int64_t now) {
    struct cc__watch *seen = &w->watch;
    uint32_t tick = cc__load_relaxed(&w->tick);
    if (tick != seen->tick || cc__load_relaxed(&w->current) == NULL) {
        *seen = (struct cc__watch){.tick = tick, .since_ns = now};
        return;
    }
    int64_t for_ns = now - seen->since_ns;
    if (for_ns < TICK_NS) return;
    if (cc__load_acquire(&w->started) == 0) return; /* [RT1] acquire: then its number is known */
    if (!seen->stuck) {
        seen->stuck = true;
        seen->cpu_ns = cc__thread_cpu_ns(w->thread_id);
        seen->asked_ns = now + TICK_NS; /* one that sleeps for less than that, for a page or a lock, is not blocked */
        seen->fresh = true;
        cc__count(&w->runtime->growth.stuck);
        w->runtime->growth.stuck_ns = now;
        cc__log_monitor("worker", w->id, "is stuck");
    } else if (!seen->asleep || now >= seen->asked_ns) {
        seen->fresh = false;
        int64_t had = cc__thread_cpu_ns(w->thread_id) - seen->cpu_ns;
        if (had > seen->had_ns) { /* it is not asleep: that need not be asked */
            seen->asleep = false;
            seen->asked_ns = now + TICK_NS;
        }
        seen->had_ns = had;
        seen->burning = had >= TICK_NS;
        seen->hogging = had >= HOG_NS;
    }
    bool stall = cc__env.debug_stall && for_ns >= STALL_NS && !seen->told && !says_blocking(w);
    bool hog = cc__env.debug_sysmon && seen->hogging && !seen->named;
    if (now < seen->asked_ns && !stall && !hog) return;
    seen->asked_ns = now + for_ns / 2; /* that costs microseconds, and there may be hundreds of them */
    seen->asleep = cc__thread_state(w->thread_id) == CC__THREAD_SLEEPING;
    if (stall) cc__stall_report(w, "ccrt: stall: ", seen->asleep);
    if (hog && !stall) cc__stall_report(w, "ccrt: monitor: ", seen->asleep);
    seen->told = seen->told || stall;
    seen->named = seen->named || hog;
}

/* Whether its task has forks and has not touched them for long: it is not about to. (One that forks and joins all the
 * while is found at the same place now and then, by chance. A loop has its at the same place, and comes to them.) */
static bool forks_wait(struct cc__worker *w) {
    struct cc__watch *seen = &w->watch;
    const void *head = cc__load_relaxed(cc__forks_head(&w->forks));
    uint32_t looks = cc__load_relaxed(&w->forks.looks);
    bool still = cc__forks_any(&w->forks) && head == seen->forks_head && looks == seen->forks_looks;
    seen->forks_still = still ? seen->forks_still + 1 : 0;
    seen->forks_head = head;
    seen->forks_looks = looks;
    return seen->forks_still >= FORKS_STILL;
}

static void survey_worker(struct cc__runtime *rt, unsigned i, int64_t *now, struct survey *s) {
    struct cc__worker *w = &rt->workers[i];
    bool away = cc__load_acquire(&w->place) != CC__PLACE_RUNNING; /* [MN1] */
    if (away)
        cc__grow_clear(w);
    else
        watch(w, *now);
    bool blocked = !away && (says_blocking(w) || (w->watch.stuck && w->watch.asleep));
    bool stuck = !away && (blocked || w->watch.stuck);
    s->blocked += blocked;
    s->fresh = s->fresh || (!away && w->watch.fresh);
    if (!away && w->express) { /* it does not count, stuck or not */
        s->express = 1;
        s->blocked -= blocked;
    } else {
        s->burning += w->watch.burning && stuck && !blocked;
        s->hogging += w->watch.hogging && stuck && !blocked;
    }
    if (stuck || away) cc__worker_expire(&w->timers, now);
    bool idle = !away && cc__bits_test(&rt->idle, i);
    s->watches = s->watches || (!idle && cc__poll_own(w));
    if (stuck && cc__poll_own(w)) {
        s->polls = true;
        cc__poll_for(w);
    }
    if (stuck && cc__steal_share(w)) s->left = true;
    if (stuck && (forks_wait(w) || blocked) && !rt->no_stealing && cc__forks_share(w)) s->left = true;
    if (idle) return; /* one of the sleepers wakes for its timers */
    int64_t next = cc__load_relaxed(&w->timers.next_ns);
    if (next < s->timer_ns) s->timer_ns = next;
}

static struct survey survey(struct cc__runtime *rt, int64_t now) {
    struct survey s = {.timer_ns = CC__NEVER};
    unsigned count = cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++) survey_worker(rt, i, &now, &s);
    s.running = cc__load_relaxed(&rt->growth.running) - s.express;
    cc__fence_full(); /* [ID1] P2 for what was moved: who goes to sleep sees it where it is now, or is seen here */
    s.idle = (unsigned)cc__bits_count(&rt->idle);
    if (!cc__inject_empty(&rt->inject)) s.left = true;
    s.waiting = s.left || cc__steal_queued(rt);
    return s;
}

/* ---- acting ---- */

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* How many more workers it takes. */
static unsigned more_needed(struct cc__runtime *rt, const struct survey *s, int64_t now) {
    struct cc__growth *g = &rt->growth;
    unsigned free = s->running - least(s->blocked, s->running), most = rt->base_count + g->blocked_max;
    if (free < rt->base_count) return s->running < most ? least(rt->base_count - free, most - s->running) : 0;
    if (s->hogging < free || free >= g->burning_max || now - g->grown_ns < g->every_ns) return 0;
    g->grown_ns = now;
    return least(free < 2 ? 1 : free / 2, g->burning_max - free);
}

static void act(struct cc__runtime *rt, const struct survey *s, int64_t now) {
    struct cc__growth *g = &rt->growth;
    if (s->hogging > 0) g->calm_ns = now;
    int many = (int)s->running - (int)s->blocked - (int)s->idle - (int)rt->base_count;
    if (many < 0 || now - g->calm_ns <= CALM_NS) many = 0;
    if (cc__load_relaxed(&g->surplus) != many) cc__store_relaxed(&g->surplus, many);
    if (!s->waiting) return;
    if (s->idle > 0) {
        if (s->left) cc__idle_notify(rt); /* what is in a ring, its worker comes to, and wakes others for it */
        return;
    }
    unsigned more = more_needed(rt, s, now);
    if (more > 0) (void)cc__grow(rt, more, s->blocked > 0 ? "workers sleep in the kernel" : "all workers compute");
    bool all_burn = s->burning == s->running - least(s->blocked, s->running);
    if (all_burn && more == 0 && !cc__inject_lane_empty(&rt->inject, CC__LANE_BEGUN)) cc__grow_express(rt);
}

/* ---- the thread ---- */

/* Look at all runtimes. Returns the instant of the next look; CC__NEVER: all workers are idle. */
static int64_t look(int64_t now, int64_t *pause) {
    bool idle = true, waiting = false, blocked = false, fresh = false, polls = false;
    bool guards = false, lately = false;
    int64_t timer = CC__NEVER;
    for (struct cc__runtime *rt = monitor.runtimes; rt != NULL; rt = rt->growth.next) {
        cc__coarse_tell(rt, now);
        struct survey s = survey(rt, now);
        act(rt, &s, now);
        idle = idle && s.idle >= s.running;
        waiting = waiting || s.waiting;
        polls = polls || s.polls;
        guards = guards || (s.watches && s.idle > 0);
        lately = lately || now - rt->growth.stuck_ns < LATELY_NS;
        blocked = blocked || (s.blocked > 0 && s.running < rt->base_count + rt->growth.blocked_max);
        fresh = fresh || s.fresh;
        if (s.timer_ns < timer) timer = s.timer_ns;
    }
    int64_t most = !waiting ? QUIET_NS : blocked ? TICK_NS : WAITING_NS;
    if (guards && most > GUARDING_NS) most = GUARDING_NS;
    if ((polls || (guards && lately)) && most > POLLING_NS) most = POLLING_NS;
    *pause = *pause * 2 < most ? *pause * 2 : most;
    int64_t next = now + *pause;
    if (fresh && waiting) { /* a quarter millisecond tells how it is stuck; that alone is no reason to look often */
        next = now + TICK_NS;
        if (*pause > KNOWN_NS) *pause = KNOWN_NS;
    }
    if (timer < next) next = timer > now + TICK_NS ? timer : now + TICK_NS;
    return idle && !waiting ? CC__NEVER : next;
}

static bool all_idle(void) {
    bool idle = true;
    for (struct cc__runtime *rt = monitor.runtimes; rt != NULL; rt = rt->growth.next)
        idle = idle && cc__bits_count(&rt->idle) >= cc__load_relaxed(&rt->growth.running); /* the express never is */
    return idle;
}

static bool wait_for_bell(uint32_t bell, int64_t until) {
    while (cc__load_relaxed(&monitor.bell) == bell)
        if (cc__futex_wait(&monitor.bell, bell, until) == -ETIMEDOUT) return false;
    return true;
}

/* M1 to M3. After a while, look once whether anything can ever happen again. */
static void sleep_deeply(uint32_t bell) {
    cc__store_relaxed(&monitor.asleep, 1);
    cc__fence_full(); /* [MN3] M2, see above */
    cc__lock_take(&monitor.lock);
    bool idle = all_idle(), deadlock = false;
    cc__lock_drop(&monitor.lock);
    if (!idle) { /* somebody is awake, or the express is there, which never counts as idle: soon again */
        cc__futex_wait(&monitor.bell, bell, cc__now_ns() + QUIET_NS);
    } else if (!wait_for_bell(bell, cc__now_ns() + GRACE_NS)) {
        cc__lock_take(&monitor.lock);
        deadlock = cc__deadlock_check(monitor.runtimes);
        cc__lock_drop(&monitor.lock);
        if (deadlock) cc__deadlock_end();
        (void)wait_for_bell(bell, CC__NO_DEADLINE);
    }
    cc__store_relaxed(&monitor.asleep, 0);
}

static void *monitor_main(void *unused) {
    (void)unused;
    int64_t pause = TICK_NS, idle_since = CC__NEVER;
    cc__thread_set_name("ccrt-monitor");
    cc__store_relaxed(&monitor.runs, 1);
    cc__futex_wake(&monitor.runs, INT_MAX);
    for (;;) {
        uint32_t bell = cc__load_relaxed(&monitor.bell);
        int64_t now = cc__now_ns();
        cc__lock_take(&monitor.lock);
        int64_t next = look(now, &pause);
        cc__lock_drop(&monitor.lock);
        if (next != CC__NEVER) {
            idle_since = CC__NEVER;
            cc__futex_wait(&monitor.bell, bell, next);
        } else if (idle_since == CC__NEVER || now - idle_since < LINGER_NS) {
            if (idle_since == CC__NEVER) idle_since = now;
            cc__futex_wait(&monitor.bell, bell, now + QUIET_NS);
        } else {
            sleep_deeply(bell);
        }
        if (cc__load_relaxed(&monitor.bell) != bell) pause = TICK_NS / 2;
    }
    return NULL;
}

/* ---- others ---- */

void cc__monitor_add(struct cc__runtime *rt) {
    if (rt->growth.off) return;
    cc__lock_take(&monitor.lock);
    rt->growth.next = monitor.runtimes;
    monitor.runtimes = rt;
    cc__lock_drop(&monitor.lock);
    cc__monitor_ring();
}

/* If the thread was started, until it has begun. */
static void await_thread(void) {
    if (!cc__monitor_started()) return;
    while (cc__load_relaxed(&monitor.runs) == 0) cc__futex_wait(&monitor.runs, 0, CC__NO_DEADLINE);
}

void cc__monitor_remove(struct cc__runtime *rt) {
    cc__lock_take(&monitor.lock);
    struct cc__runtime **at = &monitor.runtimes;
    while (*at != NULL && *at != rt) at = &(*at)->growth.next;
    if (*at != NULL) *at = rt->growth.next;
    cc__lock_drop(&monitor.lock);
    await_thread();
}

void cc__monitor_part(struct cc__worker *w) {
    _Atomic uint32_t *settled = &w->runtime->growth.settled;
    cc__lock_take(&monitor.lock);
    while (cc__load_relaxed(settled) != 0) {
        cc__lock_drop(&monitor.lock);
        cc__futex_wait(settled, 1, CC__NO_DEADLINE);
        cc__lock_take(&monitor.lock);
    }
    /* [MN1] release: the place is whole; its next worker may begin when this thread was joined. */
    cc__store_release(&w->place, CC__PLACE_ENDED);
    cc__lock_drop(&monitor.lock);
    cc__monitor_ring(); /* it waits for the thread */
}

void cc__monitor_settle(struct cc__runtime *rt) {
    await_thread();
    cc__lock_take(&monitor.lock);
    cc__store_relaxed(&rt->growth.settled, 1);
    for (unsigned i = rt->base_count; i < cc__worker_count(rt); i++) {
        struct cc__worker *w = &rt->workers[i];
        cc__grow_clear(w);
        if (cc__load_relaxed(&w->place) == CC__PLACE_FREE) continue;
        while (cc__load_relaxed(&w->started) == 0) cc__futex_wait(&w->started, 0, CC__NO_DEADLINE);
    }
    cc__lock_drop(&monitor.lock);
}

void cc__monitor_unsettle(struct cc__runtime *rt) {
    cc__lock_take(&monitor.lock);
    cc__store_relaxed(&rt->growth.settled, 0);
    cc__lock_drop(&monitor.lock);
    cc__futex_wake(&rt->growth.settled, INT_MAX);
}

bool cc__monitor_started(void) {
    return cc__load_relaxed(&monitor.started);
}

void cc__monitor_start(void) {
    if (CC__LIKELY(cc__monitor_started())) return;
    cc__lock_take(&monitor.lock);
    if (!cc__monitor_started() && monitor.runtimes != NULL &&
        cc__thread_start(&monitor.thread, monitor_main, NULL) == 0)
        cc__store_relaxed(&monitor.started, true);
    cc__lock_drop(&monitor.lock);
}

void cc__monitor_ring(void) {
    cc__add_relaxed(&monitor.bell, 1);
    cc__futex_wake(&monitor.bell, 1);
}

void cc__monitor_rouse(void) {
    uint32_t asleep = 1;
    cc__fence_full(); /* [MN3] W2, see above */
    if (cc__load_relaxed(&monitor.asleep) == 1 && cc__cas_relaxed(&monitor.asleep, &asleep, 0)) cc__monitor_ring();
}
