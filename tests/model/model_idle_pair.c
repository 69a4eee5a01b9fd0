/* SPDX-License-Identifier: MIT */
/* Goal: sleeping workers (src/sched/idle.c) with two workers and two publishers, exhausted: when all is quiet, nobody
 * sleeps while there is work [ID1]; nobody counts as a searcher. And the same with a worker that retires after a while.
 * Method: what model_idle.c samples, cut to what the protocol is about. A publisher publishes one task. A worker is one
 * that found nothing: it goes to sleep, looks, sleeps again, until it has found a task, which it runs for ever: who may
 * sleep for ever are the others, and check() looks who does. The set of idle workers has a word for each, as workers
 * far apart have; model_bits.c checks the real one. There are no timers.
 *
 * Two of each, with both workers about to sleep, have too many executions to the end with every value that C11 allows,
 * and too many states: most of them by the order in which workers that have found something change `searching`, and by
 * which of the old values of that another can still see. So they are run so to the end from where one worker or both
 * are asleep, or one was woken and has not come yet; and from the beginning till a worker is awake, which then stays
 * awake: the work that was published has woken one, and as many are counted as are awake. From the beginning to the end
 * they are run in every order, but each load sees the newest store; with older ones as far as it goes, with --full.
 *
 * A worker that retires, the library's own and one spelled out here for its twins: it sleeps with a timeout; when that
 * passes it takes its bit back, full fence, looks once more, and ends if there is nothing. Whoever found the bit gone
 * has published before it looked: either the fences let the retiring worker see the work, or the publisher sees that it
 * is gone and wakes another. What it finds by that look it takes as a searcher, which looks for more.
 * Sources: src/sched/idle.c src/plat/futex.c src/base/assert.c src/base/text.c
 * Wrap: cc__futex_wait cc__futex_wake
 * Timeout: 300
 * Weaken: src/sched/idle.c: notify: fence_full -> acq_rel
 * Weaken: src/sched/idle.c: cc__idle_sleep: fence_full -> acq_rel
 * Weaken: src/sched/idle.c: cc__idle_stop_searching: fence_full -> acq_rel
 * Break: src/sched/idle.c: if (timer || cc__steal_visible(w)) notify(rt); => (void)timer;
 */
#include "plat/clock.h"
#include "plat/futex.h"
#include "sched/sched.h"

#include "ccmc.h"
#include "noforks.h"
#include "nopoll.h"

#include <errno.h>

enum { WORKERS = 2 };
#define LATER_NS INT64_C(5000000000)

_Thread_local struct cc__worker *cc__current_worker; /* as in src/fiber/current.c */

static struct cc__runtime rt;
static struct cc__worker workers[WORKERS];
static _Atomic int idle[WORKERS]; /* as rt.idle.  W, R: any */
static bool still;                /* the second worker sleeps, without a thread of its own */
static _Atomic int queue;         /* tasks that wait.  W: publishers, workers */
static bool by_states;            /* the scenario is searched so */

/* ---- what surrounds it ---- */

/* There is a full fence before each look, and what else is looked at until the next: see mc_blind(). */
static void looks_at_queue(struct cc__worker *w) {
    mc_blind();
    mc_sees(&queue, sizeof queue);
    mc_sees(&w->asleep, sizeof w->asleep);
}
static void looks_for_sleepers(void) {
    mc_blind();
    mc_sees(&rt.searching, sizeof rt.searching);
    for (size_t i = 0; i < cc__worker_count(&rt); i++) mc_sees(&idle[i], sizeof idle[i]);
}

