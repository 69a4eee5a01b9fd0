/* SPDX-License-Identifier: MIT */
/* Runtimes: how they start, and the default one, which starts on first use and is never stopped: a process that ends
 * does not wait for it.
 *
 * After fork() a child has none of the workers: it may exec or _exit; whatever else it calls aborts with a message.
 *
 * Prev: runtime/runtime.h  Next: runtime/shutdown.c */
#include "runtime.h"

#include "../fiber/hooks.h"
#include "../plat/barrier.h"
#include "../plat/clock.h"
#include "../plat/futex.h"
#include "../plat/poll.h"
#include "../plat/vm.h"
#include "../trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void in_child(void) {
    cc__fiber_forbid();
    cc__worker_set_current(NULL);
    cc__trace_forget();
}

/* Wait until a worker that was started is on its feet: that takes less than to be woken, mostly. */
enum { AWAIT_YIELDS = 1000 };
static int worker_await(struct cc__worker *w) {
    /* [RT1] acquire: pairs with the release of the worker's own thread; its root may be read. */
    for (int i = 0; i < AWAIT_YIELDS && cc__load_acquire(&w->started) == 0; i++) cc__thread_yield(); /* [RT1] */
    while (cc__load_acquire(&w->started) == 0) cc__futex_wait(&w->started, 0, CC__NO_DEADLINE);
    return w->root != NULL ? 0 : -ENOMEM;
}

static int start_workers(struct cc__runtime *rt) {
    unsigned started = 0;
    int rc = 0;
    while (rc == 0 && started < rt->base_count) {
        rc = cc__thread_start(&rt->workers[started].thread, cc__worker_main, &rt->workers[started]);
        started += rc == 0;
    }
    for (unsigned i = 0; i < started; i++) {
        int feet = worker_await(&rt->workers[i]);
        if (rc == 0) rc = feet;
    }
    if (rc == 0) return 0;
    cc__monitor_remove(rt);
    cc__runtime_stop_workers(rt, started);
    return rc;
}

static void *aligned_zeroed(size_t bytes) {
    bytes = cc__align_up(bytes, CC__FALSE_SHARING);
    void *at = aligned_alloc(CC__FALSE_SHARING, bytes);
    if (at != NULL) memset(at, 0, bytes);
    return at;
}

static int core_init(cc_runtime *rt, const struct cc__options *o) {
    struct cc__runtime *core = &rt->core;
    core->base_count = o->workers;
    core->growth = o->growth;
    core->stack_class = cc__stack_class(o->stack_bytes);
    core->round_robin = o->round_robin;
    core->no_stealing = o->no_stealing;
    core->rings = o->rings;
    core->huge_stacks = o->huge_stacks;
    core->placement = o->placement;
    strncpy(core->name, o->name, sizeof core->name - 1);
    cc__store_relaxed(&core->sleeper_until, CC__NEVER);
    cc__coarse_tell(core, cc__now_ns());
    rt->ring_bytes = cc__align_up(cc__inject_bytes(o->queue_bits), cc__vm_page_bytes());
    if (cc__vm_map(&rt->rings, rt->ring_bytes) != 0) return -ENOMEM;
    cc__inject_init(&core->inject, rt->rings, o->queue_bits);
    core->idle_words = aligned_zeroed(cc__bits_words(core->growth.places) * sizeof *core->idle_words);
    rt->worker_bytes = cc__align_up(core->growth.places * sizeof *core->workers, cc__vm_page_bytes());
    void *workers = NULL; /* most of them are never touched */
    if (core->idle_words == NULL || cc__vm_map(&workers, rt->worker_bytes) != 0) return -ENOMEM;
    core->workers = workers;
    cc__hooks_memory(workers, rt->worker_bytes);
    cc__bits_init(&core->idle, core->idle_words, o->workers);
    for (unsigned i = 0; i < o->workers; i++) {
        cc__worker_init(core, i);
        if (o->placement != NULL) cc__placement_seat(o->placement, &core->workers[i]);
        cc__store_relaxed(&core->workers[i].place, CC__PLACE_RUNNING);
    }
    cc__store_relaxed(&core->growth.running, o->workers);
    cc__store_release(&core->worker_count, o->workers); /* [MN2] */
    return 0;
}

