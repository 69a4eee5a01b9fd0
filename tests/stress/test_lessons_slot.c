/* SPDX-License-Identifier: MIT */
/* Goal: the slot of a worker, which holds the one task that it runs next, keeps nobody waiting: what is in it, or was
 * yielded to it, runs while its worker is held up and others are idle (lessons 21, 26, 30, 52), and two tasks that wake
 * each other through it keep none of the queues out (lesson 52).
 * Method: on 2, 7 and 16 workers, all but one asleep. One task wakes another and yields to it, or wakes one or many and
 * does not; who runs holds the worker until the other, or a worker's worth of others, has gone on too. Then on one
 * worker, two that wake each other, who count their turns, and a third that says at which turn it ran. No monitor
 * shares out what a worker has, but where one was woken and nobody else: a slot wakes no other worker, or pairs would
 * not stay together, and it is the monitor that sees to it.
 * Timeout: 200
 */
#include "runtimes.h"

/* Hold this worker while the others look for work in vain and fall asleep. */
static void let_others_fall_asleep(void) {
    struct timespec ms = {.tv_nsec = 5000000};
    nanosleep(&ms, NULL);
}

/* ---- who has yielded, and who was woken, beside who holds the worker ---- */

struct sleeper {
    struct crowd *crowd;
    cc_parker parker;
};
struct crowd {
    _Atomic int woken;
    _Atomic long known, ran, enough;
};
static void *sleeps_till_woken(void *arg) {
    struct sleeper *s = arg;
    struct crowd *c = s->crowd;
    s->parker = cc_parker_self();
    cc__add_acq_rel(&c->known, 1);
    while (cc__load_acquire(&c->woken) == 0) cc_park_if(&c->woken, 0);
    cc__add_acq_rel(&c->ran, 1);
    test_must(test_hold_worker_until(&c->enough, 1));
    return NULL;
}
/* Spawn n of them, and let all other workers fall asleep. */
static void spawn_sleepers(struct crowd *c, struct sleeper *s, cc_task *t, int n) {
    for (int i = 0; i < n; i++) {
        s[i].crowd = c;
        t[i] = cc_fiber_spawn_task(sleeps_till_woken, &s[i]);
    }
    while (cc__load_acquire(&c->known) < n) cc_yield();
    let_others_fall_asleep();
    cc__store_release(&c->woken, 1);
}

static void *wakes_and_yields(void *arg) {
    struct crowd c = {0};
    struct sleeper s;
    cc_task t;
    spawn_sleepers(&c, &s, &t, 1);
    cc_unpark(s.parker);
    while (cc__load_acquire(&c.ran) == 0) cc_yield(); /* the woken one runs here, this one waits in the queue */
    cc__store_release(&c.enough, 1);
    test_must(cc_task_join(t, NULL) == 0);
    return arg;
}
static void *wakes_and_holds(void *arg) {
    struct crowd c = {0};
    struct sleeper s;
    cc_task t;
    spawn_sleepers(&c, &s, &t, 1);
    cc_unpark(s.parker);
    test_must(test_hold_worker_until(&c.ran, 1)); /* the woken one runs elsewhere */
    cc__store_release(&c.enough, 1);
    test_must(cc_task_join(t, NULL) == 0);
    return arg;
}
static void *wakes_a_hundred(void *arg) {
    enum { HUNDRED = 100 };
    struct crowd c = {0};
    struct sleeper s[HUNDRED];
    cc_task t[HUNDRED];
    spawn_sleepers(&c, s, t, HUNDRED);
    for (int i = 0; i < HUNDRED; i++) cc_unpark(s[i].parker);
    test_must(test_hold_worker_until(&c.ran, (long)(uintptr_t)arg - 1)); /* all the other workers have one each */
    cc__store_release(&c.enough, 1);
    for (int i = 0; i < HUNDRED; i++) test_must(cc_task_join(t[i], NULL) == 0);
    return arg;
}

static void on_several(void *(*fn)(void *), bool monitor) {
    test_seed();
    for (size_t w = 1; w < TEST_COUNT_OF(test_workers); w++)
        for (int i = 0; i < 5; i++)
            test_on_attr(&(cc_runtime_attr){.workers = test_workers[w], .no_monitor = !monitor}, fn,
                         (void *)(uintptr_t)test_workers[w]);
}
static void lesson_26_who_yields_runs_beside_who_holds(void **state) {
    (void)state;
    on_several(wakes_and_yields, false);
}
static void lesson_52_the_woken_run_beside_who_holds(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    on_several(wakes_and_holds, true);
}
static void lesson_52_who_wakes_many_wakes_all_workers(void **state) {
    (void)state;
    on_several(wakes_a_hundred, false);
}

/* ---- two that wake each other keep none of the queues out ---- */

typedef CC_CHAN(int) ball_chan;

struct rally {
    _Atomic long turns, over;
    ball_chan there, back;
};
CC_TASK(returns, (struct rally *, r)) {
    CC_EACH(int, ball, r->there) test_must(cc_send(r->back, ball) == 0);
    return 0;
}
CC_TASK(serves, (struct rally *, r)) {
    int ball = 0;
    while (cc__load_relaxed(&r->over) == 0) {
        test_must(cc_send(r->there, ball) == 0 && cc_recv(r->back, &ball) == 0);
        cc__add_relaxed(&r->turns, 1);
    }
    cc_chan_close(r->there);
    return 0;
}
static void *notes_the_turn(void *arg) {
    return (void *)(intptr_t)cc__load_relaxed(&((struct rally *)arg)->turns);
}
/* The third is queued by a task of the same worker. */
static void *watches_a_rally(void *arg) {
    enum { TURNS_MAX = 16 }; /* four rounds of three through the slot and one by the queue, and some more */
    struct rally r = {0};
    test_must(cc_chan_create(r.there, 0) == 0 && cc_chan_create(r.back, 0) == 0);
    CC_NURSERY(n) {
        cc_task t;
        void *at;
        test_must(cc_spawn(n, returns, &r) == 0 && cc_spawn(n, serves, &r) == 0);
        while (cc__load_relaxed(&r.turns) < 100) cc_yield();
        for (size_t i = test_rounds(1000); i > 0; i--) {
            long before = cc__load_relaxed(&r.turns);
            test_must(cc_task_spawn(&t, NULL, notes_the_turn, &r) == 0);
            test_must(cc_task_join(t, &at) == 0);
            test_must((long)(intptr_t)at - before <= TURNS_MAX);
            cc_yield(); /* this one too comes to its turn */
            test_must(cc__load_relaxed(&r.turns) - (long)(intptr_t)at <= 2 * TURNS_MAX);
        }
        cc__store_relaxed(&r.over, 1);
    }
    cc_chan_destroy(r.there);
    cc_chan_destroy(r.back);
    return arg;
}
static void lesson_52_a_rally_keeps_no_queue_out(void **state) {
    (void)state;
    test_on_attr(&(cc_runtime_attr){.workers = 1, .no_monitor = 1}, watches_a_rally, NULL);
}

TEST_MAIN(cmocka_unit_test(lesson_26_who_yields_runs_beside_who_holds),
          cmocka_unit_test(lesson_52_the_woken_run_beside_who_holds),
          cmocka_unit_test(lesson_52_who_wakes_many_wakes_all_workers),
          cmocka_unit_test(lesson_52_a_rally_keeps_no_queue_out))
