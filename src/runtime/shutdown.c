/* SPDX-License-Identifier: MIT */
/* The end of a runtime: wait for its tasks, take no more, cancel them, wait again, end the workers.
 *
 * All tasks have ended when as many were counted out as in: ends are read first, then spawns, so that a task that was
 * counted out has had all its spawns counted in; spawn.c says why none slips in after `closed`.
 *
 * The runtime is the root nursery of all its tasks. It keeps no list of them, because every spawn would have to
 * write to it: to cancel, all records there are in the process are told, and who is not under what was cancelled goes
 * on waiting. A future's record is its user's: of those only who sleeps is found, by its timer, and is polled; who
 * begins to sleep looks once more after it has added the timer. The others are their owners' to cancel.
 *
 * Prev: runtime/runtime.c  Next: runtime/report.h */
#include "runtime.h"

#include "../base/assert.h"
#include "../plat/clock.h"
#include "../plat/futex.h"
#include "../plat/thread.h"
#include "report.h"

#include <errno.h>

enum { POLL_MIN_NS = 20000, POLL_MAX_NS = 2000000, MS = 1000000 };

/* How many that were spawned have not ended, tasks and futures. */
static uint64_t live(struct cc__runtime *rt) {
    uint64_t ended = 0, spawned = 0;
    /* [SD1] acquire: pairs with the release in cc__finish(); what an ended task spawned is counted below. */
    unsigned count = cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++) ended += cc__load_acquire(&rt->workers[i].count.ended);
    count = cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++) spawned += cc__load_relaxed(&rt->workers[i].count.spawned);
    return spawned + cc__load_relaxed(&rt->spawned) - ended;
}

/* Wait for that, for so long. */
static bool await_all(struct cc__runtime *rt, int64_t ms) {
    int64_t now = cc__now_ns(), pause = POLL_MIN_NS;
    int64_t until = ms < 0 || ms > (CC__NEVER - now) / MS ? CC__NEVER : now + ms * MS;
    _Atomic uint32_t nobody = 0;
    while (live(rt) != 0) {
        now = cc__now_ns();
        if (now >= until) return false;
        int64_t next = now + pause;
        cc__futex_wait(&nobody, 0, next < until ? next : until);
        if (pause < POLL_MAX_NS) pause *= 2;
    }
    return true;
}

static void tell(struct cc__task *t, void *unused) {
    (void)unused;
    uint64_t c = cc__load_relaxed(&t->control);
    if ((c & CC__CONTROL_STATE) == CC__IDLE || (c & CC__CONTROL_STATE) == CC__DONE) return;
    cc__unpark_to_cancel(t);
}

static void close_and_cancel(struct cc__runtime *rt) {
    cc__store_release(&rt->closed, 1);
    cc__store_release(&rt->cancelled, 1); /* [CN2] release: as a nursery's */
    cc__fence_full();                     /* [SD2] D2, see sched/spawn.c */
    cc__task_each(tell, NULL);
    for (unsigned i = 0, count = cc__worker_count(rt); i < count; i++)
        cc__ready_list(cc__timers_cancel_futures(&rt->workers[i].timers));
}

void cc__runtime_stop_workers(struct cc__runtime *rt, unsigned started) {
    cc__store_release(&rt->stopping, 1);
    cc__idle_wake_all(rt);
    cc__grow_wake_express(rt);
    for (unsigned i = 0; i < started; i++) cc__thread_join(&rt->workers[i].thread);
    unsigned count = cc__worker_count(rt);
    for (unsigned i = rt->base_count; i < count; i++)
        if (cc__load_relaxed(&rt->workers[i].place) != CC__PLACE_FREE) cc__thread_join(&rt->workers[i].thread);
}

int cc_runtime_shutdown(cc_runtime *rt, int64_t wait_ms, int64_t cancelled_ms) {
    if (rt == NULL) return -EINVAL;
    CC_CHECK(cc__worker_current() == NULL, "a runtime was ended by a task");
    struct cc__runtime *core = &rt->core;
    if (!await_all(core, wait_ms)) {
        close_and_cancel(core);
        if (!await_all(core, cancelled_ms)) {
            cc__dump_left(core, live(core));
            return -ETIMEDOUT;
        }
    }
    cc__monitor_remove(core);
    cc__account_ending(rt);
    cc__runtime_stop_workers(core, core->base_count);
    /* [SD3] acquire: who woke the last task from outside is through with the runtime. */
    while (cc__load_acquire(&core->visitors) != 0) cc__thread_yield();
    cc__runtime_free(rt);
    return 0;
}

void cc_runtime_destroy(cc_runtime *rt) {
    if (rt != NULL) (void)cc_runtime_shutdown(rt, -1, -1);
}
