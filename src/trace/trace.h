/* SPDX-License-Identifier: MIT */
/* Events: what the scheduler did and when, kept in memory and written as a trace that chrome://tracing and Perfetto
 * show. Always compiled in; where it is off, a site costs one load of one word, a test and a branch that is not taken:
 *
 *     if (CC__TRACING(CC__TRACE_SPAWN)) cc__event_spawn(t);
 *
 * The same word says which log lines are wanted (log.h). It is set as the first runtime starts, before there are
 * workers, and only cleared later.
 *
 * A record is 32 bytes. Each worker writes its own, into chunks of 64 KiB that it takes when it needs one; plain
 * threads share some under a lock. Nothing is overwritten: what is kept is a beginning of what happened, complete up to
 * the limit of 64 MiB (two million records); what comes then is counted as lost. (Rings that overwrite would keep the
 * end, but lose the spawns, and with them the names of what ran. A thread that drains them would need a cpu, and would
 * be seen in what it measures.)
 *
 * Prev: plat/fault.c  Next: trace/edges.h */
#ifndef CC__TRACE_TRACE_H
#define CC__TRACE_TRACE_H

#include "../base/atomic.h"
#include "../base/base.h"
#include "../plat/clock.h"

#include <stdbool.h>

/* Bits of the word: kinds of sites. */
enum {
    CC__TRACE_SPAWN = 1 << 0,
    CC__TRACE_SWITCH = 1 << 1, /* run, park, yield, end */
    CC__TRACE_UNPARK = 1 << 2, /* by tasks, threads and timers */
    CC__TRACE_STEAL = 1 << 3,
    CC__TRACE_WORKERS = 1 << 4, /* more or fewer of them */
    CC__TRACE_ALL = (1 << 5) - 1,
    CC__LOG_JOIN = 1 << 8,
    CC__LOG_WAKE = 1 << 9,
    CC__LOG_INBOX = 1 << 10,
    CC__LOG_MONITOR = 1 << 11,
    CC__LOG_PARK = 1 << 12,
    CC__LOG_CHAN = 1 << 13,
    CC__LOG_CHAN_MORE = 1 << 14,
    CC__EDGES = 1 << 15, /* see edges.h */
};

/* On lines of its own: what lies beside it may be written all the time. It orders nothing: what it licenses was made
 * before the reader's thread was. */
struct cc__trace_mask {
    _Atomic uint32_t bits; /* W: cc__trace_turn_on() before there are workers, cc__trace_turn_off().  R: every site */
} __attribute__((aligned(CC__FALSE_SHARING)));
extern struct cc__trace_mask cc__trace_mask __attribute__((visibility("hidden"))); /* read without the GOT */

/* Whether something of these kinds is wanted. In models it is not: they are about what the sites stand beside. Nor in
 * the library that a benchmark is made with to see what they cost (bench/CMakeLists.txt). */
#if defined(CCRT_MODEL) || defined(CCRT_BARE)
#define CC__TRACING(kinds) (0 & (kinds))
#else
#define CC__TRACING(kinds) CC__UNLIKELY((cc__load_relaxed(&cc__trace_mask.bits) & (kinds)) != 0)
#endif

void cc__trace_turn_on(uint32_t kinds);
void cc__trace_turn_off(void);

/* ---- records ---- */

enum cc__event_kind {
    CC__EVENT_RUN,      /* a worker with nothing to do runs `other` */
    CC__EVENT_PARK,     /* `task` waits, a: char *why, b: on what; the worker runs `other`, or nothing (0) */
    CC__EVENT_YIELD,    /* as above, without why */
    CC__EVENT_END,      /* the same */
    CC__EVENT_SPAWN,    /* `task` of runtime b, by `other`, a: const cc_site * */
    CC__EVENT_SPAWN_FN, /* the same where the place is not known, a: its function */
    CC__EVENT_NAME,     /* of `task` of runtime `other`, which is to be spawned: a and b are the next characters */
    CC__EVENT_UNPARK,   /* `task` of runtime b, by `other`; a: a timer did */
    CC__EVENT_STEAL,    /* `task` of them, from worker `other` */
    CC__EVENT_GROW,     /* worker `task` of runtime b was started; there are `other`; a: char *why, or NULL */
    CC__EVENT_RETIRE,   /* the same, ended */
};

