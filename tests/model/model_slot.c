/* SPDX-License-Identifier: MIT */
/* Goal: the slot for the task to run next (src/sched/ready.c, src/sched/worker.c, src/sched/steal.c): each task is run
 * once, by its owner or a thief, and who runs it sees what was written before it was queued [RQ3].
 * Method: a worker that makes tasks ready and takes what is there; one or two workers that search, to the round in
 * which they look into slots. What a task is about is plain memory. Rings and the global queue are empty, but for what
 * the owner itself displaces from the slot; each look at the clock takes longer than a thief's patience.
 * Sources: src/sched/ready.c src/sched/worker.c src/sched/steal.c src/base/assert.c src/base/text.c
 * Mutate: src/sched/ready.c src/sched/worker.c src/sched/steal.c src/sched/slot.h
 * Survives: cc__slot_put: xchg_acq_rel -> release: what it displaces the owner itself put there
 * Survives: cc__slot_take: xchg_acq_rel -> *: the same
 * Survives: take_slot: cas_acq_rel -> acquire: who empties a slot tells nothing by it
 * Survives: take_slot: cas_acq_rel#2 -> *: the heavy fence has seen what was there before it; but not the same task if
 *   it is put there once more meanwhile, as it is not here
 * Break: src/sched/steal.c: cc__barrier_all(); => ;
 * Break: src/sched/steal.c: cc__load_acquire(&s->taking) == 0 && => true &&
 * Break: src/sched/slot.h: cc__barrier_light(); => ;
 * Break: src/sched/slot.h: CC__LIKELY(cc__load_acquire(&s->thief) == 0) => true
 * Survives: visit_over: sub_acq_rel -> *: not run here
 * Survives: cc__worker_main: store_release -> relaxed: not run here
 */
#include "fiber/stack.h"
#include "plat/clock.h"
#include "plat/futex.h"
#include "plat/thread.h"
#include "sched/sched.h"

#include "ccmc.h"
#include "noforks.h"
#include "nokeep.h"
#include "nopoll.h"

enum { TASKS = 3 };

_Thread_local struct cc__worker *cc__current_worker; /* as in src/fiber/current.c */

static struct cc__runtime rt;
static struct cc__worker workers[3];
static struct cc__task tasks[TASKS];
static int payload[TASKS], ran[TASKS], made; /* plain: what is not handed over by the slot is a data race */
static struct cc__task *displaced[TASKS];    /* by the owner, which alone takes them: its ring */
static int displaced_count;

static bool fences; /* there are heavy ones */
#define FENCES_POSSIBLE fences
#include "fences.h"

/* ---- what surrounds it ---- */

int64_t cc__now_ns(void) {
    static _Thread_local int64_t now;
    return now += INT64_C(1000000);
}
void cc__runq_push(struct cc__worker *w, struct cc__runq *q, struct cc__task *t) {
    (void)q;
    mc_assert(w == &workers[0]);
    displaced[displaced_count++] = t;
}
struct cc__task *cc__runq_pop(struct cc__runq *q) {
    (void)q;
    return displaced_count > 0 ? displaced[--displaced_count] : NULL;
}
struct cc__task *cc__runq_steal(struct cc__worker *w, struct cc__runq *q, struct cc__runq *victim) {
    (void)w, (void)q, (void)victim;
    return NULL;
}
bool cc__runq_empty(struct cc__runq *q) {
    (void)q;
    return true;
}
struct cc__task *cc__inject_take_batch(struct cc__inject *q, struct cc__worker *w) {
    (void)q, (void)w;
    return NULL;
}
bool cc__inject_lane_empty(struct cc__inject *q, int lane) {
    (void)q, (void)lane;
    return true;
}
struct cc__task *cc__inject_take(struct cc__inject *q, int priority) {
    (void)q, (void)priority;
    return NULL;
}
bool cc__inject_empty(struct cc__inject *q) {
    (void)q;
    return true;
}
void cc__idle_notify(struct cc__runtime *runtime) {
    (void)runtime;
}

static void run(const struct cc__task *t);
void cc__inject_push(struct cc__inject *q, struct cc__task *t) { /* by who shares a slot: somebody runs it */
    (void)q;
    run(t);
}

