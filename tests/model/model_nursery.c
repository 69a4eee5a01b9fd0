/* SPDX-License-Identifier: MIT */
/* Goal: nurseries (src/scope/nursery.c, src/sched/cancel.c): the last child wakes its owner, nobody touches a nursery
 * or a result after its owner left, and a cancellation reaches a child that waits, or is about to, whoever makes it:
 * an owner that leaves early, a child that fails, or the runtime.
 * Method: an owner whose nursery and result are on the heap and freed when it has left: a late touch is a use after
 * free. Each child is a thread of its own, and its record is written over when it has ended. Children that must be
 * cancelled wait for what never comes.
 *
 * Lessons 9 and 73 to 81.
 * Sources: src/scope/nursery.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c src/task/pool.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Sources: src/fiber/ctx_x86_64.S src/sched/finish.c src/sched/inbox.c
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Mutate: src/scope/nursery.c src/sched/cancel.c
 * Weaken: src/sched/leave.h: cc__nursery_cancelled: load_acquire -> relaxed
 * Survives: cancel_inner: sub_acq_rel -> release: who gives up a pin looks at nothing after it
 * Survives: count_out_and_unlock: sub_acq_rel -> acquire: the unlock after it releases
 * Survives: cc__nursery_children_ended: cas_acq_rel -> release: who is not the last looks at nothing after it
 * Break: src/scope/nursery.c: cc__wait_decide(waiter, w->epoch, CC__MATCHED); => ;
 * Break: src/scope/nursery.c: if (owner != cc__self()) cc__unpark_to_cancel(owner); => ;
 * Break: src/scope/nursery.c: t = t->older) cc__unpark_to_cancel(t); => t = t->older) (void)t;
 * Break: src/sched/cancel.c: cc__wait_decide(self, w->epoch, CC__CANCELLED); => ;
 * Break: src/scope/nursery.c: cc__cancel_pass_on(self); => ;
 * Break: src/scope/nursery.c: cc__load_relaxed(live_of(n)) > 0 ? cancel_locked(n, -ECANCELED, NULL) : NULL; => NULL;
 * Break: src/scope/nursery.c: while (live > count && => while (live >= count &&
 * Break: src/sched/cancel.c: cc__nursery_list(self); => ;
 * Break: src/scope/nursery.c: cc__add_relaxed(pins_of(i), 1); => ;
 * Break: src/scope/nursery.c: cc__load_acquire(pins_of(n)) != 0; spins++) => false; spins++)
 */
#include "sched/leave.h"

#include "around.h"

#include <ccrt/async.h>
#include <ccrt/scope.h>

#include <stdlib.h>

enum { OWNER, FIRST, SECOND };

static cc_nursery *nursery, *inner;
static cc_priv_result *future;
static struct mc_sem launched[MC_THREADS];
static int spawned = OWNER, waited, told[MC_THREADS];
static int value; /* what a child hands over */
static int why;   /* what a canceller wrote before */

/* ---- what surrounds it ---- */

int cc__spawn_prepare(struct cc__runtime *runtime, struct cc__task **out, void *(*fn)(void *), void *arg) {
    (void)runtime;
    *out = &mine[++spawned].task;
    (*out)->fn = fn;
    (*out)->value = arg;
    return 0;
}
int cc__spawn_launch(struct cc__task *t) {
    mc_sem_post(&launched[CC__CONTAINER_OF(t, struct me, task) - mine]);
    return 0;
}

/* A child runs, and ends; its worker has yet to tell the nursery. */
static void run(struct cc__worker *w, struct cc__task *t) {
    t->fn(t->value);
    cc__finish(w, t);
}
/* Their records are somebody else's. */
static void gone(struct cc__task *t) {
    t->older = t->younger = t->next = NULL; /* as nobody's list holds it any more */
    t->nursery = NULL;
    t->scope = NULL;
}

/* The thread that a child is. */
static void child(void) {
    mc_sem_wait(&launched[mc_self()]);
    struct cc__task *t = become();
    struct cc__worker *w = &mine[mc_self()].worker;
    run(w, t);
    cc__finish_tell(w);
    gone(t);
}
/* Two, one after the other on one worker, which tells of both at once. */
static void two_children(void) {
    struct cc__worker *w = &mine[FIRST].worker;
    cc__worker_set_current(w);
    for (int i = FIRST; i <= SECOND; i++) {
        mc_sem_wait(&launched[i]);
        cc__fiber_set_current(&mine[i].fiber);
        run(w, &mine[i].task);
    }
    cc__finish_tell(w);
    gone(&mine[FIRST].task);
    gone(&mine[SECOND].task);
}

/* ---- what children do ---- */

