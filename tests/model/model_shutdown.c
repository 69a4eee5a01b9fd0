/* SPDX-License-Identifier: MIT */
/* Goal: the end of a runtime (src/runtime/shutdown.c, src/sched/spawn.c): a spawn that a runtime accepts runs before it
 * ends, one that comes too late is refused [SD2], what an ended task spawned is waited for [SD1], and who finds itself
 * cancelled sees what was written before [CN2].
 * Method: a thread that ends the runtime, one that spawns from outside, and workers that run one task each, one of
 * which goes on until it is cancelled: until then the runtime is not closed, and then it is. A task that runs, and so
 * its spawner was told that it does, looks whether the runtime has gone: plain memory, so that too early an end is a
 * data race, if not an assertion. The pause between two looks of the thread that ends it is one turn of a loop.
 * Sources: src/runtime/shutdown.c src/sched/spawn.c src/sched/finish.c src/sched/park.c src/sched/cancel.c
 * Sources: src/sched/inbox.c src/task/pool.c src/task/state.c src/task/wait.c src/plat/thread.c src/plat/file.c
 * Sources: src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__futex_wait cc__thread_join
 * Mutate: src/runtime/shutdown.c src/sched/spawn.c
 * Weaken: src/sched/finish.c: cc__finish: store_release -> relaxed
 * Break: src/sched/spawn.c: if (CC__LIKELY(cc__load_relaxed(&rt->closed) == 0)) return 0; => if (rt != NULL) return 0;
 * Break: src/sched/spawn.c: cc__sub_relaxed(&rt->spawned, n); => ;
 * Break: src/runtime/shutdown.c: return spawned + cc__load_relaxed(&rt->spawned) - ended; => return ended < spawned;
 * Break: src/runtime/shutdown.c: cc__store_release(&rt->closed, 1); => ;
 * Survives: close_and_cancel: store_release -> relaxed: nothing is read because of `closed`; the fence orders it
 * Survives: cc__runtime_stop_workers: store_release -> relaxed: workers read nothing because of `stopping`
 * Survives: cc_runtime_shutdown: load_acquire -> relaxed: nobody visits here; model_visit.c is about those who do
 */
#include <ccrt/scope.h>

#include "runtime/report.h"
#include "runtime/runtime.h"

static struct cc_runtime whole;
#define rt whole.core

#include "around.h"

enum { PARENT, OTHER, ENDS };

static struct cc__worker workers[2];
static struct cc__task tasks[2];
static struct mc_sem queue; /* of the second worker */
static struct cc__task *queued;
static bool gone, accepted;
static int why; /* what who ends it wrote before */

/* ---- what surrounds it ---- */

int __wrap_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns);
int __wrap_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns) {
    (void)word, (void)expect, (void)deadline_ns;
    mc_yield();
    return 0;
}
void __wrap_cc__thread_join(cc__thread *t);
void __wrap_cc__thread_join(cc__thread *t) {
    (void)t;
}
void cc__idle_wake_all(struct cc__runtime *runtime) {
    mc_assert(cc__load_relaxed(&runtime->stopping) != 0);
}
struct cc__task *cc__timers_cancel_futures(struct cc__timers *s) {
    (void)s;
    return NULL;
}
void cc__ready_list(struct cc__task *first) {
    mc_assert(first == NULL);
}
void cc__dump_left(const struct cc__runtime *runtime, uint64_t live) {
    (void)runtime, (void)live;
}
void cc__account_ending(cc_runtime *runtime) {
    (void)runtime;
}
void cc__runtime_free(cc_runtime *runtime) {
    mc_assert(runtime == &whole);
    gone = true;
}
bool cc__inject_lane_empty(struct cc__inject *q, int lane) {
    (void)q, (void)lane;
    return true;
}
struct cc__task *cc__inject_take(struct cc__inject *q, int lane) {
    (void)q, (void)lane;
    return NULL;
}
void cc__ready_new(struct cc__task *t) {
    queued = t;
}
void cc__ready_batch(struct cc__tasks batch, size_t count) {
    (void)batch, (void)count;
}
int cc__runtime_default(struct cc__runtime **out) {
    (void)out;
    return -ENOMEM;
}
unsigned cc__stack_class(size_t bytes) {
    (void)bytes;
    return 0;
}
void cc__nursery_children_ended(struct cc_nursery *n, size_t count) {
    (void)n, (void)count;
}
void cc__grow_wake_express(struct cc__runtime *runtime) {
    (void)runtime;
}
void cc__monitor_remove(struct cc__runtime *runtime) {
    (void)runtime;
}
void cc__nursery_list(struct cc__task *self) {
    (void)self;
}
void cc__nursery_cancel(struct cc_nursery *n, int code) {
    (void)n, (void)code;
}

