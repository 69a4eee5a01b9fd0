/* SPDX-License-Identifier: MIT */
/* Goal: fibers that really switch, on one and two workers, park and are woken by the library's own code from
 * cc__wait_for() down to the switch: no wake-up is lost, none runs on two workers, nobody touches a wait's node when
 * its frame is left, whether it is matched, timed out, cancelled or woken for no reason.
 * Method: one fiber on a stack that the checker watches, so that a worker that goes on with it too early is a data
 * race; workers that run it as sched/worker.c does, from a run queue that is a semaphore. It waits for a token, with
 * its node in its frame; with a deadline, or so that it can be cancelled; or by cc_park and a bare flag. state.c,
 * wait.c, park.c, run.c, cancel.c and timer.c are the library's.
 *
 * Lessons 1, 3, 9 and 19.
 * Sources: src/sched/park.c src/sched/run.c src/sched/cancel.c src/driver/timer.c src/task/state.c src/task/wait.c
 * Sources: src/task/pool.c src/sched/inbox.c src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c
 * Sources: src/base/assert.c src/base/text.c src/fiber/ctx_make.c src/fiber/ctx_x86_64.S
 * Define: CC__TIMER_SLOTS=64
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Mutate: src/sched/park.c src/sched/run.c
 * Weaken: src/task/state_hot.h: cc__state_park: cas_weak_acq_rel -> acquire
 * Weaken: src/task/state_hot.h: cc__state_unpark: cas_weak_acq_rel -> acquire
 * Weaken: src/task/state_hot.h: cc__state_unpark: cas_weak_acq_rel -> release
 * Weaken: src/task/state_hot.h: cc__state_take_parked: cas_acquire -> relaxed
 * Survives: thread_sleep: load_acquire -> relaxed: cc__state_resume(), which follows, has a fence
 * Break: src/sched/leave.h: if (!cc__state_park(t)) cc__ready(t); => cc__state_park(t);
 * Break: src/sched/leave.h: if (!cc__state_park(t)) cc__ready => if (cc__state_park(t)) cc__ready
 * Break: src/sched/park.c: enum cc__outcome outcome = cc__wait_for_ever(w); => enum cc__outcome outcome = CC__MATCHED;
 * Break: src/sched/park.c: cc__timers_remove(set, &timer); => ;
 * Break: src/task/wait_hot.h: (now & ~(uint64_t)CC__OUTCOME_MASK) => now
 * Break: src/sched/cancel.c: if (cc__wait_may_be_cancelled(w) && => if (false &&
 * Break: src/task/state.c: cc__with_state(c, CC__ACTIVE) | CC__CONTROL_CANCEL; => cc__with_state(c, CC__ACTIVE);
 * Break: src/task/state.c: next = c | CC__CONTROL_NOTE | CC__CONTROL_CANCEL; => next = c | CC__CONTROL_CANCEL;
 * Break: src/sched/leave.h: cc__cancel_heed(w); => { cc__cancel_heed(w); cc__park(self, (uintptr_t)w); }
 * Weaken: src/task/state_hot.h: cc__state_take_cancel: and_acq_rel -> release
 */
#include <ccrt/park.h>

#include "plat/vm.h"
#include "sched/leave.h"
#include "sched/sched.h"

#include "ccmc.h"
#include "noforks.h"
#include "nofutures.h"
#include "waitlock.h"

#include <errno.h>

enum { STACK_BYTES = 16 * 1024, DUE_NS = 100, OUTCOME_MASK = 7 /* as in task/wait_hot.h */ };

_Thread_local struct cc__fiber *cc__current_fiber; /* as in src/fiber/current.c */
_Thread_local struct cc__worker *cc__current_worker;

static struct cc__runtime rt;
static struct cc__worker workers[2];
static struct cc__fiber roots[2], fiber;
static struct cc__task task;
static struct mc_sem run_queue;
static bool queued, running, finished, ended_on[2];

static struct cc__waitlist list; /* its lock guards tokens, too */
static int tokens, payload;
static _Atomic int flag; /* W: who sets it.  R: the fiber */
static enum how { BY_LIST, WITH_DEADLINE, CANCELLABLE, CANCELLABLE_HERE, BARE, ONCE } how;
static int result; /* of its wait */
static bool taken; /* by who met it parked */

/* ---- what surrounds it ---- */

