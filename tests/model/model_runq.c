/* SPDX-License-Identifier: MIT */
/* Goal: a worker's own queue (src/sched/runq.c): each task that is pushed is taken exactly once, by the owner, a thief,
 * or the global queue when the ring overflows, and who takes it sees what was written before the push: [RQ1], [RQ2].
 * Method: a ring of 4 slots, so that few pushes fill it, and a global queue that only counts. Tasks have a plain
 * payload that is written before the push and cleared by who takes it: a task taken twice, or read too early, is a
 * data race. Thieves put what they steal into rings of their own, from where others steal it. Indices that wrap.
 * Sources: src/sched/runq.c src/sched/inbox.c
 * Define: CC__RUNQ_SLOTS=4
 * Mutate: src/sched/runq.c src/sched/runq_hot.h
 * Break: src/sched/runq_hot.h: tail - head >= CC__RUNQ_SLOTS => tail - head > CC__RUNQ_SLOTS
 * Break: src/sched/runq_hot.h: cc__cas_acq_rel(&q->head, &head, head + 1) => (cc__store_release(&q->head, head + 1), 1)
 * Break: src/sched/runq.c: cc__cas_acq_rel(&q->head, &head, head + n) => (cc__store_release(&q->head, head + n), true)
 * Break: src/sched/runq.c: !cc__cas_acq_rel(&victim->head, &head, head + n) => !cc__xchg_acq_rel(&victim->head, 1)
 * Break: src/sched/runq.c: if (n == 0) return 0; => if (waiting < 2) return waiting;
 * Break: src/sched/runq.c: i = 1; i < n; i++) cc__runq_push => i = 2; i < n; i++) cc__runq_push
 * Survives: cc__runq_empty: load_acquire#2 -> relaxed: nobody reads a slot because of it
 * Survives: push_overflow: cas_acq_rel -> release: the load before it acquired the same value of head
 * Survives: cc__runq_push: load_acquire -> relaxed: without it a thief's load of a slot could see the owner's later
 *   store to it, which depends on the thief's CAS: load buffering, which the checker does not produce; C11 allows it
 * Survives: cc__runq_pop: load_acquire -> relaxed: the owner reads only slots that it wrote; push acquires head again
 * Survives: cc__runq_pop: cas_acq_rel -> release: the same
 * Survives: cc__runq_take_half: load_acquire -> relaxed: an older tail than head is told by looking again, or is from
 *   before the push of what is there, and then the queue may be called empty
 * Survives: cc__runq_take_half: load_acquire#3 -> relaxed: the same, and it costs one more turn
 * Survives: cc__runq_take_half: cas_acq_rel -> release: tail was acquired, and tail publishes slots and tasks
 */
#include "sched/sched.h"

#include "ccmc.h"

enum { TASKS = 8, OWNER = 0, FIRST = 1, SECOND = 2 };

static struct cc__worker workers[3];
static struct cc__task tasks[TASKS];
static int payload[TASKS], taken[TASKS], pushed;

/* ---- what surrounds the queue ---- */

static void take(struct cc__task *t) {
    size_t i = (size_t)(t - tasks);
    mc_assert(payload[i] == 10 + (int)i && taken[i] == 0);
    payload[i] = 0;
    taken[i]++;
}

/* The global queue: whatever comes there is taken. */
void cc__inject_push_many(struct cc__inject *q, int lane, struct cc__task *const *many, size_t n) {
    (void)q, (void)lane;
    for (size_t i = 0; i < n; i++) take(many[i]);
}

void cc__inject_push_new(struct cc__inject *q, struct cc__task *const *many, size_t n) {
    cc__inject_push_many(q, CC_PRIORITY_NORMAL, many, n);
}

static void push(int n) {
    for (; n > 0; n--) {
        payload[pushed] = 10 + pushed;
        cc__runq_push(&workers[OWNER], &workers[OWNER].fresh, &tasks[pushed]);
        pushed++;
    }
}
static void pop(struct cc__worker *w, int n) {
    for (; n > 0; n--) {
        struct cc__task *t = cc__runq_pop(&w->fresh);
        if (t != NULL) take(t);
    }
}
static void steal(int thief, int victim, int n) {
    for (; n > 0; n--) {
        struct cc__task *t = cc__runq_steal(&workers[thief], &workers[thief].fresh, &workers[victim].fresh);
        if (t != NULL) take(t);
    }
}

/* ---- roles ---- */

