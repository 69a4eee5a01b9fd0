/* SPDX-License-Identifier: MIT */
/* What the scheduler tells of itself. See events.h; none of this runs unless it was asked for.
 *
 * A record is made before what it tells of can have consequences: a spawn before the task is queued, an unpark before
 * the task can run. So what follows from it is recorded later.
 *
 * Prev: sched/events.h  Next: sched/cancel.c */
#include "events.h"

#include "../fiber/hooks.h"

/* Record what a task, a worker or a plain thread did. */
static void put(enum cc__event_kind kind, uint32_t task, uintptr_t a, uintptr_t b) {
    struct cc__worker *w = cc__worker_current();
    if (w != NULL)
        cc__trace_put(w->trace, kind, task, w->trace == NULL ? 0 : w->trace->running, a, b);
    else
        cc__trace_put_thread(kind, task, 0, a, b);
}

void cc__event_spawn(struct cc__task *t) {
    CC__EDGE_RELEASE(t);
    if (!CC__TRACING(CC__TRACE_SPAWN)) return;
    const struct cc__worker *w = cc__worker_current();
    uint32_t runtime = t->runtime->number;
    if (t->has_name && (w == NULL || w->trace != NULL))
        cc__trace_put_name(w != NULL ? w->trace : NULL, t->serial, runtime, t->name);
    if (t->site != NULL)
        put(CC__EVENT_SPAWN, t->serial, (uintptr_t)t->site, runtime);
    else
        put(CC__EVENT_SPAWN_FN, t->serial, (uintptr_t)t->fn, runtime);
}

/* What the task that was just left waits for: it is not yet committed as parked, so its frame is quiet. */
static const char *why_left(const struct cc__worker *w, uintptr_t *object) {
    uintptr_t for_what = w->left == CC__LEFT_PARKING ? w->left_task->fiber->waits_for : 0;
    *object = for_what & ~CC__WAITS_FLAG;
    if (for_what == 0) return NULL;
    if ((for_what & CC__WAITS_FLAG) != 0) return "park_if";
    const struct cc__wait *wait = (const struct cc__wait *)for_what;
    *object = (uintptr_t)wait->object;
    return wait->reason;
}

void cc__event_switch(struct cc__worker *w) {
    static const enum cc__event_kind kind[] = {[CC__LEFT_NOTHING] =
                                                   CC__EVENT_END, /* and the next begins in its place */
                                               [CC__LEFT_PARKING] = CC__EVENT_PARK,
                                               [CC__LEFT_YIELDING] = CC__EVENT_YIELD,
                                               [CC__LEFT_PAUSING] = CC__EVENT_YIELD,
                                               [CC__LEFT_ENDED] = CC__EVENT_END};
    struct cc__trace_log *log = w->trace;
    struct cc__task *t = cc__load_relaxed(&w->current);
    if (t != NULL) CC__EDGE_ACQUIRE(t);
    if (!CC__TRACING(CC__TRACE_SWITCH)) return;
    uint32_t now = t == NULL ? 0 : t->serial;
    if (log == NULL || log->running == now) return;
    uintptr_t object;
    const char *why = why_left(w, &object);
    cc__trace_put(log, log->running == 0 ? CC__EVENT_RUN : kind[w->left], log->running, now, (uintptr_t)why, object);
    log->running = now;
}

/* ---- log lines ---- */

/* task 7 "main" */
static void say_task(struct cc__log *l, const struct cc__task *t) {
    if (t == NULL || t->fn == NULL) { /* a plain thread's, or none */
        cc__text_str(&l->text, "a thread");
        return;
    }
    cc__text_str(&l->text, "task ");
    cc__text_dec(&l->text, t->serial);
    const char *label = cc__task_label(t);
    if (label == NULL) return;
    cc__text_str(&l->text, " \"");
    cc__text_str(&l->text, label);
    cc__text_str(&l->text, "\"");
}

static void say_worker(struct cc__log *l, const struct cc__worker *w) {
    cc__text_str(&l->text, "worker ");
    cc__text_dec(&l->text, w->id);
}

