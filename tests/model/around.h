/* SPDX-License-Identifier: MIT */
/* What surrounds waits in models of joins, nurseries and shutdown: to be included once, by a model that has
 *     Sources: src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c ...
 *     Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 *
 * Each thread that waits is a task whose run queue is a semaphore, or a plain thread on its futex. A model that has
 * src/driver/timer.c among its sources defines REAL_TIMERS. */
#ifndef CCMC_AROUND_H
#define CCMC_AROUND_H

#include "plat/vm.h"
#include "sched/sched.h"

#include "ccmc.h"
#include "waitlock.h"
#ifndef AROUND_FORKS /* the model has these, and src/job/fork.c */
#include "noforks.h"
#endif
#ifndef AROUND_FUTURES /* the model has src/future/future.c */
#include "nofutures.h"
#endif

#include <errno.h>

_Thread_local struct cc__fiber *cc__current_fiber; /* as in src/fiber/current.c */
_Thread_local struct cc__worker *cc__current_worker;

#ifndef rt
static struct cc__runtime rt;
#endif

/* Who waits: thread i as mine[i]; a task has a worker to itself. */
static struct me {
    struct cc__fiber fiber;
    struct cc__task task;
    struct cc__worker worker;
    struct mc_sem run_queue;
} mine[MC_THREADS];

static void *nothing(void *arg) {
    return arg;
}

/* In setup(). */
static void all_begin(bool as_tasks) {
    for (int i = 0; i < MC_THREADS; i++) {
        struct me *me = &mine[i];
        me->fiber.task = &me->task;
        me->task.fiber = &me->fiber;
        me->fiber.hooks = CC__HOOK_TSAN; /* a switch is a call of ours */
        me->task.runtime = me->worker.runtime = &rt;
        mc_sem_init(&me->run_queue, 0);
        cc__state_begin(&me->task);
        cc__store_relaxed(&me->task.joiners.mark, CC__RELEASED); /* as records are that nobody has a handle of */
        cc__store_relaxed(&me->worker.current, &me->task);
        if (as_tasks)
            me->task.fn = nothing;
        else
            cc__state_set_thread(&me->task);
    }
}

/* What a thread does first, if it waits. */
static struct cc__task *become(void) {
    struct me *me = &mine[mc_self()];
    cc__fiber_set_current(&me->fiber);
    cc__worker_set_current(me->task.fn != NULL ? &me->worker : NULL);
    return &me->task;
}

#ifdef AROUND_FUTURES
static void future_ready(struct cc__task *t);
#endif
void cc__ready(struct cc__task *t) {
#ifdef AROUND_FUTURES
    if (t->stack_class == CC__STACKLESS) {
        future_ready(t);
        return;
    }
#endif
    mc_sem_post(&CC__CONTAINER_OF(t, struct me, task)->run_queue);
}

/* Leaving a task: to its worker, which commits it as parked and finds it in the run queue later. */
#ifndef AROUND_FORKS
struct cc__task *cc__worker_pick(struct cc__worker *w) {
    (void)w;
    return NULL;
}
#endif
struct cc__fiber *cc__run_next_fiber(struct cc__worker *w, struct cc__task *next) {
    (void)next;
    return &CC__CONTAINER_OF(w, struct me, worker)->fiber;
}
void cc__fiber_switch_hooked(struct cc__fiber *from, struct cc__fiber *to) {
    (void)from, (void)to;
    struct me *me = &mine[mc_self()];
    if (cc__state_park(&me->task)) mc_sem_wait(&me->run_queue);
}
void cc__run_switched(struct cc__worker *w) {
    (void)w;
}
void cc__run_arrive(struct cc__worker *w) {
    w->left = CC__LEFT_NOTHING;
}

/* Not used, or of no matter. */
#ifndef AROUND_FORKS
int cc__vm_map(void **out, size_t bytes) {
    (void)out, (void)bytes;
    return -ENOMEM; /* the pool does not grow */
}
#endif
size_t cc__vm_page_bytes(void) {
    return 4096;
}
int cc__fiber_attach(struct cc__fiber **current) {
    (void)current;
    return -ENOMEM;
}
void cc__locals_end(struct cc__task *t) {
    (void)t;
}
void *cc__local_get(const struct cc__task *t, cc_local key) {
    (void)t, (void)key;
    return NULL;
}
int cc__local_set(struct cc__task *t, cc_local key, void *value) {
    (void)t, (void)key, (void)value;
    return -ENOMEM;
}
#ifndef REAL_TIMERS
bool cc__timers_add(struct cc__timers *s, struct cc__timer *t) {
    (void)s, (void)t;
    return false;
}
void cc__timers_remove(struct cc__timers *s, struct cc__timer *t) {
    (void)s, (void)t;
}
#endif
void cc__idle_timer_added(struct cc__runtime *runtime, int64_t when_ns) {
    (void)runtime, (void)when_ns;
}
void cc__monitor_rouse(void) {
}
void cc__monitor_start(void) {
}
bool cc__monitor_started(void) {
    return true;
}
void cc__run_operation(void) {
}
void cc__hooks_memory(const void *at, size_t bytes) {
    (void)at, (void)bytes;
}
#ifndef AROUND_FORKS
void cc__ready_taken(struct cc__worker *w, struct cc__task *t) {
    (void)w;
    cc__ready(t);
}
#endif

#endif /* CCMC_AROUND_H */
