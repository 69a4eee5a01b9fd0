/* SPDX-License-Identifier: MIT */
/* Goal: notifications (src/sync/notify.c): one that is sent is received by one, whoever is cancelled meanwhile, or is
 * remembered; what is sent to all reaches all that wait.
 * Method: what the notifier wrote before is plain memory that who is notified reads. A wait that is cancelled beside
 * another one that is not: if the notification is lost, that one waits for ever, which is a deadlock.
 *
 * Lessons 78 and 79.
 * Sources: src/sync/notify.c src/sync/sync.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c
 * Sources: src/base/text.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns
 * Weaken: src/task/wait_hot.h: cc__wait_settle: store_release -> relaxed
 * Break: src/task/claims.h: while (l->first != NULL) => if (l->first != NULL)
 * Break: src/sync/notify.c: n->priv_pending = 1; => ;
 * Break: src/task/claims.h: if (!w->taken && !cc__wait_claim(w)) return false; => ;
 */
#include "locks.h"

#include <ccrt/notify.h>

static cc_notify n;
static int told; /* by who notifies */
static int got[MC_THREADS];

static void waits(void) {
    (void)become();
    cc_notify_wait(&n);
    mc_assert(told == 42);
    got[mc_self()] = 1;
}
static void waits_cancellably(void) {
    (void)become();
    int rc = cc_notify_wait_cancellable(&n);
    mc_assert(rc == 0 || rc == -ECANCELED);
    if (rc == 0) mc_assert(told == 42);
    got[mc_self()] = rc == 0;
}
static void notifies(void) {
    told = 42;
    cc_notify_one(&n);
}
static void notifies_twice(void) {
    notifies();
    cc_notify_one(&n);
}
static void notifies_all(void) {
    told = 42;
    cc_notify_all(&n);
}

static void setup(void) {
    tasks_begin(1);
}
static void setup_threads(void) {
    all_begin(false);
}

static void first_got_it(void) {
    mc_assert(got[0] && n.priv_pending == 0 && n.priv_waiters[0] == NULL);
}
static void got_or_kept(void) {
    mc_assert(got[0] + n.priv_pending == 1 && n.priv_waiters[0] == NULL);
}
static void both_got_it(void) {
    mc_assert(got[0] && got[1] && n.priv_pending == 0 && n.priv_waiters[0] == NULL);
}
/* Two were sent: one for the second, and one for the first, or kept. */
static void second_got_it(void) {
    mc_assert(got[1] && got[0] + n.priv_pending == 1 && n.priv_waiters[0] == NULL);
}
static void second_got_it_from_all(void) {
    mc_assert(got[1] && n.priv_pending == 0 && n.priv_waiters[0] == NULL);
}

const struct mc_scenario mc_scenarios[] = {
    {"one", setup, {waits, notifies}, first_got_it},
    {"one, to a thread", setup_threads, {waits, notifies}, first_got_it},
    {"two for two that wait", setup, {waits, waits, notifies_twice}, both_got_it, .first = 2},
    {"all of two that wait", setup, {waits, waits, notifies_all}, both_got_it, .first = 2},
    {"one that waits is cancelled",
     setup,
     {waits_cancellably, notifies, cancels_first},
     got_or_kept,
     .first = 1,
     .fences = true},
    {"one that waits is cancelled, another gets it",
     setup,
     {waits_cancellably, waits, notifies_twice, cancels_first},
     second_got_it,
     .first = 2,
     .fences = true},
    {"one that waits is cancelled, all are told",
     setup,
     {waits_cancellably, waits, notifies_all, cancels_first},
     second_got_it_from_all,
     .first = 2,
     .fences = true},
    {0},
};
