/* SPDX-License-Identifier: MIT */
/* Goal: task-local values go with their task, are destroyed at its end, and are not another's.
 * Method: tasks that yield and move between workers; children of nurseries; plain threads; keys given up and made
 * anew; destructors that set values; all keys there are.
 */
#include "test.h"

#include "base/atomic.h"

#include <ccrt.h>
#include <pthread.h>
#include <stdlib.h>

static cc_local key;
static _Atomic int destroyed;

static void count(void *value) {
    cc__add_relaxed(&destroyed, *(int *)value);
    free(value);
}

static int *boxed(int n) {
    int *at = malloc(sizeof *at);
    assert_non_null(at);
    *at = n;
    return at;
}

static void *keeps_one(void *arg) {
    if (cc_local_get(key) != NULL) return (void *)1;
    int *mine = boxed(1);
    *mine = (int)(intptr_t)arg;
    if (cc_local_set(key, mine) != 0) return (void *)2;
    for (int i = 0; i < 100; i++) {
        cc_yield();
        if (cc_local_get(key) != mine || *mine != (int)(intptr_t)arg) return (void *)3;
    }
    return NULL;
}

static void values_go_with_their_task(void **state) {
    (void)state;
    enum { TASKS = 100 };
    cc_task t[TASKS];
    assert_int_equal(cc_local_create(&key, count), 0);
    cc__store_relaxed(&destroyed, 0);
    for (intptr_t i = 0; i < TASKS; i++) t[i] = cc_fiber_spawn_task(keeps_one, (void *)(i + 1));
    for (int i = 0; i < TASKS; i++) {
        void *result;
        assert_int_equal(cc_task_join(t[i], &result), 0);
        assert_null(result);
    }
    assert_int_equal(cc__load_relaxed(&destroyed), TASKS * (TASKS + 1) / 2); /* before the join returned */
    assert_null(cc_local_get(key));
    assert_int_equal(cc_local_delete(key), 0);
}

CC_TASK(child) {
    return cc_local_set(key, boxed(1));
}

static void children_and_threads_have_them_too(void **state) {
    (void)state;
    assert_int_equal(cc_local_create(&key, count), 0);
    cc__store_relaxed(&destroyed, 0);
    CC_NURSERY(n) {
        for (int i = 0; i < 10; i++) cc_spawn(n, child);
        assert_int_equal(cc_nursery_wait(n), 0);
        assert_int_equal(cc__load_relaxed(&destroyed), 10);
    }
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, keeps_one, (void *)5), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    assert_int_equal(cc__load_relaxed(&destroyed), 15);
    assert_int_equal(cc_local_delete(key), 0);
}

static int again;
static void sets_again(void *value) {
    again++;
    assert_int_equal(cc_local_set(key, value), 0);
}
static void *sets_one(void *arg) {
    return (void *)(intptr_t)cc_local_set(key, arg);
}

static void destructors_may_set_values(void **state) {
    (void)state;
    void *result;
    assert_int_equal(cc_local_create(&key, sets_again), 0);
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(sets_one, &again), &result), 0);
    assert_null(result);
    assert_int_equal(again, 4); /* and then no more */
    assert_int_equal(cc_local_delete(key), 0);
}

static void keys_come_and_go(void **state) {
    (void)state;
    enum { KEYS = 1024 };
    cc_local old, keys[KEYS], one_more;
    int x;
    assert_int_equal(cc_local_create(NULL, NULL), -EINVAL);
    assert_int_equal(cc_local_create(&old, NULL), 0);
    assert_int_equal(cc_local_set(old, &x), 0);
    assert_ptr_equal(cc_local_get(old), &x);
    assert_int_equal(cc_local_delete(old), 0);
    assert_int_equal(cc_local_delete(old), -ESRCH);
    assert_int_equal(cc_local_set(old, &x), -ESRCH);
    assert_null(cc_local_get(old));
    for (int i = 0; i < KEYS; i++) {
        assert_int_equal(cc_local_create(&keys[i], NULL), 0);
        assert_null(cc_local_get(keys[i])); /* also the one that was `old` */
        assert_int_equal(cc_local_set(keys[i], &keys[i]), 0);
    }
    assert_int_equal(cc_local_create(&one_more, NULL), -EAGAIN);
    for (int i = 0; i < KEYS; i++) assert_ptr_equal(cc_local_get(keys[i]), &keys[i]);
    for (int i = 0; i < KEYS; i++) assert_int_equal(cc_local_delete(keys[i]), 0);
    assert_int_equal(cc_local_set((cc_local){.priv_index = 5000, .priv_generation = 1}, &x), -ESRCH);
}

TEST_MAIN(cmocka_unit_test(values_go_with_their_task), cmocka_unit_test(children_and_threads_have_them_too),
          cmocka_unit_test(destructors_may_set_values), cmocka_unit_test(keys_come_and_go))
