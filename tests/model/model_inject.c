/* SPDX-License-Identifier: MIT */
/* Goal: the global queue (src/sched/inject.c over src/sched/mpmc.c): nothing is lost or doubled where the ring is full
 * and pushes go to the list, whoever takes, one at a time or in a batch; the number of tasks of high priority is never
 * below what can be taken; and with the full fences of sched/idle.c either who pushed sees a worker that goes to sleep,
 * or that worker sees the queue is not empty [ID1].
 * Method: rings of one cell, so that the second push goes to the list. Tasks have a plain payload that is written
 * before the push and cleared by who takes it. What a batch brings beside the first goes to its worker's own list. The
 * fences are the model's own, and there are twins without them.
 * Sources: src/sched/inject.c src/sched/mpmc.c src/sched/inbox.c src/plat/thread.c src/plat/file.c src/base/assert.c
 * Sources: src/base/text.c
 * Mutate: src/sched/inject.c
 * Break: src/sched/inject.c: (cc__mpmc_push(&l->ring, &t, 1) == 0) => (cc__mpmc_push(&l->ring, &t, 1) != 0)
 * Break: src/sched/inject.c: cc__list_append(&l->in_turn, &b->node); => ;
 * Break: src/sched/inject.c: l->first = t->next; => l->first = NULL;
 * Break: src/sched/inject.c: cc__list_remove(&b->node); => ;
 * Break: src/sched/inject.c: if (n > b->count) n = b->count; => ;
 * Break: src/sched/inject.c: cc__load_relaxed(&l->listed) + n); => cc__load_relaxed(&l->listed) + 1);
 * Break: src/sched/inject.c: if (l->first == NULL) l->last = &l->first; => ;
 * Break: src/sched/inject.c: return cc__mpmc_empty(&l->ring) && cc__load => return cc__load
 * Break: src/sched/inject.c: return cc__mpmc_empty(&l->ring) && cc__load => return cc__mpmc_empty(&l->ring) || cc__load
 */
#include "sched/sched.h"

#include "ccmc.h"

enum { TASKS = 6, CELL_BITS = 0, CELLS = 1 << CELL_BITS };

static struct cc__runtime runtime;
static struct cc__mpmc_cell cells[CC__LANES * CELLS];
static struct cc__task tasks[TASKS];
static struct cc__worker workers[2];
static struct cc__tasks own[2]; /* what workers took in batches */
static int payload[TASKS], taken[TASKS], pushed[TASKS];

static void take(struct cc__task *t) {
    size_t i = (size_t)(t - tasks);
    mc_assert(payload[i] == 10 + (int)i && taken[i] == 0);
    payload[i] = 0;
    taken[i]++;
}

void cc__ready_taken(struct cc__worker *w, struct cc__task *t) {
    cc__tasks_append(&own[w->id], t);
}
void cc__ready_all_taken(struct cc__worker *w, struct cc__tasks batch) {
    for (struct cc__task *t; (t = cc__tasks_take(&batch)) != NULL;) cc__ready_taken(w, t);
}

/* ---- roles ---- */

