/* SPDX-License-Identifier: MIT */
/* A new task: a record is set up and queued; it never runs before the spawner goes on, and has no stack yet.
 *
 * Prev: sched/slot.h  Next: sched/ready.c */
#include <ccrt/task.h>

#include "sched.h"

#include "../base/assert.h"
#include "../plat/thread.h"
#include "events.h"
#include "leave.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Count it where shutdown looks: plain threads share a counter, workers have their own. */
static void count_spawn(struct cc__runtime *rt, struct cc__worker *w, uint64_t n) {
    if (w != NULL && w->runtime == rt)
        cc__store_relaxed(&w->count.spawned, cc__load_relaxed(&w->count.spawned) + n);
    else
        cc__add_relaxed(&rt->spawned, n);
}

/* A number for reports: workers take them by the block, so that a spawn shares nothing. */
uint32_t cc__spawn_serial(struct cc__runtime *rt, struct cc__worker *w) {
    enum { BLOCK = 1024 };
    if (w == NULL || w->runtime != rt) {
        uint32_t serial = cc__add_relaxed(&rt->serial, 1) + 1;
        if (serial > 1 && !rt->growth.off) cc__monitor_start(); /* one task alone can be in nobody's way */
        return serial;
    }
    if (w->serial == w->serial_end) {
        if (!rt->growth.off) cc__monitor_start();
        w->serial = cc__add_relaxed(&rt->serial, BLOCK);
        w->serial_end = w->serial + BLOCK;
    }
    return ++w->serial;
}

int cc__spawn_prepare(struct cc__runtime *rt, struct cc__task **out, void *(*fn)(void *), void *arg) {
    struct cc__worker *w = cc__worker_current();
    if (rt == NULL && w != NULL) rt = w->runtime;
    int rc = rt != NULL ? 0 : cc__runtime_default(&rt);
    if (rc != 0) return rc;
    struct cc__task *t = cc__task_alloc(w != NULL ? &w->records : NULL);
    if (t == NULL) return -ENOMEM;
    t->fn = fn;
    t->value = arg;
    t->runtime = rt;
    t->stack_class = rt->stack_class & 31;
    t->serial = cc__spawn_serial(rt, w);
    *out = t;
    return 0;
}

/* Count n tasks in, unless the runtime takes no more.
 *
 *   spawner                                shutdown
 *   S1 counts the task in                  D1 closed = 1
 *   S2 full fence                          D2 full fence
 *   S3 closed: counts it out again,        D3 reads the counts until as many ended as were spawned
 *      fails
 *
 * Either S3 sees D1, or D3 sees S1 and waits for the task. A task of the runtime itself needs no fence: D3 waits
 * for it, and so for what it spawned before it saw D1. */
int cc__spawn_admit(struct cc__runtime *rt, uint64_t n) {
    struct cc__worker *w = cc__worker_current();
    bool inside = w != NULL && w->runtime == rt;
    if (inside && CC__UNLIKELY(cc__load_relaxed(&rt->closed) != 0)) return -ESHUTDOWN;
    count_spawn(rt, w, n);
    if (CC__LIKELY(inside)) return 0;
    cc__fence_full(); /* [SD2] S2, see above */
    if (CC__LIKELY(cc__load_relaxed(&rt->closed) == 0)) return 0;
    cc__sub_relaxed(&rt->spawned, n);
    return -ESHUTDOWN;
}

static inline __attribute__((always_inline)) int launch(struct cc__task *t) {
    int rc = cc__spawn_admit(t->runtime, 1);
    if (CC__UNLIKELY(rc != 0)) return rc;
    if (CC__TRACING(CC__TRACE_SPAWN | CC__EDGES)) cc__event_spawn(t);
    cc__ready_new(t);
    return 0;
}

int cc__spawn_launch(struct cc__task *t) {
    return launch(t);
}

/* What attributes say; 0, or why not. */
static int apply(struct cc__task *t, const cc_task_attr *attr) {
    if (attr->stack_bytes > CC__STACK_BYTES_MAX || attr->worker > t->runtime->base_count) return -EINVAL;
    if (attr->priority < 0 || attr->priority >= CC__PRIORITIES) return -EINVAL;
    if (attr->stack_bytes != 0) t->stack_class = cc__stack_class(attr->stack_bytes) & 31;
    t->priority = (unsigned)attr->priority & 3;
    t->pinned = attr->worker & 0x7fff;
    if (attr->name != NULL) {
        t->name = strdup(attr->name);
        if (t->name == NULL) return -ENOMEM;
        t->has_name = 1;
    }
    return 0;
}

