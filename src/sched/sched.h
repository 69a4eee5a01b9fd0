/* SPDX-License-Identifier: MIT */
/* The scheduler's nouns: worker, runtime, queues; and the steps of a task's path, a file each.
 *
 *     slot.h    the one task that a worker runs next
 *     spawn.c   a record becomes a task and is queued
 *     ready.c   where a runnable task goes, and who is woken for it
 *     runq.c    a worker's own queues, stolen by halves
 *     mpmc.c    a ring for any number of producers and consumers
 *     inject.c  the global queue
 *     inbox.c   what must, or should, run on one worker
 *     worker.c  the search for the next task, and the worker's loop
 *     steal.c   the search in other workers' queues
 *     run.c     a task gets a fiber; switching from one to the next
 *     leave.h   leaving the running task, inline
 *     park.c    waiting and waking, for fibers and threads
 *     idle.c    sleeping workers, and waking one
 *     poll.c    descriptors, as workers look at them; fdwait.c: as a waiter does; filewait.c: files
 *     help.c    workers that help with descriptors; help.h has their part of a worker
 *     monitor.c who notices that workers are stuck; watch.h has what it knows of each
 *     grow.c    temporary workers, which come and go
 *     finish.c  the end of a task, and joining it
 *     cancel.c  cancellation and deadlines, as a waiter sees them
 *     placement.c which cpu each worker sits on, and whom it robs first
 *     choice.h  every choice that is not determined
 *     forks.h   a worker's deque of forks (job/fork.c)
 *     events.h  what is recorded and logged of all this, where it is asked for
 *
 * Prev: driver/reactor.c  Next: sched/slot.h */
#ifndef CC__SCHED_SCHED_H
#define CC__SCHED_SCHED_H

#include <ccrt/task.h>
#include <stddef.h>

#include "../base/bits.h"
#include "../base/rng.h"
#include "../driver/reactor.h"
#include "../driver/timer.h"
#include "../fiber/fiber.h"
#include "../task/task.h"
#include "forks.h"
#include "help.h"
#include "placement.h"
#include "watch.h"

#ifndef CC__RUNQ_SLOTS
#define CC__RUNQ_SLOTS 256 /* a power of two */
#endif
#define CC__RUNQ_OVERFLOW (CC__RUNQ_SLOTS / 2 + 1)
enum { CC__PRIORITIES = 3, CC__WORKERS_MAX = 4096 };
/* Lanes of the global queue: one a priority, and one for those of normal priority that were begun. */
enum { CC__LANE_BEGUN = CC__PRIORITIES, CC__LANES };

/* A worker's queue: first in, first out. The owner appends; the owner and thieves take from the head. */
struct cc__runq {
    _Atomic uint32_t head; /* W: owner and thieves, by CAS.  R: all.  [RQ2] */
    char pad[CC__FALSE_SHARING - sizeof(uint32_t)];
    _Atomic uint32_t tail; /* W: owner.  R: thieves.  [RQ1] */
    struct cc__task *_Atomic slot[CC__RUNQ_SLOTS];
};

/* The one to run next: see slot.h. */
struct cc__slot {
    struct cc__task *_Atomic task; /* W: owner, thieves.  [RQ3] */
    _Atomic uint32_t taking;       /* its owner is about to empty it.  W: owner.  R: thieves.  [SL1] [SL2] */
    _Atomic uint32_t thief;        /* somebody else is.  W: thieves.  R: owner.  [SL1] [SL2] */
};

/* A worker's jobs that have not begun: see job/queue.c. */
#ifndef CC__JOBS_SLOTS
#define CC__JOBS_SLOTS 512
#endif
enum { CC__JOBS_STEAL = 32, CC__JOBS_OLDEST_EVERY = 256 }; /* so many pops, of which one takes the oldest */
struct cc__jobs {
    struct cc__waitlist lock; /* guards all */
    _Atomic uint32_t length;  /* W: with the lock.  R: all, as a hint */
    uint32_t first;           /* the oldest */
    uint32_t pops;            /* by the owner */
    struct cc__task *slot[CC__JOBS_SLOTS];
};

/* A ring for any number of producers and consumers: see mpmc.c. */
struct cc__mpmc_cell {
    _Atomic size_t turn;         /* 2 * lap: free for that lap; 2 * lap + 1: full.  W: who claimed it.  [MP1] [MP2] */
    struct cc__task *_Atomic it; /* W, R: who claimed the cell */
};
struct cc__mpmc {
    struct cc__mpmc_cell *cell;
    unsigned bits;                                                   /* it has 1 << bits cells */
    _Atomic size_t tail __attribute__((aligned(CC__FALSE_SHARING))); /* next to be filled.  W, R: all, by CAS */
    _Atomic size_t head __attribute__((aligned(CC__FALSE_SHARING))); /* next to be taken.  W, R: all, by CAS */
};

