/* SPDX-License-Identifier: MIT */
/* What a process says of its runtimes: what each starts with (CC_VERBOSE), what each did (CC_FIBER_STATS), and when
 * the trace is written (CC_TRACE): when no runtime is left, and when the process ends.
 *
 * A runtime is in the list from its start until its workers are about to end, so that whoever calls exit() finds their
 * threads alive.
 *
 * Prev: runtime/runtime.c  Next: runtime/shutdown.c */
#include "runtime.h"

#include "../base/text.h"
#include "../fiber/stack.h"
#include "../plat/clock.h"
#include "../plat/cpu.h"
#include "../plat/vm.h"
#include "../trace/trace.h"
#include "../base/env.h"

#include <ccrt/version.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { KIB = 1024 };

static struct {
    cc__lock lock;
    unsigned live;    /* runtimes that there are; guarded by lock, as all here */
    uint32_t numbers; /* given to runtimes */
    cc_runtime *first;
    bool at_exit;
} all = {.lock = CC__LOCK_INIT};

/* One line, by one write. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    char line[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args); /* NOLINT(clang-analyzer-valist.Uninitialized): it is not */
    va_end(args);
    struct cc__text text = {
        .buf = line, .size = sizeof line, .len = n < (int)sizeof line ? (size_t)n : sizeof line - 1};
    cc__text_print(&text);
}

/* ---- CC_VERBOSE ---- */

static void say_stacks(const cc_runtime *rt, const struct cc__options *o) {
    size_t kib = cc__stack_class_bytes(rt->core.stack_class) / KIB;
    const char *pages = o->huge_stacks ? " in huge pages" : "";
    if (cc__stack_guarded(cc__stack_home(0, o->huge_stacks), rt->core.stack_class))
        say("ccrt:   stacks   %zu KiB%s, guards of %zu KiB by %s\n", kib, pages, CC__STACK_GUARD_BYTES / KIB,
            cc__vm_guard_kind() == CC__VM_GUARD_LIGHT ? "marks in the page table" : "mprotect");
    else
        say("ccrt:   stacks   %zu KiB%s of %zu KiB, without guards\n", kib, pages, cc__vm_huge_bytes() / KIB);
    if (o->huge_wanted && !o->huge_stacks) say("ccrt:            huge pages were asked for, and there are none\n");
}

/* The workers of a tier are the next ones. */
static void say_placement(const cc_runtime *rt) {
    const struct cc__placement *p = rt->core.placement;
    if (p == NULL) {
        say("ccrt:   cpus     workers are not bound to any\n");
        return;
    }
    unsigned bound = 0;
    for (unsigned i = 0; i < p->workers; i++) bound += rt->core.workers[i].bound != 0;
    say("ccrt:   cpus     %s: %u of %u workers bound, to %u cpus of %u cores; nodes of memory: %u%s\n",
        cc__env_strategy(p->strategy), bound, p->workers, p->room, p->cores, p->nodes,
        p->binds ? "" : " (of a machine that is not this one)");
    for (unsigned tier = 0, at = 0; p->tiers > 1 && tier < p->tiers; tier++) {
        unsigned first = at;
        while (at < p->workers && p->seat[at].tier == tier) at++;
        say("ccrt:            tier %u: workers %u to %u, from cpu %u on\n", tier, first, at - 1, p->seat[first].cpu);
    }
}

static void say_start(const cc_runtime *rt, const struct cc__options *o) {
    int quota = cc__cpu_quota("");
    char quota_text[16] = "none";
    if (quota != INT_MAX) snprintf(quota_text, sizeof quota_text, "%d", quota);
    say("ccrt: version %d.%d.%d, runtime %u \"%s\"\n", CC_VERSION_MAJOR, CC_VERSION_MINOR, CC_VERSION_PATCH,
        rt->core.number, rt->core.name);
    say("ccrt:   workers  %u, by %s (affinity: %d cpus, cgroup quota: %s)\n", o->workers, o->workers_why,
        cc__cpu_affinity(), quota_text);
    say_stacks(rt, o);
    say("ccrt:   queues   %d slots a worker, %zu global; %s%s\n", CC__RUNQ_SLOTS, (size_t)1 << o->queue_bits,
        o->round_robin ? "spawns in turn" : "spawns local", o->no_stealing ? ", no stealing" : "");
    if (o->io_missing != NULL)
        say("ccrt:   files    threads: io_uring, by %s, cannot be had: %s\n", o->io_why, o->io_missing);
    else
        say("ccrt:   files    %s, by %s\n", o->rings ? "io_uring" : "threads", o->io_why);
    say_placement(rt);
    say("ccrt:   switch   %s\n", CCRT_SWITCH_UCONTEXT ? "ucontext" : "hand-written");
    say("ccrt:   timers   a wheel of %d slots a worker, CLOCK_MONOTONIC\n", CC__TIMER_SLOTS);
}

/* ---- CC_FIBER_STATS ---- */

struct figures {
    uint64_t spawned, ended, parked, woken, stolen, slept, gave_way;
    int64_t cpu_ns;
};

