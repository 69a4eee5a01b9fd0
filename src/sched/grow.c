/* SPDX-License-Identifier: MIT */
/* Temporary workers: they take the place of workers that are stuck, and go when they are not needed.
 *
 * Only the monitor starts them, one runtime at a time. A worker has a place in its runtime's array: a temporary one
 * gets the first that is free, or a new one behind all others. What remains in the place of one that has gone are
 * timers of tasks that waited there: they are in their set as before, everybody who searches fires them, and the
 * monitor does.
 *
 * A worker goes when it has been idle for long (idle.c), or when the monitor finds that more are at work than should
 * be: then the next temporary one that looks around gives its tasks to all and picks none any more, so that it comes
 * to the end of its loop. Its rings and its slot are filled by itself alone, and nobody sends it mail, so nothing can
 * be left behind.
 *
 * The express. Where all workers compute, what was begun and is ready again would wait for one of them to end. One
 * more worker is there for such tasks alone: new ones cannot take it. It gives away whatever else its tasks make
 * ready, and wakes somebody for that, sleeps apart from the others, and is woken by the monitor when something waits in
 * the lane of the begun.
 *
 * Prev: sched/filewait.c  Next: sched/monitor.c */
#include "sched.h"

#include "../plat/barrier.h"
#include "../plat/clock.h"
#include "../plat/futex.h"
#include "../plat/thread.h"
#include "events.h"
#include "slot.h"

#include <errno.h>

void cc__worker_init(struct cc__runtime *rt, unsigned place) {
    struct cc__worker *w = &rt->workers[place];
    int64_t now = cc__now_ns();
    w->runtime = rt;
    w->id = place;
    w->turn = place;
    w->until_look = w->look_every = 1;
    cc__store_relaxed(&w->slot.thief, !cc__barrier_possible()); /* see slot.h */
    cc__rng_seed(&w->rng, (uint64_t)now + place);
    cc__timers_init(&w->timers, now);
    cc__reactor_init(&w->reactor);
    w->watcher = cc__poll_watcher(rt, place % rt->base_count);
    w->stacks.home = cc__stack_home(0, rt->huge_stacks);
    w->stacks.crowded = rt->base_count > 1;
    if (CC__TRACING(CC__TRACE_ALL)) w->trace = cc__trace_open(rt->number, place, rt->name);
}

void cc__grow_clear(struct cc__worker *w) {
    if (cc__load_acquire(&w->place) != CC__PLACE_ENDED) return; /* [MN1] */
    cc__thread_join(&w->thread);
    cc__store_relaxed(&w->place, CC__PLACE_FREE);
}

/* A place for one more, or NULL. */
static struct cc__worker *find_place(struct cc__runtime *rt) {
    unsigned count = cc__worker_count(rt);
    for (unsigned i = rt->base_count; i < count; i++) {
        struct cc__worker *w = &rt->workers[i];
        /* [MN1] acquire: pairs with the release of who ended there; it is through with all but its return. */
        if (cc__load_acquire(&w->place) == CC__PLACE_RUNNING) continue;
        cc__grow_clear(w);
        return w;
    }
    if (count == rt->growth.places) return NULL;
    cc__worker_init(rt, count);
    cc__bits_grow(&rt->idle, count + 1);
    cc__store_release(&rt->worker_count, count + 1); /* [MN2] release: it may be looked at */
    return &rt->workers[count];
}

static struct cc__worker *start_one(struct cc__runtime *rt, bool express, const char *why) {
    struct cc__worker *w = cc__load_relaxed(&rt->growth.settled) != 0 ? NULL : find_place(rt);
    if (w == NULL) return NULL;
    w->temporary = true;
    w->express = express;
    w->retiring = false;
    w->lifo_streak = 0;
    w->until_look = w->look_every = 1;
    w->watch = (struct cc__watch){.tick = cc__load_relaxed(&w->tick), .since_ns = cc__now_ns()};
    cc__store_relaxed(&w->started, 0);
    cc__store_relaxed(&w->asleep, 0);
    cc__store_relaxed(&w->place, CC__PLACE_RUNNING);
    if (express) cc__store_relaxed(&rt->growth.express, w->id + 1); /* before it may end, and take that back */
    cc__add_relaxed(&rt->growth.running, 1);
    if (cc__thread_start(&w->thread, cc__worker_main, w) == 0) {
        cc__count(&rt->growth.started);
        if (CC__TRACING(CC__TRACE_WORKERS | CC__LOG_MONITOR)) cc__event_grow(w, why);
        return w;
    }
    cc__sub_relaxed(&rt->growth.running, 1);
    if (express) cc__store_relaxed(&rt->growth.express, 0);
    cc__store_relaxed(&w->place, CC__PLACE_FREE);
    return NULL;
}

