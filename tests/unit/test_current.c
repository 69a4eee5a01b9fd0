/* SPDX-License-Identifier: MIT */
/* Goal: the current-fiber accessor is never cached across a switch that migrates (lesson 13).
 * Method: a fiber is handed from thread to thread, each of which resumes it; it asks who is running
 * before and after every switch. A stale thread-local address would name the root of the thread that
 * ran it before. A twin that keeps such an address on purpose shows that the test would see it. Built
 * a second time with -O3 -flto.
 */
#include "test.h"

#include "base/atomic.h"
#include "fiber/fiber.h"

#include <pthread.h>

enum { THREADS = 2, HANDOVERS = 2000 };

static struct cc__fiber *traveller;
static struct cc__fiber *home[THREADS];
static _Atomic int turn; /* whose turn it is to run the traveller; THREADS: over */
static int wrong, stale_seen, rounds;

static _Thread_local int plain_local;

static void travel(void *arg) {
    (void)arg;
    int *volatile kept = &plain_local; /* what a compiler might keep: the address as it was here */
    for (int i = 0; i < rounds; i++) {
        if (cc__fiber_current() != traveller) wrong++;
        if (*kept != i % THREADS + 1) stale_seen++;
        cc__fiber_switch(traveller, home[i % THREADS]);
        if (cc__fiber_current() != traveller) wrong++;
    }
    cc__store_release(&turn, THREADS);
    cc__fiber_exit(traveller, home[rounds % THREADS]);
}

static void *run(void *arg) {
    int me = (int)(intptr_t)arg;
    struct cc__fiber *root;
    assert_int_equal(cc__fiber_attach(&root), 0);
    home[me] = root;
    plain_local = me + 1;
    for (;;) {
        int t = cc__load_acquire(&turn);
        if (t == THREADS) return NULL;
        if (t != me) {
            sched_yield();
            continue;
        }
        cc__fiber_switch(root, traveller);
        if (cc__fiber_current() != root) wrong++;
        if (cc__load_acquire(&turn) != THREADS) cc__store_release(&turn, (me + 1) % THREADS);
    }
}

static void current_survives_migration(void **state) {
    (void)state;
    struct cc__stack_cache cache = {0};
    rounds = (int)test_scaled(HANDOVERS);
    assert_int_equal(cc__fiber_create(&traveller, &cache, 65536, false, false), 0);
    cc__fiber_start(traveller, travel, NULL);
    pthread_t thread[THREADS];
    cc__store_release(&turn, -1);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, run, (void *)(intptr_t)i), 0);
    cc__store_release(&turn, 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    assert_int_equal(wrong, 0);
    assert_int_equal(stale_seen, rounds / 2); /* every second turn ran on the other thread */
    cc__fiber_destroy(traveller, &cache);
    cc__stack_cache_shrink(&cache, 0);
}

TEST_MAIN(cmocka_unit_test(current_survives_migration))
