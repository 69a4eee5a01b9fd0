/* SPDX-License-Identifier: MIT */
/* Goal: the ring of the global queue (src/sched/mpmc.c): each task that is pushed is taken exactly once, in the order
 * of its producer, one or several at a time, who takes it sees what was written before the push [MP1], no cell is
 * filled before it was read [MP2], and a full ring says so.
 * Method: a ring of two cells, so that the third push wraps. Tasks have a plain payload that is written before the push
 * and cleared by who takes it: a task taken twice, or read too early, is a data race. What finds the ring full is
 * kept back, and must not be taken by others.
 * Sources: src/sched/mpmc.c
 * Mutate: src/sched/mpmc.c
 * Break: src/sched/mpmc.c: if (ahead < 0) return 0; => if (ahead < 0) ready = 1;
 * Break: src/sched/mpmc.c: if (past != 0) { => if (past != 0 && i == 0) {
 * Break: src/sched/mpmc.c: cc__cas_weak_relaxed(end, pos, *pos + ready) => (cc__store_relaxed(end, *pos + ready), 1)
 * Break: src/sched/mpmc.c: turn_of(q, pos + i) + 2); => turn_of(q, pos + i));
 */
#include "sched/sched.h"

#include "ccmc.h"

enum { TASKS = 6, CELL_BITS = 1, CELLS = 1 << CELL_BITS };

static struct cc__mpmc ring;
static struct cc__mpmc_cell cells[CELLS];
static struct cc__task tasks[TASKS];
static int payload[TASKS], taken[TASKS], kept[TASKS];

static void push(int i) {
    payload[i] = 10 + i;
    struct cc__task *t = &tasks[i];
    if (cc__mpmc_push(&ring, &t, 1) == 0) kept[i] = 1;
}
/* Two at once; what finds no room is kept. */
static void push_both(int i, int k) {
    struct cc__task *both[] = {&tasks[i], &tasks[k]};
    payload[i] = 10 + i;
    payload[k] = 10 + k;
    size_t n = cc__mpmc_push(&ring, both, 2);
    kept[i] = n == 0;
    kept[k] = n < 2;
}

static int take(struct cc__task *t) {
    int i = (int)(t - tasks);
    mc_assert(payload[i] == 10 + i && taken[i] == 0);
    payload[i] = 0;
    taken[i]++;
    return i;
}
/* Returns its number, or -1. */
static int pop(void) {
    struct cc__task *t;
    return cc__mpmc_pop(&ring, &t, 1) == 0 ? -1 : take(t);
}

/* ---- roles ---- */

static void pushes_0(void) {
    push(0);
}
static void pushes_1(void) {
    push(1);
}
static void pushes_2(void) {
    push(2);
}
static void pushes_0_1(void) {
    push(0);
    push(1);
}
static void pushes_0_1_2(void) {
    pushes_0_1();
    push(2);
}
static void pushes_2_3(void) {
    push(2);
    push(3);
}
static void pops(void) {
    (void)pop();
}
static void pops_twice(void) {
    (void)pop();
    (void)pop();
}
static void pushes_both_0_1(void) {
    push_both(0, 1);
}
static void pushes_both_2_3(void) {
    push_both(2, 3);
}
static void pops_both(void) {
    struct cc__task *both[2];
    size_t n = cc__mpmc_pop(&ring, both, 2);
    for (size_t i = 0; i < n; i++) (void)take(both[i]);
}
/* In order, from one producer. */
static void pops_in_order(void) {
    int first = pop(), second = pop();
    if (second >= 0) mc_assert(first < second);
}
/* What it pushed is there, unless it was kept, or somebody took it. */
static void pushes_and_pops(void) {
    push(0);
    if (kept[0]) return;
    mc_assert(!cc__mpmc_empty(&ring));
    mc_assert(pop() >= 0);
}

/* ---- before and after ---- */

static void setup(void) {
    cc__mpmc_init(&ring, cells, CELL_BITS);
}
static void setup_full(void) {
    setup();
    push(4);
    push(5);
}
/* One is in, and the next but one wraps. */
static void setup_one(void) {
    setup();
    push(4);
    push(5);
    (void)pop();
}

static void each_taken_once(void) {
    while (pop() >= 0) {
    }
    mc_assert(cc__mpmc_empty(&ring) && cc__mpmc_length(&ring) == 0);
    for (int i = 0; i < CELLS; i++) { /* all cells are free */
        struct cc__task *t = &tasks[i];
        mc_assert(cc__mpmc_push(&ring, &t, 1) == 1);
    }
    for (int i = 0; i < TASKS; i++) mc_assert(taken[i] + kept[i] <= 1 && (payload[i] == 0 || kept[i] == 1));
}

const struct mc_scenario mc_scenarios[] = {
    {"a producer of two, a consumer of two", setup, {pushes_0_1, pops_in_order}, each_taken_once},
    {"a producer of three, a consumer of two", setup, {pushes_0_1_2, pops_in_order}, each_taken_once},
    {"two producers, a consumer", setup, {pushes_0, pushes_1, pops}, each_taken_once},
    {"two producers, a consumer of two", setup, {pushes_0, pushes_1, pops_twice}, each_taken_once},
    {"two producers, two consumers", setup, {pushes_0, pushes_1, pops, pops}, each_taken_once},
    {"one in, two producers, two consumers", setup_one, {pushes_0, pushes_1, pops, pops}, each_taken_once},
    {"full, two producers, a consumer", setup_full, {pushes_0, pushes_1, pops}, each_taken_once},
    {"full, two producers, two consumers", setup_full, {pushes_0, pushes_1, pops, pops}, each_taken_once},
    {"full, a producer of three, a consumer of two", setup_full, {pushes_0_1_2, pops_twice}, each_taken_once},
    {"producers of two and one, a consumer of two", setup, {pushes_0_1, pushes_2, pops_twice}, each_taken_once},
    {"producers of two and two, consumers of two and one",
     setup,
     {pushes_0_1, pushes_2_3, pops_twice, pops},
     each_taken_once},
    {"a batch, two consumers", setup, {pushes_both_0_1, pops, pops}, each_taken_once},
    {"a batch and a producer, a consumer", setup, {pushes_both_0_1, pushes_2, pops}, each_taken_once},
    {"one in, a batch and a producer, a consumer", setup_one, {pushes_both_0_1, pushes_2, pops}, each_taken_once},
    {"two producers, a consumer of a batch", setup, {pushes_0, pushes_1, pops_both}, each_taken_once},
    {"full, a batch, consumers of a batch and one", setup_full, {pushes_both_0_1, pops_both, pops}, each_taken_once},
    {"full, two batches, a consumer of a batch",
     setup_full,
     {pushes_both_0_1, pushes_both_2_3, pops_both},
     each_taken_once},
    {"two batches, consumers of a batch and one",
     setup,
     {pushes_both_0_1, pushes_both_2_3, pops_both, pops},
     each_taken_once},
    {"a weak compare-and-swap fails at will", setup_one, {pushes_0, pushes_1, pops}, each_taken_once, .spurious = 1},
    {"a task pushes and finds it", setup, {pushes_and_pops}, each_taken_once},
    {0},
};
