/* SPDX-License-Identifier: MIT */
/* Goal: futures (src/future/future.c, src/task/state_future.c): no wake is lost, before, while or after a poll; one is
 * in one queue and polled by one worker at a time; a cancellation is seen by a poll; who waits for the counter, or
 * awaits it, may free it at once, and sees what the polls and those with a waker did [FT1]; a wait that it polls for is
 * decided once, also if it gives it up, and who decides it touches nothing that is freed (src/future/poll.c).
 * Method: workers that play the loop of run.c, with a semaphore as their queue; a poll function that looks at a bare
 * flag, relaxed, so that only the control word can make it visible; the future is on the heap, and counting out the
 * counter frees it: a late touch is a use after free, a future that is never over a leak or a deadlock. That it is
 * queued is a plain flag, and what polls and wakers hand to the owner is plain memory: a missing order is a data race.
 *
 * Lessons 19 and 20.
 * Sources: src/future/future.c src/future/poll.c src/task/state_future.c src/sched/park.c src/sched/cancel.c
 * Sources: src/task/state.c src/task/wait.c src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c
 * Sources: src/base/assert.c src/base/text.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Mutate: src/task/state_future.c
 * Survives: cc__state_over: store_release -> relaxed: who awaits it looks with the lock, which hands it over
 * Survives: cc__state_await: cas_weak_acq_rel -> acquire: who sees the bit takes the lock, which hands over the wait
 * Break: src/future/future.c: if (again || !cc__state_park(t)) => if (again)
 * Break: src/future/future.c: if (again || !cc__state_park(t)) => if (!cc__state_park(t))
 * Break: src/future/future.c: if (held == CC__AWAITED) tell(t); => ;
 * Break: src/future/future.c: if (held == CC__HELD) return; => if (held == CC__AWAITED) return;
 * Break: src/future/poll.c: if (p->polls == CC__POLLS_LIST) p->leave(&p->wait); => ;
 * Break: src/sched/park.c: bool held = !quick && hold(t); => bool held = false;
 * Break: src/task/state.c: next = c | CC__CONTROL_NOTE | CC__CONTROL_CANCEL; => next = c | CC__CONTROL_CANCEL;
 * Weaken: src/task/state_hot.h: cc__state_unpark: cas_weak_acq_rel -> acquire
 */
#define AROUND_FUTURES 1
#include "alone.h"

#include "sched/events.h"
#include "sched/polls.h"

#include <ccrt/future.h>
#include <stdlib.h>

struct mine_too {
    cc_future fut;
    int polled; /* plain: one worker at a time */
    int rc;
};

static struct mine_too *first, *second; /* the second awaits the first, where there are two */
static cc_waker *waker[2];              /* of the first, and the second */
static bool queued[2];
static struct mc_sem queue[2];
static _Atomic int flag; /* W: who wakes.  R: the poll function; relaxed */
static int wakers_did[MC_THREADS];
static bool self_wakes, over[2];

/* ---- the scheduler around it ---- */

static int number(const void *t) {
    return t == (void *)first ? 0 : 1;
}
static void future_ready(struct cc__task *t) {
    int n = number(t);
    mc_assert(!queued[n] && !over[n]);
    queued[n] = true;
    mc_sem_post(&queue[n]);
}
void cc__ready_later(struct cc__worker *w, struct cc__task *t) {
    (void)w;
    future_ready(t);
}
void cc__ready_new(struct cc__task *t) {
    future_ready(t);
}
int cc__runtime_default(struct cc__runtime **out) {
    *out = &rt;
    return 0;
}
int cc__spawn_admit(struct cc__runtime *runtime, uint64_t n) {
    (void)runtime, (void)n;
    return 0;
}
uint32_t cc__spawn_serial(struct cc__runtime *runtime, struct cc__worker *w) {
    (void)runtime, (void)w;
    return 1;
}
void cc__fiber_describe(struct cc__fiber *f, uint64_t serial, const char *name) {
    (void)f, (void)serial, (void)name;
}
void cc__event_spawn(struct cc__task *t) {
    (void)t;
}
int cc__join_poll(cc_task task, struct cc__wait *w, void **result) {
    (void)task, (void)w, (void)result;
    return -ESRCH;
}

