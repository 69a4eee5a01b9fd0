/* SPDX-License-Identifier: MIT */
/* Goal: the checker finds every kind of bug that it is for.
 * Method: one small program for each way to be wrong, most with only a few executions that show it; and
 * beside some of them the same without the mistake, so that it is the mistake that is found.
 * Sources: src/base/assert.c src/base/text.c
 */
#include "base/assert.h"
#include "base/atomic.h"

#include "ccmc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int data;
static volatile int more; /* so that what is only read is read */
static _Atomic int flag, other;

/* ---- data races ---- */

static void plain_add(void) {
    data++;
}
static void write_data(void) {
    data = 42;
    cc__store_release(&flag, 1);
}
static void write_data_relaxed(void) {
    data = 42;
    cc__store_relaxed(&flag, 1);
}
static void write_data_fence(void) {
    data = 42;
    cc__fence_release();
    cc__store_relaxed(&flag, 1);
}
static void write_too_late(void) {
    cc__store_release(&flag, 1);
    data = 42;
}
static void write_after_fence(void) {
    cc__fence_release();
    data = 42;
    cc__store_relaxed(&flag, 1);
}
static void read_data(void) {
    if (cc__load_acquire(&flag) != 0) mc_assert(data == 42);
}
static void read_data_relaxed(void) {
    if (cc__load_relaxed(&flag) != 0) mc_assert(data == 42);
}
static void read_data_fence(void) {
    if (cc__load_relaxed(&flag) == 0) return;
    cc__fence_acquire();
    mc_assert(data == 42);
}
/* A store by another thread ends a release sequence, one by the same thread too (since C++20). */
static void store_over(void) {
    cc__store_relaxed(&flag, 2);
}
static void write_data_store_again(void) {
    data = 42;
    cc__store_release(&flag, 1);
    cc__store_relaxed(&flag, 2);
}
static void read_data_if_two(void) {
    if (cc__load_acquire(&flag) == 2) mc_assert(data == 42);
}
/* Full fences order what is seen, but without a load that sees a store they do not synchronise. */
static void write_then_full_fence(void) {
    data = 42;
    cc__fence_full();
}
static void full_fence_then_read(void) {
    cc__fence_full();
    more = data;
}
static void atomic_add(void) {
    cc__add_relaxed(&flag, 1);
}
static void plain_store_to_atomic(void) {
    *(volatile int *)(void *)&flag = 5;
}
static char bytes[16];
static void write_bytes(void) {
    memset(bytes, 1, 9);
}
static void read_beside(void) {
    more = bytes[9];
}
static void read_last(void) {
    more = bytes[8];
}
static void copy_bytes(void) {
    char copy[16];
    memcpy(copy, bytes, sizeof copy);
    more = copy[0];
}

/* ---- Dekker and Peterson: mutual exclusion by loads and stores ---- */

static void enter_if(_Atomic int *mine, _Atomic int *others, bool fence) {
    cc__store_relaxed(mine, 1);
    if (fence) cc__fence_full();
    if (cc__load_acquire(others) == 0) data++;
    cc__store_release(mine, 0);
}
static void dekker_a(void) {
    enter_if(&flag, &other, true);
}
static void dekker_b(void) {
    enter_if(&other, &flag, true);
}
static void dekker_a_no_fence(void) {
    enter_if(&flag, &other, false);
}
static void dekker_b_no_fence(void) {
    enter_if(&other, &flag, false);
}

/* Peterson's turn must be exchanged, or all be seq_cst: of two plain stores the one made later may come first in
 * modification order, whatever fence follows. */
static _Atomic int turn;
static enum peterson { EXCHANGE, FENCES, RELEASES, SEQ_CST } form;

static void peterson_ask(_Atomic int *mine, int their_turn) {
    if (form == SEQ_CST) {
        atomic_store_explicit(mine, 1, memory_order_seq_cst);
        atomic_store_explicit(&turn, their_turn, memory_order_seq_cst);
        return;
    }
    cc__store_relaxed(mine, 1);
    if (form == EXCHANGE)
        cc__xchg_acq_rel(&turn, their_turn);
    else
        cc__store_release(&turn, their_turn);
    if (form == FENCES) cc__fence_full();
}
static bool peterson_waits(_Atomic int *others, int their_turn) {
    if (form == SEQ_CST)
        return atomic_load_explicit(others, memory_order_seq_cst) != 0 &&
               atomic_load_explicit(&turn, memory_order_seq_cst) == their_turn;
    return cc__load_acquire(others) != 0 && cc__load_acquire(&turn) == their_turn;
}
static void peterson(_Atomic int *mine, _Atomic int *others, int their_turn) {
    peterson_ask(mine, their_turn);
    while (peterson_waits(others, their_turn)) mc_yield();
    data++;
    cc__store_release(mine, 0);
}
static void peterson_a(void) {
    peterson(&flag, &other, 2);
}
static void peterson_b(void) {
    peterson(&other, &flag, 1);
}
static void with_exchange(void) {
    form = EXCHANGE;
}
static void with_fences(void) {
    form = FENCES;
}
static void with_releases(void) {
    form = RELEASES;
}
static void with_seq_cst(void) {
    form = SEQ_CST;
}
static void two_added(void) {
    mc_assert(data == 2);
}

