/* SPDX-License-Identifier: MIT */
/* Goal: a worked example: "publish work, then look for sleepers" against "announce sleep, then look for
 * work" is a Dekker pair, and needs a full fence on both sides; with it, no worker sleeps while there is
 * work.
 * Method: one worker that sleeps on a futex, one or two threads that bring work. Twins without one of the
 * fences, or whose futex word does not change with a wake-up, must fail: the worker sleeps forever. The
 * library's own futex calls.
 *
 * Lessons 21, 23 and 54.
 * Sources: src/plat/futex.c
 */
#include "base/atomic.h"
#include "plat/futex.h"

#include "ccmc.h"

static enum twin { SOUND, NO_FENCE_TO_SLEEP, NO_FENCE_TO_WAKE, WORD_NOT_CHANGED } twin;

static _Atomic uint32_t work;     /* W: who brings it, the worker.  R: both */
static _Atomic uint32_t sleeping; /* the futex word: 1 while the worker sleeps, or is about to */
static uint32_t wanted, done;

static void wake(void) {
    if (cc__xchg_acq_rel(&sleeping, twin == WORD_NOT_CHANGED ? 1 : 0) != 0) cc__futex_wake(&sleeping, 1);
}

static void bring(void) {
    cc__add_acq_rel(&work, 1);
    if (twin != NO_FENCE_TO_WAKE) cc__fence_full();
    if (cc__load_relaxed(&sleeping) != 0) wake();
}

static void worker(void) {
    while (done < wanted) {
        uint32_t got = cc__xchg_acq_rel(&work, 0);
        done += got;
        if (got != 0) continue;
        cc__store_relaxed(&sleeping, 1);
        if (twin != NO_FENCE_TO_SLEEP) cc__fence_full();
        if (cc__load_relaxed(&work) == 0) cc__futex_wait(&sleeping, 1, CC__NO_DEADLINE);
        cc__store_relaxed(&sleeping, 0);
    }
}

static void one(void) {
    wanted = 1;
}
static void two(void) {
    wanted = 2;
}
static void no_fence_to_sleep(void) {
    twin = NO_FENCE_TO_SLEEP;
    wanted = 1;
}
static void no_fence_to_wake(void) {
    twin = NO_FENCE_TO_WAKE;
    wanted = 1;
}
static void word_not_changed(void) {
    twin = WORD_NOT_CHANGED;
    wanted = 1;
}

static void all_done(void) {
    mc_assert(done == wanted);
}

const struct mc_scenario mc_scenarios[] = {
    {"a worker, a task", one, {worker, bring}, all_done},
    {"a worker, two tasks", two, {worker, bring, bring}, all_done},
    {"a worker, two tasks, spurious wake-ups", two, {worker, bring, bring}, all_done, .spurious = 2},
    {"no fence before sleep", no_fence_to_sleep, {worker, bring}, all_done, MC_DEADLOCK},
    {"no fence before the look for sleepers", no_fence_to_wake, {worker, bring}, all_done, MC_DEADLOCK},
    {"the futex word does not change", word_not_changed, {worker, bring}, all_done, MC_DEADLOCK},
    {0},
};