void cc__runtime_free(cc_runtime *rt) {
    cc__account_gone(rt);
    if (rt->core.workers != NULL) {
        cc__poll_end(&rt->core);
        for (unsigned i = 0; i < cc__worker_count(&rt->core); i++) cc__timers_end(&rt->core.workers[i].timers);
        cc__hooks_memory_gone(rt->core.workers, rt->worker_bytes);
        cc__vm_unmap(rt->core.workers, rt->worker_bytes);
    }
    free(rt->core.idle_words);
    cc__placement_end(rt->core.placement);
    if (rt->rings != NULL) {
        cc__inject_end(&rt->core.inject);
        cc__vm_unmap(rt->rings, rt->ring_bytes);
    }
    free(rt);
}

static void prewarm_home(struct cc__runtime *rt, uint8_t home, size_t count, size_t pages) {
    struct cc__stack_cache cache = {.home = home};
    struct cc__stack *taken = NULL, *s;
    size_t bytes = cc__stack_class_bytes(rt->stack_class), touch = pages * cc__vm_page_bytes();
    if (touch > bytes) touch = bytes;
    for (size_t i = 0; i < count && cc__stack_get(&cache, rt->stack_class, &s) == 0; i++) {
        cc__vm_commit(s->lo + bytes - touch, touch, bytes, touch != 0);
        s->warm = s->warm || touch != 0;
        s->next = taken;
        taken = s;
    }
    while ((s = taken) != NULL) {
        taken = s->next;
        cc__stack_put(&cache, s);
    }
    cc__stack_cache_shrink(&cache, 0);
}

/* A node gets as many as it has of the workers; memory is where it is first touched, so this thread goes there. */
static void prewarm_stacks(struct cc__runtime *rt, const struct cc__options *o) {
    const struct cc__placement *p = o->placement;
    if (o->prewarm_stacks == 0) return;
    if (p == NULL || p->nodes == 1) {
        prewarm_home(rt, rt->workers[0].stacks.home, o->prewarm_stacks, o->prefetch_pages);
        return;
    }
    void *before = p->binds ? cc__thread_leave_cpus() : NULL;
    for (unsigned i = 0; i < p->workers; i++) {
        size_t share = o->prewarm_stacks / p->workers + (i < o->prewarm_stacks % p->workers);
        if (before != NULL) (void)cc__thread_pin((int)p->seat[i].cpu);
        if (share > 0) prewarm_home(rt, rt->workers[i].stacks.home, share, o->prefetch_pages);
    }
    cc__thread_pin_again(before);
}

static void prewarm_tasks(size_t count) {
    struct cc__task_cache cache = {0};
    struct cc__tasks taken = {0};
    for (struct cc__task *t; count > 0 && (t = cc__task_alloc(&cache)) != NULL; count--) cc__tasks_append(&taken, t);
    for (struct cc__task *t; (t = cc__tasks_take(&taken)) != NULL;) cc__task_free(&cache, t);
    cc__task_cache_drain(&cache);
}

int cc_runtime_create(cc_runtime **out, const cc_runtime_attr *attr) {
    struct cc__options o;
    cc__fiber_check_allowed();
    int rc = out == NULL ? -EINVAL : cc__options(&o, attr);
    if (rc != 0) return rc;
    cc__thread_at_fork(in_child);
    cc__barrier_prepare(); /* before there are threads */
    cc__bell_make_room();
    cc_runtime *rt = aligned_zeroed(sizeof *rt);
    if (rt == NULL) {
        cc__placement_end(o.placement);
        return -ENOMEM;
    }
    cc__account_begin(rt);
    rc = core_init(rt, &o);
    if (rc == 0 && o.placement != NULL) rc = cc__thread_keep_cpus();
    if (rc == 0) {
        prewarm_tasks(o.prewarm_tasks);
        prewarm_stacks(&rt->core, &o);
        cc__monitor_add(&rt->core);
        rc = start_workers(&rt->core);
    }
    if (rc != 0)
        cc__runtime_free(rt);
    else
        cc__account_started(*out = rt, &o);
    return rc;
}