/* What overflowed a worker's ring at once. */
struct cc__bundle;

/* A lane of the global queue: the ring, a list for batches and for what finds it full, and bundles. */
struct cc__lane {
    struct cc__mpmc ring;
    cc__lock lock __attribute__((aligned(CC__FALSE_SHARING))); /* guards the rest */
    struct cc__task *first, **last;
    struct cc__list bundles;  /* the newest first */
    struct cc__list in_turn;  /* of those that yielded: the oldest first */
    struct cc__bundle *spare; /* one that is empty, or NULL */
    _Atomic size_t listed;    /* on the list and in bundles.  W: with the lock.  R: anyone, as a hint that the fence of
                               * idle.c makes certain */
};
struct cc__inject {
    struct cc__lane lane[CC__LANES]; /* by CC_PRIORITY_*, and CC__LANE_BEGUN */
    _Atomic size_t high;             /* in the lane of high priority, or about to be.  W, R: any thread */
};

/* Tasks in order, of one thread alone. */
struct cc__tasks {
    struct cc__task *first, *last;
};

/* What the next stack does first for the one that was left. */
enum cc__left { CC__LEFT_NOTHING, CC__LEFT_PARKING, CC__LEFT_YIELDING, CC__LEFT_PAUSING, CC__LEFT_ENDED };

/* Whether a worker sleeps, or is about to: on the futex, or in its reactor. */
enum cc__asleep { CC__AWAKE, CC__ASLEEP, CC__ASLEEP_POLLING };

/* A worker's place: nobody's; a worker's; one that has ended is still to be joined. */
enum cc__place { CC__PLACE_FREE, CC__PLACE_RUNNING, CC__PLACE_ENDED };

/* What a worker counts. W: its owner (see cc__count).  R: anyone. */
struct cc__counts {
    _Atomic uint64_t spawned, ended; /* [SD1] */
    _Atomic uint64_t parked, woken, stolen;
    _Atomic uint64_t slept, gave_way; /* times it had nothing to do, until it was woken; had, and let others go first */
};

struct cc__worker {
    struct cc__runtime *runtime;
    uint32_t id;
    uint32_t lifo_streak;  /* taken from the slot in a row */
    uint32_t through;      /* new ones in a row that went before what was begun */
    uint32_t ring_looks;   /* times it looked into its rings, */
    uint32_t inject_looks; /* and took from the global queue */
    bool spills;           /* what is ready again goes to the global queue (placement.c) */
    bool in_turn;          /* tasks that yielded are in the ring of the new: what overflows it keeps its order */
    uint32_t until_look, look_every; /* picks until the next look at what is not local; between two, of late */
    uint64_t looked, other_looked;   /* when that was, in cycles; and when it has looked at another worker, */
    uint32_t other, other_tick;      /* which, and how much that one had picked */
    int64_t low_since_ns;   /* tasks of low priority wait at least since then; 0: none, as far as it has looked */
    struct cc__fiber *root; /* the thread's own stack, where it searches and sleeps */
    struct cc__task *next;  /* handed over by a task that ends: it goes first */
    enum cc__left left;
    struct cc__task *left_task;
    struct cc__fiber *left_fiber;
    struct cc__fiber *idle_fibers; /* ended ones of the default size, linked by their `arg` */
    unsigned idle_fiber_count;
    struct cc__keeper *keeper;         /* of locks (task/keep.h); NULL: it keeps none */
    const struct cc__victims *victims; /* whom it robs, in which order; NULL: anybody, and all memory is as near */
    unsigned budget;                   /* operations that may complete without waiting before one yields */
    bool again;                        /* the future that is polled here has woken itself */
    unsigned turn;                     /* whom a round-robin spawn goes to */
    bool searching;
    struct cc__tasks pinned; /* pinned tasks that are ready */
    struct cc_nursery *over; /* whose children have ended, which it has not been told yet; or NULL */
    unsigned over_count;     /* how many */
    bool temporary;          /* it goes when there is nothing to do, or too many are there */
    bool retiring;           /* it takes no more tasks, and goes */
    bool express;            /* it takes only tasks that were begun */
    unsigned bound;          /* 1 + the cpu that its thread is bound to; 0: none.  W: itself, when it starts.  [RT1] */
    unsigned tier;           /* it is woken when all lower ones are awake */
    int thread_id;           /* W: itself, when it starts.  R: the monitor.  [RT1] */
    struct cc__watch watch;
    struct cc__stack_cache stacks;
    struct cc__task_cache records;
    struct cc__rng rng;
    struct cc__trace_log *trace; /* where its events go, or NULL */
    uint32_t serial, serial_end; /* numbers for new tasks, reserved by the block */
    cc__thread thread;
    struct cc__counts count;
    _Atomic uint32_t tick;            /* tasks picked.  W: owner.  R: thieves, the monitor */
    _Atomic uint32_t blocking;        /* 1 + the tick whose task says that it blocks.  W: owner.  R: the monitor */
    _Atomic int place;                /* enum cc__place.  W: the monitor; itself, when it ends.  [MN1] */
    struct cc__task *_Atomic current; /* the task it runs, or NULL.  W: owner.  R: itself, reports */

