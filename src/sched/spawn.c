/* SPDX-License-Identifier: MIT */
/* A new task: a record is set up and queued; it never runs before the spawner goes on, and has no stack yet.
 *
 * Prev: sched/sched.h  Next: sched/ready.c */
#include <ccrt/task.h>

#include "sched.h"

#include "../base/assert.h"
#include "../plat/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Count it where shutdown looks: plain threads share a counter, workers have their own. */
static void count_spawn(struct cc__runtime *rt, struct cc__worker *w) {
    if (w != NULL && w->runtime == rt)
        cc__store_relaxed(&w->spawned, cc__load_relaxed(&w->spawned) + 1);
    else
        cc__add_relaxed(&rt->spawned, 1);
}

/* A number for reports: workers take them by the block, so that a spawn shares nothing. */
static uint32_t next_serial(struct cc__runtime *rt, struct cc__worker *w) {
    enum { BLOCK = 1024 };
    if (w == NULL || w->runtime != rt) return cc__add_relaxed(&rt->serial, 1) + 1;
    if (w->serial == w->serial_end) {
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
    struct cc__task_cache none = {0};
    struct cc__task *t = cc__task_alloc(w != NULL ? &w->records : &none);
    cc__task_cache_drain(&none);
    if (t == NULL) return -ENOMEM;
    t->fn = fn;
    t->value = arg;
    t->runtime = rt;
    t->stack_class = (uint16_t)rt->stack_class;
    t->serial = next_serial(rt, w);
    *out = t;
    return 0;
}

void cc__spawn_abandon(struct cc__task *t) {
    struct cc__worker *w = cc__worker_current();
    struct cc__task_cache none = {0};
    free(t->name);
    cc__task_free(w != NULL ? &w->records : &none, t);
    cc__task_cache_drain(&none);
}

void cc__spawn_launch(struct cc__task *t, bool detached) {
    count_spawn(t->runtime, cc__worker_current());
    cc__state_assign(t);
    if (detached) cc__state_release(t, cc__task_generation(cc__load_relaxed(&t->control)), false);
    cc__ready_new(t);
}

int cc__spawn(struct cc__runtime *rt, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg) {
    static const cc_task_attr defaults = {0};
    if (out == NULL || fn == NULL) return -EINVAL;
    *out = (cc_task){0};
    if (attr == NULL) attr = &defaults;
    if (attr->stack_bytes > CC__STACK_BYTES_MAX) return -EINVAL;
    if (attr->priority < 0 || attr->priority >= CC__PRIORITIES) return -EINVAL;
    struct cc__task *t;
    int rc = cc__spawn_prepare(rt, &t, fn, arg);
    if (rc != 0) return rc;
    if (attr->stack_bytes != 0) t->stack_class = (uint16_t)cc__stack_class(attr->stack_bytes);
    t->priority = (uint8_t)attr->priority;
    if (attr->name != NULL) {
        t->name = strdup(attr->name);
        if (t->name == NULL) {
            cc__spawn_abandon(t);
            return -ENOMEM;
        }
        t->label = t->name;
    }
    *out = (cc_task){.priv_record = t, .priv_generation = cc__task_generation(cc__load_relaxed(&t->control))};
    cc__spawn_launch(t, false);
    return 0;
}

int cc_task_spawn(cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg) {
    return cc__spawn(NULL, out, attr, fn, arg);
}

cc_task cc_fiber_spawn_task(void *(*fn)(void *), void *arg) {
    cc_task t;
    return cc_task_spawn(&t, NULL, fn, arg) == 0 ? t : (cc_task){0};
}

void cc_yield(void) {
    struct cc__worker *w = cc__worker_current();
    if (w != NULL && w->current != NULL)
        cc__run_leave(w, CC__LEFT_YIELDING);
    else
        cc__thread_yield();
}

cc_task cc_task_self(void) {
    struct cc__task *t = cc__self();
    if (t == NULL || t->fn == NULL) return (cc_task){0};
    return (cc_task){.priv_record = t, .priv_generation = cc__task_generation(cc__load_relaxed(&t->control))};
}

const char *cc_task_self_name(void) {
    struct cc__task *t = cc__self();
    return t == NULL ? NULL : t->label;
}
