/* SPDX-License-Identifier: MIT */
/* Goal: the monitor sees to what waits at a stuck worker (src/sched/monitor.c, src/sched/steal.c, src/driver/timer.c)
 * while that worker comes back and does so itself: each timer fires once or its wait is cancelled, each task of the
 * slot, the rings and the post is run once, nobody touches a frame that has gone, the worker finds the timers that are
 * left; and who falls asleep meanwhile sees what was moved, or is woken [ID1]. The monitor reads nothing of a worker
 * that has not started [RT1], and does not sleep on when a worker wakes [MN3].
 * Method: the real monitor, which ends after a look or two. Its worker says that it blocks, and so is stuck at once.
 * Waiters have frames that are freed when the wait is over, and a semaphore as their run queue: posted twice, it fails.
 * Tasks are plain memory, written by who queues them.
 * Sources: src/sched/monitor.c src/sched/worker.c src/sched/steal.c src/sched/runq.c src/sched/inbox.c
 * Sources: src/sched/idle.c src/driver/timer.c src/task/wait.c src/task/lock.c src/task/state.c src/base/bits.c
 * Sources: src/plat/futex.c src/base/assert.c src/base/text.c
 * Define: CC__RUNQ_SLOTS=4 CC__TIMER_SLOTS=64
 * Wrap: cc__futex_wait
 * Mutate slowly: src/sched/monitor.c
 * Survives: survey_worker: load_acquire -> relaxed: a thread that has ended is joined before its place is touched
 * Survives: cc__monitor_part: store_release -> relaxed: the same; model_growth.c runs it
 * Weaken: src/sched/monitor.c: watch: load_acquire -> relaxed
 * Weaken: src/sched/monitor.c: survey: fence_full -> acq_rel
 * Weaken: src/sched/monitor.c: sleep_deeply: fence_full -> acq_rel
 * Weaken: src/sched/monitor.c: cc__monitor_rouse: fence_full -> acq_rel
 * Break: src/sched/monitor.c: if (stuck || away) cc__worker_expire(&w->timers, now); => ;
 * Break: src/sched/monitor.c: if (s->idle > 0) { => if (false) {
 * Break: src/sched/monitor.c: bool idle = all_idle(), deadlock = false; => bool idle = true, deadlock = false;
 * Break: src/sched/monitor.c: &asleep, 0)) cc__monitor_ring(); => &asleep, 0)) return;
 * Break: src/driver/timer.c: cc__store_relaxed(&s->next_ns, next); => cc__store_relaxed(&s->next_ns, CC__NEVER);
 * Break: src/driver/timer.c: if (!cc__wait_decide(task, t->epoch, CC__TIMED_OUT)) continue; => ;
 * Break: src/driver/timer.c: if (t->link != NULL) { => if (false) {
 * Break: src/sched/steal.c: bool any = t != NULL && take_slot(&victim->slot, t); => bool any = t != NULL;
 * Break: src/sched/steal.c: (t = cc__tasks_take(&post)) != NULL; any = true) => false; any = true)
 * Weaken: src/sched/inbox.c: cc__inbox_take: xchg_acquire -> relaxed
 * Weaken: src/sched/inbox.c: cc__inbox_push: cas_weak_release -> relaxed
 */
#include "base/env.h"
#include "fiber/stack.h"
#include "plat/clock.h"
#include "plat/futex.h"
#include "plat/thread.h"
#include "sched/sched.h"
#include "trace/log.h"

#include "ccmc.h"
#include "fences.h"
#include "noforks.h"
#include "nopoll.h"

#include <errno.h>
#include <stdlib.h>

enum { STUCK, OTHER, WORKERS, TASKS = 4, NOW_NS = 1000, DUE_NS = 100, LONG_NS = 60000000 };
#define LATE_NS INT64_C(5000000000)

_Thread_local struct cc__worker *cc__current_worker; /* as in src/fiber/current.c */
_Thread_local struct cc__fiber *cc__current_fiber;
struct cc__env cc__env;

static struct cc__runtime rt;
static struct cc__worker workers[WORKERS];
static _Atomic uint64_t idle_words[1];
static struct cc__task tasks[TASKS];
static int payload[TASKS], ran[TASKS]; /* plain: what is not handed over is a data race */
static _Atomic int queue;              /* tasks in the global queue.  W: who pushes.  R: all */
static bool counted;                   /* what is queued there is counted, and not run */
static int looks;                      /* of the monitor, before it ends */
static int64_t between_ns;             /* two readings of its clock */
static _Thread_local bool is_monitor;

