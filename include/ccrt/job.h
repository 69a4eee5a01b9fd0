/* SPDX-License-Identifier: MIT */
/* Jobs: functions that run as tasks, counted instead of joined; counters, which are what depends on them waits for; and
 * memory that lasts as long as a job.
 *
 *     cc_counter meshes = CC_COUNTER_INIT(0);
 *     for (int i = 0; i < n; i++) cc_job_spawn(build, &mesh[i], CC_PRIORITY_NORMAL, &meshes);
 *     cc_counter_wait(&meshes);                     the job's fiber waits, its worker goes on
 *
 * A worker runs the jobs it has spawned newest first, one in 256 oldest first, and others take its oldest: a tree of
 * jobs has about as many live fibers as it is deep, for each worker, not as many as it is wide; none waits for ever. */
#ifndef CCRT_JOB_H
#define CCRT_JOB_H

#include <stddef.h>

#include "defs.h"
#include "task.h"
#include "waitgroup.h"

CC_BEGIN_DECLS

/* Jobs under way. Begins as CC_COUNTER_INIT(n); may go as soon as a wait has returned and nobody else is in one. On
 * cache lines of its own, since workers change it all the time. */
typedef struct cc_counter {
    cc_waitgroup priv_group;
} __attribute__((aligned(128))) cc_counter;

/* clang-format off */
#define CC_COUNTER_INIT(n) {{{0, 0}, {NULL, NULL}, (n)}}
/* clang-format on */

/* One of several to be spawned at once. */
typedef struct cc_job {
    void (*fn)(void *arg);
    void *arg;
} cc_job;

/* Run fn(arg) as a job, soon, with that priority, which it keeps. The counter, if there is one, is one more before the
 * job can run, and one less when it has returned: any number of jobs may share one.
 *   Returns    0; -EINVAL; -ENOMEM; -ESHUTDOWN: then nothing runs, and nothing was counted
 *   Call from  fiber or thread           Blocks: never
 *   Ordering   what was written before is seen by the job; what the job wrote, by who waits for the counter */
CC_API int cc_job_spawn(void (*fn)(void *arg), void *arg, int priority, cc_counter *counter);

/* The same for count jobs, all or none; they are published, and workers woken, once for all. */
CC_API int cc_job_spawn_many(const cc_job *jobs, size_t count, int priority, cc_counter *counter);

/* Wait until the counter is zero; more may be counted in meanwhile.
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point */
CC_API void cc_counter_wait(cc_counter *c);

/* The same, as a cancellation point.
 *   Returns    0; -ECANCELED, -ETIMEDOUT */
CC_API CC_NODISCARD int cc_counter_wait_cancellable(cc_counter *c);

/* Count by hand, for dependencies that are no jobs: so many more, and one less. Below zero it aborts. */
CC_API void cc_counter_add(cc_counter *c, unsigned n);
CC_API void cc_counter_done(cc_counter *c);

/* Memory that is freed when the job, or task, that asked for it has returned: a few instructions each, and nothing to
 * free. Aligned as by malloc(). In a forked function, or the body of a loop, it is whose task happens to run that: the
 * caller's, or one of its own. So it is there until that has returned, and not to be relied on any longer; and it may
 * go only with the caller's.
 *   Returns    NULL: no memory, or on a plain thread
 *   Call from  a task                    Blocks: never */
CC_API void *cc_frame_alloc(size_t bytes);

/* Free now what this task got by cc_frame_alloc(): another frame begins. Not in a forked function or the body of a
 * loop, which may run on the caller's. */
CC_API void cc_frame_begin(void);

CC_END_DECLS

#endif /* CCRT_JOB_H */
