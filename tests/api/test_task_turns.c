/* SPDX-License-Identifier: MIT */
/* Goal: priorities order tasks and starve none: high before normal but for one time in eight, low last, and all the
 * same while there is other work without end; and a task keeps its priority when it comes back from a wait. What waits
 * behind a task that computes is run by another worker, though that one has enough to do.
 * Method: one worker, nobody who would start another; a task that yields, or several that keep each other busy, until
 * one of low priority has run; tasks of each priority that are held back, all made ready at once and noted in the order
 * they run. Then two workers: one computes until those have run that it has woken, the other has one that yields.
 */
#include "runtimes.h"

#include <ccrt.h>

static const cc_runtime_attr alone = {.workers = 1, .max_workers = 1, .no_monitor = 1};
static _Atomic int done;

static cc_task spawn(int priority, void *(*fn)(void *), void *arg) {
    cc_task t;
    test_must(cc_task_spawn(&t, &(cc_task_attr){.priority = priority}, fn, arg) == 0);
    return t;
}

/* ---- low priority ---- */

static void *sets_done(void *arg) {
    for (int i = 0; i < 3; i++) cc_yield();
    cc__store_release(&done, 1);
    return arg;
}
static void *yields_until_done(void *arg) {
    while (cc__load_acquire(&done) == 0) cc_yield();
    return arg;
}
static void *one_yields(void *arg) {
    cc__store_relaxed(&done, 0);
    cc_task low = spawn(CC_PRIORITY_LOW, sets_done, NULL);
    yields_until_done(NULL);
    test_must(cc_task_join(low, NULL) == 0);
    return arg;
}
/* Normal work without end: there is always somebody else to run. */
static void *several_yield(void *arg) {
    cc_task t[4];
    cc__store_relaxed(&done, 0);
    for (int i = 0; i < 3; i++) t[i] = spawn(CC_PRIORITY_NORMAL, yields_until_done, NULL);
    t[3] = spawn(CC_PRIORITY_LOW, sets_done, NULL);
    for (int i = 0; i < 4; i++) test_must(cc_task_join(t[i], NULL) == 0);
    return arg;
}
/* One of low priority that yields gives way to the others of its kind. */
static void *low_ones_yield(void *arg) {
    cc_task t[3];
    cc__store_relaxed(&done, 0);
    for (int i = 0; i < 2; i++) t[i] = spawn(CC_PRIORITY_LOW, yields_until_done, NULL);
    t[2] = spawn(CC_PRIORITY_LOW, sets_done, NULL);
    for (int i = 0; i < 3; i++) test_must(cc_task_join(t[i], NULL) == 0);
    return arg;
}
/* Tasks that each spawn the next. */
static void *spawns_the_next(void *arg) {
    if (cc__load_acquire(&done) == 0) test_must(cc_task_detach(cc_fiber_spawn_task(spawns_the_next, NULL)) == 0);
    return arg;
}
static void *chain(void *arg) {
    cc__store_relaxed(&done, 0);
    cc_task low = spawn(CC_PRIORITY_LOW, sets_done, NULL);
    spawns_the_next(NULL);
    test_must(cc_task_join(low, NULL) == 0);
    return arg;
}
static void low_priority_comes_to_its_turn(void **state) {
    (void)state;
    test_on_attr(&alone, one_yields, NULL);
    test_on_attr(&alone, several_yield, NULL);
    test_on_attr(&alone, low_ones_yield, NULL);
    test_on_attr(&alone, chain, NULL);
}

/* ---- order ---- */

enum { EACH = 16, KINDS = 3 };
static const int priorities[KINDS] = {CC_PRIORITY_HIGH, CC_PRIORITY_NORMAL, CC_PRIORITY_LOW};

struct waiter {
    cc_chan *gate;
    int way, place;
};
static _Atomic int places, waiting;

/* Waits until the gate is closed, by a receive or a send, or sleeps: it is made ready by others or by a timer. */
enum { RECEIVES, SENDS, SLEEPS, WAYS };
static void *waits(void *arg) {
    struct waiter *w = arg;
    int v;
    cc__add_relaxed(&waiting, 1);
    if (w->way == RECEIVES) test_must(cc_channel_recv(w->gate, &v) == -EPIPE);
    if (w->way == SENDS) test_must(cc_channel_send(w->gate, &(int){1}) == -EPIPE);
    if (w->way == SLEEPS) test_must(cc_sleep_ms(5) == 0);
    cc_yield(); /* and once more into line */
    w->place = cc__add_relaxed(&places, 1);
    return NULL;
}

