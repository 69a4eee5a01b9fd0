/* SPDX-License-Identifier: MIT */
/* For tests of locks: threads and tasks side by side, and waiting until somebody waits. */
#ifndef CCRT_TESTS_WAITS_H
#define CCRT_TESTS_WAITS_H

#include "runtimes.h"

#include "task/task.h"

/* Until so many wait on the list in these private words: a moment, or the test hangs. */
static inline TEST_UNUSED void test_until_waiting(void *priv_lock, int n) {
    struct cc__waitlist *l = priv_lock;
    for (int looks = 0;; looks++) {
        int found = 0;
        cc__waitlist_lock(l);
        for (struct cc__node *at = l->first == NULL ? NULL : &l->first->node; at != NULL; at = at->next) found++;
        cc__waitlist_unlock(l);
        if (found >= n) return;
        if (looks < 100)
            cc_yield();
        else
            cc_sleep_ms(1);
    }
}

/* Start fn(arg) as a thread, or abort. */
static inline TEST_UNUSED pthread_t test_thread_start(void *(*fn)(void *), void *arg) {
    pthread_t t;
    test_must(pthread_create(&t, NULL, fn, arg) == 0);
    return t;
}

/* Run fn(arg) on a plain thread, in a task, and in a strand of a scheduler: everyone who may call. */
static inline TEST_UNUSED void test_by_all_kinds(void *(*fn)(void *), void *arg) {
    fn(arg);
    pthread_join(test_thread_start(fn, arg), NULL);
    test_must(cc_task_join(cc_fiber_spawn_task(fn, arg), NULL) == 0);
    cc_sched *s;
    test_must(cc_sched_create(&s, NULL) == 0 && cc_sched_push(s, fn, arg) == 0);
    cc_sched_run(s);
    cc_sched_destroy(s);
}

#endif /* CCRT_TESTS_WAITS_H */
