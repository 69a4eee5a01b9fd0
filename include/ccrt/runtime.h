/* SPDX-License-Identifier: MIT */
/* Runtimes: sets of workers. The default one starts itself; others are made and ended by hand. */
#ifndef CCRT_RUNTIME_H
#define CCRT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"
#include "task.h"

CC_BEGIN_DECLS

typedef struct cc_runtime cc_runtime;

/* Where a worker puts the tasks it spawns: on its own queue, next to run, from where idle workers steal; or to the
 * workers in turn. */
enum { CC_SPAWN_LOCAL, CC_SPAWN_ROUNDROBIN };

/* Who makes calls on files that may have to wait for a disk: CC_IO in the environment, which has the same names, or the
 * default; threads that are kept for blocking calls (sockets are epoll's in any case: so both of these names mean the
 * same); the kernel, by io_uring, or threads where there is none. */
enum { CC_IO_DEFAULT, CC_IO_EPOLL, CC_IO_URING, CC_IO_POOL };

/* Whether each worker's thread is bound to one cpu, and which: all cpus, as the system numbers them; one of each core;
 * or one of each core first, strong cores before weak ones, and the others (siblings that share a core) for those
 * workers that are woken only when all before them are at work. Which cpus share what is known by hwloc alone. */
enum { CC_PIN_DEFAULT, CC_PIN_OFF, CC_PIN_LINEAR, CC_PIN_AVOID_SMT, CC_PIN_TIERED };

/* Zero means the default. */
typedef struct cc_runtime_attr {
    unsigned workers;       /* 0: CC_WORKERS in the environment, else as many as cpus may be used, or the strategy of
                            * `pin` gives out */
    unsigned max_workers;   /* never more than these at work: also when the environment wants more, and when all are
                            * busy with long computations and others wait; 0: twice the cpus, or as many as workers */
    unsigned max_blocked;   /* so many may sleep in the kernel and be made up for by others; 0: 512; at most 4096 */
    unsigned grow_every_us; /* more workers against long computations at most this often; 0: 10,000 */
    unsigned idle_ms;       /* workers that came in addition go when they had nothing to do for so long; 0: 500 */
    int no_monitor;         /* nobody watches for workers that are stuck; there are never more than `workers` */
    size_t stack_bytes;     /* of its tasks; 0: 192 KiB */
    int spawn;              /* CC_SPAWN_* */
    int no_stealing;        /* workers do not take each other's tasks */
    int io;                 /* CC_IO_* */
    size_t queue;           /* tasks in the lock-free part of the global queue, rounded up to a power of two; 0: 4096 */
    int pin;                /* CC_PIN_*; default: CC_PIN in the environment, else off */
    int huge_stacks;        /* stacks in huge pages, if the system has some; then those smaller than one have no guards,
                            * and stderr says so */
    size_t prewarm_tasks;   /* records made ready at the start */
    size_t prewarm_stacks;  /* stacks made ready at the start, */
    size_t prefetch_pages;  /* with so many pages of each touched */
    const char *name;       /* of its threads, with a number behind: "name-0"; 0: "ccrt"; cut to 15 bytes */
} cc_runtime_attr;

/* Start a runtime. attr may be NULL.
 *   Returns    0; -EINVAL; -ENOMEM; -EAGAIN the system gives no more threads; -ENOTSUP attr wants workers bound to
 *              cpus, and there is no hwloc
 *   Call from  a plain thread */
CC_API int cc_runtime_create(cc_runtime **out, const cc_runtime_attr *attr);

/* Wait until all its tasks have ended, then end its workers. NULL is allowed.
 *   Call from  a plain thread */
CC_API void cc_runtime_destroy(cc_runtime *rt);

/* The same with limits: wait so long for all tasks to end by themselves; then take no more (spawns fail with
 * -ESHUTDOWN), cancel them, and wait so long for them to end. Negative: for ever.
 * Futures are cancelled where they sleep, and where they are polled for another reason; one that waits for a channel, a
 * task, another future or its waker is not: cancel it before, or let it end (cc_future_cancel).
 *   Returns    0 and the runtime is gone; -ETIMEDOUT some tasks did not end, stderr names them, and says how many
 *              futures; the runtime is still there, but takes no tasks: call it again, or end the process
 *   Call from  a plain thread */
CC_API int cc_runtime_shutdown(cc_runtime *rt, int64_t wait_ms, int64_t cancelled_ms);

/* Spawn into a runtime from anywhere; as cc_task_spawn.
 *   Returns    also -ESHUTDOWN it is being shut down */
CC_API int cc_runtime_spawn(cc_runtime *rt, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg);

/* How many workers it has. */
CC_API unsigned cc_runtime_workers(const cc_runtime *rt);

/* Which of its runtime's workers runs the caller, from 1; 0: a plain thread. */
CC_API unsigned cc_worker_self(void);

/* What happened so far, all workers together; each figure is exact, but they are not of one instant. */
typedef struct cc_runtime_stats {
    uint64_t spawned; /* tasks */
    uint64_t ended;
    uint64_t parked; /* times one waited */
    uint64_t woken;
    uint64_t stolen;          /* tasks taken from other workers */
    size_t queued_local;      /* now in workers' queues */
    size_t queued_global;     /* now in the global queue */
    unsigned workers_idle;    /* asleep now, */
    unsigned workers;         /* of so many, with those that came in addition */
    uint64_t workers_started; /* that ever came in addition */
    uint64_t stuck;           /* times one was found busy with one task for more than 250 us */
} cc_runtime_stats;
CC_API void cc_runtime_stats_get(const cc_runtime *rt, cc_runtime_stats *out); /* rt NULL: the default one */

/* Run fn(arg) as a task of a runtime made for it, wait for it and all it spawned, and end the runtime.
 *   Returns    0 and fn's result; as cc_runtime_create
 *   Call from  a plain thread */
CC_API int cc_run(const cc_runtime_attr *attr, void *(*fn)(void *), void *arg, void **result);

CC_END_DECLS

#endif /* CCRT_RUNTIME_H */
