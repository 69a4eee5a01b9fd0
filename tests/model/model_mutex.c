/* SPDX-License-Identifier: MIT */
/* Goal: the mutex (src/sync/mutex.c): one has it at a time, and sees what those before did [MX1]; no wake-up is lost,
 * whether who waits spins, is woken, comes too late, is handed it or is cancelled; nobody touches it after who had it
 * last could have freed it.
 * Method: what it guards is plain memory: two that have it at once are a data race. Tasks and threads that wait in a
 * run queue or on a futex; a clock by which nobody has waited long, or everybody has; a mutex on the heap that the last
 * user frees. Who waits for ever is a deadlock.
 *
 * Lessons 68, 78 and 79.
 * Sources: src/sync/mutex.c src/sync/sync.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c
 * Sources: src/base/text.c src/fiber/ctx_x86_64.S
 * Define: CC__MUTEX_SPINS=0 CC__MUTEX_PAUSES=0
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns
 * Mutate: src/sync/mutex.c
 * Break: src/sync/mutex.c: (now & ~own) | WAITERS)) break; => now & ~own)) break;
 * Break: src/sync/mutex.c: own = rc == -EPIPE ? WOKEN : 0; => own = 0;
 * Break: src/sync/mutex.c: uintptr_t next = hand_over ? (uintptr_t)w->task : WOKEN; => uintptr_t next = WOKEN;
 * Break: src/sync/mutex.c: uintptr_t next = hand_over ? (uintptr_t)w->task : WOKEN; => uintptr_t next = 0;
 * Break: src/sync/mutex.c: if (rc != 0 && rc != -EPIPE) leave(m, &w); => ;
 * Break: src/sync/mutex.c: (*now & ~own) | (uintptr_t)self)) => *now | (uintptr_t)self))
 * Break: src/sync/mutex.c: if (l->first == NULL) cc__and_relaxed => cc__and_relaxed
 * Break: src/sync/mutex.c: if (l->first == NULL) cc__and_relaxed => if (false) cc__and_relaxed
 * Break: src/sync/mutex.c: cc__add_relaxed(word_of(m), (uintptr_t)self); => ;
 * Break: src/sync/mutex.c: if ((was & BITS) != WAITERS) return; => return;
 * Break: src/sync/mutex.c: while (w == NULL) { => for (int i = 0; i < 1; i++) {
 * Break: src/sync/mutex.c: && (word & BITS) != WAITERS; => ;
 * Break: src/sync/mutex.c: l->first == NULL && now != WAITERS && => l->first == NULL &&
 */
#include "locks.h"

#include <ccrt/mutex.h>

static cc_mutex *m;
static int guarded, users; /* by m */
static int locked[MC_THREADS];

static void inside(void) {
    guarded++;
    locked[mc_self()]++;
}

/* ---- who wants it ---- */

static void locks(void) {
    (void)become();
    cc_mutex_lock(m);
    inside();
    cc_mutex_unlock(m);
}
static void locks_twice(void) {
    locks();
    locks();
}
/* The setup has locked it for this one. */
static void unlocks(void) {
    (void)become();
    inside();
    cc_mutex_unlock(m);
}
static void unlocks_and_locks(void) {
    unlocks();
    locks();
}
static void tries(void) {
    (void)become();
    if (cc_mutex_trylock(m) != 0) return;
    inside();
    cc_mutex_unlock(m);
}
static void locks_cancellably(void) {
    (void)become();
    int rc = cc_mutex_lock_cancellable(m);
    mc_assert(rc == 0 || rc == -ECANCELED);
    if (rc != 0) return;
    inside();
    cc_mutex_unlock(m);
}
/* The last of them frees it. */
static void uses(void) {
    (void)become();
    cc_mutex_lock(m);
    bool last = --users == 0;
    inside();
    cc_mutex_unlock(m);
    if (last) free(m);
}
static void uses_what_is_locked(void) {
    (void)become();
    bool last = --users == 0;
    inside();
    cc_mutex_unlock(m);
    if (last) free(m);
}

/* ---- before and after ---- */