    /* Of descriptors. */
    struct cc__reactor reactor;                       /* its own; a temporary worker has none that is started */
    struct cc__worker *watcher;                       /* whose reactor watches what is waited for here */
    struct cc__poll_event events[CC__REACTOR_EVENTS]; /* what it got there, */
    int event_count;                                  /* and has not looked at yet */
    unsigned poll_owed, poll_step; /* short sleeps before it may look on again; and after the next failure */
    unsigned poll_won;             /* times in a row that looking on was not in vain */
    uint32_t poll_tail;            /* where its ring of the begun ended a turn ago */
    bool poll_full;                /* its last look took all it may */
    struct cc__help help;

    /* What others touch, each on lines of its own. */
    struct cc__slot slot __attribute__((aligned(CC__FALSE_SHARING)));
    struct cc__runq begun __attribute__((aligned(CC__FALSE_SHARING)));         /* tasks that were woken */
    struct cc__runq fresh __attribute__((aligned(CC__FALSE_SHARING)));         /* new ones, and those that yielded */
    struct cc__task *_Atomic mail __attribute__((aligned(CC__FALSE_SHARING))); /* pinned ones.  [IB1] */
    struct cc__task *_Atomic post; /* others, that anyone may take.  W: any thread.  [IB1] */
    struct cc__timers timers __attribute__((aligned(CC__FALSE_SHARING)));
    struct cc__forks forks __attribute__((aligned(CC__FALSE_SHARING)));
    struct cc__jobs jobs __attribute__((aligned(CC__FALSE_SHARING)));
    _Atomic uint32_t started; /* W: its thread, once.  R: who starts it.  [RT1] */
    _Atomic uint32_t asleep __attribute__((aligned(CC__FALSE_SHARING))); /* enum cc__asleep; a futex word.  [ID2] */
};

/* What thieves and wakers write is on lines that the owner's own fields are not on. */
_Static_assert(offsetof(struct cc__worker, slot) % CC__FALSE_SHARING == 0, "the slot has a line of its own");
_Static_assert(offsetof(struct cc__worker, begun.head) % CC__FALSE_SHARING == 0, "the ring's head, too");
_Static_assert(offsetof(struct cc__worker, begun.tail) % CC__FALSE_SHARING == 0, "and its tail");
_Static_assert(offsetof(struct cc__worker, fresh) % CC__FALSE_SHARING == 0, "the other ring");
_Static_assert(offsetof(struct cc__worker, mail) % CC__FALSE_SHARING == 0, "the inboxes");
_Static_assert(offsetof(struct cc__worker, asleep) % CC__FALSE_SHARING == 0, "the word it sleeps on");
_Static_assert(sizeof(struct cc__worker) % CC__FALSE_SHARING == 0, "and the next worker");

/* Temporary workers: what is allowed, and how many there are. */
struct cc__growth {
    bool off;                  /* none, and nobody watches */
    unsigned places;           /* there is room for so many workers */
    unsigned burning_max;      /* that are not blocked in the kernel; */
    unsigned blocked_max;      /* and so many that are */
    int64_t every_ns, idle_ns; /* growth for burning workers is that rare; who idles so long goes */
    int64_t grown_ns, calm_ns; /* the monitor's: when it last did, since when no worker burns, */
    int64_t stuck_ns;          /* and when one was last found stuck */
    struct cc__runtime *next;  /* in the monitor's list; guarded by its lock */
    _Atomic unsigned running;  /* workers.  W: the monitor, who ends.  R: anyone */
    _Atomic unsigned express; /* 1 + the place of the one that takes what was begun; 0: none.  W: the monitor, itself */
    _Atomic int surplus;      /* temporary ones too many.  W: the monitor, who goes */
    _Atomic uint32_t settled; /* futex word: 1: the program ends, none comes or goes.  W: with the monitor's lock */
    _Atomic uint64_t started; /* temporary ones ever.  W: the monitor.  R: anyone */
    _Atomic uint64_t stuck;   /* times one was found stuck.  W: the monitor.  R: anyone */
};

