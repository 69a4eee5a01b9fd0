/* SPDX-License-Identifier: MIT */
/* Goal: a wait that a waker, a timer and a canceller want to decide at once (src/task/wait.c, src/driver/timer.c) is
 * decided by exactly one of them, the waiter is queued as often as it parked, sees what the decider wrote [WT1], and
 * nobody touches its frame after it left.
 * Method: a task whose frame, with the wait node, the timer and a value, is allocated for each wait and freed when the
 * wait is over, so that a late touch is a use after free or a data race. Its thread plays the worker as well: parked,
 * it waits in a run queue. A second wait of the same task, with another frame, that a decider of the first must not
 * decide. Two waiters on one list and in one heap. Twins that touch the node too late must fail.
 *
 * Lessons 3 and 9.
 * Sources: src/driver/timer.c src/task/wait.c src/task/lock.c src/task/state.c src/plat/thread.c src/plat/file.c
 * Sources: src/base/assert.c src/base/text.c src/plat/clock.c
 * Define: CC__TIMER_SLOTS=64 CC__TIMER_LISTED=0
 * Mutate: src/task/wait.c src/task/wait_hot.h
 * Break: src/driver/timer.c: if (!cc__wait_decide(task, t->epoch, CC__TIMED_OUT)) continue; => ;
 * Break: src/driver/timer.c: if (t->link != NULL) { => if (false) {
 * Break: src/driver/timer.c: t->link = NULL; => (void)t;
 * Break: src/task/wait.c: if (now >> CC__OUTCOME_BITS != epoch || ! => if (!
 * Break: src/task/wait_hot.h: (CC__OUTCOME_MASK | CC__OUTCOME_CLAIMED) => CC__OUTCOME_MASK
 * Break: src/task/wait_hot.h: return cc__cas_relaxed(&t->outcome, &now, now | CC__OUTCOME_CLAIMED); => return true;
 * Survives: cc__waitlist_lock_untold: xchg_acquire -> relaxed: that is of release builds; lock.c has it for the checker
 * Survives: cc__waitlist_unlock_untold: store_release -> relaxed: the same, of wait_hot.h
 * Survives: decide: cas_acq_rel -> release: who decides learns nothing from the wait being pending; what it knows of
 *   it came with the node, by a lock
 */
#include "driver/timer.h"

#include "ccmc.h"
#include "fences.h"

_Thread_local struct cc__fiber *cc__current_fiber; /* as in src/fiber/current.c */

#include <stdlib.h>

enum { DUE_NS = 100, LATE_NS = 200, NEAR_NS = 1 << 30, LATE = MC_USE_AFTER_FREE | MC_RACE };

static enum twin { SOUND, DECIDES_AFTER_UNLOCK, READS_AFTER_UNLOCK, LEAVES_ITS_TIMER, LEAVES_ITS_NODE } twin;

/* What is in the frame of a task that waits. */
struct frame {
    struct cc__wait wait;
    struct cc__timer timer;
};

static struct waiter {
    struct cc__task task;
    struct frame *frame;
    struct mc_sem run_queue;
    bool queued;
    enum cc__outcome was[2]; /* of each of its waits */
} waiters[2];

static bool by_list_alone, near; /* near: timers are in the heap, and not on the wheel */
static struct cc__timers timers;
static struct cc__waitlist list;
static struct mc_sem began;  /* a wait that somebody matches */
static int why;              /* what a canceller wrote before */
static int token;            /* what a waker hands over */
static int wins[MC_THREADS]; /* waits that a thread decided */

/* ---- the task, and its worker ---- */

static void *nothing(void *arg) {
    return arg;
}

static void task_begin(struct waiter *w) {
    w->task.fn = nothing;
    cc__state_begin(&w->task);
    mc_sem_init(&w->run_queue, 0);
}

static void enqueue(struct cc__task *t) {
    struct waiter *w = CC__CONTAINER_OF(t, struct waiter, task);
    mc_assert(!w->queued);
    w->queued = true;
    mc_sem_post(&w->run_queue);
}

static void unpark(struct cc__task *t, uint32_t generation) {
    if (cc__state_unpark(t, generation) == CC__UNPARK_QUEUE) enqueue(t);
}

static void park(struct waiter *w) {
    if (cc__state_take_note(&w->task)) return;
    if (!cc__state_park(&w->task)) enqueue(&w->task);
    mc_sem_wait(&w->run_queue);
    w->queued = false;
}

/* One wait, as sched/park.c does it: the begin, and the rest up to the end of its frame. */
static void wait_begins(struct waiter *w, int64_t when_ns, enum cc__deciders by) {
    struct frame *f = w->frame = malloc(sizeof *f);
    cc__wait_begin(&f->wait, &w->task, by, &list, "model");
    f->timer = (struct cc__timer){.when_ns = when_ns, .task = &w->task, .epoch = f->wait.epoch};
    cc__waitlist_lock(&list);
    cc__waitlist_append(&list, &f->wait);
    cc__waitlist_unlock(&list);
    if (when_ns != CC__NEVER) cc__timers_add(&timers, &f->timer);
}

