/* SPDX-License-Identifier: MIT */
/* Goal: no wake-up is lost, whoever parks and whoever unparks; an unpark may come at any time (lessons 1, 3, 9).
 * Method: events made of a flag and a parker, fired from tasks and threads before, during and after the wait;
 * stray unparks at random.
 */
#include "test.h"

#include "base/atomic.h"

#include <ccrt.h>
#include <pthread.h>

typedef struct event {
    _Atomic int fired;
    cc_parker waiter;
} event;

static void event_init(event *e) {
    cc__store_relaxed(&e->fired, 0);
    e->waiter = cc_parker_self();
}
static void event_wait(event *e) {
    while (cc__load_acquire(&e->fired) == 0) cc_park_if(&e->fired, 0);
}
static void *fire(void *arg) {
    event *e = arg;
    cc_parker w = e->waiter;
    cc__store_release(&e->fired, 1); /* from here on e may be gone */
    cc_unpark(w);
    cc_unpark(w);
    return NULL;
}

static void thread_waits_for_thread(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(500); i++) {
        event e;
        pthread_t thread;
        event_init(&e);
        assert_int_equal(pthread_create(&thread, NULL, fire, &e), 0);
        event_wait(&e);
        pthread_join(thread, NULL);
    }
}

static void thread_waits_for_task(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(5000); i++) {
        event e;
        event_init(&e);
        cc_task t = cc_fiber_spawn_task(fire, &e);
        event_wait(&e);
        assert_int_equal(cc_task_join(t, NULL), 0);
    }
}

static void *waits_for_tasks(void *arg) {
    size_t rounds = test_scaled(20000);
    for (size_t i = 0; i < rounds; i++) {
        event e;
        event_init(&e);
        cc_task t = cc_fiber_spawn_task(fire, &e);
        event_wait(&e);
        cc_task_join(t, NULL);
    }
    return arg;
}

static void task_waits_for_task(void **state) {
    (void)state;
    cc_task t[4];
    for (int i = 0; i < 4; i++) t[i] = cc_fiber_spawn_task(waits_for_tasks, NULL);
    for (int i = 0; i < 4; i++) assert_int_equal(cc_task_join(t[i], NULL), 0);
}

struct box {
    event e;
    _Atomic int ready;
    cc_parker back;
};

static void *waits_for_thread(void *arg) {
    struct box *b = arg;
    cc_parker back = b->back;
    event_init(&b->e);
    cc__store_release(&b->ready, 1); /* the thread may fire now */
    cc_unpark(back);
    event_wait(&b->e);
    return NULL;
}

static void task_waits_for_thread(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(2000); i++) {
        struct box b = {.back = cc_parker_self()};
        cc_task t = cc_fiber_spawn_task(waits_for_thread, &b);
        while (cc__load_acquire(&b.ready) == 0) cc_park_if(&b.ready, 0); /* it may return for no reason */
        fire(&b.e);
        assert_int_equal(cc_task_join(t, NULL), 0);
    }
}

static void one_unpark_is_remembered(void **state) {
    (void)state;
    _Atomic int never = 0;
    for (int i = 0; i < 100; i++) {
        cc_unpark(cc_parker_self());
        cc_unpark(cc_parker_self());
        cc_park_if(&never, 0); /* would sleep for ever */
    }
}

static void flags_that_differ_do_not_park(void **state) {
    (void)state;
    _Atomic int flag = 1;
    cc_park_if(&flag, 0);
    cc_unpark((cc_parker){0}); /* nobody */
}

static void *gone(void *arg) {
    *(cc_parker *)arg = cc_parker_self();
    return NULL;
}

static void unpark_after_the_end_is_harmless(void **state) {
    (void)state;
    cc_parker p;
    pthread_t thread;
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(gone, &p), NULL), 0);
    for (int i = 0; i < 10; i++) cc_unpark(p);
    assert_int_equal(pthread_create(&thread, NULL, gone, &p), 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 10; i++) cc_unpark(p);
}

/* Two tasks hand a ball to and fro; strays unpark both all the time. */
static struct {
    _Atomic int turn;
    cc_parker player[2];
    _Atomic int ready;
    _Atomic int over;
} table;

static void *plays(void *arg) {
    int me = arg != NULL;
    table.player[me] = cc_parker_self();
    cc__add_acq_rel(&table.ready, 1);
    while (cc__load_acquire(&table.ready) < 2) cc_yield();
    for (size_t i = 0; i < test_scaled(20000); i++) {
        while (cc__load_acquire(&table.turn) != me) cc_park_if(&table.turn, !me);
        cc__store_release(&table.turn, !me);
        cc_unpark(table.player[!me]);
    }
    return NULL;
}
static void *strays(void *arg) {
    while (cc__load_acquire(&table.ready) < 2) sched_yield();
    while (cc__load_acquire(&table.over) == 0) {
        cc_unpark(table.player[0]);
        cc_unpark(table.player[1]);
        sched_yield();
    }
    return arg;
}

static void strays_do_no_harm(void **state) {
    (void)state;
    pthread_t stray;
    cc_task t[2] = {cc_fiber_spawn_task(plays, NULL), cc_fiber_spawn_task(plays, &table)};
    assert_int_equal(pthread_create(&stray, NULL, strays, NULL), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(cc_task_join(t[i], NULL), 0);
    cc__store_release(&table.over, 1);
    pthread_join(stray, NULL);
}

TEST_MAIN(cmocka_unit_test(thread_waits_for_thread), cmocka_unit_test(thread_waits_for_task),
          cmocka_unit_test(task_waits_for_task), cmocka_unit_test(task_waits_for_thread),
          cmocka_unit_test(one_unpark_is_remembered), cmocka_unit_test(flags_that_differ_do_not_park),
          cmocka_unit_test(unpark_after_the_end_is_harmless), cmocka_unit_test(strays_do_no_harm))