static void *in_order(void *way) {
    static struct waiter w[KINDS * EACH];
    cc_task t[KINDS * EACH];
    cc_chan *gate;
    int high_first = 0, sum[KINDS] = {0};
    test_must(cc_channel_create(&gate, sizeof(int), 0) == 0);
    cc__store_relaxed(&places, 0);
    cc__store_relaxed(&waiting, 0);
    for (int i = 0; i < KINDS * EACH; i++) {
        w[i] = (struct waiter){gate, (int)(intptr_t)way, -1};
        t[i] = spawn(priorities[i % KINDS], waits, &w[i]);
    }
    while (cc__load_relaxed(&waiting) < KINDS * EACH) cc_yield();
    if ((int)(intptr_t)way == SLEEPS) { /* all are due before any is looked at */
        int64_t until = cc_now_ns() + 10 * INT64_C(1000000);
        while (cc_now_ns() < until) cc__cpu_relax();
    }
    cc_channel_close(gate);
    for (int i = 0; i < KINDS * EACH; i++) test_must(cc_task_join(t[i], NULL) == 0);
    for (int i = 0; i < KINDS * EACH; i++) {
        sum[i % KINDS] += w[i].place;
        if (priorities[i % KINDS] == CC_PRIORITY_HIGH && w[i].place < EACH) high_first++;
    }
    /* One time in eight a normal one goes first: of the first 16 turns, two; and each comes back once more. */
    test_must(high_first >= EACH - 2 * EACH / 8 - 1);
    test_must(sum[0] < sum[1] && sum[1] < sum[2]);
    cc_channel_destroy(gate);
    return NULL;
}
static void priorities_outlast_waits(void **state) {
    (void)state;
    for (intptr_t way = 0; way < WAYS; way++) test_on_attr(&alone, in_order, (void *)way);
}

/* While there are high ones without end, one pick in eight is a normal one's. */
static _Atomic long high_turns, normal_turns;
static void *high_yields(void *arg) {
    while (cc__load_relaxed(&done) == 0) {
        cc__add_relaxed(&high_turns, 1);
        cc_yield();
    }
    return arg;
}
static void *normal_yields(void *arg) {
    for (int i = 0; i < 1000; i++) {
        cc__add_relaxed(&normal_turns, 1);
        cc_yield();
    }
    cc__store_relaxed(&done, 1);
    return arg;
}
static void *high_and_normal(void *arg) {
    cc__store_relaxed(&done, 0);
    cc_task t[4];
    for (int i = 0; i < 3; i++) t[i] = spawn(CC_PRIORITY_HIGH, high_yields, NULL);
    t[3] = spawn(CC_PRIORITY_NORMAL, normal_yields, NULL);
    for (int i = 0; i < 4; i++) test_must(cc_task_join(t[i], NULL) == 0);
    long high = cc__load_relaxed(&high_turns), normal = cc__load_relaxed(&normal_turns);
    test_must(normal == 1000 && high >= 4 * normal && high <= 9 * normal);
    return arg;
}
static void one_in_eight_is_normal(void **state) {
    (void)state;
    test_on_attr(&alone, high_and_normal, NULL);
}

/* ---- behind one that stands still ---- */

static _Atomic int busy, ran;
static void *is_busy(void *arg) {
    cc__store_release(&busy, 1);
    return yields_until_done(arg);
}
static void *runs_once_woken(void *gate) {
    int v;
    cc__add_relaxed(&waiting, 1);
    test_must(cc_channel_recv(gate, &v) == -EPIPE);
    cc__add_relaxed(&ran, 1);
    return NULL;
}
static void *computes(void *arg) {
    enum { WOKEN = 8, IN_THE_SLOT = 1 };
    cc_task t[WOKEN], other;
    cc_chan *gate;
    test_must(cc_channel_create(&gate, sizeof(int), 0) == 0);
    cc__store_relaxed(&waiting, 0);
    cc__store_relaxed(&done, 0);
    for (int i = 0; i < WOKEN; i++) t[i] = spawn(CC_PRIORITY_NORMAL, runs_once_woken, gate);
    while (cc__load_relaxed(&waiting) < WOKEN) cc_yield();
    other = spawn(CC_PRIORITY_NORMAL, is_busy, NULL);
    while (cc__load_acquire(&busy) == 0) cc__cpu_relax();
    cc_channel_close(gate);
    while (cc__load_relaxed(&ran) < WOKEN - IN_THE_SLOT) cc__cpu_relax();
    cc__store_release(&done, 1);
    for (int i = 0; i < WOKEN; i++) test_must(cc_task_join(t[i], NULL) == 0);
    test_must(cc_task_join(other, NULL) == 0);
    cc_channel_destroy(gate);
    return arg;
}
static void none_wait_behind_one_that_computes(void **state) {
    (void)state;
    test_on_attr(&(cc_runtime_attr){.workers = 2, .max_workers = 2, .no_monitor = 1}, computes, NULL);
}

TEST_MAIN(cmocka_unit_test(low_priority_comes_to_its_turn), cmocka_unit_test(priorities_outlast_waits),
          cmocka_unit_test(one_in_eight_is_normal), cmocka_unit_test(none_wait_behind_one_that_computes))