/* The counter of each: counting it out is the owner's leave to free it. */
static cc_counter counter[2];
void cc_counter_add(cc_counter *c, unsigned n) {
    (void)c, (void)n;
}
void cc_counter_done(cc_counter *c) {
    int n = c == &counter[0] ? 0 : 1;
    struct mine_too *it = n == 0 ? first : second;
    mc_assert(!over[n]);
    over[n] = true;
    mc_assert(it->polled > 0);
    for (int i = 0; n == 0 && i < MC_THREADS; i++) wakers_did[i]++; /* what they did with wakers of it comes before */
    free(it);
    mc_sem_post(&queue[n]); /* its workers may go */
}

static void works(int n) {
    struct me *me = &mine[mc_self()];
    (void)become();
    for (;;) {
        mc_sem_wait(&queue[n]);
        if (over[n]) break;
        mc_assert(queued[n]);
        queued[n] = false;
        struct cc__task *t = (struct cc__task *)(void *)(n == 0 ? first : second);
        cc__store_relaxed(&me->worker.current, t);
        me->worker.budget = 1;
        (void)cc__future_poll(&me->fiber, t);
    }
    mc_sem_post(&queue[n]); /* the next one, too */
}
static void worker(void) {
    works(0);
}
static void worker_of_second(void) {
    works(1);
}

/* ---- poll functions ---- */

static cc_poll_state until_flag(cc_future *f, cc_waker *w) {
    struct mine_too *it = CC_CONTAINER_OF(f, struct mine_too, fut);
    if (it->polled++ == 0 && self_wakes) cc_waker_wake(w);
    return cc__load_relaxed(&flag) != 0 ? CC_READY : CC_PENDING;
}
static cc_poll_state until_cancelled(cc_future *f, cc_waker *w) {
    struct mine_too *it = CC_CONTAINER_OF(f, struct mine_too, fut);
    (void)w;
    it->polled++;
    if (cc_future_cancelled(f) == 0) return CC_PENDING;
    mc_assert(cc__load_relaxed(&flag) == 1);
    return CC_READY;
}
static cc_poll_state at_once(cc_future *f, cc_waker *w) {
    (void)w;
    CC_CONTAINER_OF(f, struct mine_too, fut)->polled++;
    return CC_READY;
}
/* Nobody else wakes it. */
static cc_poll_state twice(cc_future *f, cc_waker *w) {
    if (CC_CONTAINER_OF(f, struct mine_too, fut)->polled++ > 0) return CC_READY;
    cc_waker_wake(w);
    return CC_PENDING;
}
/* Of the second: until the first is over, or it is cancelled. */
static cc_poll_state until_first(cc_future *f, cc_waker *w) {
    struct mine_too *it = CC_CONTAINER_OF(f, struct mine_too, fut);
    (void)w;
    it->polled++;
    it->rc = cc_poll_await(f, &first->fut);
    return it->rc == -EAGAIN ? CC_PENDING : CC_READY;
}

/* ---- who wakes, cancels, drops and awaits ---- */

static void wakes(void) {
    cc__store_relaxed(&flag, 1);
    cc_waker_wake(waker[0]);
    wakers_did[mc_self()] = 1;
    cc_waker_drop(waker[0]);
}
static void wakes_in_vain(void) {
    cc_waker_wake(waker[0]);
    wakers_did[mc_self()] = 1;
    cc_waker_drop(waker[0]);
}
static void cancels_it(void) {
    cc__store_relaxed(&flag, 1);
    cc_future_cancel(&first->fut);
    cc_waker_drop(waker[0]);
}
static void drops(void) {
    wakers_did[mc_self()] = 1;
    cc_waker_drop(waker[0]);
}
static void wakes_second(void) {
    cc_waker_wake(waker[1]);
    cc_waker_drop(waker[1]);
}
static void cancels_second(void) {
    cc_future_cancel(&second->fut);
    cc_waker_drop(waker[1]);
}
static void awaits_and_frees(void) {
    (void)become();
    cc_future_await(&first->fut);
    mc_assert(first->polled > 0 && cc__load_relaxed(&flag) == 1);
    over[0] = true;
    free(first);
    mc_sem_post(&queue[0]);
}