/* The functions themselves, for who binds them: in C the macros of these names note the place. */
#undef cc_task_spawn
#undef cc_fiber_spawn_task

static cc_task handle_of(struct cc__task *t) {
    return (cc_task){.priv_record = t, .priv_generation = cc__task_generation(cc__load_relaxed(&t->control))};
}

static cc_task hold(struct cc__task *t) {
    cc__task_hold(t);
    return handle_of(t);
}

int cc__spawn(struct cc__runtime *rt, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg,
              const cc_site *site) {
    if (out == NULL || fn == NULL) return -EINVAL;
    *out = (cc_task){0};
    struct cc__task *t;
    int rc = cc__spawn_prepare(rt, &t, fn, arg);
    if (rc != 0) return rc;
    t->site = site;
    if (attr != NULL) rc = apply(t, attr);
    if (rc == 0) {
        *out = hold(t); /* before it runs: it may look there */
        rc = launch(t);
        if (rc == 0) return 0;
        *out = (cc_task){0};
        cc__task_release(t);
    }
    cc__record_free(t);
    return rc;
}

int cc_task_spawn(cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg) {
    return cc__spawn(NULL, out, attr, fn, arg, NULL);
}

int cc_task_spawn_at(const cc_site *site, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg) {
    return cc__spawn(NULL, out, attr, fn, arg, site);
}

cc_task cc_fiber_spawn_task(void *(*fn)(void *), void *arg) {
    return cc_fiber_spawn_task_at(NULL, fn, arg);
}

cc_task cc_fiber_spawn_task_at(const cc_site *site, void *(*fn)(void *), void *arg) {
    cc_task t;
    return cc__spawn(NULL, &t, NULL, fn, arg, site) == 0 ? t : (cc_task){0};
}

int cc_task_spawn_many(cc_task *out, size_t count, void *(*fn)(void *), void *const *args) {
    if (fn == NULL || out == NULL) return -EINVAL;
    struct cc__tasks batch = {0};
    int rc = 0;
    for (size_t i = 0; i < count; i++) {
        struct cc__task *t;
        rc = cc__spawn_prepare(NULL, &t, fn, args != NULL ? args[i] : NULL);
        if (rc != 0) break;
        cc__tasks_append(&batch, t);
        out[i] = hold(t);
    }
    if (rc == 0 && count > 0) rc = cc__spawn_admit(batch.first->runtime, count);
    if (rc == 0 && CC__TRACING(CC__TRACE_SPAWN | CC__EDGES))
        for (struct cc__task *t = batch.first; t != NULL; t = t->next) cc__event_spawn(t);
    if (rc == 0 && count > 0) cc__ready_batch(batch, count);
    if (rc != 0)
        for (struct cc__task *t; (t = cc__tasks_take(&batch)) != NULL;) {
            cc__task_release(t);
            cc__record_free(t);
        }
    return rc;
}

/* Nothing else waits here: one of low priority may run. */
static CC__COLD void yield_to_low(struct cc__worker *w) {
    if (CC__LIKELY(cc__inject_lane_empty(&w->runtime->inject, CC_PRIORITY_LOW))) return;
    struct cc__task *t = cc__inject_take(&w->runtime->inject, CC_PRIORITY_LOW);
    if (t == NULL) return;
    cc__ready_taken(w, t);
    cc__run_leave(w, CC__LEFT_YIELDING, 0);
}

void cc_yield(void) {
    struct cc__worker *w = cc__worker_current();
    const struct cc__task *self = w == NULL ? NULL : cc__load_relaxed(&w->current);
    if (self == NULL) {
        cc__thread_yield();
    } else if (self->stack_class != CC__STACKLESS) {
        uint32_t tick = cc__load_relaxed(&w->tick);
        cc__run_leave(w, CC__LEFT_YIELDING, 0);
        /* It was left, and another has left since; or there was only the one look for somebody, in vain. */
        if (cc__load_relaxed(&w->tick) == tick + 1 && cc__worker_current() == w) yield_to_low(w);
    }
}

cc_task cc_task_self(void) {
    struct cc__task *t = cc__self();
    if (t == NULL || t->fn == NULL || t->stack_class == CC__STACKLESS) return (cc_task){0};
    return handle_of(t);
}

const char *cc_task_self_name(void) {
    struct cc__task *t = cc__self();
    return t == NULL ? NULL : cc__task_label(t);
}
