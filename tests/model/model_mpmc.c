/* SPDX-License-Identifier: MIT */
/* Goal: the ring of the global queue (src/sched/mpmc.c): each task that is pushed is taken exactly once, in the order
 * of its producer, who takes it sees what was written before the push [MP1], no cell is filled before it was read
 * [MP2], and a full ring says so.
 * Method: a ring of two cells, so that the third push wraps. Tasks have a plain payload that is written before the push
 * and cleared by who takes it: a task taken twice, or read too early, is a data race. What finds the ring full is
 * kept back, and must not be taken by others.
 * Sources: src/sched/mpmc.c
 * Mutate: src/sched/mpmc.c
 * Break: src/sched/mpmc.c: if (ahead < 0) return false; => if (ahead < 0) ahead = 0;
 * Break: src/sched/mpmc.c: if (ahead < 0) return NULL; => if (ahead < 0) ahead = 0;
 * Break: src/sched/mpmc.c: cc__cas_weak_relaxed(&q->tail, &pos, pos + 1) => (cc__store_relaxed(&q->tail, pos + 1), 1)
 * Break: src/sched/mpmc.c: cc__cas_weak_relaxed(&q->head, &pos, pos + 1) => (cc__store_relaxed(&q->head, pos + 1), 1)
 * Break: src/sched/mpmc.c: turn_of(q, pos) + 2); => turn_of(q, pos));
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
    if (!cc__mpmc_push(&ring, &tasks[i])) kept[i] = 1;
}

/* Returns its number, or -1. */
static int pop(void) {
    struct cc__task *t = cc__mpmc_pop(&ring);
    if (t == NULL) return -1;
    int i = (int)(t - tasks);
    mc_assert(payload[i] == 10 + i && taken[i] == 0);
    payload[i] = 0;
    taken[i]++;
    return i;
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
    for (int i = 0; i < CELLS; i++) mc_assert(cc__mpmc_push(&ring, &tasks[i])); /* all cells are free */
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
    {"a weak compare-and-swap fails at will", setup_one, {pushes_0, pushes_1, pops}, each_taken_once, .spurious = 1},
    {"a task pushes and finds it", setup, {pushes_and_pops}, each_taken_once},
    {0},
};
