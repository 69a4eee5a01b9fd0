/* SPDX-License-Identifier: MIT */
/* Goal: tasks run, are joined once, detached, named, and their handles go stale (lessons 3, 5, 6, 8, 20).
 * Method: each sentence of include/ccrt/task.h as a small program, from threads and from tasks.
 */
#include "test.h"

#include "base/atomic.h"

#include <ccrt.h>
#include <pthread.h>

static void *echo(void *arg) {
    return arg;
}

static void results_are_joined_once(void **state) {
    (void)state;
    cc_task t = cc_fiber_spawn_task(echo, "result");
    void *result = NULL;
    assert_int_equal(cc_task_join(t, &result), 0);
    assert_string_equal((char *)result, "result");
    assert_int_equal(cc_task_join(t, &result), -ESRCH);
    assert_int_equal(cc_task_detach(t), -ESRCH);
    assert_int_equal(cc_task_valid(t), 0);
    assert_int_equal(cc_task_join((cc_task){0}, NULL), -ESRCH);
    assert_int_equal(cc_task_detach((cc_task){0}), -ESRCH);
    assert_int_equal(cc_task_valid((cc_task){0}), 0);
}

static _Atomic int gate;

static void *waits_at_gate(void *arg) {
    while (cc__load_acquire(&gate) == 0) cc_yield();
    return arg;
}

static void many_wait_and_one_takes(void **state) {
    (void)state;
    cc__store_release(&gate, 0);
    cc_task t = cc_fiber_spawn_task(waits_at_gate, &gate);
    assert_int_equal(cc_task_valid(t), 1);
    cc__store_release(&gate, 1);
    void *result;
    assert_int_equal(cc_task_join(t, &result), 0);
    assert_ptr_equal(result, &gate);
}

struct joiner {
    cc_task target;
    _Atomic int *takers;
};

static void *joins(void *arg) {
    struct joiner *j = arg;
    void *result;
    int rc = cc_task_join(j->target, &result);
    if (rc == 0) cc__add_relaxed(j->takers, 1);
    return (void *)(intptr_t)rc;
}

static void several_joiners(void **state) {
    (void)state;
    for (size_t round = 0; round < test_scaled(200); round++) {
        _Atomic int takers = 0;
        cc__store_release(&gate, 0);
        struct joiner j = {cc_fiber_spawn_task(waits_at_gate, NULL), &takers};
        cc_task joiner[8];
        pthread_t thread[2];
        for (int i = 0; i < 8; i++) joiner[i] = cc_fiber_spawn_task(joins, &j);
        for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, joins, &j), 0);
        cc__store_release(&gate, 1);
        int lost = 0;
        for (int i = 0; i < 8; i++) {
            void *rc;
            assert_int_equal(cc_task_join(joiner[i], &rc), 0);
            lost += (intptr_t)rc == -ESRCH;
        }
        for (int i = 0; i < 2; i++) {
            void *rc;
            pthread_join(thread[i], &rc);
            lost += (intptr_t)rc == -ESRCH;
        }
        assert_int_equal(cc__load_relaxed(&takers), 1);
        assert_int_equal(lost, 9);
    }
}

static void *joins_itself(void *arg) {
    (void)arg;
    cc_task self = cc_task_self();
    assert_int_equal(cc_task_valid(self), 1);
    return (void *)(intptr_t)cc_task_join(self, NULL);
}

static void joining_oneself_is_refused(void **state) {
    (void)state;
    void *rc;
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(joins_itself, NULL), &rc), 0);
    assert_int_equal((intptr_t)rc, -EDEADLK);
    assert_int_equal(cc_task_valid(cc_task_self()), 0); /* a plain thread is no task */
}

static _Atomic int detached_ran;
static void *counts(void *arg) {
    cc__add_acq_rel(&detached_ran, 1);
    return arg;
}