bool cc__bits_set(struct cc__bits *b, size_t i) {
    (void)b;
    return cc__xchg_acq_rel(&idle[i], 1) != 0;
}
bool cc__bits_clear(struct cc__bits *b, size_t i) {
    (void)b;
    return cc__xchg_acq_rel(&idle[i], 0) != 0;
}
bool cc__bits_test(const struct cc__bits *b, size_t i) {
    (void)b;
    return cc__load_relaxed(&idle[i]) != 0;
}
size_t cc__bits_find(const struct cc__bits *b, size_t from) {
    (void)b, (void)from;
    if (by_states) mc_forget((uintptr_t)__builtin_return_address(0)); /* who looks for a sleeper has no variables */
    looks_for_sleepers();
    for (size_t i = 0; i < cc__worker_count(&rt); i++)
        if (cc__load_relaxed(&idle[i]) != 0) return i;
    return CC__BITS_NONE;
}
int64_t cc__now_ns(void) {
    return 0;
}
void cc__monitor_ring(void) {
}
void cc__monitor_rouse(void) {
}
bool cc__steal_anything(struct cc__worker *w) {
    mc_assert(w->runtime == &rt);
    looks_at_queue(w);
    return cc__load_relaxed(&queue) > 0;
}
bool cc__steal_visible(struct cc__worker *w) {
    return cc__steal_anything(w);
}

/* Scenarios that would be too large with a futex wait for the word as such. */
static bool awaits;
int __real_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns);
int __real_cc__futex_wake(_Atomic uint32_t *word, int n);
int __wrap_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns);
int __wrap_cc__futex_wake(_Atomic uint32_t *word, int n);
int __wrap_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns) {
    if (!awaits) return __real_cc__futex_wait(word, expect, deadline_ns);
    return mc_await(word, expect, deadline_ns != CC__NO_DEADLINE) ? 0 : -ETIMEDOUT;
}
int __wrap_cc__futex_wake(_Atomic uint32_t *word, int n) {
    return awaits ? 0 : __real_cc__futex_wake(word, n);
}

static bool take(void) {
    int n = cc__load_relaxed(&queue);
    while (n > 0)
        if (cc__cas_acq_rel(&queue, &n, n - 1)) return true;
    return false;
}

/* ---- the threads ---- */

static void worker(struct cc__worker *w) {
    do {
        mc_forget(0);
        mc_blind();
        mc_assert(cc__idle_sleep(w));
        mc_forget(0);
    } while (!take());
    mc_forget(0);
    mc_blind();
    cc__idle_stop_searching(w, true);
}
static void first_worker(void) {
    worker(&workers[0]);
}
static void second_worker(void) {
    worker(&workers[1]);
}
/* One that is awake for ever once it was woken, or has seen work: it searches. */
static void first_to_wake(void) {
    mc_assert(cc__idle_sleep(&workers[0]));
}
static void second_to_wake(void) {
    mc_assert(cc__idle_sleep(&workers[1]));
}
static bool retired; /* W: the first worker; R: check */
static void temporary_to_wake(void) {
    workers[0].temporary = true;
    retired = !cc__idle_sleep(&workers[0]);
}
/* One that searches, and publishers rely on it: it has looked, and finds nothing. */
static void second_searcher(void) {
    workers[1].searching = true;
    worker(&workers[1]);
}
static void publisher(void) {
    mc_blind();
    cc__add_acq_rel(&queue, 1);
    cc__idle_notify(&rt);
}
static void batch_publisher(void) {
    cc__add_acq_rel(&queue, 2);
    cc__idle_notify_many(&rt, 2);
}

/* Sleep with a timeout. False: it passed, and nobody has woken us. */
static bool sleep_for_a_while(struct cc__worker *w) {
    cc__store_relaxed(&w->asleep, 1);
    cc__bits_set(&rt.idle, w->id);
    cc__idle_stop_searching(w, false);
    cc__fence_full();
    bool stay = cc__steal_anything(w), passed = false;
    while (!stay && !passed && cc__load_acquire(&w->asleep) == 1)
        passed = cc__futex_wait(&w->asleep, 1, LATER_NS) == -ETIMEDOUT;
    if (cc__bits_clear(&rt.idle, w->id)) {
        cc__store_relaxed(&w->asleep, 0);
        return false;
    }
    while (cc__load_acquire(&w->asleep) == 1) cc__cpu_relax();
    w->searching = true;
    return true;
}