static int succeeds(void *unused) {
    (void)unused;
    value = 42;
    return 0;
}
static int fails(void *unused) {
    (void)unused;
    return -EIO;
}
/* Wait for what never comes. */
static int waits(void *unused) {
    (void)unused;
    struct cc__wait w;
    int code;
    do {
        cc__wait_begin(&w, cc__self(), CC__BY_CANCEL, NULL, "model");
        code = cc__wait_cancellable(&w, CC__NEVER);
    } while (code == CC__WAIT_AGAIN);
    told[mc_self()] = code == -ECANCELED;
    return code;
}
/* The same, in line for a result. */
static int awaits(void *unused) {
    (void)unused;
    static cc_priv_result never;
    int code = cc_priv_await_cancellable(&never);
    told[mc_self()] = code == -ECANCELED;
    return code;
}
static int cancels(void *unused) {
    (void)unused;
    cc_nursery_cancel(nursery);
    return 0;
}

/* Look whether it is cancelled, again and again, and then at what the canceller wrote before. */
static int polls(void *unused) {
    (void)unused;
    while (cc_cancelled() == 0) mc_yield();
    mc_assert(why == 7);
    return -ECANCELED;
}

/* ---- what owners do ---- */

static void enter(void) {
    (void)become();
    nursery = malloc(sizeof *nursery);
    cc_priv_nursery_enter(nursery, "model", 0);
}
static void leave(void) {
    cc_priv_nursery_leave(nursery);
    free(nursery);
    mc_assert(mine[OWNER].task.scope == NULL);
}
static void spawn(int (*fn)(void *)) {
    mc_assert(cc_nursery_spawn(nursery, fn, NULL, 0, NULL) == 0);
}

static void waits_for_one(void) {
    enter();
    spawn(succeeds);
    waited = cc_nursery_wait(nursery);
    mc_assert(value == 42);
    leave();
}
static void waits_for_two(void) {
    enter();
    spawn(succeeds);
    spawn(cancels);
    waited = cc_nursery_wait(nursery);
    leave();
}
static void leaves_two(void) {
    enter();
    spawn(succeeds);
    spawn(succeeds);
    leave();
}
static void waits_for_two_that_succeed(void) {
    enter();
    spawn(succeeds);
    spawn(succeeds);
    waited = cc_nursery_wait(nursery);
    leave();
}
static void leaves_one(void) {
    enter();
    spawn(succeeds);
    leave();
}
static void leaves_one_that_waits(void) {
    enter();
    spawn(waits);
    leave();
}
static void leaves_one_that_polls(void) {
    enter();
    spawn(polls);
    why = 7;
    leave();
}
static void waits_itself(void) {
    enter();
    spawn(cancels);
    waited = waits(NULL);
    leave();
}
static void polls_itself(void) {
    (void)become();
    (void)polls(NULL);
}
static void leaves_one_that_awaits(void) {
    enter();
    spawn(awaits);
    leave();
}
static void has_one_that_fails(void) {
    enter();
    spawn(waits);
    if (cc_nursery_spawn(nursery, fails, NULL, 0, NULL) != 0) mc_assert(!"not cancelled yet");
    waited = cc_nursery_wait(nursery);
    leave();
}
static void has_one_that_cancels(void) {
    enter();
    spawn(awaits);
    spawn(cancels);
    waited = cc_nursery_wait(nursery);
    leave();
}
/* A child that cancels its owner's wait, which can be. */
static void waits_cancellably_for_one_that_cancels(void) {
    enter();
    spawn(cancels);
    waited = cc_nursery_wait_cancellable(nursery);
    leave();
}
static void waits_cancellably_for_one_that_waits(void) {
    enter();
    spawn(waits);
    waited = cc_nursery_wait_cancellable(nursery);
    leave();
}
static void waits_cancellably_for_one(void) {
    enter();
    spawn(succeeds);
    waited = cc_nursery_wait_cancellable(nursery);
    leave();
}
static void waits_for_one_that_waits(void) {
    enter();
    spawn(waits);
    waited = cc_nursery_wait(nursery);
    leave();
}
static void awaits_one(void) {
    enter();
    future = malloc(sizeof *future);
    mc_assert(cc_priv_async(nursery, future, succeeds, NULL, 0, NULL) == 0);
    mc_assert(cc_priv_result_status(future) == 0 && value == 42);
    free(future);
    leave();
}
static void awaits_one_cancellably(void) {
    enter();
    future = malloc(sizeof *future);
    mc_assert(cc_priv_async(nursery, future, succeeds, NULL, 0, NULL) == 0);
    waited = cc_priv_await_cancellable(future);
    mc_assert(waited != 0 || value == 42);
    if (waited != 0) cc_priv_await(future);
    free(future);
    leave();
}

/* The same while the child does not run at all: the owner plays it, when it was cancelled. */
static void run_child_here(void) {
    struct cc__task *t = &mine[FIRST].task;
    mc_assert(t->nursery == nursery);
    cc__fiber_set_current(&mine[FIRST].fiber);
    run(&mine[FIRST].worker, t);
    cc__finish_tell(&mine[FIRST].worker);
    (void)become();
}
static void waits_cancellably_in_vain(void) {
    enter();
    spawn(succeeds);
    waited = cc_nursery_wait_cancellable(nursery);
    mc_assert(cc__nursery_cancelled(nursery) != 0 && cc__load_relaxed((_Atomic size_t *)&nursery->priv_live) == 1);
    run_child_here();
    leave();
}
static void awaits_cancellably_in_vain(void) {
    enter();
    future = malloc(sizeof *future);
    mc_assert(cc_priv_async(nursery, future, succeeds, NULL, 0, NULL) == 0);
    waited = cc_priv_await_cancellable(future);
    run_child_here();
    free(future);
    leave();
}

