/* SPDX-License-Identifier: MIT */
/* Runtimes: start, stop, and the default one.
 *
 * Stop. All tasks have ended when as many were counted out as in: ends are read first, then spawns, so that a task
 * that was counted out has had all its spawns counted in. Then no task runs and none can be spawned but by plain
 * threads, which must not use a runtime that is being destroyed. `stopping` then lets the workers go.
 *
 * The default runtime starts on first use and is never stopped: a process that ends does not wait for it.
 *
 * Prev: time/sleep.c  Next: runtime/main.c */
#include <ccrt/runtime.h>

#include "../base/assert.h"
#include "../plat/clock.h"
#include "../plat/cpu.h"
#include "../plat/futex.h"
#include "../sched/sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 4096, STOP_POLL_NS = 200000 };

struct cc_runtime {
    struct cc__runtime core;
};

/* CC_WORKERS, or 0 where it is not a number that makes sense. */
static unsigned workers_from_environment(void) {
    const char *text = getenv("CC_WORKERS");
    char *end;
    if (text == NULL || *text == 0) return 0;
    unsigned long n = strtoul(text, &end, 10);
    return *end == 0 && n >= 1 && n <= WORKERS_MAX ? (unsigned)n : 0;
}

static unsigned workers_default(void) {
    unsigned n = workers_from_environment();
    return n != 0 ? n : (unsigned)cc__cpu_count();
}

static void worker_init(struct cc__worker *w, struct cc__runtime *rt, uint32_t id) {
    w->runtime = rt;
    w->id = id;
    cc__rng_seed(&w->rng, (uint64_t)cc__now_ns() + id);
    cc__timers_init(&w->timers);
}

/* Start one worker and wait until it is on its feet. */
static int worker_start(struct cc__worker *w) {
    int rc = cc__thread_start(&w->thread, cc__worker_main, w);
    if (rc != 0) return rc;
    /* [RT1] acquire: pairs with the release of the worker's own thread; its root may be read. */
    while (cc__load_acquire(&w->started) == 0) cc__futex_wait(&w->started, 0, CC__NO_DEADLINE);
    if (w->root != NULL) return 0;
    cc__thread_join(&w->thread);
    return -ENOMEM;
}

static void workers_stop(struct cc__runtime *rt, unsigned started) {
    cc__store_release(&rt->stopping, 1);
    cc__idle_wake_all(rt);
    for (unsigned i = 0; i < started; i++) cc__thread_join(&rt->workers[i].thread);
}

static int core_init(struct cc__runtime *rt, unsigned workers, unsigned stack_class) {
    rt->worker_count = workers;
    rt->stack_class = stack_class;
    cc__inject_init(&rt->inject);
    cc__store_relaxed(&rt->sleeper_until, CC__NEVER);
    rt->idle_words = calloc(cc__bits_words(workers), sizeof *rt->idle_words);
    rt->workers = aligned_alloc(CC__FALSE_SHARING, workers * sizeof *rt->workers);
    if (rt->idle_words == NULL || rt->workers == NULL) return -ENOMEM;
    memset(rt->workers, 0, workers * sizeof *rt->workers);
    cc__bits_init(&rt->idle, rt->idle_words, workers);
    for (unsigned i = 0; i < workers; i++) worker_init(&rt->workers[i], rt, i);
    return 0;
}

static void core_fini(struct cc__runtime *rt) {
    free(rt->workers);
    free(rt->idle_words);
}

int cc_runtime_create(cc_runtime **out, const cc_runtime_attr *attr) {
    static const cc_runtime_attr defaults = {0};
    if (out == NULL) return -EINVAL;
    if (attr == NULL) attr = &defaults;
    unsigned workers = attr->workers != 0 ? attr->workers : workers_default(), started = 0;
    size_t stack = attr->stack_bytes != 0 ? attr->stack_bytes : CC_FIBER_STACK_SIZE;
    if (workers > WORKERS_MAX || stack > CC__STACK_BYTES_MAX) return -EINVAL;
    cc_runtime *rt = aligned_alloc(CC__FALSE_SHARING, sizeof *rt);
    if (rt == NULL) return -ENOMEM;
    memset(rt, 0, sizeof *rt);
    int rc = core_init(&rt->core, workers, cc__stack_class(stack));
    while (rc == 0 && started < workers) {
        rc = worker_start(&rt->core.workers[started]);
        if (rc == 0) started++;
    }
    if (rc != 0) {
        if (rt->core.workers != NULL) workers_stop(&rt->core, started);
        core_fini(&rt->core);
        free(rt);
        return rc;
    }
    *out = rt;
    return 0;
}

/* Whether every task that was spawned has ended. */
static bool all_ended(struct cc__runtime *rt) {
    uint64_t ended = 0, spawned = 0;
    /* [SD1] acquire: pairs with the release in cc__finish(); what an ended task spawned is counted below. */
    for (unsigned i = 0; i < rt->worker_count; i++) ended += cc__load_acquire(&rt->workers[i].ended);
    for (unsigned i = 0; i < rt->worker_count; i++) spawned += cc__load_relaxed(&rt->workers[i].spawned);
    return ended == spawned + cc__load_relaxed(&rt->spawned);
}

void cc_runtime_destroy(cc_runtime *rt) {
    if (rt == NULL) return;
    CC_CHECK(cc__worker_current() == NULL, "a runtime was destroyed by a task");
    _Atomic uint32_t nobody = 0;
    while (!all_ended(&rt->core)) cc__futex_wait(&nobody, 0, cc__now_ns() + STOP_POLL_NS);
    workers_stop(&rt->core, rt->core.worker_count);
    core_fini(&rt->core);
    free(rt);
}

int cc_runtime_spawn(cc_runtime *rt, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg) {
    if (rt == NULL) return -EINVAL;
    return cc__spawn(&rt->core, out, attr, fn, arg);
}

unsigned cc_runtime_workers(const cc_runtime *rt) {
    return rt == NULL ? 0 : rt->core.worker_count;
}

int cc__runtime_default(struct cc__runtime **out) {
    static cc__lock lock = CC__LOCK_INIT;
    static cc_runtime *_Atomic started;
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