/* ---- setups ---- */

static struct mine_too *begin(int n, cc_poll_fn *poll, cc_counter *c, int wakers) {
    struct mine_too *it = calloc(1, sizeof *it);
    if (n == 0)
        first = it;
    else
        second = it;
    mc_sem_init(&queue[n], 0);
    cc_future_init(&it->fut, poll);
    mc_assert(cc_future_spawn(&it->fut, c) == 0);
    waker[n] = (cc_waker *)(void *)it;
    for (int i = 0; i < wakers; i++) (void)cc_waker_clone(waker[n]);
    return it;
}
static void setup_one(void) {
    all_begin(true);
    begin(0, until_flag, &counter[0], 1);
}
static void setup_two(void) {
    all_begin(true);
    begin(0, until_flag, &counter[0], 2);
}
static void setup_self(void) {
    setup_one();
    self_wakes = true;
}
static void setup_twice(void) {
    all_begin(true);
    begin(0, twice, &counter[0], 0);
}
static void setup_cancel(void) {
    all_begin(true);
    begin(0, until_cancelled, &counter[0], 1);
}
static void setup_cancel_and_wake(void) {
    all_begin(true);
    begin(0, until_cancelled, &counter[0], 2);
}
static void setup_dropped(void) {
    all_begin(true);
    begin(0, at_once, &counter[0], 2);
}
static void setup_awaited(void) {
    all_begin(true);
    begin(0, until_flag, NULL, 1);
}
/* The second has been polled and waits for the first, which is ready and held by one waker. */
static void setup_pair(void) {
    all_begin(true);
    begin(0, at_once, NULL, 1);
    begin(1, until_first, &counter[1], 1);
    struct me *me = &mine[MC_THREADS - 1];
    cc__fiber_set_current(&me->fiber);
    cc__worker_set_current(&me->worker);
    for (int n = 1; n >= 0; n--) {
        struct cc__task *t = (struct cc__task *)(void *)(n == 0 ? first : second);
        mc_sem_wait(&queue[n]);
        queued[n] = false;
        cc__store_relaxed(&me->worker.current, t);
        me->worker.budget = 1;
        (void)cc__future_poll(&me->fiber, t);
    }
}
static void free_first(void) {
    mc_assert(over[1]);
    free(first);
}

static void all_over(void) {
    mc_assert(over[0]);
}

const struct mc_scenario mc_scenarios[] = {
    {"a wake", setup_one, {worker, wakes}, all_over},
    {"a wake, two workers", setup_one, {worker, worker, wakes}, all_over, .alike = true},
    {"a wake, and another", setup_two, {worker, wakes, wakes_in_vain}, all_over, .full = true},
    {"a wake of one that wakes itself", setup_self, {worker, wakes}, all_over},
    {"a wake of one that wakes itself, two workers", setup_self, {worker, worker, wakes}, all_over, .alike = true},
    {"one that wakes itself, alone", setup_twice, {worker, worker}, all_over, .alike = true},
    {"a cancellation", setup_cancel, {worker, cancels_it}, all_over},
    {"a cancellation and a wake", setup_cancel_and_wake, {worker, cancels_it, wakes_in_vain}, all_over},
    {"ready, and two drop their wakers", setup_dropped, {worker, drops, drops}, all_over, .alike = true},
    {"a wake, and one awaits it", setup_awaited, {worker, wakes, awaits_and_frees}, all_over},
    {"one awaits another, whose last waker goes", setup_pair, {worker_of_second, drops, wakes_second}, free_first},
    {"the same, and it is cancelled", setup_pair, {worker_of_second, drops, cancels_second}, free_first},
    {0},
};
