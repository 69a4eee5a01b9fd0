/* SPDX-License-Identifier: MIT */
/* Goal: wrong arguments are refused with an error, wrong use ends the program with a message that says what it was;
 * neither does anything else.
 * Method: each wrong call there is; what aborts does so in a child process.
 */
#include "runtimes.h"

#include <limits.h>

static void *echo(void *arg) {
    return arg;
}

/* ---- handles ---- */

static void handles_that_name_nothing(void **state) {
    (void)state;
    void *result = &result;
    assert_int_equal(cc_task_join((cc_task){0}, &result), -ESRCH);
    assert_int_equal(cc_task_detach((cc_task){0}), -ESRCH);
    assert_int_equal(cc_task_valid((cc_task){0}), 0);
    assert_int_equal(cc_task_join((cc_task){.priv_generation = 12345}, &result), -ESRCH);
    assert_ptr_equal(result, &result); /* nothing was written */
    cc_unpark((cc_parker){0});
    cc_unpark((cc_parker){.priv_generation = 77});
}

static void handles_of_the_past_and_the_future(void **state) {
    (void)state;
    void *result = NULL;
    cc_task t = cc_fiber_spawn_task(echo, &result), next = t;
    assert_int_equal(cc_task_join(t, &result), 0);
    assert_int_equal(cc_task_join(t, &result), -ESRCH); /* the second join */
    next.priv_generation++;                             /* of a task that is not there yet */
    assert_int_equal(cc_task_join(next, &result), -ESRCH);
    assert_int_equal(cc_task_detach(next), -ESRCH);
    assert_int_equal(cc_task_valid(next), 0);
    t.priv_generation -= 1000;
    assert_int_equal(cc_task_join(t, &result), -ESRCH);
}

static _Atomic int gate;
static void *waits_at_gate(void *arg) {
    while (cc__load_acquire(&gate) == 0) cc_yield();
    return arg;
}
static void detached_tasks_cannot_be_joined(void **state) {
    (void)state;
    cc__store_release(&gate, 0);
    cc_task t = cc_fiber_spawn_task(waits_at_gate, NULL);
    assert_int_equal(cc_task_detach(t), 0);
    assert_int_equal(cc_task_join(t, NULL), -ESRCH); /* while it still runs */
    assert_int_equal(cc_task_detach(t), -ESRCH);
    cc__store_release(&gate, 1);
}

static void *joins_itself(void *arg) {
    void *result = arg;
    int twice = cc_task_join(cc_task_self(), &result) == -EDEADLK && cc_task_join(cc_task_self(), NULL) == -EDEADLK;
    return result == arg ? (void *)(intptr_t)twice : NULL;
}
static void *detaches_and_joins_itself(void *arg) {
    (void)arg;
    int detached = cc_task_detach(cc_task_self());
    cc__store_release(&gate, detached == 0 && cc_task_join(cc_task_self(), NULL) == -ESRCH ? 1 : 2);
    return NULL;
}
static void joining_oneself(void **state) {
    (void)state;
    void *good = NULL;
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(joins_itself, &gate), &good), 0);
    assert_int_equal((intptr_t)good, 1);
    assert_int_equal(cc_task_join(cc_task_self(), NULL), -ESRCH); /* a plain thread is no task */
    cc__store_release(&gate, 0);
    cc_fiber_spawn_task(detaches_and_joins_itself, NULL);
    while (cc__load_acquire(&gate) == 0) cc_yield();
    assert_int_equal(cc__load_acquire(&gate), 1);
}

/* ---- attributes ---- */

static void absurd_task_attributes(void **state) {
    (void)state;
    const cc_task_attr bad[] = {
        {.priority = -1},
        {.priority = 3},
        {.priority = INT_MAX},
        {.priority = INT_MIN},
        {.stack_bytes = SIZE_MAX},
        {.stack_bytes = SIZE_MAX / 2 + 1},
        {.stack_bytes = SIZE_MAX - 4095},
    };
    for (size_t i = 0; i < TEST_COUNT_OF(bad); i++) {
        cc_task t = {.priv_record = &t, .priv_generation = 5};
        assert_int_equal(cc_task_spawn(&t, &bad[i], echo, NULL), -EINVAL);
        assert_int_equal(cc_task_join(t, NULL), -ESRCH); /* what it left in the handle names nothing */
    }
    cc_task t = {.priv_record = &t, .priv_generation = 5};
    assert_int_equal(cc_task_spawn(&t, NULL, NULL, NULL), -EINVAL);
    assert_int_equal(cc_task_spawn(NULL, NULL, echo, NULL), -EINVAL);
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(NULL, NULL), NULL), -ESRCH);
}

