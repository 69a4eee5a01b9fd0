/* SPDX-License-Identifier: MIT */
/* Goal: a crowd of new tasks (src/sched/inject.c, docs/decisions/0010-newest-first.md): a tree of tasks is run with a
 * small part of it alive at a time; and none of a crowd that never ends waits for ever, whether they begin anew or
 * yield.
 * Method: one worker, and no monitor that would start others where this one is slow. A tree of ten children a node
 * counts the nodes that have begun and not ended: level by level it would be nearly all inner nodes; it is a twentieth.
 * Crowds of several thousand, each of which spawns its successor, or yields, until all have had ten turns: who is left
 * out until others have had thousands has failed. And tasks that end at once go before one they woke, but few of them:
 * who gathers what they send finds several values at a time, and who is woken among tasks without end has its turn
 * after some of them.
 * Timeout: 120
 */
#include "runtimes.h"

enum { FAN_OUT = 10, DEPTH = 5, INNER = 111110, CROWD = 6000, TURNS_EACH = 10, TURNS_MOST = 400 * TURNS_EACH };

static long alive, most_alive;

CC_TASK(node, (int, depth)) {
    if (depth == 0) return 0;
    if (++alive > most_alive) most_alive = alive;
    CC_NURSERY(n) {
        for (int i = 0; i < FAN_OUT; i++) test_must(cc_spawn(n, node, depth - 1) == 0);
    }
    alive--;
    return 0;
}

static void *tree(void *unused) {
    alive = most_alive = 0;
    CC_NURSERY(n) {
        for (int i = 0; i < FAN_OUT; i++) test_must(cc_spawn(n, node, DEPTH) == 0);
    }
    test_must(most_alive < INNER / 4);
    return unused;
}

static int turns[CROWD];
static int had_all, most;

static bool has_turn(int who) {
    if (++turns[who] == TURNS_EACH) had_all++;
    if (turns[who] > most) most = turns[who];
    return had_all < CROWD && most < TURNS_MOST;
}

CC_TASK(begins_anew, (cc_nursery *, n), (int, who)) {
    if (has_turn(who)) test_must(cc_spawn(n, begins_anew, n, who) == 0);
    return 0;
}
CC_TASK(yields, (cc_nursery *, n), (int, who)) {
    (void)n;
    while (has_turn(who)) cc_yield();
    return 0;
}

static void *crowd(void *of_yields) {
    memset(turns, 0, sizeof turns);
    had_all = most = 0;
    CC_NURSERY(n) {
        for (int i = 0; i < CROWD; i++)
            test_must((of_yields != NULL ? cc_spawn(n, yields, n, i) : cc_spawn(n, begins_anew, n, i)) == 0);
    }
    test_must(had_all == CROWD);
    return NULL;
}

/* ---- tasks that end at once ---- */

enum { SENDERS = 200, VISITS = 100, VISIT_MOST = 100 };
typedef CC_CHAN(int) ints;

CC_TASK(sends_one, (ints, c)) {
    return cc_send(c, 1);
}
static void *gather(void *unused) {
    ints c;
    int got = 0, x, rounds = 0;
    test_must(cc_chan_create(c, SENDERS) == 0);
    CC_NURSERY(n) {
        for (int i = 0; i < SENDERS; i++) test_must(cc_spawn(n, sends_one, c) == 0);
        for (; got < SENDERS; rounds++) {
            test_must(cc_recv(c, &x) == 0);
            for (got++; cc_try_recv(c, &x) == 0; got++) {
            }
        }
    }
    cc_chan_destroy(c);
    test_must(rounds <= SENDERS / 4);
    return unused;
}

static long ended, woken_at; /* so many had ended; then */
static int visits;
CC_TASK(ends_at_once, (cc_nursery *, n), (cc_sem *, s)) {
    if (++ended % 10 == 0 && woken_at < 0) {
        woken_at = ended;
        cc_sem_release(s, 1);
    }
    return visits < VISITS ? cc_spawn(n, ends_at_once, n, s) : 0;
}
static void *visit(void *unused) {
    cc_sem s = CC_SEM_INIT(0);
    visits = 0;
    woken_at = -1;
    CC_NURSERY(n) {
        for (int i = 0; i < 3; i++) test_must(cc_spawn(n, ends_at_once, n, &s) == 0);
        for (; visits < VISITS; visits++) {
            cc_sem_acquire(&s, 1);
            test_must(ended - woken_at < VISIT_MOST);
            woken_at = -1;
        }
    }
    return unused;
}

/* What is counted is plain memory: one worker at a time. */
static void on_one_worker(void *(*fn)(void *), void *arg) {
    test_on_attr(&(cc_runtime_attr){.workers = 1, .no_monitor = 1}, fn, arg);
}

static void a_small_part_of_a_tree_is_alive(void **state) {
    (void)state;
    on_one_worker(tree, NULL);
}
static void none_that_begins_is_left_out(void **state) {
    (void)state;
    on_one_worker(crowd, NULL);
}
static void none_that_yields_is_left_out(void **state) {
    (void)state;
    on_one_worker(crowd, turns);
}
static void who_gathers_finds_several(void **state) {
    (void)state;
    on_one_worker(gather, NULL);
}
static void who_is_woken_has_its_turn(void **state) {
    (void)state;
    on_one_worker(visit, NULL);
}

TEST_MAIN(cmocka_unit_test(a_small_part_of_a_tree_is_alive), cmocka_unit_test(none_that_begins_is_left_out),
          cmocka_unit_test(none_that_yields_is_left_out), cmocka_unit_test(who_gathers_finds_several),
          cmocka_unit_test(who_is_woken_has_its_turn))