/* Who does it: the task that runs here, or the worker itself, or a plain thread. A task that has ended looks for the
 * next one when its record is another's already: its fiber still knows its number, and nobody its name. */
static void say_self(struct cc__log *l) {
    const struct cc__worker *w = cc__worker_current();
    const struct cc__task *t = w == NULL ? NULL : cc__load_relaxed(&w->current);
    if (w == NULL) {
        say_task(l, NULL);
    } else if (t == NULL) {
        say_worker(l, w);
    } else {
        const struct cc__fiber *f = cc__fiber_current();
        while (f->up != NULL) f = *f->up;
        cc__text_str(&l->text, "task ");
        cc__text_dec(&l->text, f->task == t ? f->serial : t->serial); /* or it has not begun */
    }
}

void cc__event_unpark(const struct cc__task *t, bool by_timer) {
    if (CC__TRACING(CC__TRACE_UNPARK)) put(CC__EVENT_UNPARK, t->serial, by_timer, t->runtime->number);
    if (!CC__TRACING(CC__LOG_WAKE)) return;
    struct cc__log l;
    cc__log_begin(&l, "wake");
    if (by_timer)
        cc__text_str(&l.text, "a timer");
    else
        say_self(&l);
    cc__text_str(&l.text, " wakes ");
    say_task(&l, t);
    cc__log_end(&l);
}

/* The task may go on, end and be another's by now: its number is read as it is, which only a report may do. */
CC__HOOKS_UNCHECKED static void noted(const struct cc__task *t) {
    uint32_t serial = t->serial;
    const struct cc__runtime *rt = t->runtime;
    if (serial == 0 || rt == NULL) return;
    if (CC__TRACING(CC__TRACE_UNPARK)) put(CC__EVENT_UNPARK, serial, false, rt->number);
    if (!CC__TRACING(CC__LOG_WAKE)) return;
    struct cc__log l;
    cc__log_begin(&l, "wake");
    say_self(&l);
    cc__text_str(&l.text, " leaves a note for task ");
    cc__text_dec(&l.text, serial);
    cc__text_str(&l.text, ", which has not parked");
    cc__log_end(&l);
}

static void thread_woken(void) {
    struct cc__log l;
    if (!CC__TRACING(CC__LOG_WAKE)) return;
    cc__log_begin(&l, "wake");
    say_self(&l);
    cc__text_str(&l.text, " wakes a thread");
    cc__log_end(&l);
}

void cc__event_unparked(const struct cc__task *t, enum cc__unparked how) {
    switch (how) {
    case CC__UNPARK_QUEUE: cc__event_unpark(t, false); break;
    case CC__UNPARK_WAKE: thread_woken(); break;
    case CC__UNPARK_NOTED: noted(t); break;
    case CC__UNPARK_GONE: break;
    }
}

void cc__event_rouse(const struct cc__worker *w) {
    struct cc__log l;
    cc__log_begin(&l, "wake");
    say_self(&l);
    cc__text_str(&l.text, " rouses ");
    say_worker(&l, w);
    cc__log_end(&l);
}

void cc__event_steal(struct cc__worker *w, const struct cc__worker *victim) {
    if (w->trace == NULL) return;
    uint64_t stolen = cc__load_relaxed(&w->count.stolen), n = stolen - w->trace->stolen;
    w->trace->stolen = stolen;
    cc__trace_put(w->trace, CC__EVENT_STEAL, n == 0 ? 1 : (uint32_t)n, victim->id, 0, 0);
}

void cc__event_join(const struct cc__task *joiner, const struct cc__task *t, bool waits) {
    struct cc__log l;
    cc__log_begin(&l, "join");
    say_task(&l, joiner);
    cc__text_str(&l.text, waits ? " waits for " : " takes the result of ");
    say_task(&l, t);
    cc__log_end(&l);
}