/* ---- tasks that wait for a time ---- */

struct frame {
    struct cc__wait wait;
    struct cc__timer timer;
};
static struct waiter {
    struct cc__task task;
    struct frame *frame;
    struct mc_sem run_queue;
    bool queued;
    enum cc__outcome was;
} waiters[2];
static int cancelled; /* waits, by who cancels */

static void *nothing(void *arg) {
    return arg;
}
static void wait_begins(struct waiter *w, int64_t when_ns) {
    struct frame *f = w->frame = malloc(sizeof *f);
    w->task.fn = nothing;
    cc__state_begin(&w->task);
    mc_sem_init(&w->run_queue, 0);
    cc__wait_begin(&f->wait, &w->task, CC__BY_CANCEL, w, "model");
    f->timer = (struct cc__timer){.when_ns = when_ns, .task = &w->task, .epoch = f->wait.epoch};
    cc__timers_add(&workers[STUCK].timers, &f->timer);
}
static void make_ready(struct cc__task *t) {
    struct waiter *w = CC__CONTAINER_OF(t, struct waiter, task);
    mc_assert(!w->queued);
    w->queued = true;
    mc_sem_post(&w->run_queue);
}
static void waits_on(void) {
    struct waiter *w = &waiters[0];
    struct frame *f = w->frame;
    while ((w->was = cc__wait_outcome(&f->wait)) == CC__PENDING) {
        if (cc__state_take_note(&w->task)) continue;
        if (!cc__state_park(&w->task)) continue;
        mc_sem_wait(&w->run_queue);
        w->queued = false;
    }
    cc__timers_remove(&workers[STUCK].timers, &f->timer);
    free(f);
}
static void cancels(void) {
    struct cc__task *t = &waiters[0].task;
    cancelled = cc__wait_decide(t, 1, CC__CANCELLED); /* its first wait */
    if (cc__state_unpark(t, 0) == CC__UNPARK_QUEUE) make_ready(t);
}

/* ---- what surrounds it ---- */

int64_t cc__now_ns(void) {
    static _Thread_local int64_t now = NOW_NS;
    return now += between_ns;
}
int cc__thread_start(cc__thread *out, void *(*fn)(void *), void *arg) {
    return -pthread_create(&out->handle, NULL, fn, arg);
}
void cc__thread_set_name(const char *name) {
    if (name[5] == 'm') is_monitor = true; /* ccrt-monitor */
}
int __real_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns);
int __wrap_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns);
int __wrap_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns) {
    if (!is_monitor || deadline_ns == CC__NO_DEADLINE) return __real_cc__futex_wait(word, expect, deadline_ns);
    if (--looks == 0) pthread_exit(NULL);
    return -ETIMEDOUT;
}
void cc__lock_take(cc__lock *l) {
    (void)pthread_mutex_lock(l);
}
void cc__lock_drop(cc__lock *l) {
    (void)pthread_mutex_unlock(l);
}
void cc__ready_list(struct cc__task *first) {
    while (first != NULL) {
        struct cc__task *t = first;
        first = t->next;
        make_ready(t);
    }
}
/* A task is run: by the worker, or by somebody who takes it from the global queue. */
static void run(const struct cc__task *t) {
    if (t == NULL) return;
    mc_assert(payload[t - tasks] == 1);
    ran[t - tasks]++;
}
void cc__inject_push(struct cc__inject *q, struct cc__task *t) {
    (void)q;
    if (counted)
        cc__add_relaxed(&queue, 1);
    else
        run(t);
}
void cc__inject_push_many(struct cc__inject *q, int lane, struct cc__task *const *many, size_t n) {
    (void)lane;
    for (size_t i = 0; i < n; i++) cc__inject_push(q, many[i]);
}
void cc__inject_push_new(struct cc__inject *q, struct cc__task *const *many, size_t n) {
    cc__inject_push_many(q, CC_PRIORITY_NORMAL, many, n);
}
bool cc__inject_empty(struct cc__inject *q) {
    (void)q;
    return cc__load_relaxed(&queue) == 0;
}
void cc__ready_taken(struct cc__worker *w, struct cc__task *t) {
    (void)w;
    run(t);
}
void cc__ready_all_taken(struct cc__worker *w, struct cc__tasks taken) {
    for (struct cc__task *t; (t = cc__tasks_take(&taken)) != NULL;) cc__ready_taken(w, t);
}
int64_t cc__thread_cpu_ns(int id) {
    mc_assert(id == 7); /* it has started */
    return 0;
}

