/* SPDX-License-Identifier: MIT */
/* Goal: who wakes the last task of a runtime from outside does not touch that runtime after it was ended.
 * Method: a plain thread unparks a task and has not returned yet when the task has ended and the runtime with it; again
 * and again. It was found by TSan, as a read of freed memory in the look for a worker to wake.
 */
#include "runtimes.h"

struct meeting {
    _Atomic int known, woken;
    cc_parker sleeper;
};

static void *sleeps(void *arg) {
    struct meeting *m = arg;
    m->sleeper = cc_parker_self();
    cc__store_release(&m->known, 1);
    while (cc__load_acquire(&m->woken) == 0) cc_park_if(&m->woken, 0);
    return NULL;
}
static void *wakes(void *arg) {
    struct meeting *m = arg;
    while (cc__load_acquire(&m->known) == 0) sched_yield();
    cc_parker sleeper = m->sleeper;
    cc__store_release(&m->woken, 1);
    cc_unpark(sleeper);
    return NULL;
}

static void a_waker_outlives_the_runtime(void **state) {
    (void)state;
    for (size_t i = 0; i < test_rounds(2000); i++) {
        struct meeting m = {0};
        cc_runtime *rt = NULL;
        pthread_t waker;
        cc_task t;
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1 + (unsigned)(i % 2)}), 0);
        assert_int_equal(cc_runtime_spawn(rt, &t, NULL, sleeps, &m), 0);
        assert_int_equal(pthread_create(&waker, NULL, wakes, &m), 0);
        assert_int_equal(cc_task_detach(t), 0);
        cc_runtime_destroy(rt); /* waits for the task, which the other thread wakes */
        assert_int_equal(pthread_join(waker, NULL), 0);
    }
}

TEST_MAIN(cmocka_unit_test(a_waker_outlives_the_runtime))
