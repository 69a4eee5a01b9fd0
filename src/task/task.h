/* SPDX-License-Identifier: MIT */
/* The task record: one unit of work, from spawn until its result is taken.
 *
 * A record is 192 bytes, three cache lines: what every run and wake touches; what a typed task needs besides, with its
 * arguments; and what only some need. A nursery's child that waits for nothing never touches the third: the lines of a
 * record that one worker fills and another runs are most of what a task costs then. So bits in the first say what
 * there is in the third. It has no stack until it first runs. Records are never unmapped, so a handle
 * {record, generation} can always be looked at, and a stale one is told by its generation.
 *
 * The control word holds all that a waker and the task's worker may disagree about:
 *
 *     63          32 31    8  7     6        5         4       3     2..0
 *     | generation  | wakers |   | awaited | cancel | thread | note | state |
 *
 *   IDLE      free
 *   ACTIVE    ASSIGNED, in exactly one queue, or OWNED, running on a worker: its `current` tells which
 *   PARKED    waiting; its stack is quiet
 *   DONE      its function has returned; the result is in `value`
 *
 * `note` is the pending unpark: set by an unpark that found the task active, eaten by its next park. To a waker
 * it makes no difference whether an active task runs already, so taking one from its queue costs no change of
 * the word (docs/decisions/0005-active.md).
 *
 * The end of a task and the fate of its handle are decided under the joiners' lock: who comes second of DONE and
 * "released" frees the record.
 *
 * A future begins as a record does, and stands in the same queues: its class of stack is CC__STACKLESS. What lies
 * behind `site` is its own (sched/polls.h).
 *
 * A plain thread that waits has a record too, with no function and `thread` set: it is ACTIVE while the thread runs.
 *
 * Prev: fiber/overflow.c  Next: task/state_hot.h */
#ifndef CC__TASK_TASK_H
#define CC__TASK_TASK_H

#include <ccrt/local.h>

#include "../base/atomic.h"
#include "../base/base.h"
#include "wait.h"

enum cc__task_state { CC__IDLE, CC__ACTIVE, CC__PARKED, CC__DONE };

#define CC__CONTROL_STATE UINT64_C(7)
#define CC__CONTROL_NOTE (UINT64_C(1) << 3)
#define CC__CONTROL_THREAD (UINT64_C(1) << 4)
#define CC__CONTROL_CANCEL (UINT64_C(1) << 5)
#define CC__CONTROL_GENERATION (UINT64_C(1) << 32) /* one of it */
/* Of futures alone: somebody awaits it; one of those who may wake it; all of them. */
#define CC__CONTROL_AWAITED (UINT64_C(1) << 6)
#define CC__CONTROL_WAKER (UINT64_C(1) << 8)
#define CC__CONTROL_WAKERS (UINT64_C(0xffffff) << 8)

enum { CC__STACKLESS = 31 }; /* the stack_class of futures */

enum { CC__TASK_ARGS = 32 }; /* longer arguments are on the heap */

/* joiners.mark of a task: its handle was joined or detached. */
enum { CC__RELEASED = 1 };

struct cc__task {
    _Atomic uint64_t control; /* W, R: any thread, through state.c only.  [TS1] [TS2] [TS3] */
    struct cc__task *next;    /* in the one queue or list it is in */
    struct cc__fiber *fiber;  /* from its first run to its end; a future's: while it is polled */
    void *(*fn)(void *);      /* NULL: a plain thread's */
    void *value;              /* argument; while it waits, with what: its node; then result */
    _Atomic uint64_t outcome; /* of its present wait: W: who decides it.  R: itself.  [WT1] */
    struct cc__runtime *runtime;
    uint32_t serial; /* "task 7" in reports */
    /* These do not change once it is queued: others read them while it runs. */
    uint16_t pinned : 15; /* 1 + the only worker that may run it; 0: any */
    uint16_t is_fork : 1; /* it is no child of its nursery, which only tells it of a cancellation */
    uint8_t stack_class : 5;
    uint8_t priority : 2; /* CC_PRIORITY_* */
    uint8_t has_name : 1;
    uint8_t : 0; /* Apart from them, since what shares a byte is one thing to the language: the running task's own. */
    uint8_t has_heap : 1;   /* its arguments are at the pointer in args */
    uint8_t has_future : 1; /* somebody may await its result */
    uint8_t has_locals : 1;
    uint8_t no_handle : 1;  /* nobody ever had one: its end needs no lock */
    uint8_t counts_out : 1; /* a nursery's child that ended well: its nursery is still to be told */
    uint8_t listed : 1;     /* among the children that its nursery tells of a cancellation */
    uint8_t polls : 1;      /* a future's: it polls for something */

    struct cc_priv_scope *scope; /* the innermost it runs under, or NULL */
    struct cc_nursery *nursery;  /* whose child it is, or NULL */
    const struct cc_site *site;  /* where it was spawned, and its function's name; or NULL */
    int (*body)(void *);         /* of a nursery's child: called with its arguments */
    union {
        char args[CC__TASK_ARGS];
        void *heap;
        struct {
            void (*fn)(void *);
            void *arg;
            struct cc_counter *counter;
        } job;
        struct cc_nursery *home; /* a fork's: whose child its parent is, or NULL */
    };

