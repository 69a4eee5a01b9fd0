/* SPDX-License-Identifier: MIT */
/* Where a runnable task goes. On a worker: its slot for the one to run next, and what was there to the tail of
 * its ring: what a task wakes runs next, on warm caches. Elsewhere, and with another priority than most: the global
 * queue. Pinned: the inbox of its worker. Where workers are in tiers, all that is ready again goes to the global queue,
 * where those look that are dormant most of the time.
 *
 * Who is woken for it: nobody, if the worker itself will run it next and has nothing else waiting: a pair of
 * tasks that wake each other in turn stays on one worker. A new task wakes somebody in any case: its spawner
 * goes on, perhaps for long (docs/decisions/0006-placement.md).
 *
 * Prev: sched/spawn.c  Next: sched/runq_hot.h */
#include "sched.h"

#include "../base/assert.h"
#include "choice.h"
#include "events.h"
#include "slot.h"

/* The ring of w for it: what was begun is finished first. */
static struct cc__runq *ring_for(struct cc__worker *w, const struct cc__task *t) {
    return t->fiber != NULL ? &w->begun : &w->fresh;
}

/* Queue a task that is pinned, and wake its worker. */
static CC__COLD void enqueue_pinned(struct cc__worker *here, struct cc__task *t) {
    struct cc__worker *w = &t->runtime->workers[t->pinned - 1];
    if (w == here) {
        cc__tasks_append(&w->pinned, t);
    } else {
        cc__inbox_push(&w->mail, t);
        cc__idle_notify_worker(w);
    }
}

/* Who comes from outside is counted in before the task is queued, and out as the last thing: the task may run, end, and
 * be all that the runtime was kept for. */
static void visit(struct cc__runtime *rt) {
    cc__add_relaxed(&rt->visitors, 1);
}
static void visit_over(struct cc__runtime *rt) {
    cc__sub_acq_rel(&rt->visitors, 1); /* [SD3] release: who ends the runtime waits for this */
}

/* Queue a task that this worker cannot keep. */
static CC__COLD void enqueue_elsewhere(struct cc__worker *here, struct cc__task *t) {
    struct cc__runtime *rt = t->runtime; /* it may run, end and be freed as soon as it is queued */
    bool inside = here != NULL && here->runtime == rt;
    if (!inside) visit(rt);
    if (t->pinned != 0) {
        enqueue_pinned(inside ? here : NULL, t);
    } else {
        cc__inject_push(&rt->inject, t);
        cc__idle_notify(rt);
    }
    if (!inside) visit_over(rt);
}

/* Queue it here. True: there is more work than this worker runs next. */
static inline bool enqueue(struct cc__worker *w, struct cc__task *t) {
    struct cc__task *before = cc__slot_put(w, t);
    if (CC__UNLIKELY(before != NULL)) cc__runq_push(w, ring_for(w, before), before);
    return before != NULL || cc__runq_length(&w->begun) != 0 || cc__runq_length(&w->fresh) != 0;
}

static bool stays_here(const struct cc__worker *w, const struct cc__task *t) {
    return w != NULL && w->runtime == t->runtime && cc__ready_is_plain(t);
}

void cc__ready(struct cc__task *t) {
    struct cc__worker *w = cc__worker_current();
    if (CC__UNLIKELY(!stays_here(w, t) || w->spills)) {
        if (w != NULL)
            cc__count(&w->count.woken);
        else
            cc__add_relaxed(&t->runtime->woken, 1);
        enqueue_elsewhere(w, t);
        return;
    }
    cc__count(&w->count.woken);
    if (enqueue(w, t)) cc__idle_notify(w->runtime);
}

/* Spread: to the next worker's post. */
static CC__COLD void enqueue_in_turn(struct cc__worker *w, struct cc__task *t) {
    struct cc__runtime *rt = w->runtime;
    struct cc__worker *to = &rt->workers[cc__choice_turn(w)];
    cc__inbox_push(&to->post, t);
    cc__idle_notify_worker(to);
}

void cc__ready_new(struct cc__task *t) {
    struct cc__worker *w = cc__worker_current();
    if (CC__UNLIKELY(!stays_here(w, t))) {
        enqueue_elsewhere(w, t);
    } else if (CC__UNLIKELY(w->runtime->round_robin)) {
        enqueue_in_turn(w, t);
    } else {
        enqueue(w, t);
        cc__idle_notify(w->runtime);
    }
}

void cc__ready_list(struct cc__task *first) {
    cc__waitlist_none_held("WAKE-FLUSH-UNDER-LOCK");
    while (first != NULL) {
        struct cc__task *t = first;
        first = t->next;
        t->next = NULL;
        if (CC__TRACING(CC__TRACE_UNPARK | CC__LOG_WAKE)) cc__event_unpark(t, true);
        cc__ready(t);
    }
}

void cc__ready_batch(struct cc__tasks batch, size_t count) {
    struct cc__runtime *rt = batch.first->runtime;
    struct cc__worker *w = cc__worker_current();
    bool inside = w != NULL && w->runtime == rt;
    if (!inside) visit(rt);
    if (!cc__ready_is_plain(batch.first))
        for (struct cc__task *t; (t = cc__tasks_take(&batch)) != NULL;) cc__inject_push(&rt->inject, t);
    else if (!inside || count > CC__RUNQ_SLOTS)
        cc__inject_push_batch(&rt->inject, batch, count);
    else
        cc__ready_all_taken(w, batch);
    cc__idle_notify_many(rt, count);
    if (!inside) visit_over(rt);
}

/* The first yield here of late. True: this worker keeps none, and it is in the global queue. */
static CC__COLD bool spill(struct cc__worker *w, struct cc__task *t) {
    w->in_turn = !w->spills;
    if (w->spills) cc__inject_push_many(&w->runtime->inject, CC_PRIORITY_NORMAL, &t, 1);
    return w->spills;
}

void cc__ready_later(struct cc__worker *w, struct cc__task *t) {
    if (t->pinned != 0) {
        cc__tasks_append(&w->pinned, t);
        return;
    }
    if (!cc__ready_is_plain(t)) {
        cc__inject_push(&w->runtime->inject, t);
    } else if (w->in_turn || !spill(w, t)) {
        cc__ready_yielded(w, t);
        return;
    }
    cc__idle_notify(w->runtime); /* what runs here now may run for long */
}

void cc__ready_paused(struct cc__worker *w, struct cc__task *t) {
    if (cc__ready_is_plain(t) && !w->spills && cc__load_relaxed(&w->slot.task) == NULL && cc__rings_empty(w))
        cc__slot_fill(w, t);
    else
        cc__ready_later(w, t);
}

void cc__ready_taken(struct cc__worker *w, struct cc__task *t) {
    cc__runq_push(w, ring_for(w, t), t);
}

void cc__ready_all_taken(struct cc__worker *w, struct cc__tasks taken) {
    for (struct cc__task *t; (t = cc__tasks_take(&taken)) != NULL;) cc__ready_taken(w, t);
}
