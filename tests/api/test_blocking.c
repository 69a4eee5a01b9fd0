/* SPDX-License-Identifier: MIT */
/* Goal: blocking calls, on the threads kept for them and in place, stop nobody else, hand over their result, and are
 * no cancellation points.
 * Method: calls that block until another task has done something: it must run meanwhile, also with one worker. More
 * calls at once than threads; calls from plain threads, from inside others, with bad arguments.
 * Timeout: 200
 */
#include "runtimes.h"

#include <semaphore.h>

static int waits(void *sem) {
    while (sem_wait(sem) != 0) {
    }
    return 42;
}
static void *posts(void *sem) {
    for (int i = 0; i < 3; i++) cc_yield();
    sem_post(sem);
    return NULL;
}

static void *others_run_meanwhile(void *arg) {
    sem_t sem;
    sem_init(&sem, 0, 0);
    cc_task t = cc_fiber_spawn_task(posts, &sem);
    test_must(cc_blocking(waits, &sem) == 42);
    test_must(cc_task_join(t, NULL) == 0);
    t = cc_fiber_spawn_task(posts, &sem);
    CC_BLOCKING {
        test_must(waits(&sem) == 42);
    }
    test_must(cc_task_join(t, NULL) == 0);
    sem_destroy(&sem);
    return arg;
}
static void others_run_while_one_blocks(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    for (int i = 0; i < 5; i++) test_on_all(others_run_meanwhile);
}

/* ---- many ---- */

enum { MANY = 700 };
struct crowd {
    sem_t let_go;
    _Atomic int in;
};
static int comes_in(void *arg) {
    struct crowd *c = arg;
    cc__add_relaxed(&c->in, 1);
    return waits(&c->let_go) + 1;
}
CC_TASK(calls, (struct crowd *, c), (_Atomic int *, sum)) {
    cc__add_relaxed(sum, cc_blocking(comes_in, c));
    return 0;
}
static void *more_than_threads(void *arg) {
    struct crowd c = {0};
    _Atomic int sum = 0;
    sem_init(&c.let_go, 0, 0);
    CC_NURSERY(n) {
        for (int i = 0; i < MANY; i++) test_must(cc_spawn(n, calls, &c, &sum) == 0);
        while (cc__load_relaxed(&c.in) < 64) cc_sleep_ms(1);
        test_must(cc__load_relaxed(&c.in) <= 512);
        for (int i = 0; i < MANY; i++) sem_post(&c.let_go);
    }
    test_must(cc__load_relaxed(&sum) == MANY * 43 && cc__load_relaxed(&c.in) == MANY);
    sem_destroy(&c.let_go);
    return arg;
}
static void more_calls_than_threads(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    test_on_workers(2, more_than_threads, NULL);
}

/* ---- cancellation, scopes, plain threads ---- */

struct call {
    sem_t sem;
    _Atomic int begun;
    int rc;
};
static int begins(void *arg) {
    struct call *c = arg;
    test_must(cc_worker_self() == 0); /* a plain thread */
    cc__store_release(&c->begun, 1);
    return waits(&c->sem);
}
CC_TASK(calls_once, (struct call *, c)) {
    c->rc = cc_blocking(begins, c);
    return 0;
}
static void *cancelled_calls_return(void *arg) {
    struct call c = {0};
    sem_init(&c.sem, 0, 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, calls_once, &c) == 0);
        while (cc__load_acquire(&c.begun) == 0) cc_yield();
        cc_nursery_cancel(n);
        sem_post(&c.sem);
    }
    test_must(c.rc == 42);
    sem_destroy(&c.sem);
    return arg;
}
static void a_call_is_no_cancellation_point(void **state) {
    (void)state;
    test_on_all(cancelled_calls_return);
}

static int spawns_and_joins(void *arg) {
    void *result = NULL;
    cc_task t = cc_fiber_spawn_task(posts, arg); /* into the default runtime */
    return cc_task_join(t, &result) == 0 ? waits(arg) : -1;
}
static void *nested(void *arg) {
    sem_t sem;
    sem_init(&sem, 0, 1);
    CC_BLOCKING {
        CC_BLOCKING {
            test_must(cc_blocking(waits, &sem) == 42); /* it should not, but may wait in there */
        }
        cc_yield();
    }
    test_must(cc_blocking(spawns_and_joins, &sem) == 42);
    sem_destroy(&sem);
    return arg;
}
static void calls_nest(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    test_on_all(nested);
}

static int plus_one(void *n) {
    return ++*(int *)n;
}
static void a_plain_thread_just_calls(void **state) {
    (void)state;
    int n = 1;
    assert_int_equal(cc_blocking(plus_one, &n), 2);
    CC_BLOCKING {
        n++;
    }
    assert_int_equal(n, 3);
    assert_int_equal(cc_blocking(NULL, &n), -EINVAL);
    for (int i = 0; i < 2; i++) CC_BLOCKING {
            if (i == 0) continue; /* leaves the braces */
            n = 10;
        }
    assert_int_equal(n, 10);
}

TEST_MAIN(cmocka_unit_test(others_run_while_one_blocks), cmocka_unit_test(more_calls_than_threads),
          cmocka_unit_test(a_call_is_no_cancellation_point), cmocka_unit_test(calls_nest),
          cmocka_unit_test(a_plain_thread_just_calls))
