/* SPDX-License-Identifier: MIT */
/* Goal: inboxes (src/sched/inbox.c): each task that is pushed is taken exactly once, by the owner or by a thief that
 * takes the whole box, the oldest first, and who takes it sees the task and its link [IB1].
 * Method: two threads that push, two that take; tasks have a plain payload that is written before the push and cleared
 * by who takes it. A task that is taken is pushed again, so that a compare-and-swap meets a value that came back.
 * Sources: src/sched/inbox.c
 * Mutate: src/sched/inbox.c
 * Break: src/sched/inbox.c: cc__xchg_acquire(box, NULL) => cc__load_acquire(box); cc__store_release(box, NULL)
 * Break: src/sched/inbox.c: while (!cc__cas_weak_release(box, &top, t)); => while (cc__store_release(box, t), 0);
 * Break: src/sched/inbox.c: t->next = all.first; => t->next = NULL;
 */
#include "sched/sched.h"

#include "ccmc.h"

enum { TASKS = 4 };

static struct cc__task *_Atomic box;
static struct cc__task tasks[TASKS];
static int payload[TASKS], pushes[TASKS], takes[TASKS];

static void push(int i) {
    payload[i] = 10 + i;
    pushes[i]++;
    cc__inbox_push(&box, &tasks[i]);
}

/* Take all; of 0 and 1, which one thread pushes in this order, 0 comes first. Returns the last, or NULL. */
static struct cc__task *take(void) {
    struct cc__tasks all = cc__inbox_take(&box);
    struct cc__task *t, *last = NULL;
    bool seen_1 = false;
    while ((t = cc__tasks_take(&all)) != NULL) {
        int i = (int)(t - tasks);
        mc_assert(payload[i] == 10 + i);
        mc_assert(i != 0 || !seen_1);
        seen_1 |= i == 1;
        payload[i] = 0;
        takes[i]++;
        last = t;
    }
    return last;
}

static void pushes_0(void) {
    push(0);
}
static void pushes_0_1(void) {
    push(0);
    push(1);
}
static void pushes_2(void) {
    push(2);
}
static void pushes_2_3(void) {
    push(2);
    push(3);
}
static void takes_all(void) {
    (void)take();
}
static void takes_twice(void) {
    (void)take();
    (void)take();
}
static void takes_and_pushes_again(void) {
    struct cc__task *t = take();
    if (t != NULL) push((int)(t - tasks));
}
static void setup_one(void) {
    push(3);
}

static void each_taken_once(void) {
    (void)take();
    mc_assert(cc__load_relaxed(&box) == NULL);
    for (int i = 0; i < TASKS; i++) mc_assert(pushes[i] == takes[i] && payload[i] == 0);
}

const struct mc_scenario mc_scenarios[] = {
    {"a pusher, its owner", NULL, {pushes_0_1, takes_twice}, each_taken_once},
    {"two pushers, the owner", NULL, {pushes_0_1, pushes_2, takes_twice}, each_taken_once},
    {"two pushers of two, the owner", NULL, {pushes_0_1, pushes_2_3, takes_twice}, each_taken_once},
    {"two pushers, the owner and a thief", NULL, {pushes_0_1, pushes_2, takes_all, takes_all}, each_taken_once},
    {"two pushers, owner and thief, twice", NULL, {pushes_0, pushes_2, takes_twice, takes_twice}, each_taken_once},
    {"two pushers of two, owner and thief, twice",
     NULL,
     {pushes_0_1, pushes_2_3, takes_twice, takes_twice},
     each_taken_once,
     .full = true},
    {"one taken is pushed again", setup_one, {pushes_0, takes_and_pushes_again, takes_twice}, each_taken_once},
    {"one taken is pushed again, two pushers",
     setup_one,
     {pushes_0, pushes_2, takes_and_pushes_again, takes_all},
     each_taken_once},
    {0},
};
