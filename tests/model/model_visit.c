/* SPDX-License-Identifier: MIT */
/* Goal: who wakes or spawns a task from outside (src/sched/ready.c) is through with its runtime before that is freed
 * (src/runtime/shutdown.c) [SD3]: also if the task has run and ended meanwhile, and was the last.
 * Method: a thread that queues the task, a worker that runs and ends it, a thread that ends the runtime. That it has
 * gone is plain memory, written when it is freed and read by who looks for a worker to wake: too early is a data race.
 * Sources: src/sched/ready.c src/runtime/shutdown.c src/sched/inbox.c src/plat/thread.c src/plat/file.c
 * Sources: src/base/assert.c src/base/text.c
 * Wrap: cc__thread_join
 * Weaken: src/sched/ready.c: visit_over: sub_acq_rel -> relaxed
 * Weaken: src/sched/ready.c: visit_over: sub_acq_rel -> acquire
 * Weaken: src/runtime/shutdown.c: cc_runtime_shutdown: load_acquire -> relaxed
 * Break: src/sched/ready.c: cc__add_relaxed(&rt->visitors, 1); => (void)rt;
 * Break: src/runtime/shutdown.c: while (cc__load_acquire(&core->visitors) != 0) => while (false)
 */
#include "plat/clock.h"
#include "plat/futex.h"
#include "runtime/report.h"
#include "runtime/runtime.h"

#include "ccmc.h"

static struct cc_runtime whole;
static struct cc__worker worker;
static struct cc__task task;
static struct mc_sem queue;
static bool gone;

_Thread_local struct cc__fiber *cc__current_fiber; /* as in src/fiber/current.c */
_Thread_local struct cc__worker *cc__current_worker;

/* ---- what surrounds it ---- */

void __wrap_cc__thread_join(cc__thread *t);
void __wrap_cc__thread_join(cc__thread *t) {
    (void)t;
}
int cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns) {
    (void)word, (void)expect, (void)deadline_ns;
    mc_yield();
    return 0;
}
int64_t cc__now_ns(void) {
    return 1;
}
static void push(struct cc__task *t) {
    mc_assert(t == &task && !gone);
    mc_sem_post(&queue);
}
void cc__inject_push(struct cc__inject *q, struct cc__task *t) {
    (void)q;
    push(t);
}
void cc__inject_push_many(struct cc__inject *q, int lane, struct cc__task *const *tasks, size_t n) {
    (void)q, (void)lane, (void)tasks, (void)n;
}
void cc__inject_push_batch(struct cc__inject *q, struct cc__tasks batch, size_t count) {
    (void)q, (void)count;
    push(batch.first);
}
/* Whom to wake is looked up in the runtime. */
void cc__idle_notify(struct cc__runtime *rt) {
    mc_assert(rt == &whole.core && !gone);
}
void cc__idle_notify_many(struct cc__runtime *rt, size_t count) {
    (void)count;
    cc__idle_notify(rt);
}
void cc__idle_notify_worker(struct cc__worker *w) {
    push(&task); /* as its inbox is seen by it now */
    cc__idle_notify(w->runtime);
}
struct cc__task *cc__timers_cancel_futures(struct cc__timers *s) {
    (void)s;
    return NULL;
}
void cc__dump_left(const struct cc__runtime *rt, uint64_t live) {
    (void)rt, (void)live;
}
void cc__idle_wake_all(struct cc__runtime *rt) {
    (void)rt;
}
void cc__runq_push(struct cc__worker *w, struct cc__runq *q, struct cc__task *t) {
    (void)w, (void)q, (void)t;
}
bool cc__runq_empty(struct cc__runq *q) {
    (void)q;
    return true;
}
void cc__grow_wake_express(struct cc__runtime *runtime) {
    (void)runtime;
}
void cc__monitor_remove(struct cc__runtime *rt) {
    (void)rt;
}
void cc__account_ending(cc_runtime *runtime) {
    (void)runtime;
}
void cc__runtime_free(cc_runtime *rt) {
    mc_assert(rt == &whole);
    gone = true;
}
void cc__task_each(void (*fn)(struct cc__task *t, void *arg), void *arg) {
    (void)fn, (void)arg;
}
void cc__unpark_to_cancel(struct cc__task *t) {
    (void)t;
}
void cc__waitlist_lock(struct cc__waitlist *l) {
    (void)l;
}
void cc__waitlist_unlock(struct cc__waitlist *l) {
    (void)l;
}
#if CCRT_ASSERT >= 1
void cc__waitlist_none_held(const char *what) {
    (void)what;
}
#endif

/* ---- roles ---- */

static void wakes(void) {
    cc__ready(&task);
}
static void spawns(void) {
    cc__ready_new(&task);
}
static void spawns_batch(void) {
    cc__ready_batch((struct cc__tasks){&task, &task}, 1);
}
static void runs_it(void) {
    mc_sem_wait(&queue);
    cc__store_release(&worker.count.ended, 1); /* [SD1] */
}
static void ends_the_runtime(void) {
    mc_assert(cc_runtime_shutdown(&whole, -1, -1) == 0);
}

static void setup(void) {
    mc_sem_init(&queue, 0);
    worker.runtime = &whole.core;
    whole.core.workers = &worker;
    whole.core.base_count = 1;
    cc__store_relaxed(&whole.core.worker_count, 1);
    cc__store_relaxed(&whole.core.spawned, 1);
    task.runtime = &whole.core;
}
static void setup_pinned(void) {
    setup();
    task.pinned = 1;
}
static void it_has_gone(void) {
    mc_assert(gone);
}

const struct mc_scenario mc_scenarios[] = {
    {"a wake", setup, {wakes, runs_it, ends_the_runtime}, it_has_gone},
    {"a wake of a pinned task", setup_pinned, {wakes, runs_it, ends_the_runtime}, it_has_gone},
    {"a spawn", setup, {spawns, runs_it, ends_the_runtime}, it_has_gone},
    {"a batch", setup, {spawns_batch, runs_it, ends_the_runtime}, it_has_gone},
    {0},
};
