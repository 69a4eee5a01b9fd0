/* SPDX-License-Identifier: MIT */
/* Where a runnable task goes. On a worker: its slot for the one to run next, and what was there to the tail of
 * its ring: what a task wakes runs next, on warm caches. Elsewhere: the global queue.
 *
 * Who is woken for it: nobody, if the worker itself will run it next and has nothing else waiting: a pair of
 * tasks that wake each other in turn stays on one worker. A new task wakes somebody in any case: its spawner
 * goes on, perhaps for long.
 *
 * Prev: sched/spawn.c  Next: sched/runq.c */
#include "sched.h"

#include "../base/assert.h"

/* Queue it. True: there is more work here than this worker runs next. */
static bool enqueue(struct cc__task *t) {
    struct cc__runtime *rt = t->runtime;
    struct cc__worker *w = cc__worker_current();
    if (w == NULL || w->runtime != rt || t->priority != 0) {
        t->next = NULL;
        cc__inject_push(&rt->inject, t, 1);
        return true;
    }
    /* [RQ3] release: whoever takes it from the slot sees the task. */
    struct cc__task *before = cc__xchg_acq_rel(&w->lifo, t);
    if (before != NULL) cc__runq_push(w, before);
    return before != NULL || !cc__runq_empty(&w->runq);
}

void cc__ready(struct cc__task *t) {
    struct cc__runtime *rt = t->runtime; /* it may run, end and be freed as soon as it is queued */
    if (enqueue(t)) cc__idle_notify(rt);
}

void cc__ready_new(struct cc__task *t) {
    struct cc__runtime *rt = t->runtime;
    enqueue(t);
    cc__idle_notify(rt);
}

void cc__ready_list(struct cc__task *first) {
    while (first != NULL) {
        struct cc__task *t = first;
        first = t->next;
        t->next = NULL;
        cc__ready(t);
    }
}