struct cc__runtime {
    char name[16];                 /* of its threads, without their number */
    uint32_t number;               /* from 1, in this process, for reports */
    _Atomic unsigned worker_count; /* places so far, the first ones of `workers`.  W: the monitor.  R: all.  [MN2] */
    unsigned base_count;           /* workers that are always there, in the first places */
    unsigned stack_class;
    bool huge_stacks;                /* its stacks are in huge pages */
    struct cc__placement *placement; /* where its workers sit; NULL: anywhere */
    bool round_robin;                /* new tasks go to the workers in turn */
    bool no_stealing;
    bool rings;                /* calls on files are the kernel's to make, if it will */
    _Atomic int closed;        /* no more tasks.  W: shutdown.  R: who spawns.  [SD2] */
    _Atomic int cancelled;     /* all its tasks are.  W: shutdown.  R: any.  [CN2] */
    _Atomic int64_t coarse_ns; /* the time, or a little before it: for reports.  W: who reads the clock.  R: all */
    struct cc__worker *workers;
    struct cc__inject inject;
    struct cc__bits idle; /* workers asleep or about to be.  [ID1] */
    _Atomic uint64_t *idle_words;
    _Atomic int searching __attribute__((aligned(CC__FALSE_SHARING)));
    _Atomic int64_t sleeper_until; /* the instant the one timed sleeper wakes at; CC__NEVER: there is none */
    _Atomic uint64_t spawned;      /* by plain threads.  [SD1] */
    _Atomic uint64_t woken;        /* by plain threads */
    _Atomic int visitors;          /* that are about to wake a task.  W: who is not of it.  R: shutdown.  [SD3] */
    _Atomic uint32_t serial;
    _Atomic int stopping; /* workers end as soon as they find nothing.  W: shutdown.  R: all */
    struct cc__growth growth __attribute__((aligned(CC__FALSE_SHARING)));
};

_Static_assert(offsetof(struct cc__runtime, growth) % CC__FALSE_SHARING == 0, "the monitor disturbs nobody");
_Static_assert(offsetof(struct cc__runtime, searching) % CC__FALSE_SHARING == 0,
               "what is written all the time is not beside what is only read");

/* What reports call a task: its name, or its function as the spawn had it; or NULL. */
static inline const char *cc__task_label(const struct cc__task *t) {
    if (t->has_name) return t->name;
    return t->site != NULL ? t->site->what : NULL;
}

/* One more; only its owner writes it, so no read-modify-write is needed. */
static inline void cc__count(_Atomic uint64_t *counter) {
    cc__store_relaxed(counter, cc__load_relaxed(counter) + 1);
}

/* The clock was read here anyway, or is still 0: tell the others, but not more often than makes a difference. */
static inline void cc__coarse_tell(struct cc__runtime *rt, int64_t now_ns) {
    if (now_ns - cc__load_relaxed(&rt->coarse_ns) > 1000000) cc__store_relaxed(&rt->coarse_ns, now_ns);
}

/* The record of whoever runs here: a task's, or this plain thread's, made on first use.
 *   Returns    NULL: no memory for a thread's */
struct cc__task *cc__self(void);

/* runq.c */
CC__HOT void cc__runq_push(struct cc__worker *w, struct cc__runq *q, struct cc__task *t); /* q is one of w's */
CC__HOT struct cc__task *cc__runq_pop(struct cc__runq *q);
/* Take half of a victim's, CC__RUNQ_SLOTS / 2 at most; how many. */
uint32_t cc__runq_take_half(struct cc__runq *victim, struct cc__task **got);
/* The same; returns one to run and puts the rest into q, one of w's. */
struct cc__task *cc__runq_steal(struct cc__worker *w, struct cc__runq *q, struct cc__runq *victim);
bool cc__runq_empty(struct cc__runq *q);
/* For its owner; what thieves take at this moment may be counted. */
static inline uint32_t cc__runq_length(const struct cc__runq *q) {
    return cc__load_relaxed(&q->tail) - cc__load_relaxed(&q->head);
}

/* mpmc.c */
void cc__mpmc_init(struct cc__mpmc *q, struct cc__mpmc_cell *zeroed, unsigned bits);
/* Up to n (1 or more) at once: how many it were; 0: full, or empty. */
size_t cc__mpmc_push(struct cc__mpmc *q, struct cc__task *const *tasks, size_t n);
size_t cc__mpmc_pop(struct cc__mpmc *q, struct cc__task **tasks, size_t n);
bool cc__mpmc_empty(struct cc__mpmc *q);
size_t cc__mpmc_length(struct cc__mpmc *q); /* a snapshot */

/* inject.c */
size_t cc__inject_bytes(unsigned bits); /* of zeroed memory for its rings */
void cc__inject_init(struct cc__inject *q, void *zeroed, unsigned bits);
void cc__inject_end(struct cc__inject *q); /* it is empty */
void cc__inject_push(struct cc__inject *q, struct cc__task *t);
/* Several of one lane, but not that of high priority; in an array, which is quicker for who takes them; or new ones of
 * normal priority, in a list. */