int cc_runtime_spawn(cc_runtime *rt, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg) {
    if (rt == NULL) return -EINVAL;
    cc__fiber_check_allowed();
    return cc__spawn(&rt->core, out, attr, fn, arg, NULL);
}

unsigned cc_runtime_workers(const cc_runtime *rt) {
    return rt == NULL ? 0 : rt->core.base_count;
}

unsigned cc_worker_self(void) {
    struct cc__worker *w = cc__worker_current();
    return w == NULL ? 0 : w->id + 1;
}

int cc__runtime_default(struct cc__runtime **out) {
    static cc__lock lock = CC__LOCK_INIT;
    static cc_runtime *_Atomic started;
    cc__fiber_check_allowed();
    /* [RT2] acquire: pairs with the release below; the runtime is complete. */
    cc_runtime *rt = cc__load_acquire(&started);
    int rc = 0;
    if (rt == NULL) {
        cc__lock_take(&lock);
        rt = cc__load_acquire(&started);
        if (rt == NULL) rc = cc_runtime_create(&rt, NULL);
        if (rc == 0) cc__store_release(&started, rt); /* [RT2] release */
        cc__lock_drop(&lock);
    }
    if (rc == 0) *out = &rt->core;
    return rc;
}

/* ---- figures ---- */

static size_t ring_length(struct cc__runq *q) {
    return cc__load_relaxed(&q->tail) - cc__load_relaxed(&q->head);
}

void cc_runtime_stats_get(const cc_runtime *rt, cc_runtime_stats *out) {
    struct cc__runtime *core = rt == NULL ? NULL : (struct cc__runtime *)(uintptr_t)&rt->core;
    *out = (cc_runtime_stats){0};
    if (core == NULL && cc__runtime_default(&core) != 0) return;
    out->spawned = cc__load_relaxed(&core->spawned);
    out->woken = cc__load_relaxed(&core->woken);
    unsigned count = cc__worker_count(core);
    for (unsigned i = 0; i < count; i++) {
        struct cc__worker *w = &core->workers[i];
        out->spawned += cc__load_relaxed(&w->count.spawned);
        out->ended += cc__load_relaxed(&w->count.ended);
        out->parked += cc__load_relaxed(&w->count.parked);
        out->woken += cc__load_relaxed(&w->count.woken);
        out->stolen += cc__load_relaxed(&w->count.stolen);
        out->queued_local +=
            ring_length(&w->begun) + ring_length(&w->fresh) + (cc__load_relaxed(&w->slot.task) != NULL);
        out->queued_local += cc__load_relaxed(&w->jobs.length);
    }
    out->queued_global = cc__inject_length(&core->inject);
    out->workers_idle = (unsigned)cc__bits_count(&core->idle);
    out->workers = cc__load_relaxed(&core->growth.running);
    out->workers_started = cc__load_relaxed(&core->growth.started);
    out->stuck = cc__load_relaxed(&core->growth.stuck);
}

int cc_run(const cc_runtime_attr *attr, void *(*fn)(void *), void *arg, void **result) {
    cc_runtime *rt;
    cc_task t;
    if (fn == NULL) return -EINVAL;
    int rc = cc_runtime_create(&rt, attr);
    if (rc != 0) return rc;
    rc = cc_runtime_spawn(rt, &t, NULL, fn, arg);
    if (rc == 0) rc = cc_task_join(t, result);
    cc_runtime_destroy(rt);
    return rc;
}