unsigned cc__grow(struct cc__runtime *rt, unsigned count, const char *why) {
    unsigned started = 0;
    while (started < count && start_one(rt, false, why) != NULL) started++;
    return started;
}

static bool give_ring(struct cc__worker *w, struct cc__runq *q, int lane) {
    bool any = false;
    for (struct cc__task *t; (t = cc__runq_pop(q)) != NULL; any = true)
        cc__inject_push_many(&w->runtime->inject, lane, &t, 1);
    return any;
}

/* Everything it has is everybody's from now on. Whether there was something. */
static bool give_away(struct cc__worker *w) {
    struct cc__inject *inject = &w->runtime->inject;
    struct cc__task *next = w->next;
    w->next = NULL;
    if (next != NULL) cc__inject_push(inject, next);
    struct cc__task *t = cc__slot_take(w);
    if (t != NULL) cc__inject_push(inject, t);
    bool begun = give_ring(w, &w->begun, CC__LANE_BEGUN), fresh = give_ring(w, &w->fresh, CC_PRIORITY_NORMAL);
    bool jobs = false;
    for (struct cc__task *j; cc__jobs_any(w) && (j = cc__jobs_pop(w)) != NULL; jobs = true) cc__inject_push(inject, j);
    return next != NULL || t != NULL || begun || fresh || jobs;
}

static bool steps_down(struct cc__worker *w) {
    struct cc__growth *g = &w->runtime->growth;
    int many = cc__load_relaxed(&g->surplus);
    if (w->retiring) return true;
    return w->retiring = many > 0 && cc__cas_relaxed(&g->surplus, &many, many - 1);
}

bool cc__grow_pick(struct cc__worker *w, struct cc__task **t) {
    if (!w->express && !steps_down(w)) return false;
    struct cc__inject *inject = &w->runtime->inject;
    w->until_look = 1; /* this is asked each time */
    bool gave = give_away(w);
    *t = w->express ? cc__inject_take(inject, CC__LANE_BEGUN) : NULL;
    /* Somebody is woken for what it does not take itself. Those who were told of it when it was made ready may have
     * looked for it where it was no more, and where it was not yet, and sleep. */
    if (gave && !cc__inject_empty(inject)) cc__idle_notify(w->runtime);
    return true;
}

/* ---- the express ---- */

void cc__grow_express(struct cc__runtime *rt) {
    if (cc__load_relaxed(&rt->growth.express) != 0)
        cc__grow_wake_express(rt);
    else
        (void)start_one(rt, true, "all others compute, and what was begun waits");
}

void cc__grow_wake_express(struct cc__runtime *rt) {
    unsigned place = cc__load_relaxed(&rt->growth.express);
    if (place == 0) return;
    struct cc__worker *w = &rt->workers[place - 1];
    cc__store_release(&w->asleep, 0); /* [ID2] */
    cc__futex_wake(&w->asleep, 1);
}

struct cc__task *cc__grow_find_begun(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    while (cc__load_acquire(&rt->stopping) == 0) {
        int64_t now = 0;
        struct cc__task *t = cc__worker_pick(w);
        if (t == NULL && cc__worker_expire(&w->timers, &now)) t = cc__worker_pick(w);
        if (t != NULL) return t;
        cc__store_relaxed(&w->asleep, 1);
        cc__fence_full(); /* [ID1] as S3: who stops the runtime, or the monitor that finds something, comes later */
        if (cc__load_relaxed(&rt->stopping) != 0 || !cc__inject_lane_empty(&rt->inject, CC__LANE_BEGUN)) continue;
        int64_t timer = cc__load_relaxed(&w->timers.next_ns), tired = cc__now_ns() + rt->growth.idle_ns;
        int rc = cc__futex_wait(&w->asleep, 1, timer < tired ? timer : tired);
        if (rc == -ETIMEDOUT && timer >= tired) break;
    }
    return NULL;
}

void cc__grow_retired(struct cc__worker *w) {
    if (w->express) cc__store_relaxed(&w->runtime->growth.express, 0);
    cc__sub_relaxed(&w->runtime->growth.running, 1);
    if (CC__TRACING(CC__TRACE_WORKERS | CC__LOG_MONITOR))
        cc__event_retire(w, w->retiring ? "too many run" : "it was idle for long");
    cc__monitor_part(w);
}