static void wait_goes_on(struct waiter *w, int round) {
    struct frame *f = w->frame;
    while ((w->was[round] = cc__wait_outcome(&f->wait)) == CC__PENDING) park(w);
    if (f->timer.when_ns != CC__NEVER && twin != LEAVES_ITS_TIMER) cc__timers_remove(&timers, &f->timer);
    /* Where only who takes its node may decide, it goes without the lock. */
    if (by_list_alone) mc_assert(f->wait.node.next == NULL && f->wait.node.prev == NULL);
    if (twin != LEAVES_ITS_NODE && !by_list_alone) {
        cc__waitlist_lock(&list);
        cc__waitlist_remove(&list, &f->wait);
        cc__waitlist_unlock(&list);
    }
    if (w->was[round] == CC__MATCHED) mc_assert(*(int *)f->wait.value == 42);
    if (w->was[round] == CC__CANCELLED) mc_assert(why == 7);
    if (w->was[round] == CC__CLOSED) mc_assert(why == 8);
    free(f);
}

static void waits_on(void) {
    wait_goes_on(&waiters[0], 0);
}
static void other_waits_on(void) {
    wait_goes_on(&waiters[1], 0);
}
static void begins_and_waits(void) {
    wait_begins(&waiters[0], DUE_NS, CC__BY_CANCEL);
    mc_sem_post(&began);
    wait_goes_on(&waiters[0], 0);
}
/* The second wait is for somebody who matches, whatever the timer and the canceller of the first do. */
static void waits_on_and_again(void) {
    wait_goes_on(&waiters[0], 0);
    wait_begins(&waiters[0], LATE_NS, CC__BY_ANY);
    mc_sem_post(&began);
    wait_goes_on(&waiters[0], 1);
    mc_assert(waiters[0].was[1] == CC__MATCHED);
}

/* ---- who decides ---- */

/* Match the first of the list, as the last child of a nursery does it. */
static bool match(void) {
    cc__waitlist_lock(&list);
    struct cc__wait *w = cc__waitlist_take_first(&list);
    if (w == NULL) {
        cc__waitlist_unlock(&list);
        return false;
    }
    struct cc__task *t = w->task;
    uint32_t generation = cc__task_generation(cc__load_relaxed(&t->control));
    token = 42;
    w->value = &token;
    if (twin == DECIDES_AFTER_UNLOCK) cc__waitlist_unlock(&list);
    bool decided = cc__wait_decide(t, w->epoch, CC__MATCHED);
    if (twin != DECIDES_AFTER_UNLOCK) cc__waitlist_unlock(&list);
    if (twin == READS_AFTER_UNLOCK) t = w->task;
    unpark(t, generation);
    wins[mc_self()] += decided;
    return decided;
}
static void matches(void) {
    (void)match();
}
/* The same in two steps: what is handed over is written in between, without the lock. */
static void claims(void) {
    cc__waitlist_lock(&list);
    struct cc__wait *w = cc__waitlist_take_first(&list);
    bool claimed = w != NULL && cc__wait_claim(w);
    cc__waitlist_unlock(&list);
    if (!claimed) return;
    struct cc__task *t = w->task;
    uint32_t generation = cc__task_generation(cc__load_relaxed(&t->control));
    token = 42;
    w->value = &token;
    cc__wait_settle(w, CC__MATCHED);
    unpark(t, generation);
    wins[mc_self()]++;
}
/* At any time, and once more when there is surely somebody. */
static void matches_early_and_late(void) {
    (void)match();
    mc_sem_wait(&began);
    (void)match();
}
static void matches_second(void) {
    mc_sem_wait(&began);
    mc_assert(match());
}

/* These hold {record, epoch} of the first wait and nothing else, as a completion from the kernel would. */
static void cancels(void) {
    struct cc__task *t = &waiters[0].task;
    why = 7;
    wins[mc_self()] += cc__wait_decide(t, 1, CC__CANCELLED);
    unpark(t, 0);
}
static void closes(void) {
    struct cc__task *t = &waiters[0].task;
    why = 8;
    wins[mc_self()] += cc__wait_decide(t, 1, CC__CLOSED);
    unpark(t, 0);
}

static void expires(void) {
    for (struct cc__task *t = cc__timers_expire(&timers, DUE_NS), *next; t != NULL; t = next) {
        next = t->next;
        t->next = NULL;
        enqueue(t);
    }
}

/* ---- before and after ---- */

static void setup(void) {
    cc__timers_init(&timers, near ? NEAR_NS : 0);
    mc_sem_init(&began, 0);
    task_begin(&waiters[0]);
}
static void setup_waiting(void) {
    setup();
    wait_begins(&waiters[0], DUE_NS, CC__BY_CANCEL);
}
static void setup_by_list(void) {
    setup();
    by_list_alone = true;
    wait_begins(&waiters[0], CC__NEVER, CC__BY_LIST);
}
static void setup_matched(void) {
    setup_waiting();
    cc__wait_decide(&waiters[0].task, 1, CC__TIMED_OUT);
}
static void setup_near(void) {
    near = true;
    setup_waiting();
}
static void setup_two_waiting(void) {
    setup_waiting();
    task_begin(&waiters[1]);
    wait_begins(&waiters[1], DUE_NS - 1, CC__BY_CANCEL);
}
static void setup_two_near(void) {
    near = true;
    setup_two_waiting();
}
#define SETUP(name, broken)                                                                                            \
    static void name(void) {                                                                                           \
        setup_waiting();                                                                                               \
        twin = broken;                                                                                                 \
    }
