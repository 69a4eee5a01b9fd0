/* SPDX-License-Identifier: MIT */
/* Goal: temporary workers that go (src/sched/idle.c, src/sched/grow.c, src/sched/worker.c) leave nothing behind: what
 * they have is everybody's before they end, and whoever relied on one of them, as a sleeper, as a searcher, or to wake
 * for a timer, is not let down: nobody sleeps on while there is something to do [ID1].
 * Method: one that goes because it was idle for long, one of which there are too many, and the express, which gives
 * away what it may not run. Against each a publisher, a worker that goes to sleep, or who adds a timer. That worker
 * does so once: if it wakes, or does not sleep at all, it would find what there is. A second one may be asleep from the
 * beginning, without a thread of its own: who wakes it has done its part; or it is blocked. model_idle_pair.c has more
 * publishers, and workers that go on. Slots and rings are the real ones, the global queue is a counter.
 * Sources: src/sched/idle.c src/sched/grow.c src/sched/worker.c src/sched/steal.c src/sched/runq.c src/base/bits.c
 * Sources: src/plat/futex.c src/base/assert.c src/base/text.c
 * Define: CC__RUNQ_SLOTS=4 CC__TIMER_SLOTS=64
 * Weaken: src/sched/idle.c: can_retire: fence_full -> acq_rel
 * Weaken: src/sched/idle.c: notify: fence_full -> acq_rel
 * Weaken: src/sched/idle.c: cc__idle_sleep: fence_full -> acq_rel
 * Weaken: src/sched/idle.c: cc__idle_timer_added: fence_full -> acq_rel
 * Weaken: src/sched/idle.c: cc__idle_stop_searching: fence_full -> acq_rel
 * Break: src/sched/idle.c: stopping) != 0 || cc__steal_anything(w)) return false; => stopping) != 0) return false;
 * Break: src/sched/idle.c: if (next_timer(rt) < cc__load_relaxed(&rt->sleeper_until)) notify(rt); => ;
 * Break: src/sched/worker.c: (w->retiring)) { => (w->retiring)) { cc__idle_stop_searching(w, false);
 * Break: src/sched/grow.c: many > 0 && cc__cas_relaxed(&g->surplus, &many, many - 1); => many > 0;
 * Weaken: src/sched/idle.c: cc__idle_stop_searching: sub_acq_rel -> acquire
 * Weaken: src/sched/idle.c: cc__idle_stop_searching: sub_acq_rel -> relaxed
 * Break: src/sched/grow.c: if (gave && !cc__inject_empty(inject)) => if (false)
 * Break: src/sched/grow.c: if (next != NULL) cc__inject_push(inject, next); => ;
 * Break: src/sched/grow.c: struct cc__task *t = cc__slot_take(w); => struct cc__task *t = NULL;
 * Break: src/sched/grow.c: return w->retiring = many > 0 && cc__cas_relaxed( => return w->retiring = !cc__cas_relaxed(
 * Mutate slowly: src/sched/grow.c
 * Survives: cc__grow_clear: load_acquire -> relaxed: not run here; model_growth.c has this and those that follow
 * Survives: find_place: * -> relaxed: not run here
 * Survives: cc__grow_wake_express: store_release -> relaxed: not run here
 * Survives: cc__grow_find_begun: * -> *: not run here
 */
#include "fiber/stack.h"
#include "plat/clock.h"
#include "plat/futex.h"
#include "plat/thread.h"
#include "sched/sched.h"

#include "ccmc.h"
#include "fences.h"
#include "noforks.h"
#include "nokeep.h"
#include "nopoll.h"

#include <errno.h>

enum { GOES, OTHER, WORKERS, TASKS = 4, IDLE_NS = 1000 };
#define EARLY_NS INT64_C(5000000000)
#define LATE_NS INT64_C(6000000000)

_Thread_local struct cc__worker *cc__current_worker; /* as in src/fiber/current.c */