/* ---- roles ---- */

/* Spawn the second task; then the second worker is told, whatever came of it. */
static void spawn(void) {
    accepted = cc__spawn_launch(&tasks[1]) == 0;
    mc_sem_post(&queue);
}
static void end(int i) {
    mc_assert(!gone);
    cc__finish(&workers[i], &tasks[i]);
}
static void spawns_from_outside(void) {
    spawn();
}
/* The first task, until it is cancelled. */
static void runs_until_cancelled(void) {
    (void)become();
    cc__worker_set_current(&workers[0]);
    while (cc_cancelled() == 0) mc_yield();
    mc_assert(why == 7);
    end(0);
}
static void spawns_and_ends(void) {
    cc__worker_set_current(&workers[0]);
    spawn();
    end(0);
}
static void spawns_when_cancelled(void) {
    (void)become();
    cc__worker_set_current(&workers[0]);
    while (cc_cancelled() == 0) mc_yield();
    spawn();
    end(0);
}
static void runs_the_second(void) {
    mc_sem_wait(&queue);
    cc__worker_set_current(&workers[1]);
    mc_assert(accepted == (queued != NULL));
    if (queued != NULL) end(1);
}
static void shuts_down(void) {
    why = 7;
    mc_assert(cc_runtime_shutdown(&whole, 0, -1) == 0);
}
static void destroys(void) {
    cc_runtime_destroy(&whole);
}

/* ---- before and after ---- */

static void setup(void) {
    all_begin(true);
    mc_sem_init(&queue, 0);
    cc__store_relaxed(&rt.worker_count, 2);
    rt.base_count = 2;
    rt.workers = workers;
    for (int i = 0; i < 2; i++) {
        workers[i].runtime = &rt;
        workers[i].id = (uint32_t)i;
        cc__state_begin(&tasks[i]);
        tasks[i].fn = nothing;
        tasks[i].runtime = &rt;
        tasks[i].no_handle = 1;
        cc__task_release(&tasks[i]);
    }
    cc__store_relaxed(&rt.spawned, 1); /* the first task */
}

static uint64_t ended(int i) {
    return cc__load_relaxed(&workers[i].count.ended);
}
static void none_left(void) {
    mc_assert(gone && ended(0) == 1 && ended(1) == accepted);
    mc_outcome("%s", accepted ? "accepted" : "refused");
}

const struct mc_scenario mc_scenarios[] = {
    {"a spawn from outside",
     setup,
     {runs_until_cancelled, spawns_from_outside, runs_the_second, shuts_down},
     none_left,
     .outcomes = "accepted refused"},
    {"a task spawns and ends", setup, {spawns_and_ends, runs_the_second, destroys}, none_left, .outcomes = "accepted"},
    {"a task spawns and ends, and is cancelled",
     setup,
     {spawns_and_ends, runs_the_second, shuts_down},
     none_left,
     .outcomes = "accepted refused"},
    {"a task spawns when it is cancelled",
     setup,
     {spawns_when_cancelled, runs_the_second, shuts_down},
     none_left,
     .outcomes = "refused"},
    {0},
};