    struct cc__waitlist joiners;      /* a free record's: empty, and CC__RELEASED */
    struct cc__task *older, *younger; /* if listed: its siblings; guarded by the nursery's lock */
    char *name;                       /* if has_name: its own copy */
    struct cc__locals *locals;        /* if has_locals: task-local values */
    struct cc_future_result *future;  /* if has_future: where its result goes */
};

_Static_assert(sizeof(struct cc__task) == 192, "a task record is three cache lines");
_Static_assert(offsetof(struct cc__task, scope) == 64 && offsetof(struct cc__task, joiners) == 128, "as the text says");

static inline uint32_t cc__task_generation(uint64_t control) {
    return (uint32_t)(control >> 32);
}

static inline uint64_t cc__with_state(uint64_t control, enum cc__task_state state) {
    return (control & ~CC__CONTROL_STATE) | (uint64_t)state;
}

static inline enum cc__task_state cc__state_of(uint64_t control) {
    return (enum cc__task_state)(control & CC__CONTROL_STATE);
}

/* ---- transitions, in state.c ---- */

/* IDLE to ACTIVE: a record just taken from the pool. */
void cc__state_begin(struct cc__task *t);

/* The record is a plain thread's; before anybody else knows it. */
void cc__state_set_thread(struct cc__task *t);

/* Eat a pending unpark of the running task. True: there was one, do not park. */
CC__HOT bool cc__state_take_note(struct cc__task *t);

/* Something the running task is under may be cancelled: it looks when it waits next. True, when it does: that was so; a
 * pending unpark is eaten, too, and the caller looks at what it waits for. */
void cc__state_set_cancel(struct cc__task *t);
CC__HOT bool cc__state_take_cancel(struct cc__task *t);

/* ACTIVE to PARKED, on another stack than the task's own. False: an unpark came first; the task is still ACTIVE
 * and the caller queues it. */
CC__HOT bool cc__state_park(struct cc__task *t);

/* ACTIVE again by itself: a plain thread whose sleep ended. */
void cc__state_resume(struct cc__task *t);

enum cc__unparked {
    CC__UNPARK_QUEUE, /* it was parked and is ACTIVE now: the caller queues it */
    CC__UNPARK_WAKE,  /* the same of a plain thread: the caller wakes it */
    CC__UNPARK_NOTED, /* it is active: it will see */
    CC__UNPARK_GONE   /* it has ended, or the record is somebody else's now */
};
CC__HOT enum cc__unparked cc__state_unpark(struct cc__task *t, uint32_t generation);
/* The same for whatever task, or future, the record is by now, with its cancel bit. */
enum cc__unparked cc__state_cancel(struct cc__task *t);

/* The same only if it is a task that is parked. True: the caller queues it. */
CC__HOT bool cc__state_take_parked(struct cc__task *t);

/* ACTIVE to DONE: the result is in place. */
void cc__state_finish(struct cc__task *t);

/* To IDLE with the next generation: every handle is stale from here on. */
void cc__state_free(struct cc__task *t);

/* ---- transitions of futures, in state_future.c ---- */

/* IDLE to ACTIVE: spawned. False: it is not IDLE. */
bool cc__state_future_begin(struct cc__task *t);

/* One more that may wake it, and one less. */
void cc__state_hold(struct cc__task *t);

enum cc__held {
    CC__HELD,    /* it is still polled, or has a waker */
    CC__OVER,    /* it is IDLE, and nobody's but its owner's */
    CC__AWAITED, /* the same, as soon as the caller has told those who await it: cc__state_over() */
};
enum cc__held cc__state_let_go(struct cc__task *t);
/* ACTIVE to DONE: its poll function has said that it is ready. */
enum cc__held cc__state_ready(struct cc__task *t);
/* DONE to IDLE; with the lock of those who await it. */
void cc__state_over(struct cc__task *t);

/* Somebody is about to await it; with the lock of those who do. False: it is IDLE. */
bool cc__state_await(struct cc__task *t);

/* ---- records, in pool.c ---- */

enum { CC__TASK_AHEAD = 8 };

/* An owner's own free records. Zero is an empty one. */
struct cc__task_cache {
    struct cc__task *free, *full;            /* a chain in use, and a full one */
    uint32_t count;                          /* of `free` */
    struct cc__task *recent[CC__TASK_AHEAD]; /* freed last, in a circle */
};

/* A record in state ACTIVE, without a handle; its first two lines are zero but for its generation and epoch.
 *   Returns    NULL: no memory */
struct cc__task *cc__task_alloc(struct cc__task_cache *cache); /* NULL: from the pool itself; the same for free */
void cc__task_free(struct cc__task_cache *cache, struct cc__task *t);
/* There is a handle from now on: before anybody sees it. And not, after all. */
void cc__task_hold(struct cc__task *t);
void cc__task_release(struct cc__task *t);
void cc__task_cache_drain(struct cc__task_cache *cache);
/* Call fn for every record there is, free or not; they may change while it looks. */
void cc__task_each(void (*fn)(struct cc__task *t, void *arg), void *arg);

/* ---- task-local values, in local.c ---- */

void *cc__local_get(const struct cc__task *t, cc_local key);
int cc__local_set(struct cc__task *t, cc_local key, void *value);
/* Call the destructors of a task's values and drop them: it has ended, and may still wait. */
void cc__locals_end(struct cc__task *t);

#if CC__INLINE_HOT
#include "state_hot.h"
#include "wait_hot.h"
#endif

#endif /* CC__TASK_TASK_H */
