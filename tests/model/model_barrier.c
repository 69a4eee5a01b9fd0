/* SPDX-License-Identifier: MIT */
/* Goal: barriers (src/sync/barrier.c): nobody passes before all have come, all see what all did before, one a round is
 * told that it was the last; the next round may begin at once; one that is cancelled while it waits has either passed
 * with the others or not come at all; nobody touches a barrier after those that it let go on could have freed it.
 * Method: what each does before it comes is plain memory that all read after. Rounds follow each other with no more
 * than the barrier between them. Who was cancelled comes again, so that the others are not left; a round that counted
 * it twice is one that somebody passes too early, one that forgot it is a deadlock.
 *
 * Lessons 78 and 79.
 * Sources: src/sync/barrier.c src/sync/sync.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c
 * Sources: src/base/text.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns
 * Weaken: src/task/wait_hot.h: cc__wait_settle: store_release -> relaxed
 * Break: src/sync/barrier.c: b->priv_arrived = 0; => ;
 * Break: src/sync/barrier.c: b->priv_round++; => ;
 * Break: src/sync/barrier.c: cc__claims_all( => cc__claims_first(
 * Break: src/sync/barrier.c: b->priv_arrived--; => ;
 * Break: src/sync/barrier.c: cc__waitlist_remove(l, w); => ;
 * Break: src/sync/barrier.c: bool over = b->priv_round != round; => bool over = false;
 * Break: src/sync/barrier.c: wake(&got); => wake(&got), cc__waitlist_lock(l), cc__waitlist_unlock(l);
 */
#include "locks.h"

#include <ccrt/barrier.h>

enum { ROUNDS = 2 };

static cc_barrier *b;
static int parties;
static int did[ROUNDS][MC_THREADS]; /* before that round, by each */
static int last[ROUNDS][MC_THREADS];
static int cancelled;      /* the first was, and came again */
static _Atomic int waited; /* and have not passed yet.  W, R: any thread */

static void passed(int round, int rc) {
    mc_assert(rc == 0 || rc == 1);
    last[round][mc_self()] = rc;
    for (int i = 0; i < parties; i++) mc_assert(did[round][i]);
}

static void comes_in(int round) {
    (void)become();
    did[round][mc_self()] = 1;
    passed(round, cc_barrier_wait(b));
}
static void comes(void) {
    comes_in(0);
}
static void comes_twice(void) {
    comes_in(0);
    comes_in(1);
}
/* Cancelled, it comes again; before that it takes back what it did: nobody may have relied on it. */
static void comes_cancellably_in(int round) {
    (void)become();
    did[round][mc_self()] = 1;
    int rc = cc_barrier_wait_cancellable(b);
    if (rc < 0) {
        mc_assert(rc == -ECANCELED);
        cancelled = 1;
        did[round][mc_self()] = 0;
        comes_in(round);
        return;
    }
    passed(round, rc);
}
static void comes_cancellably(void) {
    comes_cancellably_in(0);
}
static void comes_cancellably_twice(void) {
    comes_cancellably_in(0);
    comes_in(1);
}
static void cancels_first_and_comes_twice(void) {
    cancels_first();
    comes_twice();
}
/* Who came last has let the others go on, and touches it no more: they may free it. */
static void comes_and_frees(void) {
    comes();
    if (!last[0][mc_self()] && cc__sub_acq_rel(&waited, 1) == 1) free(b);
}

static cc_barrier on_the_stack;
static void begin(int count) {
    parties = count;
    b = &on_the_stack;
    *b = (cc_barrier)CC_BARRIER_INIT((uint32_t)count);
}
static void setup_two(void) {
    tasks_begin(1);
    begin(2);
}
static void setup_three(void) {
    tasks_begin(1);
    begin(3);
}
static void setup_threads(void) {
    all_begin(false);
    begin(2);
}
static void on_the_heap(int count) {
    b = malloc(sizeof *b);
    *b = (cc_barrier)CC_BARRIER_INIT((uint32_t)count);
    waited = count - 1;
}
static void setup_heap_of_two(void) {
    setup_two();
    on_the_heap(2);
}
static void setup_heap_of_three(void) {
    setup_three();
    on_the_heap(3);
}

static void rounds_are_over(int rounds) {
    mc_assert(b->priv_round == (uint64_t)rounds && b->priv_arrived == 0 && b->priv_waiters[0] == NULL);
    for (int round = 0; round < rounds; round++) {
        int sum = 0;
        for (int i = 0; i < MC_THREADS; i++) sum += last[round][i];
        mc_assert(sum == 1);
    }
}
static void one_round(void) {
    rounds_are_over(1);
}
static void two_rounds(void) {
    rounds_are_over(2);
}
static void one_round_with_or_without(void) {
    one_round();
    mc_outcome("%s", cancelled ? "cancelled" : "passed");
}
static void two_rounds_with_or_without(void) {
    two_rounds();
    mc_outcome("%s", cancelled ? "cancelled" : "passed");
}

const struct mc_scenario mc_scenarios[] = {
    {"two", setup_two, {comes, comes}, one_round},
    {"two threads", setup_threads, {comes, comes}, one_round},
    {"two, twice", setup_two, {comes_twice, comes_twice}, two_rounds},
    {"three", setup_three, {comes, comes, comes}, one_round, .alike = true},
    {"two, who waited frees it", setup_heap_of_two, {comes_and_frees, comes_and_frees}},
    {"three, those that waited free it",
     setup_heap_of_three,
     {comes_and_frees, comes_and_frees, comes_and_frees},
     .alike = true},
    {"two, who waits is cancelled",
     setup_two,
     {comes_cancellably, comes, cancels_first},
     one_round_with_or_without,
     .outcomes = "cancelled passed",
     .first = 1,
     .fences = true},
    {"three, who waits is cancelled",
     setup_three,
     {comes_cancellably, comes, comes, cancels_first},
     one_round_with_or_without,
     .outcomes = "cancelled passed",
     .first = 2,
     .fences = true},
    {"two, twice, one cancels the other before it comes",
     setup_two,
     {comes_cancellably_twice, cancels_first_and_comes_twice},
     two_rounds_with_or_without,
     .outcomes = "cancelled passed", /* before it has left */
     .first = 1,
     .fences = true},
    {"three, twice, two wait", setup_three, {comes_twice, comes_twice, comes_twice}, two_rounds, .first = 2},

    {"three, twice", setup_three, {comes_twice, comes_twice, comes_twice}, two_rounds, .alike = true, .full = true},
    {"two, who comes is cancelled",
     setup_two,
     {comes_cancellably, comes, cancels_first},
     one_round_with_or_without,
     .outcomes = "cancelled passed",
     .fences = true,
     .full = true},
    {0},
};