/* ---- spin locks ---- */

static void spin_add(bool release) {
    while (cc__xchg_acquire(&flag, 1) != 0) mc_yield();
    data++;
    if (release)
        cc__store_release(&flag, 0);
    else
        cc__store_relaxed(&flag, 0);
}
static void spin_lock_add(void) {
    spin_add(true);
}
static void spin_lock_add_careless(void) {
    spin_add(false);
}
static void three_added(void) {
    mc_assert(data == 3);
}

/* ---- assertions ---- */

static void load_then_store(void) {
    cc__store_relaxed(&flag, cc__load_relaxed(&flag) + 1);
}
static void flag_is_two(void) {
    mc_assert(cc__load_relaxed(&flag) == 2);
}
static void checks(void) {
    CC_CHECK(cc__load_relaxed(&flag) == 0, "the flag was set");
}
static void waits_in_vain(void) {
    while (cc__load_relaxed(&flag) == 0) more = 1;
}
static void sets_flag(void) {
    cc__store_relaxed(&flag, 1);
}

/* ---- memory ---- */

static _Atomic(int *) shared;
static void allocate(void) {
    int *p = malloc(sizeof *p);
    *p = 7;
    cc__store_release(&shared, p);
}
static void free_it(void) {
    free(cc__load_relaxed(&shared));
}
static void read_it(void) {
    mc_assert(*cc__load_acquire(&shared) == 7);
}
static void take_and_free(void) {
    free(cc__xchg_acq_rel(&shared, NULL));
}
static void free_then_tell(void) {
    free(cc__load_relaxed(&shared));
    cc__store_release(&flag, 1);
}
static void read_when_told(void) {
    if (cc__load_acquire(&flag) != 0) mc_assert(*cc__load_acquire(&shared) == 7);
}
__attribute__((noinline)) static void point_at_frame(void) {
    int here = 7;
    cc__store_release(&shared, &here);
}
static void return_then_tell(void) {
    point_at_frame();
    cc__store_release(&flag, 1);
    cc__store_relaxed(&other, 1);
}
static void read_beside_it(void) {
    more = cc__load_acquire(&shared)[1];
}
static void leak_it(void) {
    cc__store_release(&shared, malloc(24));
}

/* ---- waiting ---- */

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static struct mc_sem sem;

static void lock_a_then_b(void) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    data++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
}
static void lock_b_then_a(void) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    data++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
}
static void lock_twice(void) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&a);
}
static void wait_for_post(void) {
    mc_sem_wait(&sem);
}
static void post_if_unset(void) {
    if (cc__load_relaxed(&flag) == 0) mc_sem_post(&sem);
}
static void spin_until_set(void) {
    while (cc__load_acquire(&flag) == 0) mc_yield();
}
static void set_if_unset(void) {
    if (cc__load_relaxed(&other) == 0) cc__store_release(&flag, 1);
}
static void sets_other(void) {
    cc__store_relaxed(&other, 1);
}

/* ---- crashes ---- */

static void follow_pointer(void) {
    more = *cc__load_relaxed(&shared);
}
static void clear_pointer(void) {
    cc__store_relaxed(&shared, NULL);
}
static void divide(void) {
    more = 10 / (1 - cc__load_relaxed(&flag));
}
static int deeper(volatile int *above, int n) {
    volatile int here[64] = {above[0], n};
    return n == 0 ? here[0] : deeper(here, n - 1) + here[1];
}
static void overflow(void) {
    volatile int top = 1;
    if (cc__load_relaxed(&flag) != 0) more = deeper(&top, 1000000);
}
static void endless_loop(void) {
    if (cc__load_relaxed(&flag) != 0)
        for (volatile int *p = &data; *p == 0;) continue;
}

/* ---- misuse ---- */

static void unlock_a(void) {
    pthread_mutex_unlock(&a);
}
static void two_sizes(void) {
    cc__store_relaxed((_Atomic char *)(void *)&flag, 1);
}
static void destroy_a(void) {
    pthread_mutex_destroy(&a);
}
static void lock_a(void) {
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
}

