/* SPDX-License-Identifier: MIT */
/* For tests that run on runtimes of several sizes: the sizes, a way to run a function on each, checks that may
 * fail in a task, and small delays. */
#ifndef CCRT_TESTS_RUNTIMES_H
#define CCRT_TESTS_RUNTIMES_H

#include "test.h"

#include "base/atomic.h"
#include "base/rng.h"

#include <ccrt.h>
#include <pthread.h>
#include <sched.h>

/* As assert_true(), but on any thread and stack: cmocka's own jumps back to the test's. */
#define test_must(cond) ((cond) ? (void)0 : test_must_failed(#cond, __FILE__, __LINE__))
static inline TEST_UNUSED void test_must_failed(const char *cond, const char *file, int line) {
    printf("%s:%d: failed: %s\n", file, line, cond);
    fflush(stdout);
    abort();
}

/* Fewer of anything where a sanitizer makes each slow. */
static inline TEST_UNUSED size_t test_rounds(size_t n) {
    size_t most = test_scaled(TEST_TSAN || TEST_ASAN ? n / 10 : n);
    return most > 0 ? most : 1;
}

/* Fewer, more and many more workers than cpus; none of them a power of two times another but by chance. */
static const unsigned test_workers[] TEST_UNUSED = {1, 2, 7, 16};

/* Run fn(arg) as a task of a runtime of its own; all it left behind has ended when this returns. */
static inline TEST_UNUSED void *test_on_attr(const cc_runtime_attr *attr, void *(*fn)(void *), void *arg) {
    cc_runtime *rt = NULL;
    cc_task t;
    void *result = NULL;
    assert_int_equal(cc_runtime_create(&rt, attr), 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, fn, arg), 0);
    assert_int_equal(cc_task_join(t, &result), 0);
    cc_runtime_destroy(rt);
    return result;
}

static inline TEST_UNUSED void *test_on_workers(unsigned workers, void *(*fn)(void *), void *arg) {
    return test_on_attr(&(cc_runtime_attr){.workers = workers}, fn, arg);
}

/* The same on each size of runtime; fn gets the number of workers. */
static inline TEST_UNUSED void test_on_all(void *(*fn)(void *)) {
    test_seed();
    for (size_t i = 0; i < TEST_COUNT_OF(test_workers); i++)
        test_on_workers(test_workers[i], fn, (void *)(uintptr_t)test_workers[i]);
}

/* Run f on this thread, and in a task. */
static inline TEST_UNUSED void *test_call(void *fn) {
    void (*f)(void);
    memcpy(&f, fn, sizeof f);
    f();
    return NULL;
}
static inline TEST_UNUSED void test_on_both(void (*f)(void)) {
    f();
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(test_call, &f), NULL), 0);
}

/* Whether somebody watches for workers that are stuck. */
static inline TEST_UNUSED bool test_monitored(void) {
    const char *sysmon = getenv("CC_SYSMON");
    return sysmon == NULL || strcmp(sysmon, "0") != 0;
}

/* A number that differs each time and by the run's seed, from any thread. */
static inline TEST_UNUSED uint64_t test_random(void) {
    static _Atomic uint64_t turn;
    struct cc__rng r;
    cc__rng_seed(&r, test_seed() ^ (cc__add_relaxed(&turn, 1) * UINT64_C(0x9e3779b97f4a7c15)));
    return cc__rng_next(&r);
}

/* Nothing, or a moment, or now and then the rest of this thread's slice. */
static inline TEST_UNUSED void test_jitter(void) {
    uint64_t x = test_random();
    if (x % 512 == 0) {
        sched_yield();
    } else if (x % 4 == 0) {
        for (uint64_t i = (x >> 8) % 500; i > 0; i--) cc__cpu_relax();
    }
}

/* Hold this worker, not only this task, until *at has reached n. False: it has not for a minute, which is how long only
 * what was lost takes. */
static inline TEST_UNUSED bool test_hold_worker_until(_Atomic long *at, long n) {
    int64_t give_up = cc_now_ns() + INT64_C(60) * 1000000000;
    while (cc__load_acquire(at) < n) {
        if (cc_now_ns() > give_up) return false;
        sched_yield(); /* the thread's, for other threads: 16 workers share few cpus */
    }
    return true;
}

/* Which thread this is. Never inlined: the answer changes when a task moves. */
static __attribute__((noinline)) TEST_UNUSED pthread_t test_thread(void) {
    __asm__ volatile("");
    return pthread_self();
}

#endif /* CCRT_TESTS_RUNTIMES_H */