static void push_1_pop_1(void) {
    push(1);
    pop(&workers[OWNER], 1);
}
static void push_2(void) {
    push(2);
}
static void push_2_pop_1(void) {
    push(2);
    pop(&workers[OWNER], 1);
}
static void push_2_pop_2(void) {
    push(2);
    pop(&workers[OWNER], 2);
}
static void push_3_pop_1(void) {
    push(3);
    pop(&workers[OWNER], 1);
}
static void push_5(void) {
    push(5);
}
static void push_6_pop_1(void) {
    push(6);
    pop(&workers[OWNER], 1);
}
static void push_1_pop_1_push_1(void) {
    push_1_pop_1();
    push(1);
}
static void pop_1_push_1(void) {
    pop(&workers[OWNER], 1);
    push(1);
}
static void pop_2(void) {
    pop(&workers[OWNER], 2);
}
static void push_1(void) {
    push(1);
}
static void first_steals(void) {
    steal(FIRST, OWNER, 1);
}
static void first_steals_twice(void) {
    steal(FIRST, OWNER, 2);
}
static void first_steals_and_pops(void) {
    steal(FIRST, OWNER, 1);
    pop(&workers[FIRST], 1);
}
static void second_steals(void) {
    steal(SECOND, OWNER, 1);
}
static void second_steals_twice(void) {
    steal(SECOND, OWNER, 2);
}
static void second_steals_from_first(void) {
    steal(SECOND, FIRST, 1);
}
/* What any thread may ask: empty is not said of a queue that holds something all the while. */
static void looks(void) {
    mc_assert(!cc__runq_empty(&workers[OWNER].fresh));
}

/* ---- before and after ---- */

static void setup(void) {
    static struct cc__runtime runtime;
    for (int i = 0; i < 3; i++) workers[i].runtime = &runtime;
}
static void setup_2(void) {
    setup();
    push(2);
}
static void setup_3(void) {
    setup();
    push(3);
}
static void setup_full(void) {
    setup();
    push(CC__RUNQ_SLOTS);
}
/* The indices wrap with the next but one. */
static void setup_wrap(void) {
    setup();
    cc__store_relaxed(&workers[OWNER].fresh.head, UINT32_MAX);
    cc__store_relaxed(&workers[OWNER].fresh.tail, UINT32_MAX);
}
static void setup_wrap_full(void) {
    setup_wrap();
    push(CC__RUNQ_SLOTS);
}

static void each_taken_once(void) {
    for (int i = 0; i < 3; i++) {
        pop(&workers[i], TASKS);
        mc_assert(cc__runq_empty(&workers[i].fresh));
    }
    for (int i = 0; i < TASKS; i++) mc_assert(taken[i] == (i < pushed));
}

const struct mc_scenario mc_scenarios[] = {
    {"push and pop, a thief", setup, {push_1_pop_1, first_steals}, each_taken_once},
    {"push and pop 2, a thief of two", setup, {push_2_pop_2, first_steals_twice}, each_taken_once},
    {"push 2, two thieves", setup, {push_2, first_steals, second_steals}, each_taken_once},
    {"push 2, two thieves of two", setup, {push_2, first_steals_twice, second_steals_twice}, each_taken_once},
    {"push 2, pop 1, two thieves", setup, {push_2_pop_1, first_steals, second_steals}, each_taken_once},
    {"push 3, pop 1, two thieves", setup, {push_3_pop_1, first_steals, second_steals}, each_taken_once},
    {"push 2, pop 1, two thieves of two",
     setup,
     {push_2_pop_1, first_steals_twice, second_steals_twice},
     each_taken_once},
    {"push 2, pop 2, two thieves of two",
     setup,
     {push_2_pop_2, first_steals_twice, second_steals_twice},
     each_taken_once},
    {"a slot is used again", setup, {push_1_pop_1_push_1, first_steals, second_steals}, each_taken_once},
    {"two of three stolen, and from the thief",
     setup_3,
     {pop_2, first_steals_and_pops, second_steals_from_first},
     each_taken_once},
    {"two of three stolen, twice", setup_3, {pop_1_push_1, first_steals_twice, second_steals}, each_taken_once},

    {"full, push 1, a thief of two", setup_full, {push_1, first_steals_twice}, each_taken_once},
    {"full, push 1, two thieves", setup_full, {push_1, first_steals, second_steals}, each_taken_once},
    {"full, push 2, two thieves", setup_full, {push_2, first_steals, second_steals}, each_taken_once},
    {"full, push 1, two thieves of two",
     setup_full,
     {push_1, first_steals_twice, second_steals_twice},
     each_taken_once},
    {"full, push 2, pop 1, two thieves", setup_full, {push_2_pop_1, first_steals, second_steals}, each_taken_once},
    {"empty, push 5, a thief of two", setup, {push_5, first_steals_twice}, each_taken_once},
    {"empty, push 5, two thieves", setup, {push_5, first_steals, second_steals}, each_taken_once},
    {"empty, push 6, pop 1, two thieves",
     setup,
     {push_6_pop_1, first_steals, second_steals},
     each_taken_once,
     .full = true},
    {"empty, push 5, two thieves of two",
     setup,
     {push_5, first_steals_twice, second_steals_twice},
     each_taken_once,
     .full = true},
    {"indices wrap, push 2, two thieves", setup_wrap, {push_2_pop_1, first_steals, second_steals}, each_taken_once},
    {"indices wrap, full, push 2, two thieves",
     setup_wrap_full,
     {push_2, first_steals, second_steals},
     each_taken_once},
    {"not empty while it holds something", setup_2, {push_1, first_steals, looks}, each_taken_once},
    {0},
};