static struct figures figures_of(const struct cc__worker *w) {
    const struct cc__counts *c = &w->count;
    return (struct figures){cc__load_relaxed(&c->spawned),
                            cc__load_relaxed(&c->ended),
                            cc__load_relaxed(&c->parked),
                            cc__load_relaxed(&c->woken),
                            cc__load_relaxed(&c->stolen),
                            cc__load_relaxed(&c->slept),
                            cc__load_relaxed(&c->gave_way),
                            cc__load_acquire(&w->started) == 0 ? 0 : cc__thread_cpu_ns(w->thread_id) /* [RT1] */};
}

static void figures_add(struct figures *sum, struct figures f) {
    sum->spawned += f.spawned;
    sum->ended += f.ended;
    sum->parked += f.parked;
    sum->woken += f.woken;
    sum->stolen += f.stolen;
    sum->slept += f.slept;
    sum->gave_way += f.gave_way;
    if (f.cpu_ns > 0) sum->cpu_ns += f.cpu_ns;
}

static void say_figures(const char *who, struct figures f) {
    say("  %10s %11llu %11llu %11llu %11llu %11llu %11llu %11llu %9.1f ms\n", who, (unsigned long long)f.spawned,
        (unsigned long long)f.ended, (unsigned long long)f.parked, (unsigned long long)f.woken,
        (unsigned long long)f.stolen, (unsigned long long)f.slept, (unsigned long long)f.gave_way,
        (double)f.cpu_ns / 1e6);
}

struct records {
    size_t used, all;
};

static void count_record(struct cc__task *t, void *arg) {
    struct records *r = arg;
    r->all++;
    r->used += (cc__load_relaxed(&t->control) & CC__CONTROL_STATE) != CC__IDLE;
}

static void say_stats(const cc_runtime *rt) {
    struct figures sum = {.spawned = cc__load_relaxed(&rt->core.spawned), .woken = cc__load_relaxed(&rt->core.woken)};
    say("ccrt: statistics of runtime %u \"%s\" after %.3f s\n", rt->core.number, rt->core.name,
        (double)(cc__now_ns() - rt->started_ns) / 1e9);
    say("  %10s %11s %11s %11s %11s %11s %11s %11s %12s\n", "worker", "spawned", "ended", "parked", "woken", "stolen",
        "slept", "gave way", "cpu time");
    unsigned count = cc__worker_count(&rt->core);
    for (unsigned i = 0; i < count; i++) {
        char who[16];
        struct figures f = figures_of(&rt->core.workers[i]);
        snprintf(who, sizeof who, "%u", i);
        say_figures(who, f);
        figures_add(&sum, f);
    }
    struct figures threads = {.spawned = cc__load_relaxed(&rt->core.spawned),
                              .woken = cc__load_relaxed(&rt->core.woken)};
    say_figures("threads", threads);
    say_figures("total", sum);
    struct cc__stack_stats stacks = cc__stack_stats();
    struct records records = {0};
    cc__task_each(count_record, &records);
    say("  in this process: %zu stacks given out (also to workers' caches), %zu kept warm, room for %zu in %zu slabs;\n"
        "  %zu task records in use of %zu\n",
        stacks.in_use, stacks.idle_warm, stacks.slots, stacks.slabs, records.used, records.all);
}

/* ---- when ---- */

static void at_exit(void) {
    cc__lock_take(&all.lock);
    if (cc__env.fiber_stats)
        for (const cc_runtime *rt = all.first; rt != NULL; rt = rt->next) say_stats(rt);
    cc__lock_drop(&all.lock);
    cc__trace_end();
}

void cc__account_begin(cc_runtime *rt) {
    cc__lock_take(&all.lock);
    all.live++;
    rt->core.number = ++all.numbers;
    if (!all.at_exit && (cc__env.fiber_stats || CC__TRACING(CC__TRACE_ALL))) all.at_exit = atexit(at_exit) == 0;
    cc__lock_drop(&all.lock);
}

void cc__account_started(cc_runtime *rt, const struct cc__options *o) {
    rt->started_ns = cc__now_ns();
    if (cc__env.verbose) say_start(rt, o);
    cc__lock_take(&all.lock);
    rt->next = all.first;
    all.first = rt;
    cc__lock_drop(&all.lock);
}

void cc__account_ending(cc_runtime *rt) {
    cc__lock_take(&all.lock);
    cc_runtime **at = &all.first;
    while (*at != rt) at = &(*at)->next;
    *at = rt->next;
    if (cc__env.fiber_stats) say_stats(rt);
    cc__lock_drop(&all.lock);
}

void cc__account_gone(cc_runtime *rt) {
    cc__lock_take(&all.lock);
    unsigned count = rt->core.workers == NULL ? 0 : cc__worker_count(&rt->core);
    for (unsigned i = 0; i < count; i++) cc__trace_close(rt->core.workers[i].trace);
    if (--all.live == 0) cc__trace_flush();
    cc__lock_drop(&all.lock);
}