/* Of no matter. */
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
EMPTY(bool, cc__deadlock_check, false, struct cc__runtime *first)
EMPTY(bool, cc__grow_pick, false, struct cc__worker *w, struct cc__task **t)
EMPTY(struct cc__task *, cc__grow_find_begun, NULL, struct cc__worker *w)
EMPTY(unsigned, cc__grow, 0, struct cc__runtime *runtime, unsigned count, const char *why)
EMPTY(enum cc__thread_state, cc__thread_state, CC__THREAD_RUNNING, int id)
EMPTY(int, cc__thread_id, 7, void)
EMPTY(int, cc__fiber_attach, -ENOMEM, struct cc__fiber **current)
EMPTY(int, cc__thread_pin, 0, int cpu)
NOTHING(cc__grow_express, struct cc__runtime *runtime)
NOTHING(cc__grow_clear, struct cc__worker *w)
NOTHING(cc__grow_retired, struct cc__worker *w)
NOTHING(cc__deadlock_end, void)
NOTHING(cc__stall_report, struct cc__worker *w, const char *kind, bool asleep)
NOTHING(cc__run_task, struct cc__worker *w, struct cc__task *t)
NOTHING(cc__run_drop_fibers, struct cc__worker *w)
NOTHING(cc__stack_cache_shrink, struct cc__stack_cache *cache, unsigned keep)
NOTHING(cc__task_cache_drain, struct cc__task_cache *cache)
NOTHING(cc__thread_ends, void)
NOTHING(cc__thread_yield, void)
#pragma GCC diagnostic pop

/* ---- the threads ---- */

static void watch_it(void) {
    cc__monitor_add(&rt);
    cc__monitor_start();
}

/* It comes back, and fires what is due; what is late is still there. */
static void fires_its_timers(void) {
    struct cc__timers *s = &workers[STUCK].timers;
    int64_t now = 0;
    watch_it();
    cc__worker_expire(s, &now);
    mc_assert(cc__load_relaxed(&s->next_ns) <= LATE_NS);
}
/* The same, and its next task begins to wait for a late one. */
static void fires_and_adds(void) {
    struct cc__timers *s = &workers[STUCK].timers;
    int64_t now = 0;
    watch_it();
    cc__worker_expire(s, &now);
    wait_begins(&waiters[1], LATE_NS);
    mc_assert(cc__load_relaxed(&s->next_ns) <= LATE_NS);
}
/* Nobody else does: the monitor has to. */
static void is_long_about_it(void) {
    watch_it();
}
static struct cc__task *make(int i) {
    payload[i] = 1;
    return &tasks[i];
}
static void put_tasks(struct cc__worker *w, int in_ring) {
    for (int i = 1; i <= in_ring; i++) cc__runq_push(w, &w->fresh, make(i));
    cc__store_release(&w->slot.task, make(0));
}
/* Its task makes others ready before it ends; then it runs what is there. */
static void runs_its_tasks(void) {
    struct cc__worker *w = &workers[STUCK];
    cc__worker_set_current(w);
    watch_it();
    put_tasks(w, 2);
    for (struct cc__task *t; (t = cc__worker_pick_local(w)) != NULL;) run(t);
}
static void runs_its_post(void) {
    struct cc__worker *w = &workers[STUCK];
    cc__worker_set_current(w);
    watch_it();
    run(cc__worker_pick(w));
}
static void posts(void) {
    cc__inbox_push(&workers[STUCK].post, make(3));
}
static void has_a_task_and_blocks(void) {
    put_tasks(&workers[STUCK], 0);
    watch_it();
}
static void other_sleeps(void) {
    (void)cc__idle_sleep(&workers[OTHER]);
}
/* A worker starts, and is with its first task for long. */
static void starts(void) {
    struct cc__worker *w = &workers[STUCK];
    cc__store_relaxed(&w->current, &tasks[0]);
    watch_it();
    w->thread_id = 7;
    cc__store_release(&w->started, 1); /* [RT1] as in worker.c */
}
/* The only one that was idle wakes. */
static void wakes_up(void) {
    watch_it();
    cc__bits_clear(&rt.idle, STUCK);
    cc__monitor_rouse();
}

/* ---- before and after ---- */