/* A worker that retires. Twins: one that does not look again, and one that takes what it finds then without counting as
 * a searcher: then nobody looks whether there is more. */
static enum { SOUND, NO_LAST_LOOK, UNCOUNTED } twin;
static void retires(void) {
    struct cc__worker *w = &workers[0];
    for (sleep_for_a_while(w);;) {
        if (w->searching) {
            bool found = take();
            cc__idle_stop_searching(w, found);
            if (found) return;
        }
        cc__fence_full();
        if (twin == NO_LAST_LOOK || !cc__steal_anything(w)) return;
        if (twin == UNCOUNTED) {
            if (take()) return;
            continue;
        }
        cc__add_acq_rel(&rt.searching, 1);
        w->searching = true;
    }
}
/* The library's own. */
static void temporary(void) {
    struct cc__worker *w = &workers[0];
    w->temporary = true;
    while (cc__idle_sleep(w)) {
        bool found = take();
        if (!found) continue;
        cc__idle_stop_searching(w, true);
        return;
    }
    mc_assert(!w->searching);
}
static void notifies(void) {
    cc__idle_notify(&rt);
}
static void publishes_two(void) {
    publisher();
    publisher();
}

/* ---- before and after ---- */

static void begin(unsigned n, int searching) {
    cc__store_relaxed(&rt.worker_count, n);
    cc__store_relaxed(&rt.growth.running, n);
    rt.workers = workers;
    cc__store_relaxed(&rt.sleeper_until, CC__NEVER);
    cc__store_relaxed(&rt.searching, searching);
    for (unsigned i = 0; i < n; i++) {
        workers[i].runtime = &rt;
        workers[i].id = i;
        cc__store_relaxed(&workers[i].timers.next_ns, CC__NEVER);
        mc_constant(&workers[i].timers.next_ns, sizeof workers[i].timers.next_ns);
        mc_constant(&workers[i].reactor, sizeof workers[i].reactor);
        mc_statistics(&workers[i].count, sizeof workers[i].count);
    }
    mc_constant(&rt.coarse_ns, sizeof rt.coarse_ns);
    mc_constant(&rt.worker_count, sizeof rt.worker_count);
    mc_constant(&rt.growth.running, sizeof rt.growth.running);
    mc_constant(&rt.sleeper_until, sizeof rt.sleeper_until);
    mc_constant(&rt.stopping, sizeof rt.stopping);
}
static void one(void) {
    begin(1, 0);
}
static void two(void) {
    begin(2, 0);
}
static void two_await(void) {
    begin(2, 0);
    awaits = true;
}
static void two_states(void) {
    two_await();
    by_states = true;
}
static void one_searches(void) {
    begin(2, 1);
}
/* The second worker sleeps, and there is no thread for it: who wakes it has done its part. */
static void second_asleep(void) {
    begin(2, 0);
    still = true;
    cc__store_relaxed(&idle[1], 1);
    cc__store_relaxed(&workers[1].asleep, 1);
}
static void no_last_look(void) {
    second_asleep();
    twin = NO_LAST_LOOK;
}
static void uncounted(void) {
    second_asleep();
    twin = UNCOUNTED;
}

static void at_rest(void) {
    bool woken = still && cc__load_relaxed(&workers[1].asleep) == 0;
    bool sleeps = still && !woken;
    for (int i = 0; i < MC_THREADS; i++) sleeps = sleeps || mc_sleeps(i);
    mc_assert(cc__load_relaxed(&queue) == 0 || !sleeps);
    mc_assert(cc__load_relaxed(&rt.searching) == woken);
}

/* Of workers that stay awake: there is one, and as many are counted. */
static void awake(void) {
    int gone = mc_sleeps(0) + mc_sleeps(1) + retired;
    mc_assert(gone < WORKERS);
    mc_assert(cc__load_relaxed(&rt.searching) == WORKERS - gone);
}