/* Two nurseries, one inside the other: a child of the outer one cancels both. */
static void enter_inner(void) {
    inner = malloc(sizeof *inner);
    cc_priv_nursery_enter(inner, "model", 1);
}
static void leave_inner(void) {
    cc_priv_nursery_leave(inner);
    free(inner);
}
static void opens_another(void) {
    enter();
    spawn(cancels);
    enter_inner();
    leave_inner();
    waited = cc_nursery_wait(nursery);
    leave();
}
static void opens_another_with_a_child(void) {
    enter();
    enter_inner();
    spawn(cancels);
    mc_assert(cc_nursery_spawn(inner, waits, NULL, 0, NULL) == 0);
    waited = cc_nursery_wait(inner);
    leave_inner();
    leave();
}

/* The runtime is ended: its tasks are told, of which only the owner is alive for certain (runtime/shutdown.c). */
static void cancels_all(void) {
    why = 7;
    cc__store_release(&rt.cancelled, 1);
    cc__unpark_to_cancel(&mine[OWNER].task);
}

/* ---- before and after ---- */

static void setup(void) {
    all_begin(true);
    for (int i = 0; i < MC_THREADS; i++) mc_sem_init(&launched[i], 0);
}

/* The child does not look at the runtime: it is told by its owner, or not at all. */
static void setup_told_by_owner(void) {
    setup();
    mine[FIRST].task.runtime = NULL;
}

static void no_error(void) {
    mc_assert(waited == 0);
}
static void cancelled(void) {
    mc_assert(waited == -ECANCELED);
}
static void first_was_told(void) {
    mc_assert(told[FIRST]);
}
static void failed_and_told(void) {
    mc_assert(waited == -EIO && told[FIRST]);
}
static void second_was_told(void) {
    mc_assert(waited == -ECANCELED && told[SECOND]);
}
static void cancelled_and_told(void) {
    mc_assert(waited == -ECANCELED && told[FIRST]);
}

const struct mc_scenario mc_scenarios[] = {
    {"a child, wait", setup, {waits_for_one, child}, no_error},
    {"a child, left early", setup, {leaves_one, child}, no_error},
    {"two children of one worker, wait", setup, {waits_for_two_that_succeed, two_children}, no_error},
    {"two children of one worker, left early", setup, {leaves_two, two_children}, no_error},
    {"a child that waits, left early", setup, {leaves_one_that_waits, child}, first_was_told},
    {"a child that awaits, left early", setup, {leaves_one_that_awaits, child}, first_was_told},
    {"a child that polls, left early", setup, {leaves_one_that_polls, child}, NULL},
    {"an owner that waits itself, a child cancels", setup, {waits_itself, child}, cancelled},
    {"a task that polls, the runtime cancels", setup, {polls_itself, cancels_all}, NULL},
    {"two children, one cancels", setup, {waits_for_two, child, child}, cancelled},
    {"a child that awaits, a sibling cancels",
     setup,
     {has_one_that_cancels, child, child},
     cancelled_and_told,
     .full = true},
    {"a cancellable wait, a child", setup, {waits_cancellably_for_one, child}, no_error},
    {"a cancellable wait, a child cancels", setup, {waits_cancellably_for_one_that_cancels, child}, cancelled},
    {"a child that waits, the runtime cancels",
     setup_told_by_owner,
     {waits_for_one_that_waits, child, cancels_all},
     cancelled_and_told,
     .full = true},
    {"a cancellable wait in vain, the runtime cancels", setup, {waits_cancellably_in_vain, cancels_all}, cancelled},
    {"a cancellable wait, a child that waits, the runtime cancels",
     setup_told_by_owner,
     {waits_cancellably_for_one_that_waits, child, cancels_all},
     cancelled_and_told,
     .full = true,
     .bounded = true,
     .max_execs = 1000000},
    {"one inside, a child of the outer one cancels", setup, {opens_another, child}, cancelled},
    {"one inside with a child, a child of the outer one cancels",
     setup,
     {opens_another_with_a_child, child, child},
     second_was_told,
     .full = true,
     .bounded = true,
     .max_execs = 500000},
    {"a result", setup, {awaits_one, child}, NULL},
    {"a result, a cancellable wait", setup, {awaits_one_cancellably, child}, no_error},
    {"a result, a cancellable wait in vain, the runtime cancels",
     setup,
     {awaits_cancellably_in_vain, cancels_all},
     cancelled},
    {"a result, a cancellable wait, the runtime cancels",
     setup,
     {awaits_one_cancellably, child, cancels_all},
     NULL,
     .full = true,
     .bounded = true,
     .max_execs = 1000000},
    {"a child that waits, a sibling fails", setup, {has_one_that_fails, child, child}, failed_and_told, .full = true},
    {0},
};