static void begin(unsigned n, int how_often) {
    cc__store_relaxed(&rt.worker_count, n);
    rt.base_count = n;
    rt.workers = workers;
    rt.idle_words = idle_words;
    cc__store_relaxed(&rt.sleeper_until, CC__NEVER);
    cc__store_relaxed(&rt.growth.running, n);
    cc__bits_init(&rt.idle, idle_words, n);
    for (unsigned i = 0; i < n; i++) {
        workers[i].runtime = &rt;
        workers[i].watcher = &workers[i];
        workers[i].id = i;
        workers[i].until_look = 61;
        cc__timers_init(&workers[i].timers, 0);
        cc__store_relaxed(&workers[i].place, CC__PLACE_RUNNING);
    }
    looks = how_often;
}
static void blocked(void) {
    begin(1, 1);
    cc__store_relaxed(&workers[STUCK].blocking, 1);
}
static void two_timers(void) {
    blocked();
    wait_begins(&waiters[0], DUE_NS);
    wait_begins(&waiters[1], LATE_NS);
}
static void one_timer(void) {
    blocked();
    wait_begins(&waiters[0], DUE_NS);
}
/* Its worker has gone. */
static void left_behind(void) {
    two_timers();
    cc__store_relaxed(&workers[STUCK].blocking, 0);
    cc__store_relaxed(&workers[STUCK].place, CC__PLACE_FREE);
}
static void with_another(void) {
    begin(2, 1);
    cc__store_relaxed(&workers[STUCK].blocking, 1);
    counted = true;
    between_ns = 1000000;
}
static void slow_start(void) {
    begin(1, 3);
    between_ns = 300000;
}
static void asleep(void) {
    begin(1, 6);
    between_ns = LONG_NS;
    cc__bits_set(&rt.idle, STUCK);
}

/* One wait is over, the other is not. */
static void check_waits(void) {
    struct cc__timers *s = &workers[STUCK].timers;
    mc_assert(waiters[0].was == (cancelled ? CC__CANCELLED : CC__TIMED_OUT) && !waiters[0].queued);
    mc_assert(cc__load_relaxed(&s->next_ns) == LATE_NS && cc__wait_outcome(&waiters[1].frame->wait) == CC__PENDING);
    cc__timers_remove(s, &waiters[1].frame->timer);
    free(waiters[1].frame);
}
/* Or it came too late, and is still in the post. */
static void each_ran_once(void) {
    int left = cc__load_relaxed(&workers[STUCK].post) != NULL;
    for (int i = 0; i < TASKS; i++) mc_assert(ran[i] == payload[i] - (i == 3 && left));
}
static void somebody_finds_it(void) {
    mc_assert(!mc_sleeps(1));
}
static void nobody_sleeps(void) {
    for (int i = 0; i < MC_THREADS; i++) mc_assert(!mc_sleeps(i));
}

#define EXHAUSTED .fences = true

const struct mc_scenario mc_scenarios[] = {
    {"timers: the monitor", two_timers, {is_long_about_it, waits_on}, check_waits, EXHAUSTED},
    {"timers: the worker, the monitor", two_timers, {fires_its_timers, waits_on}, check_waits, EXHAUSTED},
    {"timers: the worker has gone", left_behind, {is_long_about_it, waits_on, cancels}, check_waits, EXHAUSTED},
    {"timers: the worker adds one", one_timer, {fires_and_adds, waits_on}, check_waits, EXHAUSTED},
    {"tasks: the worker, the monitor", blocked, {runs_its_tasks}, each_ran_once, EXHAUSTED},
    {"post: the worker, the monitor, a sender", blocked, {runs_its_post, posts}, each_ran_once, EXHAUSTED},
    {"a task, one goes to sleep",
     with_another,
     {has_a_task_and_blocks, other_sleeps},
     somebody_finds_it,
     EXHAUSTED,
     .quiet = true},
    {"a worker starts and is stuck", slow_start, {starts}, NULL, EXHAUSTED},
    {"the monitor sleeps, a worker wakes", asleep, {wakes_up}, nobody_sleeps, EXHAUSTED, .quiet = true},
    {"timers: the worker, and one cancels", two_timers, {fires_its_timers, waits_on, cancels}, check_waits, EXHAUSTED},
    {"timers: adds one, and one cancels", one_timer, {fires_and_adds, waits_on, cancels}, check_waits, EXHAUSTED},
    {0},
};
