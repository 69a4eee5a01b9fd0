/* SPDX-License-Identifier: MIT */
/* Goal: no fork lies in a deque while a worker sleeps that was not woken for it (src/job/fork.c, "hunger") [FJ2] [FJ3].
 * Method: a parent that forks once or twice and then computes for ever; workers that have found nothing: each sets its
 * idle bit, fence, sets the limits, looks, and sleeps if there is nothing; it may have wanted one before. Who sleeps at
 * the end must have nothing to take. Waking is as short as can be: src/sched/idle.c has models of its own. The heavy
 * fence, like the light one, is a fence of C11 here.
 * Sources: src/job/fork.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c src/sched/inbox.c
 * Sources: src/base/assert.c src/base/text.c src/task/pool.c src/plat/thread.c src/plat/file.c src/plat/futex.c
 * Sources: src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Define: CC__FORK_PLACES=4
 * Break: src/job/fork.c: #define CC_PRIV_FORK_FENCE() cc__fence_full() => #define CC_PRIV_FORK_FENCE() ((void)0)
 * Break: src/job/fork.c: if (set_limits(w, NULL)) fence_of_hungry(); => (void)set_limits(w, NULL);
 * Break: src/job/fork.c: if (idle) cc__idle_notify(w->runtime); => ;
 * Weaken: src/job/fork.c: cc__forks_offer: fence_full -> acq_rel
 */
#define AROUND_FORKS 1
#include <ccrt/fork.h>

#include "plat/futex.h"

#include "around.h"
#include "forks.h"

enum { OWNER = 0, WORKERS = 3 };

static struct cc__worker workers[WORKERS];
static _Atomic int idle[WORKERS];        /* as rt.idle.  W, R: any */
static _Atomic uint32_t asleep[WORKERS]; /* 1: sleeps.  W: itself, who wakes it */
static cc_priv_fork record[2];

/* ---- what surrounds it ---- */

size_t cc__bits_find(const struct cc__bits *b, size_t from) {
    (void)b, (void)from;
    for (size_t i = 1; i < cc__worker_count(&rt); i++)
        if (cc__load_relaxed(&idle[i]) != 0) return i;
    return CC__BITS_NONE;
}
/* Wakes one, as sched/idle.c does where nobody searches. */
void cc__idle_notify(struct cc__runtime *runtime) {
    cc__fence_full();
    for (size_t i = 1; i < cc__worker_count(runtime); i++) {
        if (cc__load_relaxed(&idle[i]) == 0 || cc__xchg_acq_rel(&idle[i], 0) == 0) continue;
        cc__store_release(&asleep[i], 0);
        cc__futex_wake(&asleep[i], 1);
        return;
    }
}
struct cc__task *cc__worker_pick(struct cc__worker *w) {
    (void)w;
    return NULL;
}
#define UNUSED(function, ...)                                                                                          \
    void function(__VA_ARGS__) {                                                                                       \
        mc_assert(!#function);                                                                                         \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
UNUSED(cc__idle_notify_many, struct cc__runtime *runtime, size_t count)
UNUSED(cc__inject_push, struct cc__inject *q, struct cc__task *t)
UNUSED(cc__inject_push_batch, struct cc__inject *q, struct cc__tasks batch, size_t count)
UNUSED(cc__ready_taken, struct cc__worker *w, struct cc__task *t)
#pragma GCC diagnostic pop

/* ---- the threads ---- */

static void child(cc_priv_fork *f) {
    (void)f;
}
static const cc_priv_forkable what = {child, {"model", 1, "child"}};

static void fork_it(int i) {
    record[i].priv_what = &what;
    cc_priv_fork_call(&record[i]);
}
static void begin(void) {
    become();
    cc__worker_set_current(&workers[OWNER]);
    cc__forks_begin(&workers[OWNER]);
}
static void forks(void) {
    begin();
    fork_it(0);
}
static void forks_twice(void) {
    begin();
    fork_it(0);
    fork_it(1);
}
/* One that is joined at once, and another: the limit is set back in between. */
static void forks_again(void) {
    begin();
    fork_it(0);
    (void)cc_priv_join_call(&record[0]);
    fork_it(1);
}
static void goes_to_sleep(void) {
    size_t i = (size_t)mc_self();
    cc__store_relaxed(&asleep[i], 1);
    cc__xchg_acq_rel(&idle[i], 1);
    cc__fence_full(); /* as S3 of sched/idle.c */
    if (cc__forks_hungry(&workers[i])) {
        cc__xchg_acq_rel(&idle[i], 0); /* it has found something, and is awake */
        return;
    }
    while (cc__load_acquire(&asleep[i]) == 1) cc__futex_wait(&asleep[i], 1, CC__NO_DEADLINE);
}

/* It has searched before, and looked on. */
static void wants_and_sleeps(void) {
    cc__forks_want(&workers[mc_self()]);
    goes_to_sleep();
}

/* ---- before and after ---- */

static void setup_workers(unsigned count, cc_priv_fork **limit) {
    all_begin(true);
    rt.workers = workers;
    cc__store_relaxed(&rt.worker_count, count);
    mc_constant(&rt.worker_count, sizeof rt.worker_count);
    mc_constant(&rt.searching, sizeof rt.searching);
    for (unsigned i = 0; i < count; i++) {
        workers[i].runtime = &rt;
        workers[i].id = i;
    }
    cc__store_relaxed(&workers[OWNER].current, &mine[OWNER].task);
    forks_places(&workers[OWNER], limit);
}
static void nobody_asked(void) {
    setup_workers(2, places + CC__FORK_PLACES - 1);
}
static void asked_before(void) {
    setup_workers(2, NULL);
}
static void nobody_asked_of_three(void) {
    setup_workers(3, places + CC__FORK_PLACES - 1);
}
/* A worker sleeps only if it was not needed: there is nothing, or another was woken. */
static void somebody_awake(void) {
    bool awake = false;
    for (unsigned i = 1; i < cc__worker_count(&rt); i++) awake = awake || !mc_sleeps((int)i);
    mc_assert(awake || !cc__forks_any(&workers[OWNER].forks));
}

#define SCENARIO(what_, set_, ...)                                                                                     \
    { .name = what_, .setup = set_, .thread = {__VA_ARGS__}, .check = somebody_awake, .fences = true, .quiet = true }

const struct mc_scenario mc_scenarios[] = {
    SCENARIO("a fork, a worker", nobody_asked, forks, goes_to_sleep),
    SCENARIO("a fork, a worker, asked before", asked_before, forks, goes_to_sleep),
    SCENARIO("two forks, a worker", nobody_asked, forks_twice, goes_to_sleep),
    SCENARIO("two forks, a worker, asked before", asked_before, forks_twice, goes_to_sleep),
    SCENARIO("a fork joined and another, a worker, asked before", asked_before, forks_again, goes_to_sleep),
    SCENARIO("a fork, a worker that wanted one", nobody_asked, forks, wants_and_sleeps),
    SCENARIO("a fork joined and another, a worker that wanted one", nobody_asked, forks_again, wants_and_sleeps),
    SCENARIO("a fork, two workers", nobody_asked_of_three, forks, goes_to_sleep, goes_to_sleep),
    {0},
};