void cc__inject_push_many(struct cc__inject *q, int lane, struct cc__task *const *tasks, size_t n);
void cc__inject_push_batch(struct cc__inject *q, struct cc__tasks batch, size_t count);
/* New ones of normal priority, CC__RUNQ_OVERFLOW at most: of these the newest are taken first, most of the time. */
void cc__inject_push_new(struct cc__inject *q, struct cc__task *const *tasks, size_t n);
struct cc__task *cc__inject_take(struct cc__inject *q, int lane);
struct cc__task *cc__inject_take_batch(struct cc__inject *q, struct cc__worker *w); /* of normal; one to run */
bool cc__inject_lane_empty(struct cc__inject *q, int lane);
bool cc__inject_empty(struct cc__inject *q);
size_t cc__inject_length(struct cc__inject *q);

/* inbox.c */
void cc__inbox_push(struct cc__task *_Atomic *box, struct cc__task *t);
struct cc__tasks cc__inbox_take(struct cc__task *_Atomic *box); /* all, oldest first */
void cc__tasks_append(struct cc__tasks *l, struct cc__task *t);
struct cc__task *cc__tasks_take(struct cc__tasks *l);

/* idle.c */
void cc__idle_notify(struct cc__runtime *rt); /* work for anybody was published */
void cc__idle_notify_many(struct cc__runtime *rt, size_t count);
void cc__idle_notify_worker(struct cc__worker *w); /* work for this one was */
void cc__idle_blocks(struct cc__worker *w); /* its task is about to block the thread: others see to what waits here */
void cc__idle_timer_added(struct cc__runtime *rt, int64_t when_ns);
bool cc__idle_start_searching(struct cc__worker *w);
void cc__idle_stop_searching(struct cc__worker *w, bool found);
/* Sleep until woken, unless there is work after all. False: the runtime ends, or this worker does. */
bool cc__idle_sleep(struct cc__worker *w);
void cc__idle_wake_all(struct cc__runtime *rt);

/* poll.c */
enum { CC__WATCHED_MAX = 8 }; /* workers that have one watcher */
/* The worker whose reactor watches what is waited for on one that is always there. */
static inline struct cc__worker *cc__poll_watcher(struct cc__runtime *rt, unsigned place) {
    if (rt->placement != NULL) return &rt->workers[place];
    unsigned last = place - place % CC__WATCHED_MAX + CC__WATCHED_MAX - 1;
    return &rt->workers[last < rt->base_count ? last : rt->base_count - 1];
}
static inline bool cc__poll_own(const struct cc__worker *w) { /* whether it has a reactor, and sleeps in that */
    return cc__reactor_on(&w->reactor);
}
static inline bool cc__poll_on(const struct cc__worker *w) { /* whether there is anything to look at */
    return cc__poll_own(w) || cc__reactor_on(&w->watcher->reactor);
}
/* Look, without waiting. True: tasks were made ready, and are in w's ring. */
bool cc__poll_look(struct cc__worker *w);
bool cc__poll_deliver(struct cc__worker *w); /* the same with what it got when it slept */
bool cc__poll_spin(struct cc__worker *w);    /* look on for a while, if that was worth it of late */
/* Sleep in the reactor until then. True: something came, or it is time; false: the bell, perhaps. */
bool cc__poll_sleep(struct cc__worker *w, int64_t until_ns);
/* For the monitor: look at the reactor of one that is stuck; and the end of all reactors of a runtime. */
void cc__poll_for(struct cc__worker *w);
void cc__poll_end(struct cc__runtime *rt);
/* Have some reactor watch a descriptor; *home: which.
 *   Returns    0; -EPERM it cannot be waited for, as a file; -EBADF; -EMFILE, -ENOMEM and others */
int cc__poll_watch_anew(struct cc__fd *e, int fd, uint32_t generation, uint32_t *home);
static inline int cc__poll_watch(struct cc__fd *e, int fd, uint32_t generation, uint32_t *home) {
    *home = cc__fd_home(e);
    if (CC__LIKELY(*home != 0 && (cc__fd_nature(e) & CC__FD_OURS) != 0)) return 0;
    return cc__poll_watch_anew(e, fd, generation, home);
}

/* fdwait.c */
/* Wait until there may be something. The generation is that of before the attempt that found nothing.
 *   Returns    0 try again; -EBADF it was closed; -ECANCELED, -ETIMEDOUT; as cc__poll_watch() */
int cc__fd_wait(struct cc__fd *e, int fd, enum cc__fd_way way, uint32_t generation);
/* The same for so long at most, though it may be ready: nobody can make use of that now. Then it is ready again.
 *   Returns    0 that time has passed, or something has come; -EBADF; -ECANCELED, -ETIMEDOUT */