static void prepare(int i) {
    payload[i] = 10 + i;
    pushed[i] = 1;
}
static void push(int i) {
    prepare(i);
    cc__inject_push(&runtime.inject, &tasks[i]);
}
static void pushes_0(void) {
    push(0);
}
static void pushes_1(void) {
    push(1);
}
static void pushes_0_1(void) {
    push(0);
    push(1);
}
static void pushes_2(void) {
    push(2);
}
static void pushes_batch(void) {
    struct cc__tasks batch = {0};
    for (int i = 2; i < 4; i++) {
        prepare(i);
        cc__tasks_append(&batch, &tasks[i]);
    }
    cc__inject_push_batch(&runtime.inject, batch, 2);
}
/* The same of an array, as a worker's ring that is full does it. */
static void pushes_many(void) {
    struct cc__task *many[] = {&tasks[2], &tasks[3]};
    prepare(2);
    prepare(3);
    cc__inject_push_many(&runtime.inject, CC_PRIORITY_NORMAL, many, 2);
}
/* The same of new ones, in a bundle. */
static void pushes_new(void) {
    struct cc__task *many[] = {&tasks[2], &tasks[3]};
    prepare(2);
    prepare(3);
    cc__inject_push_new(&runtime.inject, many, 2);
}
static bool take_one(int priority) {
    struct cc__task *t = cc__inject_take(&runtime.inject, priority);
    if (t != NULL) take(t);
    return t != NULL;
}
static void takes(void) {
    (void)take_one(CC_PRIORITY_NORMAL);
}
static void takes_twice(void) {
    takes();
    takes();
}
static void take_batch(int worker) {
    struct cc__task *t = cc__inject_take_batch(&runtime.inject, &workers[worker]);
    if (t != NULL) take(t);
}
static void takes_batch(void) {
    take_batch(0);
}
static void other_takes_batch(void) {
    take_batch(1);
}
/* As sched/worker.c: a look at the number, then at the lane. */
static void takes_high(void) {
    if (cc__load_relaxed(&runtime.inject.high) > 0) (void)take_one(CC_PRIORITY_HIGH);
}

/* ---- who pushes against who sleeps ---- */

static bool no_fence_here, no_fence_there;
static _Atomic int idle; /* W: the sleeper.  R: who pushes */
static bool seen[2], sleeps;

static void push_and_look(int i) {
    push(i);
    if (!no_fence_here) cc__fence_full();
    seen[i] = cc__load_relaxed(&idle) != 0;
}
static void pushes_0_and_looks(void) {
    push_and_look(0);
}
static void pushes_1_and_looks(void) {
    push_and_look(1);
}
static void pushes_batch_and_looks(void) {
    pushes_batch();
    if (!no_fence_here) cc__fence_full();
    seen[0] = cc__load_relaxed(&idle) != 0;
}
static void pushes_many_and_looks(void) {
    pushes_many();
    if (!no_fence_here) cc__fence_full();
    seen[0] = cc__load_relaxed(&idle) != 0;
}
static void pushes_new_and_looks(void) {
    pushes_new();
    if (!no_fence_here) cc__fence_full();
    seen[0] = cc__load_relaxed(&idle) != 0;
}
static void sleeper(void) {
    cc__store_relaxed(&idle, 1);
    if (!no_fence_there) cc__fence_full();
    sleeps = cc__inject_empty(&runtime.inject);
}

/* ---- before and after ---- */

static void setup(void) {
    cc__inject_init(&runtime.inject, cells, CELL_BITS);
    cc__store_relaxed(&runtime.worker_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        workers[i].runtime = &runtime;
        workers[i].id = i;
        workers[i].inject_looks = i == 0 ? 0 : 3; /* one begins with what is oldest, one with the ring */
    }
}
/* The ring is full, and one is on the list. */
static void setup_full(void) {
    setup();
    push(4);
    push(5);
}
/* A bundle of two. */
static void setup_bundle(void) {
    setup();
    struct cc__task *many[] = {&tasks[4], &tasks[5]};
    prepare(4);
    prepare(5);
    cc__inject_push_new(&runtime.inject, many, 2);
}
static void setup_high(void) {
    setup();
    for (int i = 0; i < TASKS; i++) tasks[i].priority = CC_PRIORITY_HIGH;
}
static void setup_no_fence_here(void) {
    setup();
    no_fence_here = true;
}
static void setup_no_fence_there(void) {
    setup();
    no_fence_there = true;
}