static struct cc__runtime rt;
static struct cc__worker workers[WORKERS];
static _Atomic uint64_t idle_words[1];
static struct cc__task tasks[TASKS];
static int payload[TASKS]; /* plain: what is not handed over is a data race */
static _Atomic int queue;  /* tasks in the global queue.  W: who pushes, or takes one.  R: all */
static int had;            /* tasks that the one that goes has */
static bool found;         /* by the one that goes, which stays */
static bool relied;        /* a publisher found it asleep, and others on the way to it */
static bool still;         /* the other worker sleeps, without a thread of its own */

/* ---- what surrounds it ---- */

int64_t cc__now_ns(void) { /* longer than anybody's patience */
    static _Thread_local int64_t now;
    return now += INT64_C(1000000);
}
static void push(const struct cc__task *t) {
    mc_assert(payload[t - tasks] == 1);
    cc__add_acq_rel(&queue, 1);
}
void cc__inject_push(struct cc__inject *q, struct cc__task *t) {
    (void)q;
    push(t);
}
void cc__inject_push_many(struct cc__inject *q, int lane, struct cc__task *const *many, size_t n) {
    (void)q, (void)lane;
    for (size_t i = 0; i < n; i++) push(many[i]);
}
void cc__inject_push_new(struct cc__inject *q, struct cc__task *const *many, size_t n) {
    cc__inject_push_many(q, CC_PRIORITY_NORMAL, many, n);
}
bool cc__inject_empty(struct cc__inject *q) {
    (void)q;
    return cc__load_relaxed(&queue) == 0;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define EMPTY(type, function, result, ...)                                                                             \
    type function(__VA_ARGS__) {                                                                                       \
        return result;                                                                                                 \
    }
#define NOTHING(function, ...)                                                                                         \
    void function(__VA_ARGS__) {                                                                                       \
    }
EMPTY(struct cc__task *, cc__inject_take, NULL, struct cc__inject *q, int lane)
EMPTY(struct cc__task *, cc__inject_take_batch, NULL, struct cc__inject *q, struct cc__worker *w)
EMPTY(bool, cc__inject_lane_empty, true, struct cc__inject *q, int lane)
EMPTY(struct cc__task *, cc__tasks_take, NULL, struct cc__tasks *l)
EMPTY(struct cc__task *, cc__timers_expire, NULL, struct cc__timers *s, int64_t now_ns)
EMPTY(struct cc__tasks, cc__inbox_take, (struct cc__tasks){0}, struct cc__task *_Atomic *box)
EMPTY(int, cc__fiber_attach, -ENOMEM, struct cc__fiber **current)
EMPTY(int, cc__thread_id, 7, void)
EMPTY(int, cc__thread_start, -EAGAIN, cc__thread *out, void *(*fn)(void *), void *arg)
EMPTY(int, cc__thread_pin, 0, int cpu)
NOTHING(cc__thread_join, cc__thread *t)
NOTHING(cc__thread_set_name, const char *name)
NOTHING(cc__thread_ends, void)
NOTHING(cc__thread_yield, void)
NOTHING(cc__timers_init, struct cc__timers *s, int64_t now_ns)
NOTHING(cc__ready_list, struct cc__task *first)
NOTHING(cc__ready_taken, struct cc__worker *w, struct cc__task *t)
NOTHING(cc__ready_all_taken, struct cc__worker *w, struct cc__tasks taken)
NOTHING(cc__run_task, struct cc__worker *w, struct cc__task *t)
NOTHING(cc__run_drop_fibers, struct cc__worker *w)
NOTHING(cc__stack_cache_shrink, struct cc__stack_cache *cache, unsigned keep)
NOTHING(cc__task_cache_drain, struct cc__task_cache *cache)
NOTHING(cc__monitor_ring, void)
NOTHING(cc__monitor_part, struct cc__worker *w)
NOTHING(cc__monitor_rouse, void)
#pragma GCC diagnostic pop

/* ---- the threads ---- */

static struct cc__task *make(int i) {
    payload[i] = 1;
    return &tasks[i];
}

/* One of which there are too many: with a task handed over, one in its slot, one in each ring. */
static void steps_down(void) {
    struct cc__worker *w = &workers[GOES];
    cc__worker_set_current(w);
    cc__runq_push(w, &w->begun, make(0));
    cc__runq_push(w, &w->fresh, make(1));
    cc__store_release(&w->slot.task, make(2));
    w->next = make(3);
    had = 4;
    mc_assert(cc__worker_find(w) == NULL && w->retiring && !w->searching);
}
/* The same, with one task, in its slot. */
static void steps_down_with_one(void) {
    struct cc__worker *w = &workers[GOES];
    cc__worker_set_current(w);
    cc__store_release(&w->slot.task, make(0));
    had = 1;
    mc_assert(cc__worker_find(w) == NULL && w->retiring && !w->searching);
}
/* The same as a searcher, without a task. */
static void searcher_steps_down(void) {
    struct cc__worker *w = &workers[GOES];
    cc__worker_set_current(w);
    w->searching = true;
    mc_assert(cc__worker_find(w) == NULL && w->retiring && !w->searching);
}
/* The express: its task made another one ready that it may not run, and waits. */
static void gives_away(void) {
    struct cc__worker *w = &workers[GOES];
    cc__worker_set_current(w);
    cc__store_release(&w->slot.task, make(0));
    had = 1;
    mc_assert(cc__worker_pick(w) == NULL);
}
/* One that is idle for long. If it is woken, or finds something before it goes, it searches. */
static void idles(void) {
    found = cc__idle_sleep(&workers[GOES]);
}
/* The same with tasks left out: it sleeps for a timer, or until it is tired. */
static void idles_for_a_timer(void) {
    struct cc__worker *w = &workers[GOES];
    while (cc__idle_sleep(w)) {
    }
    mc_assert(!w->searching);
}
/* A task whose wait for the early timer is over adds the late one, on another worker, and goes on for long. Who sleeps
 * until the early one will look again then: it is relied on. */
static void waits_for_a_later_timer(void) {
    cc__store_relaxed(&workers[GOES].timers.next_ns, CC__NEVER);
    cc__store_relaxed(&workers[OTHER].timers.next_ns, LATE_NS);
    cc__idle_timer_added(&rt, LATE_NS);
}

/* One that slept for the timer, so that nobody else does, and was woken for something else, which it runs for long: as
 * at the end of a sleep in idle.c. */
static void woken_for_something_else(void) {
    struct cc__worker *w = &workers[GOES];
    int64_t timer = EARLY_NS;
    cc__cas_relaxed(&rt.sleeper_until, &timer, CC__NEVER);
    w->searching = true;
    cc__idle_stop_searching(w, true);
}
static void other_searches_and_sleeps(void) {
    workers[OTHER].searching = true;
    (void)cc__idle_sleep(&workers[OTHER]);
}
static void picks(struct cc__worker *w) {
    cc__worker_set_current(w);
    mc_assert(cc__worker_pick(w) == NULL);
}
static void first_picks(void) {
    picks(&workers[GOES]);
}
static void second_picks(void) {
    picks(&workers[OTHER]);
}

static void other_sleeps(void) {
    (void)cc__idle_sleep(&workers[OTHER]);
}
static void publishes(void) {
    cc__add_acq_rel(&queue, 1);
    cc__idle_notify(&rt);
}
static void notifies(void) {
    cc__idle_notify(&rt);
}
/* It looks who has seen to what it published: one that sleeps on must find it. */
static void publishes_and_looks(void) {
    publishes();
    cc__fence_full();
    relied = cc__bits_test(&rt.idle, GOES);
}

/* ---- before and after ---- */

static void begin(void) {
    cc__store_relaxed(&rt.worker_count, WORKERS);
    rt.base_count = 1;
    rt.workers = workers;
    rt.idle_words = idle_words;
    rt.growth.idle_ns = IDLE_NS;
    cc__store_relaxed(&rt.growth.running, WORKERS);
    cc__store_relaxed(&rt.sleeper_until, CC__NEVER);
    cc__bits_init(&rt.idle, idle_words, WORKERS);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].runtime = &rt;
        workers[i].watcher = &workers[i];
        workers[i].id = i;
        workers[i].until_look = 1;
        cc__store_relaxed(&workers[i].timers.next_ns, CC__NEVER);
    }
    workers[GOES].temporary = true;
}
static void too_many(void) {
    begin();
    cc__store_relaxed(&rt.growth.surplus, 1);
}
/* The other one is at work, and will be for long. */
static void other_blocked(void) {
    begin();
}
/* The other one sleeps. */
static void other_asleep(void) {
    begin();
    still = true;
    cc__bits_set(&rt.idle, OTHER);
    cc__store_relaxed(&workers[OTHER].asleep, 1);
}
static void a_timer(void) {
    other_asleep();
    cc__store_relaxed(&workers[GOES].timers.next_ns, EARLY_NS);
}
static void too_many_searchers(void) {
    other_asleep();
    cc__store_relaxed(&rt.growth.surplus, 1);
    cc__store_relaxed(&rt.searching, 1);
}
static void two_one_too_many(void) {
    too_many();
    workers[OTHER].temporary = true;
}
static void one_searches(void) {
    begin();
    cc__store_relaxed(&workers[GOES].timers.next_ns, EARLY_NS);
    cc__store_relaxed(&rt.sleeper_until, EARLY_NS);
    cc__store_relaxed(&rt.searching, 2);
}
static void express(void) {
    begin();
    workers[GOES].express = true;
}