static void detached_tasks_run(void **state) {
    (void)state;
    int count = (int)test_scaled(1000);
    for (int i = 0; i < count; i++) {
        cc_task t = cc_fiber_spawn_task(counts, NULL);
        assert_int_equal(cc_task_detach(t), 0);
        assert_int_equal(cc_task_detach(t), -ESRCH);
        assert_int_equal(cc_task_join(t, NULL), -ESRCH);
    }
    while (cc__load_acquire(&detached_ran) < count) cc_yield();
}

static void *says_its_name(void *arg) {
    (void)arg;
    return (void *)(intptr_t)(cc_task_self_name() != NULL && strcmp(cc_task_self_name(), "parse") == 0);
}

static __attribute__((noinline)) int deep(int n) {
    volatile char frame[1024];
    frame[0] = (char)n;
    return n == 0 ? 0 : deep(n - 1) + (frame[0] != (char)n);
}
static void *goes_deep(void *arg) {
    return (void *)(intptr_t)deep((int)(intptr_t)arg);
}

static void attributes(void **state) {
    (void)state;
    cc_task t;
    void *result;
    cc_task_attr attr = {.name = "parse"};
    assert_int_equal(cc_task_spawn(&t, &attr, says_its_name, NULL), 0);
    assert_int_equal(cc_task_join(t, &result), 0);
    assert_int_equal((intptr_t)result, 1);
    attr = (cc_task_attr){.stack_bytes = 16 << 20};
    assert_int_equal(cc_task_spawn(&t, &attr, goes_deep, (void *)8000), 0); /* 8 MiB of frames */
    assert_int_equal(cc_task_join(t, &result), 0);
    assert_int_equal((intptr_t)result, 0);
    assert_int_equal(cc_task_spawn(&t, &(cc_task_attr){.priority = 2}, echo, &t), 0);
    assert_int_equal(cc_task_join(t, &result), 0);
    assert_int_equal(cc_task_spawn(NULL, NULL, echo, NULL), -EINVAL);
    assert_int_equal(cc_task_spawn(&t, NULL, NULL, NULL), -EINVAL);
    assert_int_equal(cc_task_spawn(&t, &(cc_task_attr){.stack_bytes = SIZE_MAX}, echo, NULL), -EINVAL);
    assert_int_equal(cc_task_spawn(&t, &(cc_task_attr){.priority = 3}, echo, NULL), -EINVAL);
}

/* A tree of tasks that spawn and join tasks. */
static void *tree(void *arg) {
    intptr_t depth = (intptr_t)arg;
    if (depth == 0) return (void *)1;
    cc_task child[3];
    intptr_t sum = 1;
    for (int i = 0; i < 3; i++) child[i] = cc_fiber_spawn_task(tree, (void *)(depth - 1));
    for (int i = 0; i < 3; i++) {
        void *leaves;
        if (cc_task_join(child[i], &leaves) != 0) return NULL;
        sum += (intptr_t)leaves;
    }
    return (void *)sum;
}

static void trees(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(20) + 1; i++) {
        void *sum;
        assert_int_equal(cc_task_join(cc_fiber_spawn_task(tree, (void *)6), &sum), 0);
        assert_int_equal((intptr_t)sum, 1093); /* 1 + 3 + ... + 3^6 */
    }
}

static void *yields(void *arg) {
    for (intptr_t i = 0; i < (intptr_t)arg; i++) cc_yield();
    return arg;
}

static void yields_come_back(void **state) {
    (void)state;
    cc_task t[50];
    intptr_t each = (intptr_t)test_scaled(2000);
    for (int i = 0; i < 50; i++) t[i] = cc_fiber_spawn_task(yields, (void *)each);
    for (int i = 0; i < 50; i++) assert_int_equal(cc_task_join(t[i], NULL), 0);
    cc_yield(); /* on a plain thread, too */
}