void cc__event_joined(const struct cc__task *t, const struct cc__task *joiner) {
    struct cc__log l;
    cc__log_begin(&l, "join");
    say_task(&l, t);
    cc__text_str(&l.text, " has ended and wakes ");
    say_task(&l, joiner);
    cc__log_end(&l);
}

/* Whose inbox it is, and which of the two. */
static void say_box(struct cc__log *l, const struct cc__runtime *rt, const void *box) {
    unsigned count = cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++) {
        const struct cc__worker *w = &rt->workers[i];
        bool mail = box == (const void *)&w->mail;
        if (!mail && box != (const void *)&w->post) continue;
        cc__text_str(&l->text, mail ? "the mail of " : "the post of ");
        say_worker(l, w);
        return;
    }
}

void cc__event_inbox_push(const void *box, const struct cc__task *t) {
    struct cc__log l;
    cc__log_begin(&l, "inbox");
    say_task(&l, t);
    cc__text_str(&l.text, " goes to ");
    say_box(&l, t->runtime, box);
    cc__log_end(&l);
}

void cc__event_inbox_take(const void *box, const struct cc__tasks *all) {
    struct cc__log l;
    uint64_t n = 0;
    for (const struct cc__task *t = all->first; t != NULL; t = t->next) n++;
    if (n == 0) return;
    cc__log_begin(&l, "inbox");
    say_self(&l);
    cc__text_str(&l.text, " takes ");
    cc__text_dec(&l.text, n);
    cc__text_str(&l.text, " from ");
    say_box(&l, all->first->runtime, box);
    cc__log_end(&l);
}

void cc__event_chan(const char *does, const void *chan, const char *name, const char *how) {
    struct cc__log l;
    cc__log_begin(&l, "chan");
    say_self(&l);
    cc__text_str(&l.text, " ");
    cc__text_str(&l.text, does);
    if (chan != NULL) {
        cc__text_str(&l.text, " ");
        cc__text_hex(&l.text, (uintptr_t)chan);
    }
    if (name != NULL) {
        cc__text_str(&l.text, " \"");
        cc__text_str(&l.text, name);
        cc__text_str(&l.text, "\"");
    }
    if (how != NULL) {
        cc__text_str(&l.text, ": ");
        cc__text_str(&l.text, how);
    }
    cc__log_end(&l);
}

void cc__event_park_if(const struct cc__task *self, const void *flag, int is, int expected) {
    struct cc__log l;
    cc__log_begin(&l, "park_if");
    say_task(&l, self);
    cc__text_str(&l.text, is == expected ? " parks" : " goes on");
    cc__text_str(&l.text, ": flag ");
    cc__text_hex(&l.text, (uintptr_t)flag);
    cc__text_str(&l.text, " is ");
    if (is < 0) cc__text_str(&l.text, "-");
    cc__text_dec(&l.text, is < 0 ? 0 - (uint64_t)is : (uint64_t)is);
    cc__log_end(&l);
}

/* ---- workers that come and go ---- */

static void tell_worker(const struct cc__worker *w, enum cc__event_kind kind, const char *what, const char *why) {
    struct cc__runtime *rt = w->runtime;
    unsigned running = cc__load_relaxed(&rt->growth.running);
    if (CC__TRACING(CC__TRACE_WORKERS)) cc__trace_put_thread(kind, w->id, running, (uintptr_t)why, rt->number);
    if (!CC__TRACING(CC__LOG_MONITOR)) return;
    struct cc__log l;
    cc__log_begin(&l, "monitor");
    say_worker(&l, w);
    cc__text_str(&l.text, what);
    cc__text_str(&l.text, why);
    cc__text_str(&l.text, "; ");
    cc__text_dec(&l.text, running);
    cc__text_str(&l.text, " run");
    cc__log_end(&l);
}

void cc__event_grow(const struct cc__worker *w, const char *why) {
    tell_worker(w, CC__EVENT_GROW, " is started: ", why);
}

void cc__event_retire(const struct cc__worker *w, const char *why) {
    tell_worker(w, CC__EVENT_RETIRE, " ends: ", why);
}
