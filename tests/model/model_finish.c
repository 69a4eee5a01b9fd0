/* SPDX-License-Identifier: MIT */
/* Goal: the end of a task, its joiners, and its record's next life (src/sched/finish.c, src/task/pool.c): exactly one
 * join or detach succeeds, it sees the result, the record is freed once and not touched after that by who ended or
 * left, and a stale handle is told by the mark and the generation [FN1], whatever the record is by then.
 * Method: a pool of one record, so that what is freed is what is taken next. One thread is a worker that ends the task,
 * and then spawns and ends another; others join, detach, cancel, or hold a handle that is stale: plain threads on real
 * futexes, or tasks that wait in a run queue. The result is plain memory, and so is most of the record, which is reset
 * for its next task: a late touch is a data race.
 *
 * Lessons 5 and 9.
 * Sources: src/sched/finish.c src/sched/park.c src/sched/cancel.c src/task/pool.c src/task/state.c src/task/wait.c
 * Sources: src/sched/inbox.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Sources: src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Mutate: src/sched/finish.c src/task/pool.c
 * Survives: cc__finish: store_release -> relaxed: it is for shutdown, which counts ends (model_shutdown.c)
 * Break: src/sched/finish.c: if (released) cc__record_free(t); => cc__record_free(t);
 * Break: src/sched/finish.c: released || j->node.next != NULL || cc__wait_contested(j) => false
 * Break: src/sched/finish.c: j->node.next != NULL || cc__wait_contested(j) => j->node.next != NULL
 * Break: src/sched/finish.c: cc__load_relaxed(&t->joiners.mark) | ENDING => cc__load_relaxed(&t->joiners.mark)
 * Break: src/sched/finish.c: if (mark != 0) cc__record_free(t); => if (mark == 0) cc__record_free(t);
 * Break: src/sched/finish.c: if ((*mark & CC__RELEASED) != 0 || cc => if (cc
 * Break: src/sched/finish.c: mark_set(t, CC__RELEASED); => ;
 */
#include "around.h"

static struct cc__worker worker;
static struct cc__task record; /* the pool's only one */
static cc_task handle;         /* of its first task */
static int results[3];         /* of the first, and the next */

static int took[MC_THREADS]; /* who released the first handle */

void cc__nursery_children_ended(struct cc_nursery *n, size_t count) {
    (void)n, (void)count;
}
void cc__nursery_list(struct cc__task *self) {
    (void)self;
}
void cc__nursery_cancel(struct cc_nursery *n, int code) {
    (void)n, (void)code;
}

/* ---- who ends ---- */

static void end(struct cc__worker *w, struct cc__task *t, int i) {
    results[i] = 42 + i;
    t->value = &results[i];
    cc__finish(w, t);
    if (w->next != NULL) cc__ready(w->next);
    w->next = NULL;
}
static cc_task handle_of(struct cc__task *t) {
    return (cc_task){.priv_record = t, .priv_generation = cc__task_generation(cc__load_relaxed(&t->control))};
}
static void ends(void) {
    cc__worker_set_current(&worker);
    end(&worker, &record, 0);
}
/* The next task on the same record, if it is free by then: its handle is good whatever stale ones do. */
static void spawn_another(struct cc__worker *w) {
    struct cc__task *t = cc__task_alloc(&w->records);
    if (t == NULL) t = cc__task_alloc(NULL);
    if (t == NULL) return;
    cc__task_hold(t);
    t->fn = nothing;
    t->runtime = &rt;
    cc_task second = handle_of(t);
    end(w, t, 1);
    mc_assert(cc_task_detach(second) == 0);
}
static void ends_and_spawns(void) {
    ends();
    spawn_another(&worker);
}
/* The next task ends without a handle, as a nursery's child. */
static void ends_and_has_a_child(void) {
    ends();
    struct cc__task *t = cc__task_alloc(&worker.records);
    if (t == NULL) return;
    t->fn = nothing;
    t->no_handle = 1;
    end(&worker, t, 1);
}

/* ---- who holds the handle ---- */

static void take(int rc, void *result) {
    if (rc == 0) mc_assert(*(int *)result == 42);
    took[mc_self()] = rc == 0;
}
static void joins(void) {
    void *result;
    (void)become();
    int rc = cc_task_join(handle, &result);
    mc_assert(rc == 0 || rc == -ESRCH);
    take(rc, result);
}
static void joins_and_spawns(void) {
    joins();
    if (took[mc_self()]) spawn_another(&mine[mc_self()].worker);
}
static void joins_cancellably(void) {
    void *result;
    (void)become();
    int rc = cc_task_join_cancellable(handle, &result);
    mc_assert(rc == 0 || rc == -ESRCH || (rc == -ECANCELED && cc__load_relaxed(&rt.cancelled) != 0));
    take(rc, result);
}
static void joins_or_gives_up(void) {
    joins_cancellably();
    if (!took[mc_self()]) took[mc_self()] = cc_task_detach(handle) == 0;
}
static void detaches(void) {
    took[mc_self()] = cc_task_detach(handle) == 0;
}
static void joins_and_is_stale(void) {
    joins();
    mc_assert(!cc_task_valid(handle));
    mc_assert(cc_task_detach(handle) == -ESRCH);
}
static void detaches_and_is_stale(void) {
    detaches();
    mc_assert(!cc_task_valid(handle));
    mc_assert(cc_task_detach(handle) == -ESRCH);
}
/* All tasks of the first one's runtime, as runtime/shutdown.c cancels them. */
static void cancels(void) {
    cc__store_release(&rt.cancelled, 1);
    cc__unpark_to_cancel(&mine[1].task);
}
static void unparks(void) {
    cc__unpark(&mine[1].task, 0);
}

