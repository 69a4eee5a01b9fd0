/* SPDX-License-Identifier: MIT */
/* The scheduler's nouns: worker, runtime, queues; and the steps of a task's path, a file each.
 *
 *     spawn.c   a record becomes a task and is queued
 *     ready.c   where a runnable task goes, and who is woken for it
 *     runq.c    a worker's own queue, stolen by halves
 *     inject.c  the global queue
 *     worker.c  the search for the next task, and the worker's loop
 *     run.c     a task gets a fiber; switching from one to the next
 *     park.c    waiting and waking, for fibers and threads
 *     idle.c    sleeping workers, and waking one
 *     finish.c  the end of a task, and joining it
 *
 * Prev: driver/timer.c  Next: sched/spawn.c */
#ifndef CC__SCHED_SCHED_H
#define CC__SCHED_SCHED_H

#include <ccrt/task.h>

#include "../base/bits.h"
#include "../base/rng.h"
#include "../driver/timer.h"
#include "../fiber/fiber.h"
#include "../task/task.h"

enum { CC__RUNQ_SLOTS = 256, CC__PRIORITIES = 3 };

/* A worker's queue: first in, first out. The owner appends; the owner and thieves take from the head. */
struct cc__runq {
    _Atomic uint32_t head; /* W: owner and thieves, by CAS.  R: all.  [RQ2] */
    char pad[CC__FALSE_SHARING - sizeof(uint32_t)];
    _Atomic uint32_t tail; /* W: owner.  R: thieves.  [RQ1] */
    struct cc__task *_Atomic slot[CC__RUNQ_SLOTS];
};

/* The global queue, a list a priority. */
struct cc__inject {
    cc__lock lock;
    _Atomic size_t count; /* W: with the lock.  R: anyone, as a hint that the fence of idle.c makes certain */
    struct cc__task *first[CC__PRIORITIES], **last[CC__PRIORITIES];
};

/* What the next stack does first for the one that was left. */
enum cc__left { CC__LEFT_NOTHING, CC__LEFT_PARKING, CC__LEFT_YIELDING, CC__LEFT_ENDED };

struct cc__worker {
    struct cc__runtime *runtime;
    uint32_t id;
    uint32_t tick;          /* tasks picked */
    uint32_t lifo_streak;   /* taken from the slot in a row */
    struct cc__fiber *root; /* the thread's own stack, where it searches and sleeps */
    struct cc__task *current;
    enum cc__left left;
    struct cc__task *left_task;
    struct cc__fiber *left_fiber;
    struct cc__fiber *idle_fibers; /* ended ones of the default size, linked by their `arg` */
    unsigned idle_fiber_count;
    bool searching;
    struct cc__stack_cache stacks;
    struct cc__task_cache records;
    struct cc__rng rng;
    uint32_t serial, serial_end; /* numbers for new tasks, reserved by the block */
    cc__thread thread;
    uint64_t stolen;
    _Atomic uint64_t spawned, ended; /* tasks, by this worker.  W: owner.  R: shutdown.  [SD1] */

    /* What others touch, each on lines of its own. */
    struct cc__task *_Atomic lifo __attribute__((aligned(CC__FALSE_SHARING))); /* W: owner; thieves by CAS. [RQ3] */
    struct cc__runq runq;
    struct cc__timers timers __attribute__((aligned(CC__FALSE_SHARING)));
    _Atomic uint32_t started; /* W: its thread, once.  R: who starts it.  [RT1] */
    _Atomic uint32_t asleep __attribute__((aligned(CC__FALSE_SHARING))); /* futex word: 1 sleeping.  [ID2] */
};

struct cc__runtime {
    unsigned worker_count;
    unsigned stack_class;
    struct cc__worker *workers;
    struct cc__inject inject;
    struct cc__bits idle; /* workers asleep or about to be.  [ID1] */
    _Atomic uint64_t *idle_words;
    _Atomic int searching __attribute__((aligned(CC__FALSE_SHARING)));
    _Atomic int idle_count;
    _Atomic int64_t sleeper_until; /* the instant the one timed sleeper wakes at; CC__NEVER: there is none */
    _Atomic uint64_t spawned;      /* by plain threads.  [SD1] */
    _Atomic int stopping;
    _Atomic uint32_t serial;
};

