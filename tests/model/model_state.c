/* SPDX-License-Identifier: MIT */
/* Goal: the control word (src/task/state.c): no wake-up is lost, no task is queued or run twice, and a late unpark
 * finds an ended task gone.
 * Method: a task that waits for two bare flags, relaxed, so that only the control word can make them visible;
 * one or two workers that run it, each playing the task's part on its own stack; two threads that set a flag and
 * unpark, or set the cancel bit. A plain thread's record that sleeps on its futex word. The end of a task against
 * unparks and the cancel bit. A task is in one queue: a plain flag, so a second enqueue is a data race or an assertion.
 * Twins that leave a step out must fail. model_park.c does the same with fibers, model_finish.c with ends and handles.
 *
 * Lessons 1, 3, 5 and 9.
 * Sources: src/task/state.c src/plat/futex.c src/base/assert.c src/base/text.c
 * Mutate: src/task/state.c src/task/state_hot.h
 * Break: src/task/state_hot.h: next = (c & CC__CONTROL_NOTE) != 0 ? c & ~CC__CONTROL_NOTE : => next =
 * Break: src/task/state_hot.h: next = c | CC__CONTROL_NOTE; => return CC__UNPARK_NOTED;
 * Break: src/task/state_hot.h: if (cc__task_generation(c) != generation) return CC__UNPARK_GONE; => ;
 * Survives: cc__state_begin: store_release -> relaxed: who runs or wakes a new task got it by a queue or a list; for
 *   stale handles it is the mark that publishes the generation (model_finish.c)
 * Survives: cc__state_take_note: and_acq_rel -> acquire: who eats a note announces nothing by it
 * Survives: cc__state_take_cancel: and_acq_rel -> acquire: who takes the bit announces nothing by it
 * Survives: cc__state_resume: cas_weak_acq_rel -> acquire: a thread is never handed to another: no stack is published
 * Survives: cc__state_resume: cas_weak_acq_rel -> release: still PARKED: nobody has announced anything
 * Survives: cc__state_resume: cas_weak_acq_rel -> relaxed: both
 * Survives: cc__state_take_parked: cas_acquire -> relaxed: not run here; model_park.c has it
 * Survives: cc__state_free: store_release -> relaxed: the pool's lock, or its owner's own cache, hands the record on
 */
#include "plat/futex.h"
#include "task/task.h"

#include "ccmc.h"

#include <errno.h>

static enum twin { SOUND, NO_NOTE, UNPARK_FIRST } twin;

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
        mc_assert(!running);
        running = true;
        bool done = task_runs();
        running = false;
        if (done) {
            finished = true;
            cc__state_finish(&task);
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
    cc__state_begin(&task);
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
    if (!cc__state_park(&task)) return;
    for (;;) {
        uint32_t now = cc__load_acquire(state_word());
        if ((now & CC__CONTROL_STATE) != CC__PARKED) break;
        if (cc__futex_wait(state_word(), now, deadline_ns) == -ETIMEDOUT) break;
    }
    cc__state_resume(&task);
}

static void thread_waits(void) {
    while (!flags_set()) thread_park(CC__NO_DEADLINE);
}
static void thread_waits_a_while(void) {
    if (!flags_set()) thread_park(1000);
}
/* Whoever wakes it as its sleep times out is seen, too. */
static void thread_waits_a_while_first(void) {
    thread_waits_a_while();
    thread_waits();
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
    cc__state_begin(&task);
    cc__state_set_thread(&task);
}
static void setup_thread_one_flag(void) {
    setup_thread();
    cc__store_relaxed(&flags[1], 1);
}

/* ---- the cancel bit: whoever sees it sees what was cancelled ---- */

static _Atomic int cancelled; /* W: cancels().  R: the task */

static void cancels(void) {
    cc__store_relaxed(&cancelled, 1);
    if (cc__state_cancel(&task) == CC__UNPARK_QUEUE) enqueue();
}
static void worker_until_cancelled(void) {
    for (bool done = false; !done;) {
        mc_sem_wait(&run_queue);
        queued = false;
        while (!(done = cc__state_take_cancel(&task)) && cc__state_take_note(&task)) {
        }
        if (done)
            mc_assert(cc__load_relaxed(&cancelled) == 1);
        else if (!cc__state_park(&task))
            enqueue();
    }
}

/* ---- the end ---- */

static void ends(void) {
    cc__state_finish(&task);
    cc__state_free(&task);
}
static void unparks_late(void) {
    enum cc__unparked u = cc__state_unpark(&task, 0);
    mc_assert(u == CC__UNPARK_NOTED || u == CC__UNPARK_GONE);
}
static void cancels_late(void) {
    (void)cc__state_cancel(&task);
}
static void setup_running(void) {
    task.fn = nothing;
    cc__state_begin(&task);
}
/* The record is somebody else's, who parks. */
static void ends_and_another_parks(void) {
    ends();
    cc__state_begin(&task);
    mc_assert(cc__state_park(&task));
}
static void parked_on(void) {
    mc_assert((cc__load_relaxed(&task.control) & CC__CONTROL_STATE) == CC__PARKED);
}
static void gone(void) {
    mc_assert(cc__task_generation(cc__load_relaxed(&task.control)) == 1);
    mc_assert(cc__state_unpark(&task, 0) == CC__UNPARK_GONE);
    cc__state_begin(&task);
    mc_assert((cc__load_relaxed(&task.control) & CC__CONTROL_NOTE) == 0);
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
    {"thread with a deadline, then without", setup_thread_one_flag, {thread_waits_a_while_first, wake_first}, NULL},
    {"thread with a deadline, then without, two flags",
     setup_thread,
     {thread_waits_a_while_first, wake_first, wake_second},
     NULL,
     .full = true},
    {"thread with a deadline", setup_thread, {thread_waits_a_while, wake_first, wake_second}, NULL},

    {"cancel bit", setup, {worker_until_cancelled, cancels}, NULL},
    {"cancel bit, stray", setup, {worker_until_cancelled, cancels, stray}, NULL},

    {"end and a late unpark", setup_running, {ends, unparks_late}, gone},
    {"end and two late unparks", setup_running, {ends, unparks_late, unparks_late}, gone},
    {"end, another parks, and a late unpark", setup_running, {ends_and_another_parks, unparks_late}, parked_on},
    {"end and a late cancel bit", setup_running, {ends, unparks_late, cancels_late}, gone},

    {"does not look for a note before it leaves: no harm", setup_no_note, {worker, set_first}, done_once},
    {"unparks before the flag is set", setup_unpark_first, {worker, set_first}, done_once, MC_DEADLOCK},
    {0},
};
