/* SPDX-License-Identifier: MIT */
/* Goal: what a worker does for its own tasks touches no other worker's memory and writes no line that workers share:
 * spawn, the first run of a task, yield, park, wake, end and join, with a second worker that is awake.
 * Method: the scheduler as it is, on one thread that is the first of two workers; fibers switch for real. The checker
 * calls back for each access, plain or atomic, which is looked up in the second worker, the idle bits, and the fields
 * of the runtime. An access to the other worker, a write to what is shared and a lock are failures; the fields that are
 * read are the outcome, in which each of them is expected: words that change seldom. What is not looked at is the turn
 * of the 61st task, which looks around, and a worker that has nothing else to do.
 * Sources: src/sched/spawn.c src/sched/ready.c src/sched/runq.c src/sched/mpmc.c src/sched/inject.c src/sched/inbox.c
 * Sources: src/sched/worker.c src/sched/steal.c src/sched/run.c src/sched/park.c src/sched/idle.c src/sched/finish.c
 * Sources: src/sched/cancel.c src/task/state.c src/task/wait.c src/task/lock.c src/task/pool.c src/driver/timer.c
 * Sources: src/base/bits.c src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c
 * Sources: src/base/text.c src/fiber/ctx_make.c src/fiber/ctx_x86_64.S
 * Define: CC__TIMER_SLOTS=64 CC__RUNQ_SLOTS=4
 * Wrap: cc__lock_take
 * Break: src/sched/spawn.c: bool inside = w != NULL => bool inside = cc__add_relaxed(&rt->spawned, 0) == 0
 * Break: src/sched/ready.c: return before != NULL || cc => return !cc__runq_empty(&w[1].fresh) || cc
 * Break: src/sched/finish.c: t->fiber = NULL; => t->fiber = NULL; cc__add_relaxed(&t->runtime->woken, 1);
 */
#include <ccrt/park.h>

#include "plat/vm.h"
#include "sched/sched.h"

#include "ccmc.h"
#include "fences.h"
#include "noforks.h"
#include "nofutures.h"
#include "nopoll.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { STACK_BYTES = 16 * 1024, FIBERS = 4, SLAB_BYTES = 200 * 1024, LONG = 1000 };

_Thread_local struct cc__fiber *cc__current_fiber; /* as in src/fiber/current.c */
_Thread_local struct cc__worker *cc__current_worker;

static struct cc__runtime rt;
static struct cc__worker workers[2];
static _Atomic uint64_t idle_words[1];
static struct cc__mpmc_cell cells[CC__LANES];
static struct cc__fiber root, fibers[FIBERS];
static unsigned fibers_used;
static _Alignas(CC__CACHE_LINE) char slab[SLAB_BYTES];
static _Atomic int flag; /* W: main.  R: the child */

/* ---- who looks ---- */

#define FIELD(name, field)                                                                                             \
    { name, offsetof(struct cc__runtime, field), sizeof(((struct cc__runtime *)0)->field) }
static const struct field {
    const char *name;
    size_t at, bytes;
} fields[] = {
    FIELD("workers", worker_count),   FIELD("class", stack_class),
    FIELD("turns", round_robin),      FIELD("closed", closed),
    FIELD("cancelled", cancelled),    FIELD("time", coarse_ns),
    FIELD("workers", workers),        FIELD("high", inject.high),
    FIELD("lanes", inject.lane),      FIELD("idle", idle),
    FIELD("searching", searching),    FIELD("sleeper_until", sleeper_until),
    FIELD("spawned", spawned),        FIELD("woken", woken),
    FIELD("serial", serial),          FIELD("stopping", stopping),
    FIELD("running", growth.running),
};

static bool looking;
static unsigned reads, locks, others, writes; /* fields that were read, a bit each; and what must not be */
static char told[48];
static enum what { SPAWN, YIELD, WAKE, JOIN } what; /* the operation that is told of */

