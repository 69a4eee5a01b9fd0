/* SPDX-License-Identifier: MIT */
/* Goal: the monitor starts workers (src/sched/monitor.c, src/sched/grow.c) while the runtime is shut down
 * (src/runtime/shutdown.c): a worker that was started is joined once and before the memory goes, none is started after
 * that, no place has two at a time, and in the end the counts are right; who sees a new place sees it set up [MN2];
 * what was spawned in a new place is waited for [SD1]. And while the program ends (cc__monitor_settle) no thread begins
 * or ends, and those that had ended are joined.
 * Method: the real monitor, which ends after one look or two, and real workers in the places that it finds
 * (src/sched/worker.c, src/sched/idle.c). The worker that was always there is played: it says that it blocks, and a
 * task waits, so that another is started, or the express where no other is allowed. The runtime is allocated, and freed
 * by its shutdown: a late touch is a use after free. Queues are a counter each.
 * Sources: src/sched/grow.c src/sched/monitor.c src/sched/worker.c src/sched/idle.c src/runtime/shutdown.c
 * Sources: src/base/bits.c src/plat/futex.c src/base/assert.c src/base/text.c
 * Define: CC__RUNQ_SLOTS=4 CC__TIMER_SLOTS=64
 * Wrap: cc__futex_wait
 * Mutate slowly: src/sched/grow.c
 * Survives: cc__grow_clear: load_acquire -> relaxed: the thread is joined before anybody else has its place
 * Survives: find_place: load_acquire -> relaxed: the same
 * Survives: cc__grow_wake_express: store_release -> relaxed: who is woken looks again; the word says nothing else
 * Survives: cc__grow_find_begun: load_acquire -> relaxed: nothing is read because of `stopping`
 * Weaken: src/sched/grow.c: find_place: store_release -> relaxed
 * Weaken: src/sched/grow.c: cc__grow_find_begun: fence_full -> acq_rel
 * Weaken: src/runtime/shutdown.c: live: load_acquire -> relaxed
 * Weaken: src/sched/idle.c: cc__idle_wake_all: fence_full -> acq_rel
 * Break: src/runtime/shutdown.c: cc__monitor_remove(core); => ;
 * Break: src/runtime/shutdown.c: place) != CC__PLACE_FREE) => place) == CC__PLACE_RUNNING)
 * Break: src/runtime/shutdown.c: place) != CC__PLACE_FREE) => place) >= CC__PLACE_FREE)
 * Break: src/runtime/shutdown.c: cc__grow_wake_express(rt); => ;
 * Break: src/runtime/shutdown.c: cc__idle_wake_all(rt); => ;
 * Break: src/runtime/shutdown.c:   count = cc__worker_count(rt); => ;
 * Break: src/sched/monitor.c: cc__store_relaxed(&rt->growth.settled, 1); => ;
 * Break: src/sched/monitor.c: while (cc__load_relaxed(settled) != 0) { => while (false) {
 * Break: src/sched/monitor.c: while (cc__load_relaxed(&w->started) == 0) cc__futex_wait( => if (false) cc__futex_wait(
 * Break: src/sched/grow.c: = cc__load_relaxed(&rt->growth.settled) != 0 ? NULL : => =
 * Break: src/sched/grow.c: == CC__PLACE_RUNNING) continue; => == CC__PLACE_FREE) continue;
 * Break: src/sched/grow.c: cc__thread_join(&w->thread); => ;
 * Break: src/sched/grow.c: cc__store_relaxed(&w->place, CC__PLACE_RUNNING); => ;
 * Break: src/sched/grow.c: cc__event_grow(w, why); => ; if (express) cc__store_relaxed(&rt->growth.express, 2);
 */
#include "fiber/stack.h"
#include "plat/clock.h"
#include "plat/futex.h"
#include "plat/thread.h"
#include "runtime/report.h"
#include "runtime/runtime.h"
#include "trace/log.h"

#include "base/env.h"

#include "ccmc.h"
#include "fences.h"
#include "noforks.h"
#include "nokeep.h"
#include "nopoll.h"

#include <errno.h>
#include <stdlib.h>

enum { PLACES = 3, IDLE_NS = 1000 };

_Thread_local struct cc__worker *cc__current_worker; /* as in src/fiber/current.c */
struct cc__env cc__env;