/* Tasks are known by their numbers, which are not used again. `other` is a task, or on a plain thread's record the
 * kernel's number of the thread. Strings and places are static. */
struct cc__event {
    uint64_t when; /* cycles since the start, and the kind in the lowest byte */
    uint32_t task, other;
    uintptr_t a, b;
};
_Static_assert(sizeof(struct cc__event) == 16 + 2 * sizeof(uintptr_t), "no holes");

/* What one worker, or all plain threads, recorded. */
struct cc__trace_log {
    struct cc__event *at, *end;           /* where the next goes; its owner's */
    uint64_t stolen;                      /* tasks its worker had stolen by the last record; its owner's, as the next */
    uint32_t running;                     /* the task that its worker runs, or 0 */
    _Atomic uint64_t count;               /* records made.  W: owner.  R: who writes the trace.  [TR1] */
    _Atomic uint64_t lost;                /* W: owner.  R: the same */
    uint32_t runtime, worker;             /* whose; runtime 0: plain threads' */
    char name[16];                        /* of the runtime */
    bool full;                            /* there is no room for more; its owner's */
    struct cc__trace_chunk *first, *last; /* guarded by the store's lock */
    struct cc__trace_log *next;           /* the same */
    bool over;                            /* its worker has ended; the same */
};

extern uint64_t cc__trace_origin __attribute__((visibility("hidden"))); /* in cycles; set before it is turned on */

/* Begin to trace into a file; what is wrong with it is told on stderr, and then there is no trace. */
void cc__trace_start(const char *path);
/* Where a worker puts its records; NULL: it is off, or there is no memory for it, and its events are lost. */
struct cc__trace_log *cc__trace_open(uint32_t runtime, uint32_t worker, const char *name);
/* The worker has ended. NULL is allowed. */
void cc__trace_close(struct cc__trace_log *log);
/* No runtime is left: write what there is, and forget it. */
void cc__trace_flush(void);
/* The process ends: the same, and it is over. */
void cc__trace_end(void);
/* In the child of a fork(): its parent writes the trace. */
void cc__trace_forget(void);

/* A new chunk for a log. NULL: the event is lost, and counted. */
CC__COLD struct cc__event *cc__trace_more(struct cc__trace_log *log);

/* Record; log is the caller's own, or NULL. */
static inline void cc__trace_put(struct cc__trace_log *log, enum cc__event_kind kind, uint32_t task, uint32_t other,
                                 uintptr_t a, uintptr_t b) {
    if (CC__UNLIKELY(log == NULL)) return;
    struct cc__event *e = log->at;
    if (CC__UNLIKELY(e == log->end) && (e = cc__trace_more(log)) == NULL) return;
    *e = (struct cc__event){(cc__cycles() - cc__trace_origin) << 8 | kind, task, other, a, b};
    log->at = e + 1;
    /* [TR1] release: who reads the count may read the records. */
    cc__store_release(&log->count, cc__load_relaxed(&log->count) + 1);
}

/* The same for a plain thread, whose number is filled in where `other` is 0. */
CC__COLD void cc__trace_put_thread(enum cc__event_kind kind, uint32_t task, uint32_t other, uintptr_t a, uintptr_t b);
/* The name of a task that is about to be spawned, by a worker or (log NULL) by a plain thread; its first 64 bytes. */
CC__COLD void cc__trace_put_name(struct cc__trace_log *log, uint32_t task, uint32_t runtime, const char *name);

#endif /* CC__TRACE_TRACE_H */
