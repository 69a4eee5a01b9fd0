/* SPDX-License-Identifier: MIT */
/* The task record: one unit of work, from spawn until its result is taken.
 *
 * A record is 192 bytes, three cache lines: what every run and wake touches, what joins and reports need,
 * and arguments of typed tasks. It has no stack until it first runs. Records are never unmapped, so a handle
 * {record, generation} can always be looked at, and a stale one is told by its generation.
 *
 * The control word holds all that two threads may disagree about:
 *
 *     63          32 31       8  7 6   5        4        3      2..0
 *     | generation  | worker  |   | cancel | released | note | state |
 *
 *   IDLE      free, or being set up by its spawner
 *   ASSIGNED  in exactly one queue, will run
 *   OWNED     running on a worker (or queued again by its own yield: its stack is quiet, nobody else may
 *             take it but through that queue)
 *   PARKED    waiting; its stack is quiet
 *   DONE      its function has returned; the result is in `value`
 *
 * `note` is the pending unpark: set by an unpark that found the task running, eaten by its next park.
 * `released`: the handle was joined or detached. Who comes second of DONE and `released` frees the record.
 *
 * A plain thread that waits has a record too, with no function: it is OWNED while the thread runs.
 *
 * Prev: fiber/overflow.c  Next: task/state.c */
#ifndef CC__TASK_TASK_H
#define CC__TASK_TASK_H

#include "../base/atomic.h"
#include "../base/base.h"
#include "wait.h"

enum cc__task_state { CC__IDLE, CC__ASSIGNED, CC__OWNED, CC__PARKED, CC__DONE };

#define CC__CONTROL_STATE UINT64_C(7)
#define CC__CONTROL_NOTE (UINT64_C(1) << 3)
#define CC__CONTROL_RELEASED (UINT64_C(1) << 4)
#define CC__CONTROL_CANCEL (UINT64_C(1) << 5)
#define CC__CONTROL_GENERATION (UINT64_C(1) << 32) /* one of it */

enum { CC__TASK_ARGS = 32 }; /* longer arguments are on the heap */

struct cc__task {
    _Atomic uint64_t control; /* W, R: any thread, through state.c only.  [TS1] [TS2] [TS3] */
    struct cc__task *next;    /* in the one queue or list it is in */
    struct cc__fiber *fiber;  /* from its first run to its end */
    void *(*fn)(void *);      /* NULL: a plain thread's */
    void *value;              /* argument, then result */
    _Atomic uint64_t outcome; /* of its present wait: W: who decides it.  R: itself.  [WT1] */
    struct cc__runtime *runtime;
    uint8_t priority;
    bool resumed; /* has run before: begun work goes first */
    uint16_t stack_class;
    uint32_t serial; /* "task 7" in reports */

    struct cc__waitlist joiners;
    char *name;                       /* own copy, or NULL */
    struct cc_priv_scope *scope;      /* the innermost it runs under, or NULL */
    struct cc_nursery *nursery;       /* whose child it is, or NULL */
    struct cc__task *older, *younger; /* its siblings there; guarded by the nursery's lock */

    int (*body)(void *);             /* of a nursery's child: called with its arguments */
    struct cc_future_result *future; /* of its result, or NULL */
    void *heap_args;                 /* instead of args, or NULL */
    const char *label;               /* shown in reports: its name, or its function's */
    char args[CC__TASK_ARGS];
} __attribute__((aligned(CC__CACHE_LINE)));

_Static_assert(sizeof(struct cc__task) == 192, "a task record is three cache lines");

static inline uint32_t cc__task_generation(uint64_t control) {
    return (uint32_t)(control >> 32);
}

/* ---- transitions, in state.c ---- */

/* IDLE to ASSIGNED: its spawner has set it up, the next thing is to queue it. */
void cc__state_assign(struct cc__task *t);

/* ASSIGNED to OWNED: taken from its queue, about to run on a worker. */
void cc__state_own(struct cc__task *t, uint32_t worker);

/* OWNED back to ASSIGNED: it could not run after all, and is queued again. */
void cc__state_disown(struct cc__task *t);

/* Eat a pending unpark of the running task. True: there was one, do not park. */
bool cc__state_take_note(struct cc__task *t);

/* Something the task runs under was cancelled; it looks when it waits next. */
void cc__state_set_cancel(struct cc__task *t);
bool cc__state_take_cancel(struct cc__task *t);

/* OWNED to PARKED, on another stack than the task's own. False: an unpark came first; the task is ASSIGNED
 * and the caller queues it. */
bool cc__state_park(struct cc__task *t);

/* OWNED to PARKED for a plain thread's record, and back by itself. */
bool cc__state_thread_park(struct cc__task *t);
void cc__state_thread_resume(struct cc__task *t);

enum cc__unparked {
    CC__UNPARK_QUEUE, /* it was parked and is ASSIGNED now: the caller queues it */
    CC__UNPARK_WAKE,  /* a plain thread that sleeps: the caller wakes it */
    CC__UNPARK_NOTED, /* it runs, or will anyway: it will see */
    CC__UNPARK_GONE   /* it has ended, or the record is somebody else's now */
};
enum cc__unparked cc__state_unpark(struct cc__task *t, uint32_t generation);

/* OWNED to DONE: the result is in place. True: the handle was released before, the caller frees the record. */
bool cc__state_finish(struct cc__task *t);

enum cc__released {
    CC__RELEASE_FREE,  /* it was done: the caller owns the result and frees the record */
    CC__RELEASE_LATER, /* it runs on, and frees itself */
    CC__RELEASE_STALE  /* not this generation, or released before */
};
/* Give up the handle. only_done: refuse (LATER, and nothing changed) while it is not done. */
enum cc__released cc__state_release(struct cc__task *t, uint32_t generation, bool only_done);

/* DONE to IDLE with the next generation: every handle is stale from here on. */
void cc__state_free(struct cc__task *t);

/* ---- records, in pool.c ---- */

/* An owner's own free records. Zero is an empty one. */
struct cc__task_cache {
    struct cc__task *free;
    unsigned count;
};

/* A record in state IDLE, all else zero but its control and wait words.
 *   Returns    NULL: no memory */
struct cc__task *cc__task_alloc(struct cc__task_cache *cache);
void cc__task_free(struct cc__task_cache *cache, struct cc__task *t);
void cc__task_cache_drain(struct cc__task_cache *cache);

#endif /* CC__TASK_TASK_H */