/* A scheduler inside a task: what blocks in its fibers parks the task. */
static void *strand(void *arg) {
    cc_yield();
    void *result;
    cc_task_join(cc_fiber_spawn_task(echo, arg), &result);
    cc_resched();
    return result;
}
static void *owns_a_scheduler(void *arg) {
    cc_sched *s;
    cc_sched_fiber f[3];
    if (cc_sched_create(&s, NULL) != 0) return NULL;
    for (int i = 0; i < 3; i++) cc_sched_spawn(s, NULL, strand, arg, &f[i]);
    cc_sched_run(s);
    int good = 0;
    for (int i = 0; i < 3; i++) {
        void *result;
        good += cc_sched_take(s, f[i], &result) == 0 && result == arg;
    }
    cc_sched_destroy(s);
    return (void *)(intptr_t)good;
}

static void schedulers_in_tasks(void **state) {
    (void)state;
    cc_task t[20];
    for (int i = 0; i < 20; i++) t[i] = cc_fiber_spawn_task(owns_a_scheduler, t);
    for (int i = 0; i < 20; i++) {
        void *good;
        assert_int_equal(cc_task_join(t[i], &good), 0);
        assert_int_equal((intptr_t)good, 3);
    }
}

static void *gives_back(void *arg) {
    return arg;
}

static void many_at_once(void **state) {
    (void)state;
    enum { TASKS = 1000 };
    static cc_task t[TASKS];
    static void *args[TASKS];
    for (int i = 0; i < TASKS; i++) args[i] = &t[i];
    const size_t counts[] = {0, 1, 2, 255, 256, 257, TASKS};
    for (size_t c = 0; c < TEST_COUNT_OF(counts); c++) {
        assert_int_equal(cc_task_spawn_many(t, counts[c], gives_back, args), 0);
        for (size_t i = 0; i < counts[c]; i++) {
            void *result;
            assert_int_equal(cc_task_join(t[i], &result), 0);
            assert_ptr_equal(result, args[i]);
        }
    }
    assert_int_equal(cc_task_spawn_many(t, 1, NULL, NULL), -EINVAL);
    assert_int_equal(cc_task_spawn_many(NULL, 1, gives_back, NULL), -EINVAL);
    assert_int_equal(cc_task_spawn_many(t, 1, gives_back, NULL), 0);
    assert_int_equal(cc_task_join(t[0], NULL), 0);
}

static void *tells_name(void *arg) {
    (void)arg;
    return (void *)(uintptr_t)cc_task_self_name();
}

/* A task without a name of its own has its function's, as the spawn had it. */
static void names_come_from_the_site(void **state) {
    (void)state;
    void *name;
    cc_task t;
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(tells_name, NULL), &name), 0);
    assert_string_equal(name, "tells_name");
    assert_int_equal(cc_task_spawn(&t, NULL, tells_name, NULL), 0);
    assert_int_equal(cc_task_join(t, &name), 0);
    assert_string_equal(name, "tells_name");
    assert_int_equal(cc_task_spawn_at(CC_SITE("elsewhere"), &t, NULL, tells_name, NULL), 0);
    assert_int_equal(cc_task_join(t, &name), 0);
    assert_string_equal(name, "elsewhere");
    assert_int_equal(cc_task_join(cc_fiber_spawn_task_at(NULL, tells_name, NULL), &name), 0);
    assert_null(name);
    assert_int_equal((cc_task_spawn)(&t, NULL, tells_name, NULL), 0); /* the function, as other languages call it */
    assert_int_equal(cc_task_join(t, &name), 0);
    assert_null(name);
    assert_int_equal(cc_task_join((cc_fiber_spawn_task)(tells_name, NULL), &name), 0);
    assert_null(name);
}

static _Atomic int release_it;
static void *held(void *arg) {
    while (cc__load_acquire(&release_it) == 0) cc_yield();
    return arg;
}

struct cancelled_join {
    cc_task t;
    int timed_out, cancelled, ended;
    void *result;
};

CC_TASK(joins_under_cancellation, (struct cancelled_join *, j)) {
    j->cancelled = cc_task_join_cancellable(j->t, NULL);
    return 0;
}

