/* SPDX-License-Identifier: MIT */
/* Jobs: tasks without a handle, counted out of a counter at their end.
 *
 * One of normal priority that a worker spawns goes to that worker's queue of jobs (queue.c); all others go where tasks
 * do. The counter is a waitgroup: its last touch by a job is the count itself, or the unlock, so who waited for it may
 * leave the frame it lies in (sync/waitgroup.c).
 *
 * Prev: job/fork.c  Next: job/queue.c */
#include <ccrt/job.h>

#include "../sched/events.h"
#include "../sched/sched.h"

#include <errno.h>
#include <limits.h>

static void *job_main(void *arg) {
    struct cc__task *t = arg;
    t->job.fn(t->job.arg);
    cc_counter *counter = t->job.counter;
    if (t->has_locals) cc__locals_end(t);
    if (CC__UNLIKELY(t->fiber->frame != NULL)) cc__frame_end(t->fiber);
    if (counter != NULL) cc_counter_done(counter);
    return NULL;
}

static int job_new(struct cc__task **out, const cc_job *job, int priority, cc_counter *counter) {
    struct cc__task *t;
    int rc = cc__spawn_prepare(NULL, &t, job_main, NULL);
    if (rc != 0) return rc;
    t->value = t;
    t->no_handle = 1;
    t->priority = (unsigned)priority & 3;
    t->job.fn = job->fn;
    t->job.arg = job->arg;
    t->job.counter = counter;
    *out = t;
    return 0;
}

/* Jobs that are counted in become visible. */
static void launch(struct cc__tasks jobs, size_t count) {
    struct cc__worker *w = cc__worker_current();
    struct cc__runtime *rt = jobs.first->runtime;
    if (CC__TRACING(CC__TRACE_SPAWN | CC__EDGES))
        for (struct cc__task *t = jobs.first; t != NULL; t = t->next) cc__event_spawn(t);
    if (w == NULL || w->runtime != rt || !cc__ready_is_plain(jobs.first)) {
        cc__ready_batch(jobs, count);
        return;
    }
    if (count == 1)
        cc__jobs_push(w, jobs.first);
    else
        cc__jobs_push_all(w, jobs);
    cc__idle_notify_many(rt, count);
}

static bool valid(const cc_job *jobs, size_t count, int priority) {
    if (priority < 0 || priority >= CC__PRIORITIES) return false;
    for (size_t i = 0; i < count; i++)
        if (jobs[i].fn == NULL) return false;
    return true;
}

int cc_job_spawn_many(const cc_job *jobs, size_t count, int priority, cc_counter *counter) {
    if ((jobs == NULL && count > 0) || count > INT_MAX || !valid(jobs, count, priority)) return -EINVAL;
    if (count == 0) return 0;
    struct cc__tasks batch = {0};
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct cc__task *t;
        rc = job_new(&t, &jobs[i], priority, counter);
        if (rc == 0) cc__tasks_append(&batch, t);
    }
    if (rc == 0) rc = cc__spawn_admit(batch.first->runtime, count);
    if (rc == 0) {
        if (counter != NULL) cc_counter_add(counter, (unsigned)count); /* before the first can run */
        launch(batch, count);
        return 0;
    }
    for (struct cc__task *t; (t = cc__tasks_take(&batch)) != NULL;) cc__record_free(t);
    return rc;
}

int cc_job_spawn(void (*fn)(void *), void *arg, int priority, cc_counter *counter) {
    return cc_job_spawn_many(&(cc_job){.fn = fn, .arg = arg}, 1, priority, counter);
}

/* ---- counters ---- */

void cc_counter_wait(cc_counter *c) {
    cc_waitgroup_wait(&c->priv_group);
}

int cc_counter_wait_cancellable(cc_counter *c) {
    return cc_waitgroup_wait_cancellable(&c->priv_group);
}

void cc_counter_add(cc_counter *c, unsigned n) {
    for (; n > INT_MAX; n -= INT_MAX) cc_waitgroup_add(&c->priv_group, INT_MAX);
    cc_waitgroup_add(&c->priv_group, (int)n);
}

void cc_counter_done(cc_counter *c) {
    cc_waitgroup_done(&c->priv_group);
}