static void enqueue(struct cc__task *t) {
    mc_assert(t == &task && !queued);
    queued = true;
    mc_sem_post(&run_queue);
}
void cc__ready(struct cc__task *t) {
    enqueue(t);
}
void cc__ready_taken(struct cc__worker *w, struct cc__task *t) {
    (void)w;
    enqueue(t);
}
struct cc__task *cc__worker_pick(struct cc__worker *w) {
    (void)w;
    running = false; /* it is about to leave */
    return NULL;     /* to the root, which takes it from the run queue */
}
struct cc__task *cc__worker_pick_through(struct cc__worker *w) {
    (void)w;
    return NULL;
}
void cc__nursery_cancel(struct cc_nursery *n, int code) {
    (void)n, (void)code;
}
void cc__idle_timer_added(struct cc__runtime *runtime, int64_t when_ns) {
    (void)runtime, (void)when_ns;
}

/* Not used. */
static void unused(void) {
    mc_assert(!"a function that this model has no use for");
}
int cc__vm_map(void **out, size_t bytes) {
    (void)out, (void)bytes;
    return -ENOMEM;
}
size_t cc__vm_page_bytes(void) {
    return 4096;
}
int cc__fiber_attach(struct cc__fiber **current) {
    (void)current;
    unused();
    return -ENOMEM;
}
void cc__hooks_memory(const void *at, size_t bytes) {
    (void)at, (void)bytes;
}
void cc__finish_tell(struct cc__worker *w) {
    (void)w;
    unused();
}
void cc__monitor_rouse(void) {
}
void cc__monitor_start(void) {
}
bool cc__monitor_started(void) {
    return true;
}
void cc__nursery_list(struct cc__task *self) {
    (void)self;
    unused();
}
void cc__locals_end(struct cc__task *t) {
    (void)t;
    unused();
}
void *cc__local_get(const struct cc__task *t, cc_local key) {
    (void)t, (void)key;
    unused();
    return NULL;
}
int cc__local_set(struct cc__task *t, cc_local key, void *value) {
    (void)t, (void)key, (void)value;
    unused();
    return -ENOMEM;
}
void cc__ready_paused(struct cc__worker *w, struct cc__task *t) {
    (void)w;
    enqueue(t);
}
void cc__ready_later(struct cc__worker *w, struct cc__task *t) {
    (void)w, (void)t;
    unused();
}
void cc__inject_push(struct cc__inject *q, struct cc__task *t) {
    (void)q, (void)t;
    unused();
}
void cc__finish(struct cc__worker *w, struct cc__task *t) {
    (void)w, (void)t;
    unused();
}
int cc__fiber_create(struct cc__fiber **out, struct cc__stack_cache *cache, size_t bytes, bool own_fpu, bool fresh) {
    (void)out, (void)cache, (void)bytes, (void)own_fpu, (void)fresh;
    unused();
    return -ENOMEM;
}
bool cc__stack_lives(const struct cc__stack *s, const struct cc__stack_cache *cache) {
    (void)s, (void)cache;
    return true;
}
void cc__fiber_destroy(struct cc__fiber *f, struct cc__stack_cache *cache) {
    (void)f, (void)cache;
    unused();
}
void cc__fiber_describe(struct cc__fiber *f, uint64_t serial, const char *name) {
    (void)f, (void)serial, (void)name;
    unused();
}
void cc__fiber_start(struct cc__fiber *f, void (*fn)(void *), void *arg) {
    (void)f, (void)fn, (void)arg;
    unused();
}
void cc__fiber_exit(struct cc__fiber *from, struct cc__fiber *to) {
    (void)from, (void)to;
    unused();
    __builtin_unreachable();
}
void cc__fiber_switch_hooked(struct cc__fiber *from, struct cc__fiber *to) {
    (void)from, (void)to;
    unused();
}
unsigned cc__stack_class(size_t bytes) {
    (void)bytes;
    unused();
    return 0;
}
size_t cc__stack_class_bytes(unsigned stack_class) {
    (void)stack_class;
    unused();
    return 0;
}

/* ---- the fiber ---- */

/* Whether there is a token; else the node is on the list. */
static bool take_or_wait(struct cc__wait *w) {
    __wrap_cc__waitlist_lock(&list);
    bool got = tokens > 0;
    if (got)
        tokens--;
    else
        cc__waitlist_append(&list, w);
    __wrap_cc__waitlist_unlock(&list);
    return got;
}