static cc_mutex on_the_stack;
static void begin(unsigned workers) {
    tasks_begin(workers);
    m = &on_the_stack;
}
static void setup(void) {
    begin(1); /* nobody spins */
}
static void setup_two_workers(void) {
    begin(2);
}
static void setup_threads(void) {
    all_begin(false);
    m = &on_the_stack;
}
/* The last thread has it. */
static void lock_for(int i) {
    m->priv_word = (uintptr_t)&mine[i].task;
}
static void setup_one_wants_it(void) {
    setup();
    lock_for(1);
}
static void setup_one_may_spin(void) {
    setup_two_workers();
    lock_for(1);
}
static void setup_two_want_it(void) {
    setup();
    lock_for(2);
}
static void setup_two_may_spin(void) {
    setup_two_workers();
    lock_for(2);
}
/* Who looks finds that it is cancelled: when it is on the list. */
static void setup_cancelled(void) {
    setup_two_want_it();
    cc__store_relaxed(&rt.cancelled, 1);
}
static void setup_cancelled_may_spin(void) {
    setup_two_may_spin();
    cc__store_relaxed(&rt.cancelled, 1);
}
static void setup_one_waited_long(void) {
    setup_one_wants_it();
    waits_are_long = true;
}
static void setup_two_waited_long(void) {
    setup_two_want_it();
    waits_are_long = true;
}
static void on_the_heap(int count) {
    m = calloc(1, sizeof *m);
    users = count;
}
static void setup_heap(void) {
    setup();
    on_the_heap(2);
    lock_for(1);
}
static void setup_heap_of_three(void) {
    setup();
    on_the_heap(3);
    lock_for(2);
}
static void setup_heap_long(void) {
    setup_heap_of_three();
    waits_are_long = true;
}

static void is_free(void) {
    int sum = 0;
    for (int i = 0; i < MC_THREADS; i++) sum += locked[i];
    mc_assert(guarded == sum && m->priv_word == 0 && m->priv_waiters[0] == NULL);
}
static void all_had_it(void) {
    mc_assert(locked[0] > 0 && locked[1] > 0);
    is_free();
}
static void three_had_it(void) {
    mc_assert(locked[2] > 0);
    all_had_it();
}

const struct mc_scenario mc_scenarios[] = {
    {"two tasks", setup, {locks, locks}, all_had_it},
    {"two threads", setup_threads, {locks, locks}, all_had_it},
    {"two tasks that may spin", setup_two_workers, {locks, locks}, all_had_it},
    {"one has it, one tries", setup_one_wants_it, {tries, unlocks}, is_free},
    {"one has it and wants it again, one wants it", setup_one_wants_it, {locks, unlocks_and_locks}, all_had_it},
    {"the same, and may spin", setup_one_may_spin, {locks, unlocks_and_locks}, all_had_it, .first = 1},
    {"the same, and has waited long", setup_one_waited_long, {locks, unlocks_and_locks}, all_had_it, .first = 1},
    {"one waits, one wants it", setup_two_want_it, {locks, locks, unlocks}, three_had_it, .first = 1},
    {"two wait", setup_two_want_it, {locks, locks, unlocks}, three_had_it, .first = 2},
    {"two have waited long", setup_two_waited_long, {locks, locks, unlocks}, three_had_it, .first = 2},
    {"one waits, one wants it and may spin", setup_two_may_spin, {locks, locks, unlocks}, three_had_it, .first = 1},
    {"two wait, and it is wanted again",
     setup_two_want_it,
     {locks, locks, unlocks_and_locks},
     three_had_it,
     .first = 2,
     .full = true},
    {"two tasks, twice", setup, {locks_twice, locks_twice}, all_had_it, .full = true},
    {"one is cancelled",
     setup_two_want_it,
     {locks_cancellably, cancels_first, unlocks},
     is_free,
     .fences = true,
     .full = true},
    {"one waits, and is cancelled",
     setup_two_want_it,
     {locks_cancellably, cancels_first, unlocks},
     is_free,
     .first = 1,
     .fences = true},
    {"one is cancelled, and one wants it", setup_cancelled, {locks_cancellably, locks, unlocks}, is_free},
    {"one is cancelled, and one wants it and may spin",
     setup_cancelled_may_spin,
     {locks_cancellably, locks, unlocks},
     is_free},
    {"one waits, a stray unpark", setup_two_want_it, {locks, unparks_first, unlocks}, is_free, .first = 1},
    {"two users, the last frees it", setup_heap, {uses, uses_what_is_locked}},
    {"three users, the last frees it", setup_heap_of_three, {uses, uses, uses_what_is_locked}, .first = 2},
    {"three users that waited long, the last frees it", setup_heap_long, {uses, uses, uses_what_is_locked}, .first = 2},
    {0},
};
