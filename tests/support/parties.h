/* SPDX-License-Identifier: MIT */
/* For tests of what fibers and plain threads do to each other: a function run as either. */
#ifndef CCRT_TESTS_PARTIES_H
#define CCRT_TESTS_PARTIES_H

#include "runtimes.h"

struct test_party {
    cc_task task;
    pthread_t thread;
    bool on_thread;
};

/* Start fn(arg) on a thread of its own, or as a task of the caller's runtime. */
static inline TEST_UNUSED void test_party_start(struct test_party *p, bool on_thread, void *(*fn)(void *), void *arg) {
    p->on_thread = on_thread;
    if (on_thread)
        test_must(pthread_create(&p->thread, NULL, fn, arg) == 0);
    else
        test_must(cc_task_spawn(&p->task, NULL, fn, arg) == 0);
}

static inline int test_party_join(void *thread) {
    return pthread_join(*(pthread_t *)thread, NULL);
}

/* Wait for its end; on a thread for blocking calls, since the caller's may be the only worker. */
static inline TEST_UNUSED void test_party_end(struct test_party *p) {
    if (p->on_thread)
        test_must(cc_blocking(test_party_join, &p->thread) == 0);
    else
        test_must(cc_task_join(p->task, NULL) == 0);
}

#endif /* CCRT_TESTS_PARTIES_H */
