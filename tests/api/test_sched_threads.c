/* SPDX-License-Identifier: MIT */
/* Goal: every thread may have schedulers; none may touch another's, unless it adopts it.
 * Method: calls from the wrong thread; schedulers on many threads at once; one scheduler handed from
 * thread to thread in the middle of its fibers.
 */
#include "test.h"

#include <ccrt.h>
#include <pthread.h>

static void *nothing(void *arg) {
    return arg;
}

static void *wrong_thread(void *arg) {
    cc_sched *s = arg;
    cc_sched_fiber f = {0};
    assert_int_equal(cc_sched_push(s, nothing, NULL), -EPERM);
    assert_int_equal(cc_sched_spawn(s, NULL, nothing, NULL, &f), -EPERM);
    assert_int_equal(cc_sched_next(s), -EPERM);
    assert_int_equal(cc_sched_run(s), -EPERM);
    assert_int_equal(cc_sched_count(s), -EPERM);
    assert_int_equal(cc_sched_take(s, f, NULL), -EPERM);
    cc_sched *own; /* and the same from a thread that has schedulers of its own */
    assert_int_equal(cc_sched_create(&own, NULL), 0);
    assert_int_equal(cc_sched_push(s, nothing, NULL), -EPERM);
    assert_int_equal(cc_sched_run(s), -EPERM);
    cc_sched_destroy(own);
    return NULL;
}

static void the_wrong_thread_is_refused(void **state) {
    (void)state;
    cc_sched *s;
    pthread_t thread;
    assert_int_equal(cc_sched_create(&s, NULL), 0);
    assert_int_equal(cc_sched_push(s, nothing, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, wrong_thread, s), 0);
    pthread_join(thread, NULL);
    assert_int_equal(cc_sched_count(s), 1);
    assert_int_equal(cc_sched_run(s), 0);
    cc_sched_destroy(s);
}

static void *count_steps(void *arg) {
    for (int i = 0; i < 10; i++) {
        ++*(int *)arg;
        cc_resched();
    }
    return NULL;
}

static void *busy_thread(void *arg) {
    size_t rounds = test_scaled(200);
    (void)arg;
    for (size_t r = 0; r < rounds; r++) {
        cc_sched *s[5];
        int steps = 0;
        for (int i = 0; i < 5; i++) {
            assert_int_equal(cc_sched_create(&s[i], NULL), 0);
            for (int k = 0; k < 20; k++) assert_int_equal(cc_sched_push(s[i], count_steps, &steps), 0);
        }
        for (int i = 0; i < 50; i++) assert_true(cc_sched_next(s[i % 5]) > 0);
        for (int i = 0; i < 4; i++) assert_int_equal(cc_sched_run(s[i]), 0); /* the last is left unfinished */
        assert_true(steps >= 4 * 20 * 10);
        for (int i = 0; i < 5; i++) cc_sched_destroy(s[i]);
    }
    return NULL;
}

static void schedulers_on_many_threads(void **state) {
    (void)state;
    pthread_t thread[8];
    for (int i = 0; i < 8; i++) assert_int_equal(pthread_create(&thread[i], NULL, busy_thread, NULL), 0);
    for (int i = 0; i < 8; i++) pthread_join(thread[i], NULL);
}

static void *next_owner(void *arg) {
    cc_sched *s = arg;
    assert_int_equal(cc_sched_next(s), -EPERM);
    assert_int_equal(cc_sched_adopt(s), 0);
    assert_int_equal(cc_sched_next(s), 3);
    return NULL;
}

static void adopted_in_the_middle(void **state) {
    (void)state;
    cc_sched *s;
    int steps = 0;
    assert_int_equal(cc_sched_create(&s, NULL), 0);
    for (int i = 0; i < 3; i++) assert_int_equal(cc_sched_push(s, count_steps, &steps), 0);
    for (int i = 0; i < 15; i++) { /* every thread ends after one step; the fibers live on */
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, next_owner, s), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(steps, 15);
    assert_int_equal(cc_sched_adopt(s), 0);
    assert_int_equal(cc_sched_run(s), 0);
    assert_int_equal(steps, 30);
    cc_sched_destroy(s);
}

static void *leaves_behind(void *arg) {
    cc_sched **out = arg;
    int *steps = calloc(1, sizeof *steps);
    assert_int_equal(cc_sched_create(out, NULL), 0);
    assert_int_equal(cc_sched_push(*out, count_steps, steps), 0);
    assert_int_equal(cc_sched_next(*out), 1);
    return steps;
}

static void destroyed_after_its_owner_ended(void **state) {
    (void)state;
    cc_sched *s;
    pthread_t thread;
    void *steps;
    assert_int_equal(pthread_create(&thread, NULL, leaves_behind, &s), 0);
    pthread_join(thread, &steps);
    cc_sched_destroy(s);
    free(steps);
}

TEST_MAIN(cmocka_unit_test(the_wrong_thread_is_refused), cmocka_unit_test(schedulers_on_many_threads),
          cmocka_unit_test(adopted_in_the_middle), cmocka_unit_test(destroyed_after_its_owner_ended))