/* Not instrumented: it looks at accesses, and makes none. */
__attribute__((no_sanitize_thread)) static void look(const void *address, size_t bytes, bool write) {
    uintptr_t at = (uintptr_t)address;
    (void)bytes;
    if (!looking) return;
    if (at - (uintptr_t)&workers[1] < sizeof workers[1]) others++;
    if (write && (at - (uintptr_t)&rt < sizeof rt || at - (uintptr_t)idle_words < sizeof idle_words)) writes++;
    for (size_t i = 0; i < CC__COUNT_OF(fields); i++)
        if (at - (uintptr_t)&rt - fields[i].at < fields[i].bytes) reads |= 1u << i;
}

void __real_cc__lock_take(cc__lock *l);
void __wrap_cc__lock_take(cc__lock *l);
void __wrap_cc__lock_take(cc__lock *l) {
    locks += looking;
    __real_cc__lock_take(l);
}

static void begin_looking(void) {
    reads = 0;
    looking = true;
}
static void end_looking(enum what now) {
    looking = false;
    size_t n = 0;
    for (size_t i = 0; now == what && i < CC__COUNT_OF(fields); i++) {
        if ((reads & 1u << i) == 0) continue;
        n += (size_t)snprintf(told + n, sizeof told - n, "%s%s", n > 0 ? "," : "", fields[i].name);
    }
}

/* ---- what surrounds the scheduler ---- */

int cc__vm_map(void **out, size_t bytes) {
    mc_assert(bytes <= sizeof slab);
    *out = slab;
    return 0;
}
size_t cc__vm_page_bytes(void) {
    return 4096;
}
int cc__fiber_create(struct cc__fiber **out, struct cc__stack_cache *cache, size_t bytes, bool own_fpu, bool fresh) {
    (void)cache, (void)own_fpu, (void)fresh;
    mc_assert(fibers_used < FIBERS);
    *out = &fibers[fibers_used++];
    (*out)->lo = mc_stack(bytes);
    (*out)->bytes = bytes;
    return 0;
}
void cc__fiber_start(struct cc__fiber *f, void (*fn)(void *), void *arg) {
    cc__ctx_make(&f->ctx, f->lo, f->lo + f->bytes, fn, arg);
}
void cc__fiber_exit(struct cc__fiber *from, struct cc__fiber *to) {
    cc__fiber_set_current(to);
    cc__ctx_switch(&from->ctx, &to->ctx);
    __builtin_unreachable();
}
unsigned cc__stack_class(size_t bytes) {
    (void)bytes;
    return 0;
}
size_t cc__stack_class_bytes(unsigned stack_class) {
    (void)stack_class;
    return STACK_BYTES;
}
void cc__fiber_describe(struct cc__fiber *f, uint64_t serial, const char *name) {
    f->serial = serial;
    f->name = name;
}
bool cc__stack_lives(const struct cc__stack *s, const struct cc__stack_cache *cache) {
    (void)s, (void)cache;
    return true;
}
void cc__fiber_destroy(struct cc__fiber *f, struct cc__stack_cache *cache) {
    (void)f, (void)cache;
}
void cc__fiber_switch_hooked(struct cc__fiber *from, struct cc__fiber *to) {
    (void)from, (void)to;
}
int cc__fiber_attach(struct cc__fiber **current) {
    (void)current;
    return -ENOMEM;
}
void cc__stack_cache_shrink(struct cc__stack_cache *cache, unsigned keep) {
    (void)cache, (void)keep;
}
void cc__hooks_memory(const void *at, size_t bytes) {
    (void)at, (void)bytes;
}
void cc__locals_end(struct cc__task *t) {
    (void)t;
}
void *cc__local_get(const struct cc__task *t, cc_local key) {
    (void)t, (void)key;
    return NULL;
}
int cc__local_set(struct cc__task *t, cc_local key, void *value) {
    (void)t, (void)key, (void)value;
    return -ENOMEM;
}
void cc__nursery_children_ended(struct cc_nursery *n, size_t count) {
    (void)n, (void)count;
}
void cc__nursery_list(struct cc__task *self) {
    (void)self;
}
bool cc__grow_pick(struct cc__worker *w, struct cc__task **t) {
    (void)w, (void)t;
    return false;
}
struct cc__task *cc__grow_find_begun(struct cc__worker *w) {
    (void)w;
    return NULL;
}
void cc__grow_retired(struct cc__worker *w) {
    (void)w;
}
void cc__monitor_start(void) {
}
bool cc__monitor_started(void) {
    return true;
}
void cc__monitor_ring(void) {
}
void cc__monitor_rouse(void) {
}
void cc__nursery_cancel(struct cc_nursery *n, int code) {
    (void)n, (void)code;
}
int cc__runtime_default(struct cc__runtime **out) {
    (void)out;
    return -ENOMEM;
}

