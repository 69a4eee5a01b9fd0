/* SPDX-License-Identifier: MIT */
/* For stress tests of what is shared by many: actors, some as tasks of one runtime and some as plain threads, and calls
 * that are given up at random. */
#ifndef CCRT_TESTS_ACTORS_H
#define CCRT_TESTS_ACTORS_H

#include "runtimes.h"

enum { ACTORS_MAX = 64 };

struct actors {
    cc_runtime *rt;
    size_t tasks, threads;
    cc_task task[ACTORS_MAX];
    pthread_t thread[ACTORS_MAX];
};

static inline TEST_UNUSED void actors_begin(struct actors *a, unsigned workers) {
    *a = (struct actors){0};
    assert_int_equal(cc_runtime_create(&a->rt, &(cc_runtime_attr){.workers = workers}), 0);
}
static inline TEST_UNUSED void actors_task(struct actors *a, void *(*fn)(void *), void *arg) {
    assert_true(a->tasks < ACTORS_MAX);
    assert_int_equal(cc_runtime_spawn(a->rt, &a->task[a->tasks++], NULL, fn, arg), 0);
}
static inline TEST_UNUSED void actors_thread(struct actors *a, void *(*fn)(void *), void *arg) {
    assert_true(a->threads < ACTORS_MAX);
    assert_int_equal(pthread_create(&a->thread[a->threads++], NULL, fn, arg), 0);
}
/* All that began before this have returned; the others go on. */
static inline TEST_UNUSED void actors_join(struct actors *a) {
    for (size_t i = 0; i < a->tasks; i++) assert_int_equal(cc_task_join(a->task[i], NULL), 0);
    for (size_t i = 0; i < a->threads; i++) assert_int_equal(pthread_join(a->thread[i], NULL), 0);
    a->tasks = a->threads = 0;
}
static inline TEST_UNUSED void actors_end(struct actors *a) {
    actors_join(a);
    cc_runtime_destroy(a->rt);
}

/* Run fn with actors on each size of runtime. */
static inline TEST_UNUSED void actors_on_all(void (*fn)(struct actors *a)) {
    test_seed();
    for (size_t i = 0; i < TEST_COUNT_OF(test_workers); i++) {
        struct actors a;
        actors_begin(&a, test_workers[i]);
        fn(&a);
        actors_end(&a);
    }
}

/* Cancels the nursery of its caller, somewhat later. */
CC_TASK(actors_cancel, (cc_nursery *, n)) {
    for (uint64_t turns = test_random() % 4; turns > 0; turns--) cc_yield();
    test_jitter();
    cc_nursery_cancel(n);
    return 0;
}

/* Whether a call was given up. */
static inline TEST_UNUSED bool actors_gave_up(int rc) {
    return rc == -ECANCELED || rc == -ETIMEDOUT;
}

/* Call it; now and then under a deadline that is over or near, or under a nursery that is cancelled before or
 * meanwhile. */
static inline TEST_UNUSED int actors_call(int (*fn)(void *), void *arg) {
    int rc = -ENOSYS;
    switch (test_random() % 16) {
    case 0: CC_DEADLINE_MS(0) { rc = fn(arg);
        }
        test_must(rc != -ECANCELED);
        break;
    case 1: CC_DEADLINE_MS(1) { rc = fn(arg);
        }
        test_must(rc != -ECANCELED);
        break;
    case 2:
        CC_NURSERY(n) {
            cc_nursery_cancel(n);
            rc = fn(arg);
        }
        test_must(rc != -ETIMEDOUT);
        break;
    case 3:
        CC_NURSERY(n) {
            test_must(cc_spawn(n, actors_cancel, n) == 0);
            rc = fn(arg);
        }
        test_must(rc != -ETIMEDOUT);
        break;
    default: rc = fn(arg); test_must(!actors_gave_up(rc));
    }
    return rc;
}

#endif /* CCRT_TESTS_ACTORS_H */