int cc__fd_nap(struct cc__fd *e, int fd, enum cc__fd_way way, uint32_t generation, int64_t ns);
/* After an attempt: there may be more; if somebody began to wait meanwhile, it is woken. */
void cc__fd_may_be_more(struct cc__fd *e, enum cc__fd_way way, uint32_t bits);
/* After cc__fd_hold(): drop it, and close it if that was left to this call. */
CC__COLD int cc__fd_finish_closing(struct cc__fd *e, int fd);
static inline void cc__fd_release(struct cc__fd *e, int fd) {
    if (CC__UNLIKELY(cc__fd_drop(e))) (void)cc__fd_finish_closing(e, fd);
}
/* Close it, or leave that to the last who uses it now. Who waits for it returns with -EBADF. */
int cc__fd_close(struct cc__fd *e, int fd);
/* For select: whether it is ready now, 1 or 0, or a negative errno; have it watched, for a node; its list, and the lock
 * of that; with the lock, whether an event has come since, or it was closed: 1, -EBADF, or 0; and, when it was woken by
 * one, R7 of driver/fd.c. */
int cc__fd_ready_now(int fd, enum cc__fd_way way);
int cc__fd_prepare(int fd, struct cc__wait *node);
struct cc__waitlist *cc__fd_list_of(int fd, enum cc__fd_way way);
int cc__fd_look(int fd, enum cc__fd_way way, const struct cc__wait *node);
void cc__fd_chosen(int fd, enum cc__fd_way way);

/* filewait.c */
/* Have the kernel make a call on a file, while the caller waits.
 *   Returns    its result, a negative errno among them; -ECANCELED, -ETIMEDOUT it was given up; CC__FILES_NONE it is to
 *              be made in another way: there is no ring here, or it does not take the call */
#define CC__FILES_NONE INT64_MIN
int64_t cc__files_make(const struct cc__file_call *what);

/* grow.c */
void cc__worker_init(struct cc__runtime *rt, unsigned place); /* for a worker that is about to start there */
/* For the monitor: start temporary ones, how many; start the one that takes what was begun, or wake it. */
unsigned cc__grow(struct cc__runtime *rt, unsigned count, const char *why);
void cc__grow_express(struct cc__runtime *rt);
void cc__grow_clear(struct cc__worker *w); /* wait for the end of a thread that has ended; harmless otherwise */
/* For a temporary one that picks: true: *t is what it runs, or NULL. */
bool cc__grow_pick(struct cc__worker *w, struct cc__task **t);
struct cc__task *cc__grow_find_begun(struct cc__worker *w); /* the express's search; NULL: it goes */
void cc__grow_wake_express(struct cc__runtime *rt);
void cc__grow_retired(struct cc__worker *w); /* its last act */

/* monitor.c */
void cc__monitor_add(struct cc__runtime *rt);    /* watch it, as soon as there is a monitor */
void cc__monitor_remove(struct cc__runtime *rt); /* nobody watches it, or starts workers for it, once this returns */
void cc__monitor_start(void);                    /* the thread, if there is none; without memory there is none */
void cc__monitor_part(struct cc__worker *w);     /* the place of a temporary one that ends is free: its last act */
/* The program ends: threads that were started have begun, those that ended are joined, and it stays so. Sanitizers
 * report what the C library has allocated for a thread that only begins, and a thread that nobody has joined. */
void cc__monitor_settle(struct cc__runtime *rt);
void cc__monitor_unsettle(struct cc__runtime *rt); /* it goes on after all */
bool cc__monitor_started(void);
void cc__monitor_ring(void);  /* look at once */
void cc__monitor_rouse(void); /* a worker has left its sleep: watch on */

/* Places whose workers may be looked at. */
static inline unsigned cc__worker_count(const struct cc__runtime *rt) {
    return cc__load_acquire(&rt->worker_count); /* [MN2] acquire: they are set up */
}

/* ready.c */
/* Any worker may run it, at no particular time. */
static inline bool cc__ready_is_plain(const struct cc__task *t) {
    return t->priority == CC_PRIORITY_NORMAL && t->pinned == 0;
}
void cc__ready(struct cc__task *t);                             /* woken: queue it near here, wake somebody */
void cc__ready_new(struct cc__task *t);                         /* the same for a task that was just spawned */
void cc__ready_list(struct cc__task *first);                    /* woken ones, linked by next */
void cc__ready_batch(struct cc__tasks batch, size_t count);     /* new ones of one runtime and priority, not pinned */
void cc__ready_later(struct cc__worker *w, struct cc__task *t); /* behind all that waits here: it yielded */
/* The same for one that has done much at once: if only the one it gave way to is here, the two stay together. */
void cc__ready_paused(struct cc__worker *w, struct cc__task *t);
/* A plain one that yielded goes in line with the new: it may be waiting for those it spawned. What runs here now may
 * run for long, so others are told, if there are any. */
