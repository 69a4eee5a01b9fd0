/* SPDX-License-Identifier: MIT */
/* Goal: the lock of wait lists (src/task/lock.c, src/task/keep.h) is one, also where a worker keeps it: one at a time
 * has it, each sees what the one before did [WL1] [KP2], and all get it, whoever keeps it, takes it back, or keeps it
 * next [KP1].
 * Method: workers that take a lock which is theirs already, or is about to be; others and plain threads that want it
 * meanwhile. What the lock guards is plain memory: two at once, or one that does not see the other, are a data race.
 * Two locks that are taken in order, as select does. A keeper that is left to the next worker [KP3].
 * Sources: src/task/lock.c src/task/wait.c src/task/state.c src/base/assert.c src/base/text.c
 * Define: CC__KEEP_AFTER=1
 * Mutate: src/task/lock.c src/task/keep_hot.h
 * Survives: cc__keep_enter: store_release#2 -> relaxed: the light fence before it is a fence here, and none elsewhere
 * Break: src/task/lock.c: cc__barrier_all(); => ;
 * Break: src/task/lock.c: while (cc__load_acquire(&k->in[i]) == l) => while (false)
 * Break: src/task/lock.c: if (was != CC__LOCK_FREE) take_back(l, was); => ;
 * Break: src/task/keep_hot.h: cc__barrier_light(); => ;
 * Break: src/task/keep_hot.h: if (CC__LIKELY(cc__load_relaxed(&l->lock) == k->word)) { => if (true) {
 * Break: src/task/keep_hot.h: cc__store_release(&k->in[k->depth], l); => ;
 */
#include "task/keep.h"

#include "ccmc.h"
#include "fences.h"

#include "plat/thread.h"

_Thread_local struct cc__fiber *cc__current_fiber; /* as in src/fiber/current.c */

static struct cc__waitlist lock, second;
static struct cc__habit habit, second_habit;
static int counted, counted_second; /* plain: guarded by the locks */
static struct cc__keeper *first_keeper, *other_keeper;

void cc__thread_yield(void) {
    mc_yield();
}

/* ---- the threads ---- */

static void add(struct cc__keeper *k) {
    cc__keep_lock(k, &lock, false);
    counted++;
    cc__keep_unlock(k, &lock, &habit, 1, false);
}

/* Both, the first one first. */
static void add_both(struct cc__keeper *k) {
    cc__keep_lock(k, &lock, false);
    cc__keep_lock(k, &second, false);
    counted++, counted_second++;
    cc__keep_unlock(k, &second, &second_habit, 1, false);
    cc__keep_unlock(k, &lock, &habit, 1, false);
}

static void keeper(void) {
    for (int i = 0; i < 2; i++) add(first_keeper);
}
static void keeper_once(void) {
    add(first_keeper);
}
static void keeper_of_both(void) {
    add_both(first_keeper);
}
static void keeper_of_one_then_the_other(void) {
    add(first_keeper);
    cc__keep_lock(first_keeper, &second, false);
    counted_second++;
    cc__keep_unlock(first_keeper, &second, &second_habit, 1, false);
}
static void other(void) {
    add(other_keeper);
}
static void other_twice(void) {
    for (int i = 0; i < 2; i++) add(other_keeper);
}
static void thread(void) {
    add(NULL);
}
static void thread_at_second(void) {
    cc__waitlist_lock(&second);
    counted_second++;
    cc__waitlist_unlock(&second);
}
/* One that ends, and leaves its keeper to the next that begins. */
static void ends(void) {
    keeper();
    cc__keeper_end(first_keeper);
}
static void begins(void) {
    struct cc__keeper *k = cc__keeper_begin();
    add(k);
    cc__keeper_end(k);
}

/* ---- before and after ---- */

static void kept(void) {
    first_keeper = cc__keeper_begin();
    other_keeper = cc__keeper_begin();
    cc__store_relaxed(&lock.lock, first_keeper->word);
    cc__store_relaxed(&second.lock, first_keeper->word);
    habit.kept = second_habit.kept = CC__KEEP_GROWS; /* and not once more */
}
/* The first worker has taken it often: it keeps it the next time. */
static void about_to_be_kept(void) {
    first_keeper = cc__keeper_begin();
    other_keeper = cc__keeper_begin();
    habit = (struct cc__habit){.last = first_keeper->word, .times = CC__KEEP_AFTER};
}
/* Kept by the first; the other one keeps it as soon as it has had it twice. */
static void to_be_kept_by_another(void) {
    kept();
    habit = (struct cc__habit){.last = other_keeper->word, .times = CC__KEEP_AFTER};
}

static void all_counted(void) {
    mc_outcome("%d,%d", counted, counted_second);
}

#define SCENARIO(text, before, counts, ...)                                                                            \
    { text, before, {__VA_ARGS__}, all_counted, .outcomes = (counts), .fences = true }

const struct mc_scenario mc_scenarios[] = {
    SCENARIO("kept, a thread", kept, "3,0", keeper, thread),
    SCENARIO("kept, another worker", kept, "4,0", keeper, other_twice),
    SCENARIO("kept, a thread, another worker", kept, "3,0", keeper_once, thread, other),
    SCENARIO("about to be kept, a thread", about_to_be_kept, "3,0", keeper, thread),
    SCENARIO("about to be kept, another worker", about_to_be_kept, "3,0", keeper, other),
    SCENARIO("kept by another next", to_be_kept_by_another, "4,0", keeper, other_twice),
    SCENARIO("kept by another next, a thread", to_be_kept_by_another, "3,0", keeper_once, other, thread),
    SCENARIO("one that ends, and the next", about_to_be_kept, "3,0", ends, begins),
    SCENARIO("one lock, then the other, a thread", kept, "2,1", keeper_of_one_then_the_other, thread),
    SCENARIO("two locks at once, a thread", kept, "1,2", keeper_of_both, thread_at_second),
    SCENARIO("two locks at once, two threads", kept, "2,2", keeper_of_both, thread_at_second, thread),
    {0},
};