static void odd_attributes_that_work(void **state) {
    (void)state;
    char name[5000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    const cc_task_attr odd[] = {{.stack_bytes = 1}, {.stack_bytes = 12345}, {.name = ""}, {.name = name}};
    for (size_t i = 0; i < TEST_COUNT_OF(odd); i++) {
        cc_task t;
        void *result = NULL;
        assert_int_equal(cc_task_spawn(&t, &odd[i], echo, &t), 0);
        assert_int_equal(cc_task_join(t, &result), 0);
        assert_ptr_equal(result, &t);
    }
}

static void absurd_runtimes(void **state) {
    (void)state;
    const cc_runtime_attr bad[] = {{.workers = 1000000000}, {.workers = UINT_MAX}, {.stack_bytes = SIZE_MAX}};
    for (size_t i = 0; i < TEST_COUNT_OF(bad); i++) {
        cc_runtime *rt = NULL;
        assert_int_equal(cc_runtime_create(&rt, &bad[i]), -EINVAL);
        assert_null(rt);
    }
    assert_int_equal(cc_runtime_create(NULL, NULL), -EINVAL);
    cc_task t;
    assert_int_equal(cc_runtime_spawn(NULL, &t, NULL, echo, NULL), -EINVAL);
}

static void absurd_sleeps(void **state) {
    (void)state;
    assert_int_equal(cc_sleep_ms(INT64_MIN), 0);
    assert_int_equal(cc_sleep_until_ns(INT64_MIN), 0);
    CC_DEADLINE_MS(1) { /* the far ends of time do not wrap into the past */
        assert_int_equal(cc_sleep_ms(INT64_MAX), -ETIMEDOUT);
        assert_int_equal(cc_sleep_until_ns(INT64_MAX), -ETIMEDOUT);
    }
    CC_DEADLINE_MS(INT64_MAX) {
        assert_int_equal(cc_cancelled(), 0);
        assert_int_equal(cc_sleep_ms(1), 0);
    }
    CC_DEADLINE_MS(INT64_MIN) {
        assert_int_equal(cc_cancelled(), -ETIMEDOUT);
    }
}

static int child(void *arg) {
    (void)arg;
    return 0;
}
static void absurd_spawns_into_nurseries(void **state) {
    (void)state;
    CC_NURSERY(n) {
        assert_int_equal(cc_nursery_spawn(n, NULL, NULL, 0, NULL), -EINVAL);
        assert_int_equal(cc_nursery_spawn(NULL, child, NULL, 0, NULL), -EINVAL);
        assert_int_equal(cc_nursery_spawn(n, child, NULL, 1, NULL), -EINVAL);
        assert_int_equal(cc_nursery_spawn(n, child, NULL, 0, NULL), 0);
        assert_int_equal(cc_nursery_wait(n), 0); /* the refused ones are not waited for */
    }
}

/* ---- misuse ---- */

static void nests_shields(void *depth) {
    intptr_t n = (intptr_t)depth;
    CC_SHIELD {
        if (n > 1) nests_shields((void *)(n - 1));
    }
}
static void shields_nest_255_deep(void **state) {
    (void)state;
    nests_shields((void *)255);
    test_aborts(nests_shields, (void *)256, "misuse: shields are nested more than 255 deep");
}

static void *waits_for_anothers(void *arg) {
    cc_nursery_wait(arg);
    return NULL;
}
static void stranger_task_waits(void *arg) {
    (void)arg;
    CC_NURSERY(n) {
        cc_task_join(cc_fiber_spawn_task(waits_for_anothers, n), NULL);
    }
}
static void stranger_thread_waits(void *arg) {
    (void)arg;
    pthread_t thread;
    CC_NURSERY(n) {
        if (pthread_create(&thread, NULL, waits_for_anothers, n) == 0) pthread_join(thread, NULL);
    }
}
CC_TASK(waits_for_its_own, (cc_nursery *, n)) {
    return cc_nursery_wait(n);
}
static void child_waits(void *arg) {
    (void)arg;
    CC_NURSERY(n) {
        cc_spawn(n, waits_for_its_own, n);
    }
}
static void nurseries_are_waited_for_by_their_owners(void **state) {
    (void)state;
    test_aborts(stranger_task_waits, NULL, "misuse: fiber");
    test_aborts(stranger_task_waits, NULL, "a nursery was waited for by another than its owner");
    test_aborts(stranger_thread_waits, NULL, "a nursery was waited for by another than its owner");
    test_aborts(child_waits, NULL, "a nursery was waited for by another than its owner");
}

static void *destroys(void *arg) {
    cc_runtime_destroy(arg);
    return NULL;
}
static void task_destroys_its_runtime(void *arg) {
    (void)arg;
    cc_runtime *rt;
    cc_task t;
    if (cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1}) != 0) return;
    if (cc_runtime_spawn(rt, &t, NULL, destroys, rt) == 0) cc_task_join(t, NULL);
}
static void runtimes_are_destroyed_from_outside(void **state) {
    (void)state;
    test_aborts(task_destroys_its_runtime, NULL, "a runtime was ended by a task");
}

static void leaves_the_outer_scope(void *arg) {
    (void)arg;
    cc_priv_scope outer, inner;
    cc_priv_deadline_enter(&outer, 1000);
    cc_priv_deadline_enter(&inner, 1000);
    cc_priv_scope_leave(&outer);
}
static void scopes_are_left_in_order(void **state) {
    (void)state;
    test_aborts(leaves_the_outer_scope, NULL, "a scope was left before one inside it");
}

/* Those that abort come first: a child process has none of the workers its parent had started. */
TEST_MAIN(cmocka_unit_test(shields_nest_255_deep), cmocka_unit_test(nurseries_are_waited_for_by_their_owners),
          cmocka_unit_test(runtimes_are_destroyed_from_outside), cmocka_unit_test(scopes_are_left_in_order),
          cmocka_unit_test(handles_that_name_nothing), cmocka_unit_test(handles_of_the_past_and_the_future),
          cmocka_unit_test(detached_tasks_cannot_be_joined), cmocka_unit_test(joining_oneself),
          cmocka_unit_test(absurd_task_attributes), cmocka_unit_test(odd_attributes_that_work),
          cmocka_unit_test(absurd_runtimes), cmocka_unit_test(absurd_sleeps),
          cmocka_unit_test(absurd_spawns_into_nurseries))