static inline void cc__ready_yielded(struct cc__worker *w, struct cc__task *t) {
    cc__runq_push(w, &w->fresh, t);
    if (cc__load_relaxed(&w->runtime->growth.running) > 1) cc__idle_notify(w->runtime);
}
void cc__ready_taken(struct cc__worker *w, struct cc__task *t); /* from elsewhere, to run here */
void cc__ready_all_taken(struct cc__worker *w, struct cc__tasks taken);

/* worker.c */
enum { CC__OTHER_WAY_EVERY = 8 };                       /* looks, of which one goes the other way */
enum { CC__LIFO_MAX = 3 };                              /* times in a row that the slot goes first */
struct cc__task *cc__worker_pick(struct cc__worker *w); /* without stealing or sleeping, or NULL */
/* After a task that has ended without ever waiting: another new one, before what was begun (worker.c); or NULL. */
struct cc__task *cc__worker_pick_through(struct cc__worker *w);
struct cc__task *cc__worker_pick_local(struct cc__worker *w);
struct cc__task *cc__worker_find(struct cc__worker *w);     /* NULL: the runtime ends */
bool cc__worker_expire(struct cc__timers *s, int64_t *now); /* timers that are due; *now: 0, or read before */
void *cc__worker_main(void *arg);                           /* the worker */

/* steal.c */
struct cc__task *cc__steal(struct cc__worker *w);          /* in rounds, or NULL */
struct cc__task *cc__steal_stranded(struct cc__worker *w); /* at a look; or NULL */
bool cc__steal_spin(struct cc__worker *w);                 /* wait a little for something; true: there is */
bool cc__steal_visible(struct cc__worker *w);    /* whether there is anything anybody could run, at once or later */
bool cc__steal_anything(struct cc__worker *w);   /* whether there is anything w could run */
bool cc__steal_share(struct cc__worker *victim); /* what waits at one that is stuck is for all; whether there was any */
bool cc__steal_queued(struct cc__runtime *rt);   /* whether there is anything that any worker could run at once */

/* run.c */
enum { CC__BUDGET = 128 };                   /* operations of a task before it yields */
void cc__run_switched(struct cc__worker *w); /* tell the trace, if there is one: before the next */
void cc__run_arrive(struct cc__worker *w);   /* the first thing after every switch */
/* The fiber of the next task, which becomes the current one; the worker's root if there is none. */
struct cc__fiber *cc__run_next_fiber(struct cc__worker *w, struct cc__task *next);
void cc__run_task(struct cc__worker *w, struct cc__task *t); /* from the worker's loop */
void cc__run_drop_fibers(struct cc__worker *w);
void cc__run_operation(void); /* one completed without waiting: now and then it yields */

/* park.c */
void cc__unpark(struct cc__task *t, uint32_t generation);
/* The same for whatever task the record is by now, and tell it that something it runs under was cancelled. */
void cc__unpark_to_cancel(struct cc__task *t);
void cc__thread_park(struct cc__task *self, int64_t deadline_ns, uintptr_t waits_for);
unsigned cc__park_timed_threads(void); /* plain threads that wait until some time */
enum cc__outcome cc__wait_for(struct cc__wait *w, int64_t deadline_ns);
/* Settle a wait that was claimed, and unpark its task. */
void cc__wake_claimed(struct cc__wait *node, enum cc__outcome outcome);
/* The same for a wait that nobody else can decide; a task is to run next on this worker. untold: nothing of
 * CC__TELL_WAKES is wanted. */
void cc__wake_next(struct cc__worker *w, struct cc__wait *node, enum cc__outcome outcome);
void cc__wake_next_untold(struct cc__worker *w, struct cc__wait *node, enum cc__outcome outcome);
/* The first of a list, or all; called with its lock, which they give up. Waiters that pass through the lock before they
 * go on find that the waker is through with the list. */
void cc__wake_first(struct cc__waitlist *l, enum cc__outcome outcome);
void cc__wake_all(struct cc__waitlist *l, enum cc__outcome outcome);

/* finish.c */
void cc__finish(struct cc__worker *w, struct cc__task *t);
void cc__finish_tell(struct cc__worker *w); /* tell the nursery `over`, if there is one */
void cc__record_free(struct cc__task *t);
/* Join it if it has ended: 0; -ESRCH; or -EAGAIN, and the node is on the list of its joiners. The wait may be decided
 * by others than the list, and means: look again. */
int cc__join_poll(cc_task task, struct cc__wait *w, void **result);
bool cc__task_ended(cc_task task);        /* or its handle is stale */
bool cc__task_ended_locked(cc_task task); /* the same, with its joiners' lock */