static void *joins_cancellably(void *arg) {
    struct cancelled_join *j = arg;
    CC_DEADLINE_MS(5) j->timed_out = cc_task_join_cancellable(j->t, NULL);
    CC_NURSERY(n) {
        cc_spawn(n, joins_under_cancellation, j);
        cc_sleep_ms(2);
        cc_nursery_cancel(n);
    }
    cc__store_release(&release_it, 1);
    j->ended = cc_task_join_cancellable(j->t, &j->result); /* it can still be joined */
    return NULL;
}

static void joins_can_be_cancelled(void **state) {
    (void)state;
    struct cancelled_join j = {.t = cc_fiber_spawn_task(held, &j)};
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(joins_cancellably, &j), NULL), 0);
    assert_int_equal(j.timed_out, -ETIMEDOUT);
    assert_int_equal(j.cancelled, -ECANCELED);
    assert_int_equal(j.ended, 0);
    assert_ptr_equal(j.result, &j);
    assert_int_equal(cc_task_join_cancellable(j.t, NULL), -ESRCH);
    assert_int_equal(cc_task_join_cancellable((cc_task){0}, NULL), -ESRCH);
}

/* On one worker: high before normal before low, also when they yield. */
static _Atomic int order;
static void *takes_a_number(void *arg) {
    cc_yield();
    *(int *)arg = cc__add_relaxed(&order, 1);
    return NULL;
}

static void *spawns_all_priorities(void *arg) {
    (void)arg;
    enum { EACH = 4 };
    cc_task t[3 * EACH];
    int number[3 * EACH], sum[3] = {0};
    for (int i = 0; i < 3 * EACH; i++) {
        cc_task_attr attr = {.priority = (int[]){CC_PRIORITY_LOW, CC_PRIORITY_NORMAL, CC_PRIORITY_HIGH}[i % 3]};
        if (cc_task_spawn(&t[i], &attr, takes_a_number, &number[i]) != 0) return (void *)1;
    }
    for (int i = 0; i < 3 * EACH; i++) cc_task_join(t[i], NULL);
    for (int i = 0; i < 3 * EACH; i++) sum[i % 3] += number[i];
    return (void *)(intptr_t)(sum[2] < sum[1] && sum[1] < sum[0] ? 0 : 2);
}

static void priorities_are_kept(void **state) {
    (void)state;
    void *result;
    assert_int_equal(cc_run(&(cc_runtime_attr){.workers = 1}, spawns_all_priorities, NULL, &result), 0);
    assert_null(result);
}

/* Operations that never have to wait give way to others now and then: on one worker, B runs while A goes on and on. */
static void *sets_it(void *arg) {
    cc__store_release((_Atomic int *)arg, 1);
    return NULL;
}
static void *never_waits(void *arg) {
    (void)arg;
    _Atomic int ran = 0, done = 1;
    cc_task t = cc_fiber_spawn_task(sets_it, &ran);
    int operations = 0;
    while (cc__load_acquire(&ran) == 0 && operations < 1000) {
        cc_park_if(&done, 0); /* returns at once */
        operations++;
    }
    cc_task_join(t, NULL);
    return (void *)(intptr_t)operations;
}

static void operations_have_a_budget(void **state) {
    (void)state;
    void *operations;
    assert_int_equal(cc_run(&(cc_runtime_attr){.workers = 1}, never_waits, NULL, &operations), 0);
    assert_in_range((uintptr_t)operations, 100, 200);
}

TEST_MAIN(cmocka_unit_test(results_are_joined_once), cmocka_unit_test(many_wait_and_one_takes),
          cmocka_unit_test(several_joiners), cmocka_unit_test(joining_oneself_is_refused),
          cmocka_unit_test(detached_tasks_run), cmocka_unit_test(attributes), cmocka_unit_test(trees),
          cmocka_unit_test(yields_come_back), cmocka_unit_test(schedulers_in_tasks), cmocka_unit_test(many_at_once),
          cmocka_unit_test(names_come_from_the_site), cmocka_unit_test(joins_can_be_cancelled),
          cmocka_unit_test(priorities_are_kept), cmocka_unit_test(operations_have_a_budget))