static void each_taken_once(void) {
    while (take_one(CC_PRIORITY_HIGH) || take_one(CC_PRIORITY_NORMAL)) {
    }
    mc_assert(cc__inject_empty(&runtime.inject) && cc__inject_length(&runtime.inject) == 0);
    mc_assert(cc__load_relaxed(&runtime.inject.high) == 0);
    for (int w = 0; w < 2; w++)
        for (struct cc__task *t; (t = cc__tasks_take(&own[w])) != NULL;) take(t);
    for (int i = 0; i < TASKS; i++) mc_assert(taken[i] == pushed[i]);
    cc__inject_end(&runtime.inject);
}
/* Nobody takes, so one of them is told of the other. */
static void one_sees(void) {
    mc_assert(!sleeps || seen[0] || seen[1]);
    each_taken_once();
}

const struct mc_scenario mc_scenarios[] = {
    {"a pusher of two, a taker of two", setup, {pushes_0_1, takes_twice}, each_taken_once},
    {"two pushers, a taker of two", setup, {pushes_0, pushes_1, takes_twice}, each_taken_once},
    {"two pushers, two takers", setup, {pushes_0, pushes_1, takes, takes}, each_taken_once},
    {"full, a pusher, two takers", setup_full, {pushes_0, takes, takes}, each_taken_once},
    {"full, two pushers, a taker of two", setup_full, {pushes_0, pushes_1, takes_twice}, each_taken_once},
    {"full, a pusher of two, batches", setup_full, {pushes_0_1, takes_batch, other_takes_batch}, each_taken_once},
    {"a batch and a push, a taker, a batch",
     setup,
     {pushes_batch, pushes_0, takes, other_takes_batch},
     each_taken_once},
    {"a batch, a taker, a batch taken", setup, {pushes_batch, takes, takes_batch}, each_taken_once},
    {"full, a batch, two batches taken", setup_full, {pushes_batch, takes_batch, other_takes_batch}, each_taken_once},
    {"many, a taker, a batch taken", setup, {pushes_many, takes, takes_batch}, each_taken_once},
    {"many and a push, a batch taken", setup, {pushes_many, pushes_0, takes_batch}, each_taken_once},
    {"full, many, two batches taken", setup_full, {pushes_many, takes_batch, other_takes_batch}, each_taken_once},
    {"a bundle, a taker, a batch taken", setup, {pushes_new, takes, takes_batch}, each_taken_once},
    {"a bundle and a push, a batch taken", setup, {pushes_new, pushes_0, takes_batch}, each_taken_once},
    {"full, a bundle, two batches taken", setup_full, {pushes_new, takes_batch, other_takes_batch}, each_taken_once},
    {"bundles, two takers", setup_bundle, {pushes_new, takes, takes}, each_taken_once},
    {"high: two pushers, a taker", setup_high, {pushes_0, pushes_1, takes_high}, each_taken_once},
    {"high: three pushers' worth, two takers",
     setup_high,
     {pushes_0_1, pushes_2, takes_high, takes_high},
     each_taken_once,
     .full = true},

    {"one pushes, one sleeps", setup, {pushes_0_and_looks, sleeper}, one_sees},
    {"two push, one sleeps", setup, {pushes_0_and_looks, pushes_1_and_looks, sleeper}, one_sees},
    {"one pushes a batch, one sleeps", setup, {pushes_batch_and_looks, sleeper}, one_sees},
    {"one pushes a bundle, one sleeps", setup, {pushes_new_and_looks, sleeper}, one_sees},
    {"one pushes many, one sleeps", setup, {pushes_many_and_looks, sleeper}, one_sees},
    {"one pushes, one a batch, one sleeps", setup, {pushes_batch_and_looks, pushes_1_and_looks, sleeper}, one_sees},
    {"no fence after a batch", setup_no_fence_here, {pushes_batch_and_looks, sleeper}, one_sees, MC_ASSERT},
    {"no fence after the push", setup_no_fence_here, {pushes_0_and_looks, sleeper}, one_sees, MC_ASSERT},
    {"no fence before the last look", setup_no_fence_there, {pushes_0_and_looks, sleeper}, one_sees, MC_ASSERT},
    {0},
};