/* ---- before and after ---- */

static void begin(bool as_tasks) {
    worker.runtime = &rt;
    cc__state_begin(&record);
    cc__task_release(&record);
    cc__task_free(NULL, &record);
    mc_assert(cc__task_alloc(NULL) == &record);
    cc__task_hold(&record);
    record.fn = nothing;
    record.runtime = &rt;
    handle = handle_of(&record);
    all_begin(as_tasks);
}
static void setup(void) {
    begin(false);
}
static void setup_tasks(void) {
    begin(true);
}

static int takers(void) {
    int n = 0;
    for (int i = 0; i < MC_THREADS; i++) n += took[i];
    return n;
}
/* One took the handle, and the record is free, once. */
static void taken_once(void) {
    mc_assert(takers() == 1 && !cc_task_valid(handle));
    cc__task_cache_drain(&worker.records);
    for (int i = 0; i < MC_THREADS; i++) cc__task_cache_drain(&mine[i].worker.records);
    mc_assert(cc__task_alloc(NULL) == &record);
    mc_assert(cc__task_alloc(NULL) == NULL);
}
/* If it was cancelled before, it is nobody's, and can still be joined. */
static void taken_once_or_given_up(void) {
    if (takers() == 0) {
        mc_assert(cc_task_valid(handle) && record.joiners.first == NULL);
        took[0] = cc_task_detach(handle) == 0;
    }
    taken_once();
}

/* It still ran when all who waited had gone. */
static void ends_after_all(void) {
    mc_assert(takers() == 0 && record.joiners.first == NULL);
    end(&worker, &record, 0);
    took[0] = cc_task_detach(handle) == 0;
    taken_once();
}

const struct mc_scenario mc_scenarios[] = {
    {"no end, cancellable join, cancel", setup_tasks, {cancels, joins_cancellably}, ends_after_all},
    {"no end, cancellable join by a thread, cancel", setup, {cancels, joins_cancellably}, ends_after_all},
    {"end, join", setup, {ends, joins}, taken_once},
    {"end, join by a task", setup_tasks, {ends, joins}, taken_once},
    {"end, detach", setup, {ends, detaches}, taken_once},
    {"end, join, a stray unpark", setup_tasks, {ends, joins, unparks}, taken_once},
    {"end, two tasks join", setup_tasks, {ends, joins, joins}, taken_once},
    {"end, join, detach", setup, {ends, joins, detaches}, taken_once},
    {"end, a task joins, detach", setup_tasks, {ends, joins, detaches}, taken_once},
    {"end, two detach", setup, {ends, detaches, detaches}, taken_once},

    {"end, spawn, join", setup, {ends_and_spawns, joins_and_is_stale}, taken_once},
    {"end, spawn, detach", setup, {ends_and_spawns, detaches_and_is_stale}, taken_once},
    {"end, child, detach", setup, {ends_and_has_a_child, detaches_and_is_stale}, taken_once},
    {"end, spawn, two tasks join", setup_tasks, {ends_and_spawns, joins_and_spawns, joins}, taken_once},
    {"end, spawn, join by a task, detach", setup_tasks, {ends_and_spawns, joins_and_spawns, detaches}, taken_once},
    {"end, spawn, join, detach", setup, {ends_and_spawns, joins, detaches}, taken_once},
    {"end, spawn, two detach", setup, {ends_and_spawns, detaches, detaches}, taken_once},

    {"end, cancellable join", setup_tasks, {ends, joins_cancellably}, taken_once},
    {"end, cancellable join, cancel", setup_tasks, {ends, joins_cancellably, cancels}, taken_once_or_given_up},
    {"end, cancellable join or detach, cancel",
     setup_tasks,
     {ends, joins_or_gives_up, cancels},
     taken_once,
     .full = true},
    {"end, cancellable join, cancel, spawn", setup_tasks, {ends_and_spawns, joins_or_gives_up, cancels}, taken_once},
    {"end, cancellable join, join", setup_tasks, {ends, joins_cancellably, joins}, taken_once},
    {"end, two join", setup, {ends, joins, joins}, taken_once},
    {0},
};