/* ---- the tasks ---- */

static cc_parker parked;

static void *parks(void *arg) {
    parked = cc_parker_self();
    while (cc__load_relaxed(&flag) == 0) cc_priv_park_if(&flag, 0);
    return arg;
}
static void *returns(void *arg) {
    return arg;
}

static void *main_task(void *unused) {
    cc_task t;
    (void)unused;
    mc_assert(cc_task_spawn(&t, NULL, returns, NULL) == 0); /* so that caches are not empty */
    mc_assert(cc_task_join(t, NULL) == 0);
    workers[0].until_look = LONG;

    begin_looking();
    mc_assert(cc_task_spawn(&t, NULL, parks, NULL) == 0);
    end_looking(SPAWN);
    begin_looking();
    cc_yield(); /* it runs, and parks */
    end_looking(YIELD);
    mc_assert(parked.priv_record == t.priv_record);
    cc__store_relaxed(&flag, 1);
    begin_looking();
    cc_unpark(parked);
    end_looking(WAKE);
    begin_looking();
    mc_assert(cc_task_join(t, NULL) == 0); /* it ends */
    end_looking(JOIN);
    return NULL;
}

static void worker(void) {
    struct cc__worker *w = &workers[0];
    cc_task t;
    cc__worker_set_current(w);
    cc__fiber_set_current(&root);
    mc_watch(look);
    mc_assert(cc_task_spawn(&t, NULL, main_task, NULL) == 0);
    mc_assert(cc_task_detach(t) == 0);
    cc__run_task(w, cc__worker_pick(w));
    mc_watch(NULL);
    mc_assert(cc__load_relaxed(&w->count.ended) == 3);
}

static void setup(void) {
    cc__store_relaxed(&rt.worker_count, 2);
    cc__store_relaxed(&rt.growth.running, 2);
    rt.base_count = 2;
    rt.workers = workers;
    rt.idle_words = idle_words;
    cc__store_relaxed(&rt.sleeper_until, CC__NEVER);
    cc__bits_init(&rt.idle, idle_words, 2);
    cc__inject_init(&rt.inject, cells, 0);
    for (unsigned i = 0; i < 2; i++) {
        struct cc__worker *w = &workers[i];
        w->runtime = &rt;
        w->watcher = w;
        w->id = i;
        w->until_look = w->look_every = LONG;
        cc__timers_init(&w->timers, 0);
    }
    workers[0].root = &root;
}

static void check(void) {
    mc_assert(others == 0 && writes == 0 && locks == 0);
    mc_outcome("%s", told[0] != 0 ? told : "nothing");
}

static void setup_yield(void) {
    setup();
    what = YIELD;
}
static void setup_wake(void) {
    setup();
    what = WAKE;
}
static void setup_join(void) {
    setup();
    what = JOIN;
}

const struct mc_scenario mc_scenarios[] = {
    {"spawn", setup, {worker}, check, .outcomes = "class,turns,closed,idle,searching,running"},
    {"yield, the first run of another, and its park",
     setup_yield,
     {worker},
     check,
     .outcomes = "class,time,high,idle,searching,running"},
    {"wake", setup_wake, {worker}, check, .outcomes = "nothing"},
    {"join, with the end of the other", setup_join, {worker}, check, .outcomes = "class,time,high"},
    {0},
};
