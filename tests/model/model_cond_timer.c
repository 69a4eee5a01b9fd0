/* SPDX-License-Identifier: MIT */
/* Goal: conditions with a deadline (src/sync/cond.c under src/sync/mutex.c and src/driver/timer.c): a signal or a
 * broadcast and a time-out, or a cancellation, that meet decide a wait one way; a signal that comes too late for one
 * goes to the next; whoever returns has the mutex, and whoever returns an error has had no signal; nobody touches a
 * condition after who was signalled could have freed it.
 * Method: a deadline around the wait and a thread that plays the clock: it looks for timers that are due. What is
 * waited for is plain memory under the mutex, taken by who was signalled, so that what is lost is left there or
 * leaves a waiter for ever. Who had the only signal gives it on, for the waiter behind it. Where two wait the mutex is
 * one of the checker's: with the library's not all executions could be run. model_cond.c has the condition by itself.
 *
 * Lessons 3, 78 and 79.
 * Sources: src/sync/cond.c src/sync/mutex.c src/sync/sync.c src/driver/timer.c src/sched/park.c src/sched/cancel.c
 * Sources: src/task/state.c src/task/wait.c src/plat/thread.c src/plat/file.c src/plat/futex.c
 * Sources: src/plat/clock.c src/base/assert.c src/base/text.c src/fiber/ctx_x86_64.S
 * Define: CC__TIMER_SLOTS=64 CC__MUTEX_SPINS=0 CC__MUTEX_PAUSES=0
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns cc_mutex_lock cc_mutex_unlock
 * Weaken: src/sync/mutex.c: take: cas_acquire -> relaxed
 * Weaken: src/sync/mutex.c: unlock: sub_release -> relaxed
 * Break: src/sync/cond.c: if (rc != 0) { => if (rc == -ECANCELED) {
 * Break: src/sync/cond.c: cc_mutex_lock(m); => if (rc == 0) cc_mutex_lock(m);
 * Break: src/sync/cond.c: cc__sync_deciders(cancellable) => CC__BY_LIST
 * Break: src/sync/cond.c: wake(&got); => wake(&got), cc__waitlist_lock(l), cc__waitlist_unlock(l);
 * Break: src/task/claims.h: while (l->first != NULL) => if (l->first != NULL)
 * Break: src/task/wait_hot.h: (CC__OUTCOME_MASK | CC__OUTCOME_CLAIMED) => CC__OUTCOME_MASK
 * Break: src/sched/park.c: deadline_ns = CC__NEVER; => ;
 */
#define REAL_TIMERS
#include "locks.h"

#include <ccrt/cond.h>
#include <ccrt/scope.h>

enum { NEAR_NS = 1 << 30 };
#define DUE_NS INT64_C(2000000000)

static cc_mutex m;
static cc_cond *c;
static int ready; /* guarded by m */
static cc_priv_scope deadlines[MC_THREADS];
static int result[MC_THREADS]; /* of a wait */
static int woken;              /* guarded by m */
static bool freed;

/* The library's mutex, or one of the checker's: fewer steps, where there are many threads. */
static bool simply;
static pthread_mutex_t simple;
void __real_cc_mutex_lock(cc_mutex *mutex);
void __real_cc_mutex_unlock(cc_mutex *mutex);
void __wrap_cc_mutex_lock(cc_mutex *mutex);
void __wrap_cc_mutex_unlock(cc_mutex *mutex);
void __wrap_cc_mutex_lock(cc_mutex *mutex) {
    if (!simply) {
        __real_cc_mutex_lock(mutex);
        return;
    }
    pthread_mutex_lock(&simple);
    mutex->priv_word = (uintptr_t)&mine[mc_self()].task;
}
void __wrap_cc_mutex_unlock(cc_mutex *mutex) {
    if (!simply) {
        __real_cc_mutex_unlock(mutex);
        return;
    }
    mutex->priv_word = 0;
    pthread_mutex_unlock(&simple);
}

/* ---- who waits ---- */

static int wait_with_mutex(bool cancellable) {
    int rc = 0;
    if (cancellable)
        rc = cc_cond_wait_cancellable(c, &m);
    else
        cc_cond_wait(c, &m);
    woken += rc == 0;
    return rc;
}

/* Until it is ready, or too late. */
static void waits_until(bool cancellable) {
    (void)become();
    int rc = 0;
    cc_mutex_lock(&m);
    while (ready == 0 && rc == 0) rc = wait_with_mutex(cancellable);
    if (rc == 0) ready--;
    result[mc_self()] = rc;
    cc_mutex_unlock(&m);
}
static void waits(void) {
    waits_until(false);
}
static void waits_timed(void) {
    struct cc__task *self = &mine[mc_self()].task;
    deadlines[mc_self()] = (cc_priv_scope){.owner = self, .deadline_ns = DUE_NS, .kind = CC__SCOPE_DEADLINE};
    self->scope = &deadlines[mc_self()];
    waits_until(true);
}
static void waits_timed_and_frees(void) {
    waits_timed();
    freed = result[mc_self()] == 0 && woken == 1;
    if (freed) free(c); /* the only signal was ours */
}

/* ---- who signals ---- */

static void gives(int n) {
    (void)become();
    cc_mutex_lock(&m);
    ready += n;
    cc_mutex_unlock(&m);
}
static void signals(void) {
    gives(1);
    cc_cond_signal(c);
}
static void signals_inside(void) {
    (void)become();
    cc_mutex_lock(&m);
    ready++;
    cc_cond_signal(c);
    cc_mutex_unlock(&m);
}
static void broadcasts(void) {
    gives(2);
    cc_cond_broadcast(c);
}
/* Who was signalled gives it on. */
static void waits_timed_and_passes_on(void) {
    waits_timed();
    if (result[mc_self()] == 0) signals();
}