/* Never called. */
#define UNUSED(function, ...)                                                                                          \
    void function(__VA_ARGS__) {                                                                                       \
        mc_assert(!#function);                                                                                         \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
int cc__thread_pin(int cpu) {
    (void)cpu;
    mc_assert(!"cc__thread_pin");
    return 0;
}
UNUSED(cc__inject_push_batch, struct cc__inject *q, struct cc__tasks batch, size_t count)
UNUSED(cc__inject_push_new, struct cc__inject *q, struct cc__task *const *many, size_t n)
UNUSED(cc__inbox_push, struct cc__task *_Atomic *box, struct cc__task *t)
UNUSED(cc__idle_notify_many, struct cc__runtime *runtime, size_t count)
UNUSED(cc__idle_notify_worker, struct cc__worker *w)
UNUSED(cc__idle_stop_searching, struct cc__worker *w, bool found)
UNUSED(cc__run_task, struct cc__worker *w, struct cc__task *t)
UNUSED(cc__run_drop_fibers, struct cc__worker *w)
UNUSED(cc__stack_cache_shrink, struct cc__stack_cache *cache, unsigned keep)
UNUSED(cc__task_cache_drain, struct cc__task_cache *cache)
UNUSED(cc__thread_set_name, const char *name)
UNUSED(cc__tasks_append, struct cc__tasks *list, struct cc__task *t)
UNUSED(cc__inject_push_many, struct cc__inject *q, int lane, struct cc__task *const *many, size_t n)
UNUSED(cc__grow_retired, struct cc__worker *w)
UNUSED(cc__thread_ends, void)
UNUSED(cc__thread_yield, void)
bool cc__grow_pick(struct cc__worker *w, struct cc__task **t) {
    return false;
}
struct cc__task *cc__grow_find_begun(struct cc__worker *w) {
    return NULL;
}
uint32_t cc__runq_take_half(struct cc__runq *victim, struct cc__task **got) {
    return 0;
}
int cc__thread_id(void) {
    return 0;
}
#if CCRT_ASSERT >= 1
UNUSED(cc__waitlist_none_held, const char *what)
#endif
struct cc__task *cc__tasks_take(struct cc__tasks *list) {
    return list->first;
}
struct cc__tasks cc__inbox_take(struct cc__task *_Atomic *box) {
    return (struct cc__tasks){0};
}
struct cc__task *cc__timers_expire(struct cc__timers *s, int64_t now_ns) {
    return NULL;
}
bool cc__idle_start_searching(struct cc__worker *w) {
    return false;
}
bool cc__idle_sleep(struct cc__worker *w) {
    return false;
}
int cc__fiber_attach(struct cc__fiber **current) {
    return -1;
}
int cc__futex_wake(_Atomic uint32_t *word, int n) {
    return 0;
}
#pragma GCC diagnostic pop

/* ---- the threads ---- */

static void run(const struct cc__task *t) {
    if (t == NULL) return;
    mc_assert(payload[t - tasks] == 1);
    ran[t - tasks]++;
}

/* A worker that makes tasks ready, one after the other, and then runs what is left. */
static void owner(void) {
    struct cc__worker *w = &workers[0];
    cc__worker_set_current(w);
    for (int i = 0; i < made; i++) {
        payload[i] = 1;
        cc__ready(&tasks[i]);
    }
    for (struct cc__task *t; (t = cc__worker_pick_local(w)) != NULL;) run(t);
}
/* One that takes each task before it makes the next. */
static void owner_in_turn(void) {
    struct cc__worker *w = &workers[0];
    cc__worker_set_current(w);
    for (int i = 0; i < made; i++) {
        payload[i] = 1;
        cc__ready(&tasks[i]);
        run(cc__worker_pick_local(w));
    }
}
static void first_thief(void) {
    cc__worker_set_current(&workers[1]);
    run(cc__steal(&workers[1]));
}
static void sharer(void) {
    cc__steal_share(&workers[0]);
}
static void second_thief(void) {
    cc__worker_set_current(&workers[2]);
    run(cc__steal(&workers[2]));
}

static void begin(unsigned n, int tasks_made) {
    cc__store_relaxed(&rt.worker_count, n);
    rt.workers = workers;
    made = tasks_made;
    for (unsigned i = 0; i < n; i++) {
        workers[i].runtime = &rt;
        workers[i].watcher = &workers[i];
        workers[i].id = i;
        cc__store_relaxed(&workers[i].slot.thief, !fences);
        cc__store_relaxed(&workers[i].timers.next_ns, CC__NEVER);
    }
    for (int i = 0; i < TASKS; i++) {
        tasks[i].runtime = &rt;
        tasks[i].priority = CC_PRIORITY_NORMAL;
    }
}
static void one_thief(void) {
    fences = true;
    begin(2, 2);
}
static void two_thieves(void) {
    fences = true;
    begin(3, 2);
}
static void three_tasks(void) {
    fences = true;
    begin(2, 3);
}
static void without_fences(void) {
    begin(2, 2);
}

static void each_ran_once(void) {
    for (int i = 0; i < made; i++) mc_assert(ran[i] == 1);
}

const struct mc_scenario mc_scenarios[] = {
    {"two tasks, a thief", one_thief, {owner, first_thief}, each_ran_once},
    {"two tasks in turn, a thief", one_thief, {owner_in_turn, first_thief}, each_ran_once},
    {"two tasks, two thieves", two_thieves, {owner, first_thief, second_thief}, each_ran_once},
    {"two tasks in turn, two thieves", two_thieves, {owner_in_turn, first_thief, second_thief}, each_ran_once},
    {"two tasks, one shares the slot", one_thief, {owner, sharer}, each_ran_once},
    {"two tasks in turn, a thief, one shares", one_thief, {owner_in_turn, first_thief, sharer}, each_ran_once},
    {"three tasks, a thief", three_tasks, {owner, first_thief}, each_ran_once},
    {"two tasks, a thief, no heavy fence", without_fences, {owner, first_thief}, each_ran_once},
    {"two tasks in turn, a thief, one shares, no fence",
     without_fences,
     {owner_in_turn, first_thief, sharer},
     each_ran_once},
    {0},
};