#define EXHAUSTED .quiet = true, .fences = true

const struct mc_scenario mc_scenarios[] = {
    {"1 worker, 1 publisher", one, {first_worker, publisher}, at_rest, EXHAUSTED},
    {"1 worker, 2 publishers", one, {first_worker, publisher, publisher}, at_rest, EXHAUSTED},
    {"2 workers asleep, 2 publishers",
     two,
     {first_worker, second_worker, publisher, publisher},
     at_rest,
     EXHAUSTED,
     .first = 2},
    {"2 workers, 1 publisher, a wait is one step",
     two_await,
     {first_worker, second_worker, publisher},
     at_rest,
     EXHAUSTED},
    {"1 retires, a publisher", second_asleep, {retires, publisher}, at_rest, EXHAUSTED},
    {"1 retires without a last look",
     no_last_look,
     {retires, notifies, publisher},
     at_rest,
     EXHAUSTED,
     .expect = MC_ASSERT},
    {"1 retires with a task, uncounted",
     uncounted,
     {retires, notifies, publishes_two},
     at_rest,
     EXHAUSTED,
     .expect = MC_ASSERT},
    {"1 retires, a notifier, a publisher", second_asleep, {retires, notifies, publisher}, at_rest, EXHAUSTED},
    {"1 temporary, a notifier, a publisher", second_asleep, {temporary, notifies, publisher}, at_rest, EXHAUSTED},
    {"1 temporary, 2 publishers", second_asleep, {temporary, publisher, publisher}, at_rest, EXHAUSTED},
    {"1 to sleep, 2 publishers", second_asleep, {first_worker, publisher, publisher}, at_rest, EXHAUSTED},
    {"1 asleep, 1 to sleep, a batch",
     two,
     {first_worker, second_worker, batch_publisher},
     at_rest,
     EXHAUSTED,
     .first = 1},
    {"2 workers, 1 publisher", two, {first_worker, second_worker, publisher}, at_rest, EXHAUSTED},
    {"1 searcher, 1 worker, 1 publisher", one_searches, {first_worker, second_searcher, publisher}, at_rest, EXHAUSTED},
    {"1 retires, 2 publishers", second_asleep, {retires, publisher, publisher}, at_rest, EXHAUSTED},
    {"1 woken, 1 searcher, another publisher",
     one_searches,
     {first_worker, publisher, second_searcher, publisher},
     at_rest,
     EXHAUSTED,
     .first = 2},
    {"1 asleep, 1 to sleep, 2 publishers",
     two,
     {first_worker, second_worker, publisher, publisher},
     at_rest,
     EXHAUSTED,
     .first = 1,
     .alike = true},
    {"2 workers to sleep, 2 publishers, till one wakes",
     two,
     {first_to_wake, second_to_wake, publisher, publisher},
     awake,
     EXHAUSTED,
     .alike = true},
    {"1 temporary, 1 to sleep, 2 publishers, till one wakes",
     two,
     {temporary_to_wake, second_to_wake, publisher, publisher},
     awake,
     EXHAUSTED,
     .alike = true},
    {"1 asleep, 1 temporary, 2 publishers",
     two_await,
     {second_worker, temporary, publisher, publisher},
     at_rest,
     EXHAUSTED,
     .first = 1,
     .alike = true,
     .full = true},
    {"2 workers, 1 publisher, by states",
     two_states,
     {first_worker, second_worker, publisher},
     at_rest,
     .quiet = true,
     .states = true},
    {"2 workers, 2 publishers, each load sees the newest",
     two_states,
     {first_worker, second_worker, publisher, publisher},
     at_rest,
     .quiet = true,
     .states = true,
     .sc = true,
     .alike = true},
    {"2 workers, 2 publishers",
     two_states,
     {first_worker, second_worker, publisher, publisher},
     at_rest,
     .quiet = true,
     .states = true,
     .alike = true,
     .full = true,
     .bounded = true,
     .max_execs = 50000000},
    {0},
};
