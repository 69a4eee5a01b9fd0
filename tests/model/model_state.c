/* SPDX-License-Identifier: MIT */
/* Goal: the control word (src/task/state.c): no wake-up is lost, no task is queued or run twice, its result is
 * seen by who takes it, and exactly one side frees the record.
 * Method: a task that waits for two bare flags, relaxed, so that only the control word can make them visible;
 * one or two workers that run it, each playing the task's part on its own stack; two threads that set a flag and
 * unpark. A plain thread's record that sleeps on its futex word. The end of a task against the release of its
 * handle, with a late unpark that must find it gone. A task is in one queue: a plain flag, so a second enqueue is
 * a data race or an assertion. Twins that leave a step out must fail.
 *
 * Lessons 1, 3, 5 and 9.
 * Sources: src/task/state.c src/plat/futex.c src/base/assert.c src/base/text.c
 */
#include "plat/futex.h"
#include "task/task.h"

#include "ccmc.h"

#include <errno.h>

static enum twin { SOUND, NO_NOTE, UNPARK_FIRST, FREED_BY_BOTH } twin;

static struct cc__task task;
static struct mc_sem run_queue;
static _Atomic int flags[2]; /* W: their threads.  R: the task */
static bool queued, running, finished;
static int stack_data; /* as on the task's stack: of whoever runs it */

/* ---- the task and its workers, as src/sched plays them ---- */

static void enqueue(void) {
    mc_assert(!queued);
    queued = true;
    mc_sem_post(&run_queue);
}

static bool flags_set(void) {
    return cc__load_relaxed(&flags[0]) != 0 && cc__load_relaxed(&flags[1]) != 0;
}

/* The task, until it is done (true) or parks. */
static bool task_runs(void) {
    stack_data++;
    while (!flags_set()) {
        if (twin == NO_NOTE || !cc__state_take_note(&task)) return false; /* it looked before: now it leaves */
    }
    return true;
}

static void worker(void) {
    for (;;) {
        mc_sem_wait(&run_queue);
        if (finished) break;
        queued = false;
        cc__state_own(&task, (uint32_t)mc_self());
        mc_assert(!running);
        running = true;
        bool done = task_runs();
        running = false;
        if (done) {
            finished = true;
            mc_assert(!cc__state_finish(&task));
            break;
        }
        if (!cc__state_park(&task)) enqueue();
    }
    mc_sem_post(&run_queue); /* so that the other worker ends, too */
}

static void unpark(void) {
    if (cc__state_unpark(&task, 0) == CC__UNPARK_QUEUE) enqueue();
}

static void set_flag(int i) {
    if (twin == UNPARK_FIRST) unpark();
    cc__store_relaxed(&flags[i], 1);
    if (twin != UNPARK_FIRST) unpark();
}
static void set_first(void) {
    set_flag(0);
}
static void set_second(void) {
    set_flag(1);
}
static void stray(void) {
    unpark();
}

static void *nothing(void *arg) {
    return arg;
}

static void setup(void) {
    task.fn = nothing;
    mc_sem_init(&run_queue, 0);
    cc__state_assign(&task);
    enqueue();
}
static void setup_one_flag(void) {
    setup();
    cc__store_relaxed(&flags[1], 1);
}
static void setup_no_note(void) {
    setup_one_flag();
    twin = NO_NOTE;
}
static void setup_unpark_first(void) {
    setup_one_flag();
    twin = UNPARK_FIRST;
}
static void done_once(void) {
    mc_assert(finished && stack_data >= 1);
}

/* ---- a plain thread: sched/park.c's way to sleep ---- */

static _Atomic uint32_t *state_word(void) {
    return (_Atomic uint32_t *)(void *)&task.control;
}

static void thread_park(int64_t deadline_ns) {
    if (cc__state_take_note(&task)) return;
    if (!cc__state_thread_park(&task)) return;
    for (;;) {
        uint32_t now = cc__load_acquire(state_word());
        if ((now & CC__CONTROL_STATE) != CC__PARKED) break;
        if (cc__futex_wait(state_word(), now, deadline_ns) == -ETIMEDOUT) break;
    }
    cc__state_thread_resume(&task);
}

