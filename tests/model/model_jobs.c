/* SPDX-License-Identifier: MIT */
/* Goal: a worker's jobs (src/job/queue.c): each is taken once, by its owner, a thief, or the global queue when there
 * are too many, and who takes it sees what was written before it was pushed; the newest is the owner's, or in turn the
 * oldest, which else is a thief's.
 * Method: an owner that pushes and pops, thieves that take halves. What a job is about is plain memory, written before
 * the push and cleared by who takes it.
 * Sources: src/job/queue.c src/sched/inbox.c src/task/wait.c src/task/state.c src/base/assert.c src/base/text.c
 * Sources: src/plat/thread.c src/plat/file.c
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Define: CC__JOBS_SLOTS=4
 * Mutate: src/job/queue.c
 * Break: src/job/queue.c: q->first = (q->first + n) % SLOTS; => ;
 * Break: src/job/queue.c: t = q->slot[(q->first + length - 1) % SLOTS]; => t = q->slot[q->first];
 * Break: src/job/queue.c: take_oldest(q, &t, 1); => t = q->slot[q->first];
 * Break: src/job/queue.c: i = 1; i < n; i++) cc__jobs_push(w, got[i]) => i = 2; i < n; i++) cc__jobs_push(w, got[i])
 */
#include "sched/sched.h"

#include "ccmc.h"
#include "waitlock.h"

enum { JOBS = 4, OWNER = 0 };

_Thread_local struct cc__fiber *cc__current_fiber; /* as in src/fiber/current.c */

static struct cc__worker workers[3];
static struct cc__task jobs[JOBS];
static int payload[JOBS], taken[JOBS], pushed, spilled;

/* ---- what surrounds it ---- */

static int take(const struct cc__task *t) {
    if (t == NULL) return -1;
    int i = (int)(t - jobs);
    mc_assert(payload[i] == 10 + i && taken[i] == 0);
    payload[i] = 0;
    taken[i]++;
    return i;
}
void cc__inject_push_many(struct cc__inject *q, int lane, struct cc__task *const *many, size_t n) {
    (void)q, (void)lane;
    for (size_t i = 0; i < n; i++) spilled += many[i] >= jobs && many[i] < jobs + JOBS;
}

/* ---- roles ---- */

static void push(void) {
    payload[pushed] = 10 + pushed;
    cc__jobs_push(&workers[OWNER], &jobs[pushed]);
    pushed++;
}
/* The same for two at once. */
static void push_both(void) {
    for (int i = 0; i < 2; i++) payload[pushed + i] = 10 + pushed + i;
    jobs[pushed].next = &jobs[pushed + 1];
    cc__jobs_push_all(&workers[OWNER], (struct cc__tasks){&jobs[pushed], &jobs[pushed + 1]});
    pushed += 2;
}
static void push_2_pop_2(void) {
    push();
    push();
    int newest = take(cc__jobs_pop(&workers[OWNER]));
    mc_assert(newest != 0); /* one thief leaves the newest, two may leave nothing */
    int other = take(cc__jobs_pop(&workers[OWNER]));
    mc_assert(other <= 0);
}
static void push_both_pop_2(void) {
    push_both();
    int newest = take(cc__jobs_pop(&workers[OWNER]));
    mc_assert(newest != 0); /* a thief finds both, or none */
    int other = take(cc__jobs_pop(&workers[OWNER]));
    mc_assert(other <= 0);
}
static void push_3_pop_1(void) {
    push();
    push();
    push();
    int newest = take(cc__jobs_pop(&workers[OWNER]));
    mc_assert(newest == 2); /* a thief takes the older half: two of three, never the newest */
}
static void push_pop_push(void) {
    push();
    take(cc__jobs_pop(&workers[OWNER]));
    push();
}
/* Two pops, of which the first takes the oldest. */
static void push_2_pop_oldest(void) {
    workers[OWNER].jobs.pops = CC__JOBS_OLDEST_EVERY - 1;
    push();
    push();
    int oldest = take(cc__jobs_pop(&workers[OWNER])), other = take(cc__jobs_pop(&workers[OWNER]));
    mc_assert(oldest == 1 || other != 0); /* where both are there, 0 comes first */
}
static void steal(void) {
    int me = mc_self();
    take(cc__jobs_steal(&workers[me], &workers[OWNER]));
    take(cc__jobs_pop(&workers[me]));
}

/* ---- before and after ---- */

static struct cc__runtime runtime;
static void setup(void) {
    for (int i = 0; i < 3; i++) workers[i].runtime = &runtime;
    workers[OWNER].jobs.first = CC__JOBS_SLOTS - 1; /* it wraps */
}
static void each_once(void) {
    for (int i = 0; i < 3; i++)
        for (struct cc__task *t; (t = cc__jobs_pop(&workers[i])) != NULL;) take(t);
    for (int i = 0; i < JOBS; i++) mc_assert(taken[i] == (i < pushed));
}
/* One more than there is room for: the older half goes, in order. */
static void too_many(void) {
    static struct cc__task others[CC__JOBS_SLOTS];
    push();
    for (size_t i = 1; i < CC__JOBS_SLOTS; i++) cc__jobs_push(&workers[OWNER], &others[i]);
    mc_assert(spilled == 0 && cc__load_relaxed(&workers[OWNER].jobs.length) == CC__JOBS_SLOTS);
    push();
    mc_assert(spilled == 1 && cc__load_relaxed(&workers[OWNER].jobs.length) == CC__JOBS_SLOTS / 2 + 1);
    mc_assert(cc__jobs_pop(&workers[OWNER]) == &jobs[1]);
    mc_assert(cc__jobs_pop(&workers[OWNER]) == &others[CC__JOBS_SLOTS - 1]);
}
/* The same, in one push: the first half of six. */
static void too_many_at_once(void) {
    static struct cc__task others[CC__JOBS_SLOTS + 1];
    struct cc__tasks batch = {0};
    push();
    for (size_t i = 0; i <= CC__JOBS_SLOTS; i++) cc__tasks_append(&batch, &others[i]);
    cc__jobs_push_all(&workers[OWNER], batch);
    mc_assert(spilled == 1 && cc__load_relaxed(&workers[OWNER].jobs.length) == CC__JOBS_SLOTS);
    for (size_t i = CC__JOBS_SLOTS + 1; i-- > 1;) mc_assert(cc__jobs_pop(&workers[OWNER]) == &others[i]);
}

const struct mc_scenario mc_scenarios[] = {
    {"push 2, pop 2, a thief", setup, {push_2_pop_2, steal}, each_once},
    {"push 2 at once, pop 2, two thieves", setup, {push_both_pop_2, steal, steal}, each_once, .alike = true},
    {"push 3, pop 1, a thief", setup, {push_3_pop_1, steal}, each_once},
    {"a slot used again, two thieves", setup, {push_pop_push, steal, steal}, each_once, .alike = true},
    {"push 2, pop 2, two thieves", setup, {push_2_pop_2, steal, steal}, each_once, .alike = true},
    {"push 2, pop the oldest, a thief", setup, {push_2_pop_oldest, steal}, each_once},
    {"push 2, pop the oldest, two thieves", setup, {push_2_pop_oldest, steal, steal}, each_once, .alike = true},
    {"too many", setup, {too_many}, NULL},
    {"too many at once", setup, {too_many_at_once}, NULL},
    {0},
};
