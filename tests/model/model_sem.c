/* SPDX-License-Identifier: MIT */
/* Goal: semaphores (src/sync/sem.c) and what all locks but the mutex share (src/sync/sync.c): permits are neither lost
 * nor made, whether they are taken, handed over, or meant for one that is cancelled just then; who wants many gets
 * them; nobody touches a semaphore after who was let go on could have freed it.
 * Method: a semaphore whose permits are counted at the end; what is handed over with a permit is plain memory. Who
 * waits for ever is a deadlock.
 *
 * Lessons 79 and 80.
 * Sources: src/sync/sem.c src/sync/sync.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c
 * Sources: src/base/text.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns
 * Weaken: src/task/wait_hot.h: cc__wait_settle: store_release -> relaxed
 * Break: src/sync/sem.c: if (cc__claims_take(got => if (!cc__claims_take(got
 * Break: src/sync/sem.c: cc__waitlist_remove(CC__SYNC_LIST(s), w); => ;
 * Break: src/sync/sem.c: CC__SYNC_LIST(s)->first != NULL || s->priv_permits => s->priv_permits
 * Break: src/task/claims.h: if (!w->taken && !cc__wait_claim(w)) return false; => ;
 * Break: src/sched/park.c: cc__wait_settle(node, outcome); => ;
 * Break: src/sched/park.c: cc__wait_overrule(node, outcome); => ;
 * Break: src/sched/park.c: unparked(t, CC__UNPARK_QUEUE, next, false); => ;
 */
#include "locks.h"

#include <ccrt/sem.h>

static cc_sem *s;
static int handed; /* by who releases to who acquires */
static int got[MC_THREADS];

static void takes(unsigned permits, bool cancellable) {
    (void)become();
    int rc = 0;
    if (cancellable)
        rc = cc_sem_acquire_cancellable(s, permits);
    else
        cc_sem_acquire(s, permits);
    mc_assert(rc == 0 || (cancellable && rc == -ECANCELED));
    if (rc == 0) {
        mc_assert(handed == 42);
        got[mc_self()] = (int)permits;
    }
}
static void takes_one(void) {
    takes(1, false);
}
static void takes_two(void) {
    takes(2, false);
}
static void takes_one_cancellably(void) {
    takes(1, true);
}
static void takes_two_cancellably(void) {
    takes(2, true);
}
static void takes_and_frees(void) {
    takes(1, false);
    free(s);
    s = NULL;
}
static void tries(void) {
    (void)become();
    if (cc_sem_try_acquire(s, 1) == 0) got[mc_self()] = 1;
}
static void gives_one(void) {
    handed = 42;
    cc_sem_release(s, 1);
}
static void gives_two_one_by_one(void) {
    handed = 42;
    cc_sem_release(s, 1);
    cc_sem_release(s, 1);
}

static cc_sem on_the_stack;
static void setup(void) {
    tasks_begin(1);
    s = &on_the_stack;
}
static void setup_threads(void) {
    all_begin(false);
    s = &on_the_stack;
}
static void setup_heap(void) {
    setup();
    s = calloc(1, sizeof *s);
}

static int all_got(void) {
    int sum = 0;
    for (int i = 0; i < MC_THREADS; i++) sum += got[i];
    return sum;
}
/* One was given, and one has it, or it is there. */
static void one_is_there(void) {
    mc_assert(s->priv_permits + (unsigned)all_got() == 1 && s->priv_waiters[0] == NULL);
}
static void one_is_had(void) {
    mc_assert(s->priv_permits == 0 && all_got() == 1 && s->priv_waiters[0] == NULL);
}
static void two_are_had(void) {
    mc_assert(s->priv_permits == 0 && all_got() == 2 && s->priv_waiters[0] == NULL);
}
/* Two were given: the second has one, and the first, unless it was cancelled. */
static void second_had_one(void) {
    mc_assert(got[1] == 1 && s->priv_permits + (unsigned)got[0] == 1 && s->priv_waiters[0] == NULL);
}
/* One was given: too few for the first, which was cancelled. */
static void only_second_had_one(void) {
    mc_assert(got[1] == 1 && got[0] == 0 && s->priv_permits == 0 && s->priv_waiters[0] == NULL);
}

const struct mc_scenario mc_scenarios[] = {
    {"one gives, one takes", setup, {takes_one, gives_one}, one_is_had},
    {"one gives, a thread takes", setup_threads, {takes_one, gives_one}, one_is_had},
    {"one gives, one takes and frees it", setup_heap, {takes_and_frees, gives_one}},
    {"two wanted, given one by one", setup, {takes_two, gives_two_one_by_one}, two_are_had},
    {"two wanted, given one by one, another tries",
     setup,
     {takes_two, gives_two_one_by_one, tries},
     two_are_had,
     .first = 1},
    {"one waits, is given one, and cancelled",
     setup,
     {takes_one_cancellably, gives_one, cancels_first},
     one_is_there,
     .first = 1,
     .fences = true},
    {"one comes, is given one, and cancelled",
     setup,
     {takes_one_cancellably, gives_one, cancels_first},
     one_is_there,
     .fences = true,
     .full = true},
    {"one waits and is cancelled, the next gets it",
     setup,
     {takes_one_cancellably, takes_one, gives_two_one_by_one, cancels_first},
     second_had_one,
     .first = 2,
     .fences = true},
    {"two wanted and cancelled, who waits behind gets one",
     setup,
     {takes_two_cancellably, takes_one, gives_one, cancels_first},
     only_second_had_one,
     .first = 2,
     .fences = true},
    {0},
};