/* ---- the clock ---- */

static void time_is_up(int i) {
    for (struct cc__task *t = cc__timers_expire(&mine[i].worker.timers, DUE_NS), *next; t != NULL; t = next) {
        next = t->next;
        cc__ready(t);
    }
}
static void time_is_up_for_first(void) {
    time_is_up(0);
}
static void time_is_up_for_both(void) {
    time_is_up(0);
    time_is_up(1);
}

/* ---- before and after ---- */

static cc_cond on_the_stack;
static void begin(void) {
    for (int i = 0; i < MC_THREADS; i++) cc__timers_init(&mine[i].worker.timers, DUE_NS + NEAR_NS);
    c = &on_the_stack;
}
static void setup(void) {
    tasks_begin(1);
    begin();
}
static void setup_simply(void) {
    setup();
    simply = true;
}
static void setup_threads(void) {
    all_begin(false);
    begin();
}
static void setup_threads_simply(void) {
    setup_threads();
    simply = true;
}
static void setup_heap(void) {
    setup();
    c = calloc(1, sizeof *c);
}

static void nobody_waits(void) {
    mc_assert(c->priv_waiters[0] == NULL && c->priv_lock[1] == 0);
    mc_assert(m.priv_word == 0 && m.priv_waiters[0] == NULL);
    for (int i = 0; i < MC_THREADS; i++) mc_assert(mine[i].worker.timers.near == NULL);
}
static const char *of(int i) {
    return result[i] == 0 ? "had" : result[i] == -ETIMEDOUT ? "late" : result[i] == -ECANCELED ? "cancelled" : "?";
}
/* One was given. */
static void first_had_it_or_left_it(void) {
    nobody_waits();
    mc_assert((result[0] == 0) + ready == 1);
    mc_outcome("%s", of(0));
}
static void second_had_it(void) {
    nobody_waits();
    mc_assert(result[1] == 0 && ready == 0);
    mc_outcome("%s", of(0));
}
/* Both waited, and one was given: it had one of them, or both were late. */
static void one_had_it_or_none(void) {
    nobody_waits();
    mc_assert((result[0] == 0) + (result[1] == 0) + ready == 1 && woken <= 1);
    mc_outcome("%s-%s", of(0), of(1));
}
/* Two were given to all. */
static void had_or_left(void) {
    nobody_waits();
    mc_assert((result[0] == 0) + (result[1] == 0) + ready == 2);
    mc_outcome("%s-%s", of(0), of(1));
}
static void frees_what_is_left(void) {
    if (freed) return;
    first_had_it_or_left_it();
    free(c);
}

/* Who waits comes while the others are at it, or has come. */
#define COMES .fences = true
#define WAITS .first = 1, .fences = true
#define BOTH_WAIT .first = 2, .fences = true
/* Their threads, and every outcome. */
#define SIGNAL {waits_timed, signals, time_is_up_for_first}, first_had_it_or_left_it, .outcomes = "had late"
#define THREAD {waits_timed, signals}, first_had_it_or_left_it, .outcomes = "had late"
#define NEXT                                                                                                           \
    {waits_timed_and_passes_on, waits, signals, time_is_up_for_first}, second_had_it, .outcomes = "had late", BOTH_WAIT

const struct mc_scenario mc_scenarios[] = {
    {"signal, time is up", setup_simply, SIGNAL, COMES},
    {"one waits: signal, time is up", setup, SIGNAL, WAITS},
    {"one waits: signal with the mutex, time is up",
     setup,
     {waits_timed, signals_inside, time_is_up_for_first},
     first_had_it_or_left_it,
     .outcomes = "had late",
     WAITS},
    {"a thread waits: signal", setup_threads_simply, THREAD},
    {"two wait: signal, time is up, the next has it", setup_simply, NEXT},
    {"two wait: signal, time is up for both",
     setup_simply,
     {waits_timed, waits_timed, signals, time_is_up_for_both},
     one_had_it_or_none,
     .outcomes = "had-late late-had late-late",
     BOTH_WAIT},
    {"two wait: broadcast, time is up for one",
     setup_simply,
     {waits_timed, waits, broadcasts, time_is_up_for_first},
     had_or_left,
     .outcomes = "had-had late-had",
     BOTH_WAIT},
    {"two wait: broadcast, time is up for both",
     setup_simply,
     {waits_timed, waits_timed, broadcasts, time_is_up_for_both},
     had_or_left,
     .outcomes = "had-had had-late late-had late-late",
     BOTH_WAIT},
    {"one waits: signal, cancel",
     setup,
     {waits_timed, signals, cancels_first},
     first_had_it_or_left_it,
     .outcomes = "cancelled had",
     WAITS},
    {"one waits: signal, who had it frees it",
     setup_heap,
     {waits_timed_and_frees, signals, time_is_up_for_first},
     frees_what_is_left,
     WAITS},

    {"one waits: signal, cancel, time is up",
     setup_simply,
     {waits_timed, signals, cancels_first, time_is_up_for_first},
     first_had_it_or_left_it,
     .outcomes = "cancelled had late",
     WAITS,
     .full = true},
    {"signal, time is up, with the real mutex", setup, SIGNAL, COMES, .full = true},
    {"a thread waits: signal, with the real mutex", setup_threads, THREAD, .full = true},
    {0},
};