static int wait_for_token(void) {
    static const enum cc__deciders by[] = {CC__BY_LIST, CC__BY_ANY, CC__BY_CANCEL, CC__BY_CANCEL};
    struct cc__wait w;
    cc__wait_begin(&w, &task, by[how], &list, "model");
    if (take_or_wait(&w)) return 0;
    int rc = 0;
    if (how == CANCELLABLE)
        rc = cc__wait_cancellable(&w, CC__NEVER);
    else if (how == CANCELLABLE_HERE)
        rc = cc__wait_cancellable_here(&w, CC__NEVER);
    else if (cc__wait_for(&w, how == WITH_DEADLINE ? DUE_NS : CC__NEVER) == CC__TIMED_OUT)
        rc = -ETIMEDOUT;
    if (how != BY_LIST) __wrap_cc__waitlist_leave(&list, &w);
    if (rc == 0) mc_assert(payload == 42);
    return rc;
}

/* Without a stray it returns for the flag or for the unpark, and either brings what was written before. */
static void park_once(void) {
    cc_priv_park_if(&flag, 0);
    mc_assert(payload == 42);
}

static void fiber_main(void *arg) {
    (void)arg;
    cc__run_arrive(cc__worker_current());
    if (how == BARE)
        while (cc__load_relaxed(&flag) == 0) cc_priv_park_if(&flag, 0);
    else if (how == ONCE)
        park_once();
    else
        result = wait_for_token();
    mc_assert(cc__fiber_current() == &fiber);
    finished = ended_on[cc__worker_current()->id] = true;
    cc__state_finish(&task);
    cc__fiber_switch(&fiber, cc__worker_current()->root);
}

/* ---- threads ---- */

static void work(struct cc__worker *w) {
    cc__fiber_set_current(w->root);
    cc__worker_set_current(w);
    for (;;) {
        mc_sem_wait(&run_queue);
        if (finished) break;
        queued = false;
        mc_assert(!running);
        running = true;
        cc__run_task(w, &task);
        if (ended_on[w->id]) break;
    }
    mc_sem_post(&run_queue); /* so that the other worker ends, too */
}
static void worker(void) {
    work(&workers[0]);
}
static void other_worker(void) {
    work(&workers[1]);
}

/* A plain thread. */
static void thread_waits(void) {
    cc__fiber_set_current(&fiber);
    park_once();
    finished = true;
}
static void thread_waits_for_token(void) {
    cc__fiber_set_current(&fiber);
    result = wait_for_token();
    finished = true;
}

static void matches(void) {
    payload = 42;
    __wrap_cc__waitlist_lock(&list);
    if (list.first != NULL) {
        cc__wake_first(&list, CC__MATCHED);
    } else {
        tokens++;
        __wrap_cc__waitlist_unlock(&list);
    }
}
/* As a channel meets who waits: claims and unparks it at once, if it is parked. */
static void takes(void) {
    payload = 42;
    __wrap_cc__waitlist_lock(&list);
    struct cc__wait *w = list.first;
    if (w == NULL) {
        tokens++;
        __wrap_cc__waitlist_unlock(&list);
    } else if (cc__wait_take(w)) {
        cc__waitlist_remove(&list, w);
        __wrap_cc__waitlist_unlock(&list);
        cc__wait_overrule(w, CC__MATCHED);
        taken = true;
        enqueue(&task);
    } else {
        cc__wake_first(&list, CC__MATCHED);
    }
}
static void closes(void) {
    payload = 42;
    __wrap_cc__waitlist_lock(&list);
    tokens++;
    cc__wake_all(&list, CC__CLOSED);
}
static void expires(void) {
    for (int i = 0; i < 2; i++) {
        struct cc__task *t = cc__timers_expire(&workers[i].timers, DUE_NS);
        if (t != NULL) enqueue(t);
    }
}
static void cancels(void) {
    cc__store_release(&rt.cancelled, 1);
    cc__unpark_to_cancel(&task);
}
static void stray(void) {
    cc__unpark(&task, 0);
}
static void releases_flag(void) {
    payload = 42;
    cc__store_release(&flag, 1);
    cc_unpark((cc_parker){.priv_record = &task});
}
static void sets_flag(void) {
    cc__store_relaxed(&flag, 1);
    cc_unpark((cc_parker){.priv_record = &task});
}

/* ---- before and after ---- */