SETUP(decides_after_unlock, DECIDES_AFTER_UNLOCK)
SETUP(reads_after_unlock, READS_AFTER_UNLOCK)
SETUP(leaves_its_timer, LEAVES_ITS_TIMER)
SETUP(leaves_its_node, LEAVES_ITS_NODE)

/* Each wait was decided by one: by a thread that won, or else by the timer. */
static void check(void) {
    int won = 0, lost = 0;
    for (int i = 0; i < MC_THREADS; i++) won += wins[i];
    for (int i = 0; i < 2; i++)
        for (int round = 0; round < 2; round++)
            lost += waiters[i].was[round] != CC__PENDING && waiters[i].was[round] != CC__TIMED_OUT;
    mc_assert(won == lost);
    mc_assert(timers.near == NULL && timers.far == NULL);
    cc__timers_end(&timers);
    mc_assert(timers.slot[0].first == NULL && timers.slot[0].leaf == NULL);
    mc_assert(cc__load_relaxed(&timers.next_ns) == CC__NEVER && list.first == NULL);
    mc_assert(!waiters[0].queued && !waiters[1].queued);
    mc_outcome("%d%d", waiters[0].was[0], waiters[1].was[0]);
}

const struct mc_scenario mc_scenarios[] = {
    {"timer", setup_waiting, {waits_on, expires}, check, .outcomes = "30"},
    {"match", setup_waiting, {waits_on, matches}, check, .outcomes = "10"},
    {"cancel", setup_waiting, {waits_on, cancels}, check, .outcomes = "40"},
    {"match, by the list alone", setup_by_list, {waits_on, matches}, check, .outcomes = "10"},
    {"timer in the near heap", setup_near, {waits_on, expires}, check, .outcomes = "30"},
    {"timer in the near heap, match", setup_near, {waits_on, expires, matches}, check, .outcomes = "10 30"},
    {"two waiters, timers in the near heap",
     setup_two_near,
     {waits_on, other_waits_on, expires},
     check,
     .outcomes = "33"},
    {"claim", setup_waiting, {waits_on, claims}, check, .outcomes = "10"},
    {"claim, by the list alone", setup_by_list, {waits_on, claims}, check, .outcomes = "10"},
    {"timer, claim", setup_waiting, {waits_on, expires, claims}, check, .outcomes = "10 30"},
    {"claim, cancel", setup_waiting, {waits_on, claims, cancels}, check, .outcomes = "10 40"},
    {"two claims", setup_waiting, {waits_on, claims, claims}, check, .outcomes = "10"},
    {"timer, match", setup_waiting, {waits_on, expires, matches}, check, .outcomes = "10 30"},
    {"timer, cancel", setup_waiting, {waits_on, expires, cancels}, check, .outcomes = "30 40"},
    {"match, cancel", setup_waiting, {waits_on, matches, cancels}, check, .outcomes = "10 40"},
    {"timer, match, cancel",
     setup_waiting,
     {waits_on, expires, matches, cancels},
     check,
     .outcomes = "10 30 40",
     .full = true},
    {"two matches", setup_waiting, {waits_on, matches, matches}, check, .outcomes = "10"},
    {"begins while others decide",
     setup,
     {begins_and_waits, expires, matches_early_and_late},
     check,
     .outcomes = "10 30"},
    {"waits again: timer, match", setup_waiting, {waits_on_and_again, expires, matches_second}, check},
    {"waits again: cancel, match", setup_waiting, {waits_on_and_again, cancels, matches_second}, check},
    {"waits again: epoch, match", setup_matched, {waits_on_and_again, closes, matches_second}, check},
    {"waits again: timer, epoch, match",
     setup_waiting,
     {waits_on_and_again, expires, closes, matches_second},
     check,
     .full = true},
    {"two waiters, timer", setup_two_waiting, {waits_on, other_waits_on, expires}, check, .outcomes = "33"},
    {"two waiters, timer, match",
     setup_two_waiting,
     {waits_on, other_waits_on, expires, matches},
     check,
     .outcomes = "13 33",
     .full = true},

    {"decides after the lock was dropped", decides_after_unlock, {waits_on, expires, matches}, check, LATE},
    {"reads the node after the lock was dropped", reads_after_unlock, {waits_on, expires, matches}, check, LATE},
    {"leaves with its timer in the heap", leaves_its_timer, {waits_on, expires, matches}, check, LATE},
    {"leaves with its node on the list", leaves_its_node, {waits_on, expires, matches}, check, LATE},
    {0},
};
