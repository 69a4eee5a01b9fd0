/* SPDX-License-Identifier: MIT */
/* Goal: a helper that leaves (src/sched/help.c) sleeps although there is something in the ring of its watcher; nothing
 * else is left lying by that, however it meets who publishes, the watcher among them, and that ring is emptied [ID1].
 * Method: the helper was called, so publishers rely on it. It goes to sleep as one that leaves, with the library's own
 * looks into all queues (src/sched/steal.c), again and again, until it finds something in the global queue, which it
 * runs for ever. The watcher runs what is in its ring, which publishes something for anyone, then looks for it itself
 * and sleeps. Another thread publishes, too. Who may sleep for ever are those whom nobody needs: check() looks who
 * does. A ring is a counter, and so is the global queue. A twin leaves without looking into that. One that only steps
 * back is as one that runs a task, for ever here: what is published meanwhile it has seen, or another is woken for it.
 * Sources: src/sched/idle.c src/sched/steal.c src/base/bits.c src/plat/futex.c src/base/assert.c src/base/text.c
 * Weaken: src/sched/idle.c: cc__idle_sleep: fence_full -> acq_rel
 * Weaken: src/sched/idle.c: cc__idle_step_back: fence_full -> acq_rel
 * Weaken: src/sched/idle.c: notify: fence_full -> acq_rel
 * Break: src/sched/steal.c: if (!cc__inject_empty(&rt->inject)) return true; => ;
 */
#include "plat/futex.h"
#include "plat/thread.h"
#include "sched/sched.h"

#include "ccmc.h"
#include "fences.h"
#include "noforks.h"
#include "nopoll.h"

enum { HELPER, WATCHER, WORKERS };

_Thread_local struct cc__worker *cc__current_worker; /* as in src/fiber/current.c */

static struct cc__runtime rt;
static struct cc__worker workers[WORKERS];
static _Atomic uint64_t idle_words[1];
static _Atomic int ring;   /* tasks in the watcher's ring.  W: the watcher */
static _Atomic int global; /* in the global queue.  W: publishers, workers */
static bool careless;      /* the twin */

/* ---- what surrounds it ---- */

bool cc__runq_empty(struct cc__runq *q) {
    return q != &workers[WATCHER].begun || cc__load_relaxed(&ring) == 0;
}
bool cc__inject_empty(struct cc__inject *q) {
    (void)q;
    return careless || cc__load_relaxed(&global) == 0;
}
int64_t cc__now_ns(void) {
    return 0;
}
void cc__monitor_ring(void) {
}
void cc__monitor_rouse(void) {
}

/* Of the search, which is not made here. */
#define UNUSED(type, function, ...)                                                                                    \
    type function(__VA_ARGS__) {                                                                                       \
        mc_assert(!#function);                                                                                         \
        __builtin_unreachable();                                                                                       \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
typedef struct cc__task *task;
typedef struct cc__tasks tasks;
UNUSED(task, cc__runq_steal, struct cc__worker *w, struct cc__runq *q, struct cc__runq *victim)
UNUSED(uint32_t, cc__runq_take_half, struct cc__runq *victim, struct cc__task **got)
UNUSED(void, cc__runq_push, struct cc__worker *w, struct cc__runq *q, struct cc__task *t)
UNUSED(task, cc__inject_take_batch, struct cc__inject *q, struct cc__worker *w)
UNUSED(void, cc__inject_push, struct cc__inject *q, struct cc__task *t)
UNUSED(void, cc__inject_push_many, struct cc__inject *q, int lane, struct cc__task *const *many, size_t n)
UNUSED(task, cc__tasks_take, struct cc__tasks *list)
UNUSED(void, cc__ready_all_taken, struct cc__worker *w, struct cc__tasks all)
UNUSED(task, cc__worker_pick_local, struct cc__worker *w)
UNUSED(bool, cc__worker_expire, struct cc__timers *s, int64_t *now)
UNUSED(void, cc__thread_yield, void)
UNUSED(tasks, cc__inbox_take, struct cc__task *_Atomic *box)
#pragma GCC diagnostic pop

/* ---- the threads ---- */

static bool take(void) {
    int n = cc__load_relaxed(&global);
    while (n > 0)
        if (cc__cas_acq_rel(&global, &n, n - 1)) return true;
    return false;
}
static void work_or_sleep(struct cc__worker *w) {
    while (!take()) mc_assert(cc__idle_sleep(w));
    cc__idle_stop_searching(w, true);
}
static void publishes(void) {
    cc__add_acq_rel(&global, 1);
    cc__idle_notify(&rt);
}
static void helper(void) {
    struct cc__worker *w = &workers[HELPER];
    w->searching = true;
    w->help.steps_back = true;
    mc_assert(cc__idle_sleep(w));
    work_or_sleep(w);
}
static void steps_back(void) {
    struct cc__worker *w = &workers[HELPER];
    w->searching = true;
    w->help.steps_back = true;
    if (!cc__idle_step_back(w)) mc_assert(take());
}
static void watcher(void) {
    struct cc__worker *w = &workers[WATCHER];
    cc__current_worker = w;
    cc__store_relaxed(&ring, 0); /* it takes what is there, and runs it */
    publishes();
    work_or_sleep(w);
}
/* The same, with nothing that its task would publish. */
static void quiet_watcher(void) {
    cc__current_worker = &workers[WATCHER];
    cc__store_relaxed(&ring, 0);
    work_or_sleep(&workers[WATCHER]);
}

/* ---- before and after ---- */

static void called(void) {
    cc__store_relaxed(&rt.worker_count, WORKERS);
    cc__store_relaxed(&rt.growth.running, WORKERS);
    rt.workers = workers;
    rt.idle_words = idle_words;
    cc__store_relaxed(&rt.sleeper_until, CC__NEVER);
    cc__store_relaxed(&rt.searching, 1);
    cc__bits_init(&rt.idle, idle_words, WORKERS);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].runtime = &rt;
        workers[i].id = i;
        workers[i].watcher = &workers[WATCHER];
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
    cc__store_relaxed(&ring, 1);
}
static void called_careless(void) {
    called();
    careless = true;
}

/* The other sleeps, and there is no thread for it: who wakes it has done its part. */
static void other_asleep(void) {
    called();
    cc__store_relaxed(&ring, 0);
    cc__bits_set(&rt.idle, WATCHER);
    cc__store_relaxed(&workers[WATCHER].asleep, CC__ASLEEP);
}
static void other_woken(void) {
    mc_assert(cc__load_relaxed(&global) == 0 || cc__load_relaxed(&workers[WATCHER].asleep) == CC__AWAKE);
}

static void at_rest(void) {
    mc_assert(cc__load_relaxed(&ring) == 0);
    mc_assert(cc__load_relaxed(&global) == 0 || !(mc_sleeps(0) || mc_sleeps(1)));
    mc_assert(cc__load_relaxed(&rt.searching) == 0);
}

#define EXHAUSTED .quiet = true, .fences = true

const struct mc_scenario mc_scenarios[] = {
    {"a publisher", called, {helper, quiet_watcher, publishes}, at_rest, EXHAUSTED},
    {"the watcher publishes", called, {helper, watcher}, at_rest, EXHAUSTED},
    {"the watcher publishes, and another", called, {helper, watcher, publishes}, at_rest, EXHAUSTED, .full = true},
    {"one steps back, another sleeps", other_asleep, {steps_back, publishes}, other_woken, EXHAUSTED},
    {"nobody looks into the global queue",
     called_careless,
     {helper, quiet_watcher, publishes},
     at_rest,
     EXHAUSTED,
     .expect = MC_ASSERT},
    {0},
};