static void begin(enum how waits) {
    how = waits;
    mc_sem_init(&run_queue, 0);
    for (int i = 0; i < 2; i++) {
        workers[i].runtime = &rt;
        workers[i].id = (uint32_t)i;
        workers[i].root = &roots[i];
        cc__timers_init(&workers[i].timers, 0);
    }
    char *stack = mc_stack(STACK_BYTES);
    cc__ctx_make(&fiber.ctx, stack, stack + STACK_BYTES, fiber_main, NULL);
    fiber.task = &task;
    task.fiber = &fiber;
    task.fn = (void *(*)(void *))(uintptr_t)1; /* not a plain thread's */
    task.runtime = &rt;
    cc__state_begin(&task);
    enqueue(&task);
}
static void thread_begin(enum how waits) {
    how = waits;
    fiber.task = &task;
    task.fiber = &fiber;
    cc__state_begin(&task);
    cc__state_set_thread(&task);
    for (int i = 0; i < 2; i++) cc__timers_init(&workers[i].timers, 0);
}
static void thread_once(void) {
    thread_begin(ONCE);
}
static void thread_by_list(void) {
    thread_begin(BY_LIST);
}
static void thread_with_deadline(void) {
    thread_begin(WITH_DEADLINE);
}
static void once(void) {
    begin(ONCE);
}
static void by_list(void) {
    begin(BY_LIST);
}
static void with_deadline(void) {
    begin(WITH_DEADLINE);
}
static void cancellable(void) {
    begin(CANCELLABLE);
}
static void cancellable_here(void) {
    begin(CANCELLABLE_HERE);
}
static void bare(void) {
    begin(BARE);
}
static void done(void) {
    mc_assert(finished && list.first == NULL && workers[0].timers.near == NULL && workers[1].timers.near == NULL);
    uint64_t decided = cc__load_relaxed(&task.outcome) & OUTCOME_MASK; /* and so it was told */
    mc_assert(result != -ECANCELED || decided == CC__CANCELLED);
    mc_assert((decided != CC__MATCHED && !taken) || result == 0);
    mc_outcome("%s", result == 0            ? "matched"
                     : result == -EPIPE     ? "closed"
                     : result == -ETIMEDOUT ? "late"
                                            : "cancelled");
}

const struct mc_scenario mc_scenarios[] = {
    {"1 worker, match", by_list, {worker, matches}, done},
    {"2 workers, match", by_list, {worker, other_worker, matches}, done},
    {"2 workers, taken", by_list, {worker, other_worker, takes}, done},
    {"2 workers, taken, stray", by_list, {worker, other_worker, takes, stray}, done},
    {"1 worker, timer, taken", with_deadline, {worker, expires, takes}, done, .outcomes = "late matched"},
    {"a plain thread, taken, stray", thread_by_list, {thread_waits_for_token, takes, stray}, done},
    {"1 worker, match, stray", by_list, {worker, matches, stray}, done},
    {"2 workers, match, stray", by_list, {worker, other_worker, matches, stray}, done},
    {"1 worker, bare flag", bare, {worker, sets_flag}, done},
    {"2 workers, bare flag", bare, {worker, other_worker, sets_flag}, done},
    {"2 workers, bare flag, stray", bare, {worker, other_worker, sets_flag, stray}, done},
    {"2 workers, a flag that is released", once, {worker, other_worker, releases_flag}, done},
    {"a plain thread, a flag that is released", thread_once, {thread_waits, releases_flag}, done},
    {"a plain thread, match, stray", thread_by_list, {thread_waits_for_token, matches, stray}, done},
    {"a plain thread with a deadline, match",
     thread_with_deadline,
     {thread_waits_for_token, matches},
     done,
     .outcomes = "late matched"},
    {"1 worker, timer, match", with_deadline, {worker, expires, matches}, done, .outcomes = "late matched"},
    {"2 workers, timer, match",
     with_deadline,
     {worker, other_worker, expires, matches},
     done,
     .outcomes = "late matched"},
    {"1 worker, cancel, here", cancellable_here, {worker, cancels}, done, .outcomes = "cancelled"},
    {"2 workers, cancel, here", cancellable_here, {worker, other_worker, cancels}, done, .outcomes = "cancelled"},
    {"1 worker, cancel, taken, here",
     cancellable_here,
     {worker, cancels, takes},
     done,
     .outcomes = "cancelled matched"},
    {"1 worker, cancel, stray, here", cancellable_here, {worker, cancels, stray}, done, .outcomes = "cancelled"},
    {"1 worker, cancel", cancellable, {worker, cancels}, done, .outcomes = "cancelled"},
    {"2 workers, cancel", cancellable, {worker, other_worker, cancels}, done, .outcomes = "cancelled"},
    {"1 worker, cancel, match", cancellable, {worker, cancels, matches}, done, .outcomes = "cancelled matched"},
    {"1 worker, cancel, close", cancellable, {worker, cancels, closes}, done, .outcomes = "cancelled closed matched"},
    {"2 workers, cancel, match",
     cancellable,
     {worker, other_worker, cancels, matches},
     done,
     .outcomes = "cancelled matched",
     .full = true},
    {0},
};