static struct cc_runtime *whole;
static _Atomic int fresh; /* tasks in the global queue.  W: who takes one.  R: all */
static int looks;         /* of the monitor, before it ends */
static bool settled; /* plain: who starts or ends meanwhile is a data race, or is caught.  W: who ends the program */
static bool gone;    /* the runtime.  W: shutdown */
static int in_place[PLACES]; /* how many workers; plain: two at a time are a data race */
static int started, joined;  /* threads; the second is the shutdown's and the monitor's, one after the other */
static struct mc_sem moved;  /* a task, to the first worker */
static struct mc_sem looked;
static bool tireless;    /* no wait of theirs ends by itself */
static bool short_lived; /* workers that end at once: there is no memory */
static bool child_ended; /* plain: who finds that all have ended sees it */
/* So many looks to go: until then the monitor's view of the queues is old, and what was there has ended. */
static int full_until;
static _Thread_local bool is_monitor;

static struct cc__runtime *core(void) {
    return &whole->core;
}

/* ---- what surrounds it ---- */

int64_t cc__now_ns(void) {
    return 1;
}
int cc__thread_start(cc__thread *out, void *(*fn)(void *), void *arg) {
    mc_assert(!gone && (arg == NULL || !settled));
    if (arg != NULL) started++;
    return -pthread_create(&out->handle, NULL, fn, arg);
}
void cc__thread_join(cc__thread *t) {
    if (t == &core()->workers[0].thread) return; /* it is through when its task has ended */
    mc_assert(t->handle != 0);
    (void)pthread_join(t->handle, NULL);
    t->handle = 0; /* again is an error */
    joined++;
}
void cc__thread_ends(void) {
    mc_assert(!settled);
}
void cc__thread_set_name(const char *name) {
    if (name[5] == 'm') is_monitor = true; /* ccrt-monitor */
}
/* The monitor ends here. */
int __real_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns);
int __wrap_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns);
int __wrap_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns) {
    if (mc_self() == 0) { /* shutdown, between two looks at the counts; it may have seen an old number of workers */
        static unsigned seen = 1;
        unsigned now = cc__load_relaxed(&core()->worker_count);
        if (now == seen) mc_yield();
        seen = now;
        return 0;
    }
    if (!is_monitor) return __real_cc__futex_wait(word, expect, tireless ? CC__NO_DEADLINE : deadline_ns);
    if (--looks == 0) pthread_exit(NULL);
    return 0;
}
void cc__timers_init(struct cc__timers *s, int64_t now_ns) {
    s->base = now_ns;
    cc__store_relaxed(&s->next_ns, CC__NEVER);
}

static struct cc__task *take(_Atomic int *queue) {
    static struct cc__task task;
    int n = cc__load_relaxed(queue);
    while (n > 0)
        if (cc__cas_acq_rel(queue, &n, n - 1)) return &task;
    return NULL;
}
struct cc__task *cc__inject_take(struct cc__inject *q, int lane) {
    (void)q;
    (void)lane;
    return NULL;
}
struct cc__task *cc__inject_take_batch(struct cc__inject *q, struct cc__worker *w) {
    (void)q, (void)w;
    return take(&fresh);
}
bool cc__inject_lane_empty(struct cc__inject *q, int lane) {
    (void)q, (void)lane;
    return !(is_monitor && looks > full_until);
}
bool cc__steal_queued(struct cc__runtime *rt) {
    mc_assert(rt == core());
    if (is_monitor && looks > full_until) return true;
    return cc__load_relaxed(&fresh) > 0;
}
bool cc__steal_anything(struct cc__worker *w) {
    return cc__steal_queued(w->runtime);
}
bool cc__steal_visible(struct cc__worker *w) {
    return cc__steal_queued(w->runtime);
}
void cc__runtime_free(cc_runtime *rt) {
    mc_assert(rt == whole);
    gone = true;
    mc_assert(cc__load_relaxed(&rt->core.growth.running) == 1 && cc__load_relaxed(&rt->core.growth.express) == 0);
    mc_assert(cc__load_relaxed(&rt->core.growth.started) == (uint64_t)started && joined == started);
    mc_assert(cc__load_relaxed(&rt->core.searching) == 0);
    free(rt->core.idle_words);
    free(rt->core.workers);
    free(rt);
}
int cc__fiber_attach(struct cc__fiber **current) {
    static struct cc__fiber root;
    struct cc__worker *w = cc__worker_current();
    mc_assert(in_place[w->id]++ == 0);
    *current = &root;
    if (!short_lived) return 0;
    in_place[w->id]--;
    return -ENOMEM;
}
void cc__run_drop_fibers(struct cc__worker *w) {
    in_place[w->id]--;
}
/* The task, in a new place: it spawns another there, and goes on elsewhere. The other one runs, and the worker goes. */
void cc__run_task(struct cc__worker *w, struct cc__task *t) {
    mc_assert(t != NULL && in_place[w->id] == 1);
    cc__store_relaxed(&w->count.spawned, 1);
    mc_sem_post(&moved);
    child_ended = true;
    cc__store_release(&w->count.ended, 1);
    w->retiring = true;
}
void cc__account_ending(cc_runtime *rt) {
    mc_assert(rt == whole && (child_ended || cc__load_relaxed(&rt->core.spawned) == 0));
}