static void thread_waits(void) {
    while (!flags_set()) thread_park(CC__NO_DEADLINE);
}
static void thread_waits_a_while(void) {
    if (!flags_set()) thread_park(1000);
}
static void wake_thread(int i) {
    cc__store_relaxed(&flags[i], 1);
    if (cc__state_unpark(&task, 0) == CC__UNPARK_WAKE) cc__futex_wake(state_word(), 1);
}
static void wake_first(void) {
    wake_thread(0);
}
static void wake_second(void) {
    wake_thread(1);
}
static void setup_thread(void) {
    cc__state_assign(&task);
    cc__state_own(&task, 0);
}
static void setup_thread_one_flag(void) {
    setup_thread();
    cc__store_relaxed(&flags[1], 1);
}

/* ---- the end: who comes second of done and released frees the record ---- */

static int result, frees;

static void free_record(void) {
    result = 0; /* the record is used for something else now */
    frees++;
    cc__state_free(&task);
}
static void ends(void) {
    result = 42;
    if (cc__state_finish(&task)) free_record();
}
static void detaches(void) {
    if (cc__state_release(&task, 0, false) == CC__RELEASE_FREE || twin == FREED_BY_BOTH) free_record();
}
static void joins(void) {
    enum cc__released r;
    while ((r = cc__state_release(&task, 0, true)) == CC__RELEASE_LATER) mc_yield();
    if (r == CC__RELEASE_STALE) return; /* another was quicker */
    mc_assert(result == 42);
    free_record();
}
static void unparks_late(void) {
    enum cc__unparked u = cc__state_unpark(&task, 0);
    mc_assert(u == CC__UNPARK_NOTED || u == CC__UNPARK_GONE);
}
static void joins_stale(void) {
    enum cc__released r = cc__state_release(&task, 0, true);
    if (r == CC__RELEASE_FREE) {
        mc_assert(result == 42);
        free_record();
    }
}
static void setup_running(void) {
    task.fn = nothing;
    cc__state_assign(&task);
    cc__state_own(&task, 0);
}
static void setup_freed_by_both(void) {
    setup_running();
    twin = FREED_BY_BOTH;
}
static void freed_once(void) {
    mc_assert(frees == 1);
    mc_assert(cc__state_unpark(&task, 0) == CC__UNPARK_GONE);
    mc_assert(cc__state_release(&task, 0, true) == CC__RELEASE_STALE);
}

const struct mc_scenario mc_scenarios[] = {
    {"1 worker, one flag", setup_one_flag, {worker, set_first}, done_once},
    {"2 workers, one flag", setup_one_flag, {worker, worker, set_first}, done_once},
    {"1 worker, one flag, stray", setup_one_flag, {worker, set_first, stray}, done_once},
    {"1 worker, two flags", setup, {worker, set_first, set_second}, done_once},
    {"2 workers, two flags", setup, {worker, worker, set_first, set_second}, done_once},
    {"1 worker, two flags, stray", setup, {worker, set_first, set_second, stray}, done_once, .full = true},

    {"thread, one flag", setup_thread_one_flag, {thread_waits, wake_first}, NULL},
    {"thread, two flags", setup_thread, {thread_waits, wake_first, wake_second}, NULL},
    {"thread, two flags, spurious wake-ups",
     setup_thread,
     {thread_waits, wake_first, wake_second},
     NULL,
     .full = true,
     .spurious = 1},
    {"thread, one flag, spurious wake-ups", setup_thread_one_flag, {thread_waits, wake_first}, NULL, .spurious = 2},
    {"thread with a deadline", setup_thread, {thread_waits_a_while, wake_first, wake_second}, NULL},

    {"end and detach", setup_running, {ends, detaches}, freed_once},
    {"end, detach and a late unpark", setup_running, {ends, detaches, unparks_late}, freed_once},
    {"end and join", setup_running, {ends, joins}, freed_once},
    {"end, and two that join if they can", setup_running, {ends, joins, joins_stale}, freed_once},

    {"does not look for a note before it leaves: no harm", setup_no_note, {worker, set_first}, done_once},
    {"unparks before the flag is set", setup_unpark_first, {worker, set_first}, done_once, MC_DEADLOCK},
    {"freed by both", setup_freed_by_both, {ends, detaches}, freed_once, MC_RACE | MC_ASSERT},
    {0},
};