/* spawn.c */
int cc__spawn_prepare(struct cc__runtime *rt, struct cc__task **out, void *(*fn)(void *), void *arg); /* not queued */
uint32_t cc__spawn_serial(struct cc__runtime *rt, struct cc__worker *w); /* w: who spawns, or NULL */
int cc__spawn_admit(struct cc__runtime *rt, uint64_t n); /* so many tasks are counted in; or -ESHUTDOWN */
int cc__spawn_launch(struct cc__task *t);                /* prepared, and now runs; or -ESHUTDOWN */
int cc__spawn(struct cc__runtime *rt, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg,
              const cc_site *site);

/* cancel.c: what kinds of scopes there are, and what they mean to a waiter. */
enum { CC__SCOPE_NURSERY = 1, CC__SCOPE_DEADLINE, CC__SCOPE_SHIELD };
enum { CC__OWN_DEADLINE = 1, CC__WAIT_AGAIN };
int cc__cancel_code(const struct cc__task *self); /* 0, -ECANCELED or -ETIMEDOUT */
/* Wait; also until cancelled, or until a scope's deadline. The wait began with CC__BY_CANCEL; if its node is on a
 * list, it is the caller's to take off.
 *   Returns    0 matched; -EPIPE closed; -ECANCELED, -ETIMEDOUT by a scope; CC__OWN_DEADLINE by deadline_ns;
 *              CC__WAIT_AGAIN begin anew */
int cc__wait_cancellable(struct cc__wait *w, int64_t deadline_ns);
/* What an outcome means to it. */
int cc__cancel_decode(const struct cc__wait *w, enum cc__outcome outcome, int64_t deadline_ns);
/* Before a wait that can be cancelled: from here on it is told. */
void cc__cancel_listen(struct cc__task *self);
/* The running task was told of a cancellation: cancel the nurseries it has open that are under it. */
void cc__cancel_pass_on(struct cc__task *self);
/* The same, for one that waits: perhaps that ends its wait, which is decided then. */
CC__COLD void cc__cancel_heed(const struct cc__wait *w);

/* job/queue.c */
void cc__jobs_push(struct cc__worker *w, struct cc__task *t); /* by w; or many, in order */
void cc__jobs_push_all(struct cc__worker *w, struct cc__tasks batch);
struct cc__task *cc__jobs_pop(struct cc__worker *w); /* the newest, mostly; by w */
/* The older half, so many at most; how many. And the same for one to run and others to keep. */
uint32_t cc__jobs_take_half(struct cc__worker *victim, struct cc__task **got, uint32_t most);
struct cc__task *cc__jobs_steal(struct cc__worker *w, struct cc__worker *victim);
static inline bool cc__jobs_any(struct cc__worker *w) {
    return cc__load_relaxed(&w->jobs.length) > 0;
}

/* Of the layers above: futures. Poll one on this fiber; on which worker that ended. And one of its wakers less. */
struct cc__worker *cc__future_poll(struct cc__fiber *f, struct cc__task *t);
void cc__future_let_go(struct cc__task *t);

/* Of the layers above: frames, nurseries, and the runtime that starts itself. */
void cc__frame_end(struct cc__fiber *f); /* what its task got of frame memory goes */
/* What ends with a nursery: at_end is called when its children have, before its owner goes on; all_wait, with its lock,
 * when fewer are left that could do something: it claims the waits that are over by that, if any. */
struct cc__nursery_hook {
    struct cc__nursery_hook *next;
    void (*at_end)(struct cc__nursery_hook *h);
    void (*all_wait)(struct cc__nursery_hook *h, struct cc__claims *over);
};
void cc__nursery_add_hook(struct cc_nursery *n, struct cc__nursery_hook *h);
struct cc__task *cc__nursery_owner(const struct cc_nursery *n);
/* Its children that have not ended; and whether its owner waits for them. */
size_t cc__nursery_live(struct cc_nursery *n, bool *owner_waits);
void cc__nursery_cancel(struct cc_nursery *n, int code);
void cc__nursery_children_ended(struct cc_nursery *n, size_t count); /* well, and without being listed */
void cc__nursery_list(struct cc__task *self);   /* the running task is found from now on by who cancels its nursery */
void cc__nursery_unlist(struct cc__task *self); /* not any more: it is not a child, and ends */
int cc__runtime_default(struct cc__runtime **out);
/* Whether all in these runtimes, linked by growth.next, waits for ever; then it was reported. And the end of the
 * program for that, if it is to end. */
bool cc__deadlock_check(struct cc__runtime *first);
/* This worker has run one task for very long: say which, on stderr. */
void cc__stall_report(struct cc__worker *w, const char *kind, bool asleep);
void cc__deadlock_end(void);

#if CC__INLINE_HOT
#include "runq_hot.h"
#endif

#endif /* CC__SCHED_SCHED_H */