/* Nothing there, or of no matter. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define EMPTY(type, function, result, ...)                                                                             \
    type function(__VA_ARGS__) {                                                                                       \
        return result;                                                                                                 \
    }
#define NOTHING(function, ...)                                                                                         \
    void function(__VA_ARGS__) {                                                                                       \
    }
EMPTY(struct cc__task *, cc__runq_pop, NULL, struct cc__runq *q)
EMPTY(bool, cc__runq_empty, true, struct cc__runq *q)
EMPTY(struct cc__task *, cc__steal, NULL, struct cc__worker *w)
EMPTY(struct cc__task *, cc__steal_stranded, NULL, struct cc__worker *w)
EMPTY(struct cc__task *, cc__tasks_take, NULL, struct cc__tasks *l)
EMPTY(struct cc__task *, cc__timers_expire, NULL, struct cc__timers *s, int64_t now_ns)
EMPTY(struct cc__task *, cc__timers_cancel_futures, NULL, struct cc__timers *s)
EMPTY(struct cc__tasks, cc__inbox_take, (struct cc__tasks){0}, struct cc__task *_Atomic *box)
EMPTY(bool, cc__inject_empty, true, struct cc__inject *q)
EMPTY(bool, cc__steal_share, false, struct cc__worker *victim)
EMPTY(bool, cc__steal_spin, false, struct cc__worker *w)
EMPTY(bool, cc__deadlock_check, false, struct cc__runtime *first)
EMPTY(int, cc__thread_id, 7, void)
EMPTY(int64_t, cc__thread_cpu_ns, 0, int id)
EMPTY(enum cc__thread_state, cc__thread_state, CC__THREAD_RUNNING, int id)
EMPTY(int, cc__thread_pin, 0, int cpu)
NOTHING(cc__inject_push, struct cc__inject *q, struct cc__task *t)
NOTHING(cc__inject_push_many, struct cc__inject *q, int lane, struct cc__task *const *tasks, size_t n)
NOTHING(cc__ready_list, struct cc__task *first)
NOTHING(cc__ready_taken, struct cc__worker *w, struct cc__task *t)
NOTHING(cc__ready_all_taken, struct cc__worker *w, struct cc__tasks taken)
NOTHING(cc__stack_cache_shrink, struct cc__stack_cache *cache, unsigned keep)
NOTHING(cc__task_cache_drain, struct cc__task_cache *cache)
NOTHING(cc__thread_yield, void)
NOTHING(cc__deadlock_end, void)
NOTHING(cc__stall_report, struct cc__worker *w, const char *kind, bool asleep)
NOTHING(cc__dump_left, const struct cc__runtime *rt, uint64_t live)
NOTHING(cc__task_each, void (*fn)(struct cc__task *t, void *arg), void *arg)
NOTHING(cc__unpark_to_cancel, struct cc__task *t)
NOTHING(cc__unpark, struct cc__task *t, uint32_t generation)
void cc__lock_take(cc__lock *l) {
    (void)pthread_mutex_lock(l);
}
void cc__lock_drop(cc__lock *l) {
    (void)pthread_mutex_unlock(l);
}
#pragma GCC diagnostic pop

/* ---- the threads ---- */

/* The one that ends the runtime, and had started it. */
static void ends_it(void) {
    mc_assert(cc_runtime_shutdown(whole, -1, -1) == 0);
}
static void watched_and_ended(void) {
    cc__monitor_add(core());
    cc__monitor_start();
    ends_it();
}