/* Nobody sleeps on while there is work, and all there was is in the queue. */
static void at_rest(void) {
    const struct cc__worker *w = &workers[GOES];
    bool asleep = mc_sleeps(OTHER) || (still && cc__load_relaxed(&workers[OTHER].asleep) == 1);
    mc_assert(cc__load_relaxed(&queue) == had && (had == 0 || !asleep));
    mc_assert(cc__load_relaxed(&w->slot.task) == NULL && w->next == NULL);
    mc_assert(cc__runq_empty(&workers[GOES].begun) && cc__runq_empty(&workers[GOES].fresh));
}
/* One that was found asleep has found the task. */
static void found_it(void) {
    mc_assert(!relied || found);
    mc_assert(cc__load_relaxed(&rt.searching) == found && !mc_sleeps(GOES));
}
/* The one that goes wakes for no timer any more: the other does. */
static void other_woken(void) {
    mc_assert(cc__load_relaxed(&workers[OTHER].asleep) == 0);
}

static void one_goes(void) {
    mc_assert(workers[GOES].retiring + workers[OTHER].retiring == 1 && cc__load_relaxed(&rt.growth.surplus) == 0);
}
/* It wakes for the timer. */
static void none_sleeps_on(void) {
    mc_assert(!mc_sleeps(OTHER));
}

#define EXHAUSTED .quiet = true, .fences = true

const struct mc_scenario mc_scenarios[] = {
    {"steps down with tasks, one goes to sleep", too_many, {steps_down, other_sleeps}, at_rest, EXHAUSTED},
    {"steps down with a task, one goes to sleep", too_many, {steps_down_with_one, other_sleeps}, at_rest, EXHAUSTED},
    {"steps down as a searcher, a publisher",
     too_many_searchers,
     {searcher_steps_down, publishes},
     other_woken,
     EXHAUSTED},
    {"the express gives away, one goes to sleep", express, {gives_away, other_sleeps}, at_rest, EXHAUSTED},
    {"two of them, one too many", two_one_too_many, {first_picks, second_picks}, one_goes, EXHAUSTED},
    {"woken from a sleep for a timer, a searcher",
     one_searches,
     {woken_for_something_else, other_searches_and_sleeps},
     none_sleeps_on,
     EXHAUSTED},
    {"idle for long, a notifier, a publisher",
     other_blocked,
     {idles, notifies, publishes_and_looks},
     found_it,
     EXHAUSTED},
    {"idle for long, a timer", a_timer, {idles_for_a_timer, waits_for_a_later_timer}, other_woken, EXHAUSTED},
    {0},
};
