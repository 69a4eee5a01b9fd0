/* SPDX-License-Identifier: MIT */
/* Goal: conditions (src/sync/cond.c): a wait returns with the mutex, whatever ended it; a signal reaches one that
 * waits, if there is one that can still take it; the mark tells a signaller that nobody waits only if that is so.
 * Method: the mutex is one of the checker's, so that the condition alone is explored; what is waited for is plain
 * memory under it. A signal that is lost leaves a waiter for ever, which is a deadlock.
 *
 * Lessons 78 and 79.
 * Sources: src/sync/cond.c src/sync/sync.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c
 * Sources: src/base/text.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns
 * Break: src/sync/cond.c: cc_mutex_lock(m); => ;
 * Break: src/sync/cond.c: cc__wait_begin( => cc_mutex_unlock(m), cc_mutex_lock(m), cc__wait_begin(
 * Break: src/task/claims.h: while (l->first != NULL) => if (l->first != NULL)
 * Break: src/sync/cond.c: l->first != NULL); => 0);
 */
#include "locks.h"

#include <ccrt/cond.h>

static cc_mutex m;
static pthread_mutex_t real;
static cc_cond c;
static int ready;           /* guarded by m */
static int got[MC_THREADS]; /* who found it so */

void cc_mutex_lock(cc_mutex *mutex) {
    pthread_mutex_lock(&real);
    mutex->priv_word = (uintptr_t)&mine[mc_self()].task;
}
void cc_mutex_unlock(cc_mutex *mutex) {
    mutex->priv_word = 0;
    pthread_mutex_unlock(&real);
}

static void found(void) {
    mc_assert(m.priv_word == (uintptr_t)&mine[mc_self()].task);
    if (ready == 0) return;
    ready--;
    got[mc_self()] = 1;
}
static void waits(void) {
    (void)become();
    cc_mutex_lock(&m);
    while (ready == 0) cc_cond_wait(&c, &m);
    found();
    cc_mutex_unlock(&m);
}
static void waits_cancellably(void) {
    (void)become();
    int rc = 0;
    cc_mutex_lock(&m);
    while (ready == 0 && rc == 0) rc = cc_cond_wait_cancellable(&c, &m);
    mc_assert(rc == 0 || rc == -ECANCELED);
    if (rc == 0) found();
    mc_assert(m.priv_word == (uintptr_t)&mine[mc_self()].task);
    cc_mutex_unlock(&m);
}
static void gives(int n);
static void signals(void);
/* Who had it gives it on. */
static void waits_cancellably_and_passes_on(void) {
    waits_cancellably();
    if (got[mc_self()]) signals();
}
static void gives(int n) {
    (void)become();
    cc_mutex_lock(&m);
    ready += n;
    cc_mutex_unlock(&m);
}
static void signals(void) {
    gives(1);
    cc_cond_signal(&c); /* without the mutex: what it may do at the worst */
}
static void signals_twice(void) {
    signals();
    signals();
}
static void broadcasts(void) {
    gives(2);
    cc_cond_broadcast(&c);
}

static void setup(void) {
    tasks_begin(1);
}
static void setup_threads(void) {
    all_begin(false);
}
static void first_got_it(void) {
    mc_assert(got[0] && ready == 0 && c.priv_waiters[0] == NULL && c.priv_lock[1] == 0);
}
static void both_got_it(void) {
    mc_assert(got[0] && got[1] && ready == 0 && c.priv_waiters[0] == NULL && c.priv_lock[1] == 0);
}
static void got_or_left(void) {
    mc_assert(got[0] + ready == 1 && c.priv_waiters[0] == NULL && c.priv_lock[1] == 0);
}
/* One was given: to the second, or by the first. */
static void second_got_it(void) {
    mc_assert(got[1] && ready == 0 && c.priv_waiters[0] == NULL && c.priv_lock[1] == 0);
}

const struct mc_scenario mc_scenarios[] = {
    {"one waits, signal", setup, {waits, signals}, first_got_it},
    {"a thread waits, signal", setup_threads, {waits, signals}, first_got_it},
    {"two wait, two signals", setup, {waits, waits, signals_twice}, both_got_it, .first = 2},
    {"two wait, broadcast", setup, {waits, waits, broadcasts}, both_got_it, .first = 2},
    {"one waits and is cancelled, signal",
     setup,
     {waits_cancellably, signals, cancels_first},
     got_or_left,
     .first = 1,
     .fences = true},
    {"one waits and is cancelled, another gets the signal",
     setup,
     {waits_cancellably_and_passes_on, waits, signals, cancels_first},
     second_got_it,
     .first = 2,
     .fences = true},
    {0},
};
