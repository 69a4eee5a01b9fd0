/* SPDX-License-Identifier: MIT */
/* Goal: whatever tasks, threads, nurseries, deadlines, cancellers and parkers do at once, nothing is lost: every task
 * that was accepted runs and ends once, every join returns once, every sleeper wakes (lessons 2, 5, 9, 21, 26, 75).
 * Method: a tree of tasks, each of which does a few things at random from its own seed: spawns and joins children,
 * detaches some, sleeps, yields, opens nurseries under deadlines and cancels them, hands a ball to a partner by
 * parking. What must balance is counted. CC_WORKERS and CC_TEST_SEED choose the run.
 * Timeout: 120
 */
#include "test.h"

#include "base/atomic.h"
#include "base/rng.h"

#include <ccrt.h>
#include <pthread.h>

enum { DEPTH = 5, ACTIONS = 4 };

static _Atomic long accepted, began, ended, joined, balls;

struct job {
    uint64_t seed;
    int depth;
    bool heap; /* frees itself */
};

static void *storm(void *arg);

static void *detached(void *arg) {
    return storm(arg);
}

static void spawn_detached(struct cc__rng *r, int depth) {
    struct job *j = malloc(sizeof *j);
    assert_non_null(j);
    *j = (struct job){cc__rng_next(r), depth, true};
    cc__add_relaxed(&accepted, 1);
    cc_task t = cc_fiber_spawn_task(detached, j);
    assert_int_equal(cc_task_detach(t), 0);
}

static void spawn_and_join(struct cc__rng *r, int depth) {
    struct job j[4];
    cc_task t[4];
    int n = (int)cc__rng_below(r, 4) + 1;
    for (int i = 0; i < n; i++) {
        j[i] = (struct job){cc__rng_next(r), depth, false};
        cc__add_relaxed(&accepted, 1); /* before: it may end, and be counted, at once */
        t[i] = cc_fiber_spawn_task(storm, &j[i]);
    }
    for (int i = 0; i < n; i++) {
        void *result;
        int k = (i + (int)(j[0].seed % (unsigned)n)) % n;
        assert_int_equal(cc_task_join(t[k], &result), 0);
        assert_ptr_equal(result, &j[k]);
        cc__add_relaxed(&joined, 1);
    }
}

CC_TASK(child, (uint64_t, seed), (int, depth)) {
    struct job j = {seed, depth, false};
    cc__add_relaxed(&accepted, 1);
    storm(&j);
    return seed % 13 == 0 ? -EIO : cc_sleep_ms((int64_t)(seed % 3));
}

static void open_nursery(struct cc__rng *r, int depth) {
    CC_DEADLINE_MS((int64_t)cc__rng_below(r, 20)) {
        CC_NURSERY(n) {
            for (uint32_t i = cc__rng_below(r, 5); i > 0; i--) cc_spawn(n, child, cc__rng_next(r), depth);
            switch (cc__rng_below(r, 4)) {
            case 0: cc_nursery_cancel(n); break;
            case 1: cc_sleep_ms(1); break;
            case 2: cc_nursery_wait(n); break;
            default: break;
            }
        }
    }
}

struct ball {
    _Atomic int ready, turn;
    cc_parker player[2];
};

static void *returns_ball(void *arg) {
    struct ball *b = arg;
    cc_parker other = b->player[0];
    b->player[1] = cc_parker_self();
    cc__store_release(&b->ready, 1);
    cc_unpark(other);
    for (int i = 0; i < 10; i++) {
        while (cc__load_acquire(&b->turn) != 1) cc_park_if(&b->turn, 0);
        cc__store_release(&b->turn, 0); /* the last time, b may be gone from here on */
        cc_unpark(other);
    }
    return NULL;
}

static void play_ball(void) {
    struct ball b = {.player[0] = cc_parker_self()};
    cc_task t = cc_fiber_spawn_task(returns_ball, &b);
    while (cc__load_acquire(&b.ready) == 0) cc_park_if(&b.ready, 0);
    for (int i = 0; i < 10; i++) {
        cc__store_release(&b.turn, 1);
        cc_unpark(b.player[1]);
        while (cc__load_acquire(&b.turn) != 0) cc_park_if(&b.turn, 1);
        cc__add_relaxed(&balls, 1);
    }
    assert_int_equal(cc_task_join(t, NULL), 0);
}

static void *storm(void *arg) {
    struct job *j = arg;
    struct cc__rng r;
    cc__rng_seed(&r, j->seed);
    cc__add_relaxed(&began, 1);
    for (int i = 0; i < ACTIONS; i++) {
        if (j->depth == 0) break;
        switch (cc__rng_below(&r, 6)) {
        case 0: spawn_and_join(&r, j->depth - 1); break;
        case 1: spawn_detached(&r, j->depth - 1); break;
        case 2: cc_sleep_ms(cc__rng_below(&r, 3)); break;
        case 3: open_nursery(&r, j->depth - 1); break;
        case 4: cc_yield(); break;
        default: play_ball(); break;
        }
    }
    cc__add_acq_rel(&ended, 1);
    if (j->heap) free(j);
    return arg;
}

static void *thread_storm(void *arg) {
    struct cc__rng r;
    cc__rng_seed(&r, (uint64_t)(uintptr_t)arg);
    for (int i = 0; i < 5; i++) {
        spawn_and_join(&r, 2);
        open_nursery(&r, 2);
        play_ball();
    }
    return NULL;
}

static void nothing_is_lost(void **state) {
    (void)state;
    struct cc__rng r;
    cc__rng_seed(&r, test_seed());
    for (size_t round = 0; round < test_scaled(TEST_TSAN || TEST_ASAN ? 2 : 8) + 1; round++) {
        pthread_t thread[2];
        for (int i = 0; i < 2; i++) {
            void *seed = (void *)(uintptr_t)cc__rng_next(&r);
            assert_int_equal(pthread_create(&thread[i], NULL, thread_storm, seed), 0);
        }
        for (int i = 0; i < 10; i++) spawn_and_join(&r, DEPTH);
        for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
        while (cc__load_acquire(&ended) < cc__load_relaxed(&accepted)) cc_sleep_ms(1); /* the detached ones */
        assert_int_equal(cc__load_relaxed(&began), cc__load_relaxed(&accepted));
        assert_int_equal(cc__load_relaxed(&ended), cc__load_relaxed(&accepted));
    }
    print_message("%ld tasks, %ld joined, %ld balls\n", cc__load_relaxed(&accepted), cc__load_relaxed(&joined),
                  cc__load_relaxed(&balls));
}

TEST_MAIN(cmocka_unit_test(nothing_is_lost))