/* The program ends; and goes on after all. */
static void watched_and_settled(void) {
    cc__monitor_add(core());
    cc__monitor_start();
    cc__monitor_settle(core());
    settled = true;
    for (unsigned i = 1; i < PLACES; i++) {
        const struct cc__worker *w = &core()->workers[i];
        int place = cc__load_relaxed(&w->place);
        mc_assert(place == CC__PLACE_FREE ? w->thread.handle == 0 : cc__load_relaxed(&w->started) == 1);
        mc_assert(place != CC__PLACE_ENDED);
    }
    settled = false;
    cc__monitor_unsettle(core());
    ends_it();
}

/* The first worker gets the task that was begun in the other place, and ends it. */
static void ends_the_parent(void) {
    mc_sem_wait(&moved);
    cc__store_release(&core()->workers[0].count.ended, 1);
}
/* Somebody who looks at all workers there are, as who searches does. */
static void looks_around(void) {
    unsigned count = cc__worker_count(core());
    for (unsigned i = 0; i < count; i++) {
        const struct cc__worker *w = &core()->workers[i];
        mc_assert(cc__load_relaxed(&w->timers.next_ns) == CC__NEVER && w->runtime == core());
    }
    mc_sem_post(&looked);
}
static void watched_and_ended_after_a_look(void) {
    cc__monitor_add(core());
    cc__monitor_start();
    mc_sem_wait(&looked);
    ends_it();
}

static void begin(int how_often, unsigned blocked_max) {
    whole = calloc(1, sizeof *whole);
    struct cc__runtime *rt = core();
    rt->workers = calloc(PLACES, sizeof *rt->workers);
    rt->idle_words = calloc(1, sizeof *rt->idle_words);
    rt->base_count = 1;
    rt->growth.places = PLACES;
    rt->growth.blocked_max = blocked_max;
    rt->growth.burning_max = 1;
    rt->growth.idle_ns = IDLE_NS;
    cc__bits_init(&rt->idle, rt->idle_words, 1);
    cc__store_relaxed(&rt->sleeper_until, CC__NEVER);
    cc__store_relaxed(&rt->growth.running, 1);
    cc__worker_init(rt, 0);
    cc__store_relaxed(&rt->workers[0].place, CC__PLACE_RUNNING);
    cc__store_relaxed(&rt->workers[0].blocking, 1); /* it does */
    cc__store_relaxed(&rt->worker_count, 1);
    mc_sem_init(&moved, 0);
    mc_sem_init(&looked, 0);
    looks = how_often;
}
static void one_look(void) {
    begin(1, 1);
}
static void one_look_tireless(void) {
    begin(1, 1);
    tireless = true;
}
static void short_life(void) {
    begin(1, 1);
    short_lived = true;
}
static void short_lives(void) {
    begin(2, 1);
    short_lived = true;
}
static void express(void) {
    begin(1, 0);
}
static void cleared(void) {
    begin(2, 1);
    short_lived = true;
    full_until = 1;
}
static void tireless_express(void) {
    begin(1, 0);
    tireless = true;
}
static void short_express(void) {
    begin(2, 0);
    short_lived = true;
}
static void a_task(void) {
    begin(1, 1);
    full_until = 1;
    cc__store_relaxed(&core()->spawned, 1);
    cc__store_relaxed(&fresh, 1);
}

static void it_has_gone(void) {
    mc_assert(gone);
    mc_outcome("%d", started);
}

#define EXHAUSTED(n) it_has_gone, .outcomes = n, .fences = true

const struct mc_scenario mc_scenarios[] = {
    {"two looks, workers that end at once", short_lives, {watched_and_ended}, EXHAUSTED("0 1 2")},
    {"two looks, only the first finds tasks", cleared, {watched_and_ended}, EXHAUSTED("0 1")},
    {"the program ends", short_life, {watched_and_settled}, EXHAUSTED("0 1")},
    {"somebody looks around", short_life, {watched_and_ended_after_a_look, looks_around}, EXHAUSTED("0 1")},
    {"the express does not tire", tireless_express, {watched_and_ended}, EXHAUSTED("0 1")},
    {"the express", express, {watched_and_ended}, EXHAUSTED("0 1")},
    {"two looks, an express that ends at once", short_express, {watched_and_ended}, EXHAUSTED("0 1 2")},
    {"a worker that does not tire", one_look_tireless, {watched_and_ended}, EXHAUSTED("0 1")},
    {"a worker", one_look, {watched_and_ended}, EXHAUSTED("0 1")},
    {"a task spawns in a new place", a_task, {watched_and_ended, ends_the_parent}, EXHAUSTED("1")},
    {0},
};
