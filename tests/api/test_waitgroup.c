/* SPDX-License-Identifier: MIT */
/* Goal: a wait returns when all are done, and sees what they did; the group may be gone at once then.
 * Method: groups in the waiter's frame, counted out by tasks and threads, thousands of times; several that wait; one
 * that is cancelled; a count below zero.
 */
#include "waits.h"

struct work {
    cc_waitgroup *g;
    int result;
};
static void *works(void *arg) {
    struct work *w = arg;
    test_jitter();
    w->result++;
    cc_waitgroup_done(w->g);
    return NULL;
}
/* The group is in the frame of a call that returns at once. */
static __attribute__((noinline)) void one_group(struct work *work, int count) {
    cc_waitgroup g = CC_WAITGROUP_INIT;
    cc_waitgroup_wait(&g); /* for nothing */
    cc_waitgroup_add(&g, count);
    for (int i = 0; i < count; i++) {
        cc_task t;
        work[i] = (struct work){.g = &g};
        test_must(cc_task_spawn(&t, NULL, works, &work[i]) == 0 && cc_task_detach(t) == 0);
    }
    cc_waitgroup_wait(&g);
    for (int i = 0; i < count; i++) test_must(work[i].result == 1);
    memset(&g, 0xff, sizeof g); /* who still locks it hangs */
}
static void *many_groups(void *arg) {
    struct work work[5];
    for (size_t i = 0; i < test_rounds(5000); i++) one_group(work, 1 + (int)(i % 5));
    return arg;
}
static void it_may_be_gone_at_once(void **state) {
    (void)state;
    test_on_all(many_groups);
    many_groups(NULL); /* a thread waits */
}

static cc_waitgroup group = CC_WAITGROUP_INIT;
static void *waits(void *arg) {
    cc_waitgroup_wait(&group);
    return arg;
}
static void *several_wait(void *arg) {
    enum { WAITERS = 3 };
    cc_task t[WAITERS];
    cc_waitgroup_add(&group, 4);
    for (int i = 0; i < WAITERS; i++) t[i] = cc_fiber_spawn_task(waits, NULL);
    pthread_t p = test_thread_start(waits, NULL);
    test_until_waiting(group.priv_lock, WAITERS + 1);
    cc_waitgroup_add(&group, -3);
    cc_waitgroup_add(&group, 1); /* more, while they wait */
    cc_waitgroup_done(&group);
    test_until_waiting(group.priv_lock, WAITERS + 1);
    cc_waitgroup_done(&group);
    for (int i = 0; i < WAITERS; i++) test_must(cc_task_join(t[i], NULL) == 0);
    pthread_join(p, NULL);
    return arg;
}
static void all_that_wait_go_on(void **state) {
    (void)state;
    test_on_all(several_wait);
}

CC_TASK(waits_cancellably) {
    return cc_waitgroup_wait_cancellable(&group);
}
static void *cancels_who_waits(void *arg) {
    cc_waitgroup_add(&group, 1);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, waits_cancellably) == 0);
        test_until_waiting(group.priv_lock, 1);
        cc_nursery_cancel(n);
        test_must(cc_nursery_wait(n) == -ECANCELED);
    }
    CC_DEADLINE_MS(2) test_must(cc_waitgroup_wait_cancellable(&group) == -ETIMEDOUT);
    test_must(group.priv_waiters[0] == NULL);
    cc_waitgroup_done(&group);
    CC_DEADLINE_MS(0) test_must(cc_waitgroup_wait_cancellable(&group) == 0);
    return arg;
}
static void who_is_cancelled_leaves(void **state) {
    (void)state;
    test_on_all(cancels_who_waits);
}

static void counts_below_zero(void *arg) {
    (void)arg;
    cc_waitgroup_add(&group, 1);
    cc_waitgroup_add(&group, -2);
}
static void done_too_often(void *arg) {
    (void)arg;
    cc_waitgroup_done(&group);
}
static void below_zero_aborts(void **state) {
    (void)state;
    test_aborts(counts_below_zero, NULL, "a waitgroup was counted below zero");
    test_aborts(done_too_often, NULL, "a waitgroup was counted below zero");
}

TEST_MAIN(cmocka_unit_test(below_zero_aborts), cmocka_unit_test(it_may_be_gone_at_once),
          cmocka_unit_test(all_that_wait_go_on), cmocka_unit_test(who_is_cancelled_leaves))