/* The record of whoever runs here: a task's, or this plain thread's, made on first use.
 *   Returns    NULL: no memory for a thread's */
struct cc__task *cc__self(void);

/* runq.c */
void cc__runq_push(struct cc__worker *w, struct cc__task *t);
struct cc__task *cc__runq_pop(struct cc__runq *q);
/* Take half of a victim's; returns one to run and puts the rest into w's own. */
struct cc__task *cc__runq_steal(struct cc__worker *w, struct cc__runq *victim);
bool cc__runq_empty(struct cc__runq *q);

/* inject.c */
void cc__inject_init(struct cc__inject *q);
void cc__inject_push(struct cc__inject *q, struct cc__task *first, size_t count); /* linked by next */
struct cc__task *cc__inject_take(struct cc__inject *q, struct cc__worker *w);     /* a batch; one to run */

/* idle.c */
void cc__idle_notify(struct cc__runtime *rt);
void cc__idle_timer_added(struct cc__runtime *rt, int64_t when_ns);
bool cc__idle_start_searching(struct cc__worker *w);
void cc__idle_stop_searching(struct cc__worker *w, bool found);
/* Sleep until woken, unless there is work after all. False: the runtime ends. */
bool cc__idle_sleep(struct cc__worker *w);
void cc__idle_wake_all(struct cc__runtime *rt);

/* ready.c */
void cc__ready(struct cc__task *t);          /* runnable now: queue it near here, wake somebody */
void cc__ready_new(struct cc__task *t);      /* the same for a task that was just spawned */
void cc__ready_list(struct cc__task *first); /* several, linked by next */

/* worker.c */
struct cc__task *cc__worker_pick(struct cc__worker *w); /* without stealing or sleeping, or NULL */
struct cc__task *cc__worker_find(struct cc__worker *w); /* NULL: the runtime ends */
bool cc__worker_any_work(struct cc__runtime *rt);
void *cc__worker_main(void *worker);

/* run.c */
void cc__run_arrive(struct cc__worker *w);                    /* the first thing after every switch */
void cc__run_leave(struct cc__worker *w, enum cc__left left); /* leave the running task; returns when it runs again */
bool cc__run_task(struct cc__worker *w, struct cc__task *t);  /* from the worker's loop; false: no stack for it */
void cc__run_drop_fibers(struct cc__worker *w);

/* park.c */
void cc__unpark(struct cc__task *t, uint32_t generation);
void cc__wake_all(struct cc__wait *first, enum cc__outcome outcome); /* taken off their list by the caller */
void cc__park(struct cc__task *self);
enum cc__outcome cc__wait_for(struct cc__wait *w, int64_t deadline_ns);

/* finish.c */
void cc__finish(struct cc__worker *w, struct cc__task *t);

/* spawn.c */
int cc__spawn_prepare(struct cc__runtime *rt, struct cc__task **out, void *(*fn)(void *), void *arg); /* not queued */
void cc__spawn_abandon(struct cc__task *t);               /* prepared, and not to be */
void cc__spawn_launch(struct cc__task *t, bool detached); /* prepared, and now runs */
int cc__spawn(struct cc__runtime *rt, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg);

/* cancel.c: what kinds of scopes there are, and what they mean to a waiter. */
enum { CC__SCOPE_NURSERY = 1, CC__SCOPE_DEADLINE, CC__SCOPE_SHIELD };
enum { CC__OWN_DEADLINE = 1 };
int cc__cancel_code(const struct cc__task *self); /* 0, -ECANCELED or -ETIMEDOUT */
/* Wait; also until cancelled, or until a scope's deadline.
 *   Returns    0 matched; -EPIPE closed; -ECANCELED, -ETIMEDOUT by a scope; CC__OWN_DEADLINE by deadline_ns */
int cc__wait_cancellable(struct cc__wait *w, int64_t deadline_ns);
/* The running task was told of a cancellation: cancel the nurseries it has open that are under it. */
void cc__cancel_pass_on(struct cc__task *self);

/* Of the layers above: nurseries, and the runtime that starts itself. */
struct cc_nursery;
int cc__nursery_cancelled(const struct cc_nursery *n); /* 0, or a negative code */
void cc__nursery_cancel(struct cc_nursery *n, int code);
int cc__runtime_default(struct cc__runtime **out);

#endif /* CC__SCHED_SCHED_H */