const struct mc_scenario mc_scenarios[] = {
    {"race: two increments", NULL, {plain_add, plain_add}, NULL, MC_RACE},
    {"race: none with release and acquire", NULL, {write_data, read_data}, NULL},
    {"race: none with fences", NULL, {write_data_fence, read_data_fence}, NULL},
    {"race: relaxed store", NULL, {write_data_relaxed, read_data}, NULL, MC_RACE},
    {"race: relaxed load", NULL, {write_data, read_data_relaxed}, NULL, MC_RACE},
    {"race: written after the release", NULL, {write_too_late, read_data}, NULL, MC_RACE},
    {"race: written after the release fence", NULL, {write_after_fence, read_data_fence}, NULL, MC_RACE},
    {"race: none through a read-modify-write", NULL, {write_data, atomic_add, read_data_if_two}, NULL},
    {"race: a store ends a release sequence", NULL, {write_data, store_over, read_data_if_two}, NULL, MC_RACE},
    {"race: one's own store ends it too", NULL, {write_data_store_again, read_data_if_two}, NULL, MC_RACE},
    {"race: full fences alone", NULL, {write_then_full_fence, full_fence_then_read}, NULL, MC_RACE},
    {"race: plain store to an atomic", NULL, {plain_store_to_atomic, atomic_add}, NULL, MC_RACE},
    {"race: none with the byte beside", NULL, {write_bytes, read_beside}, NULL},
    {"race: with the last byte", NULL, {write_bytes, read_last}, NULL, MC_RACE},
    {"race: memset against memcpy", NULL, {write_bytes, copy_bytes}, NULL, MC_RACE},

    {"Dekker with full fences", NULL, {dekker_a, dekker_b}, NULL},
    {"Dekker without", NULL, {dekker_a_no_fence, dekker_b_no_fence}, NULL, MC_RACE},
    {"Peterson with an exchange", with_exchange, {peterson_a, peterson_b}, two_added},
    {"Peterson with seq_cst", with_seq_cst, {peterson_a, peterson_b}, two_added},
    {"Peterson with full fences", with_fences, {peterson_a, peterson_b}, two_added, MC_RACE},
    {"Peterson with release and acquire", with_releases, {peterson_a, peterson_b}, two_added, MC_RACE},
    {"spin lock", NULL, {spin_lock_add, spin_lock_add}, two_added},
    {"spin lock, three threads", NULL, {spin_lock_add, spin_lock_add, spin_lock_add}, three_added},
    {"spin lock, relaxed unlock", NULL, {spin_lock_add, spin_lock_add_careless}, two_added, MC_RACE},

    {"assertion: lost update", NULL, {load_then_store, load_then_store}, flag_is_two, MC_ASSERT},
    {"assertion: CC_CHECK", NULL, {checks, sets_flag}, NULL, MC_ASSERT},

    {"use after free, unordered", allocate, {free_it, read_it}, NULL, MC_USE_AFTER_FREE | MC_RACE},
    {"use after free, ordered", allocate, {free_then_tell, read_when_told}, NULL, MC_USE_AFTER_FREE},
    {"an endless loop in check", NULL, {sets_other}, waits_in_vain, MC_CRASH},
    {"use of a frame that is gone", NULL, {return_then_tell, read_when_told}, NULL, MC_USE_AFTER_FREE},
    {"access beside a block", allocate, {read_beside_it}, NULL, MC_USE_AFTER_FREE},
    {"double free", allocate, {free_it, free_it}, NULL, MC_DOUBLE_FREE | MC_RACE},
    {"one takes it and frees it", allocate, {take_and_free, take_and_free}, NULL},
    {"leak", NULL, {leak_it}, NULL, MC_LEAK},

    {"deadlock: two locks", NULL, {lock_a_then_b, lock_b_then_a}, NULL, MC_DEADLOCK},
    {"deadlock: none in the same order", NULL, {lock_a_then_b, lock_a_then_b}, two_added},
    {"deadlock: a lock taken twice", NULL, {lock_twice}, NULL, MC_DEADLOCK},
    {"deadlock: nobody posts", NULL, {wait_for_post, post_if_unset, sets_flag}, NULL, MC_DEADLOCK},
    {"deadlock: a spin loop without end", NULL, {spin_until_set, set_if_unset, sets_other}, NULL, MC_DEADLOCK},

    {"crash: null pointer", allocate, {follow_pointer, clear_pointer}, NULL, MC_CRASH, .leaks = true},
    {"crash: division by zero", NULL, {divide, sets_flag}, NULL, MC_CRASH},
    {"crash: stack overflow", NULL, {overflow, sets_flag}, NULL, MC_CRASH},
    {"crash: endless loop", NULL, {endless_loop, sets_flag}, NULL, MC_CRASH},

    {"misuse: unlock of a free mutex", NULL, {unlock_a}, NULL, MC_MISUSE},
    {"misuse: two sizes of one atomic", NULL, {two_sizes, sets_flag}, NULL, MC_MISUSE},
    {"misuse: destroyed while held", NULL, {destroy_a, lock_a}, NULL, MC_MISUSE | MC_RACE},
    {0},
};
