/* SPDX-License-Identifier: MIT */
/* Goal: a worked example: parking with one control word loses no wake-up and resumes no fiber twice. Each
 * way to get it wrong that design documents and predecessors have fallen for is a twin that must fail.
 * Method: a real fiber, switched by the library's own switch, that waits for a token; one or two workers
 * that run it; posters that hand over a token and wake it; strays that wake it for no reason. The run queue
 * and the wait lock are a semaphore and a mutex: they are not what is being checked.
 *
 * The protocol. `control` says where the fiber is: the number of the worker that runs it, ASSIGNED (in the
 * run queue), PARKED, or DONE; NOTED is set beside a worker's number when a wake-up came while it ran.
 *   the fiber            1. stores nothing and looks: NOTED or its flag set, then it does not park
 *                        2. switches away: only then
 *   its worker           3. commits: worker's number -> PARKED; if that fails a wake-up came: ASSIGNED is exchanged
 *                           for what is there, then enqueue
 *   who wakes it         1. sets the flag, under the wait lock
 *                        2. PARKED -> ASSIGNED and enqueue; running: sets NOTED; ASSIGNED: writes it again, so
 *                           that who runs it next sees what was written before
 *
 * Lessons 1, 3 and 19.
 * Sources: src/fiber/ctx_make.c src/fiber/ctx_x86_64.S
 */
#include "base/atomic.h"
#include "fiber/ctx.h"
#include "fiber/current.h"

#include "ccmc.h"

#include <pthread.h>
#include <stdlib.h>

enum { ASSIGNED = -1, PARKED = -2, DONE = -4, STACK_BYTES = 16 * 1024 };
#define NOTED ((int64_t)1 << 32)

/* What is broken. */
static enum twin {
    SOUND,
    COMMIT_ON_OWN_STACK,
    BLIND_UNPARK,
    NO_LATCH,
    ASSIGNED_LEFT_ALONE,
    BLIND_ABORT,
    WAKE_BEFORE_FLAG,
    ENQUEUE_BEFORE_ASSIGNED,
    FLAG_AFTER_COMMIT,
    FLAG_AFTER_UNLOCK,
    JOINER_BEFORE_DONE,
} twin;

struct node {
    _Atomic int notified; /* W: waker, under the lock.  R: the fiber */
};

static struct task {
    _Atomic int64_t control; /* W, R: all */
    struct cc__ctx ctx;
    int worker; /* that runs it */
    struct node *node;
    bool parking, queued, running; /* for assertions; plain: a mistake is a data race, too */
} task;

_Thread_local struct cc__fiber *cc__current_fiber; /* of each worker, as in src/fiber/current.c */
static char fiber_name, worker_name[3];            /* what it points to: addresses only */

static struct cc__ctx home[3]; /* of the workers */
static struct mc_sem run_queue, joiner;
static pthread_mutex_t wait_lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *waiting; /* under wait_lock, as are tokens */
static int tokens, rounds, wanted;
static bool finished;

/* ---- the protocol ---- */

static void enqueue(void) {
    mc_assert(!task.queued);
    task.queued = true;
    mc_sem_post(&run_queue);
}

static void unpark(void) {
    int64_t seen = cc__load_relaxed(&task.control);
    for (;;) {
        if (seen == DONE) return;
        if (twin == BLIND_UNPARK && seen == PARKED) {
            cc__store_release(&task.control, ASSIGNED);
            enqueue();
            return;
        }
        if (twin == NO_LATCH && seen > 0) return;
        if (twin == ASSIGNED_LEFT_ALONE && seen == ASSIGNED) return;
        int64_t next = seen > 0 ? seen | NOTED : ASSIGNED;
        if (cc__cas_weak_acq_rel(&task.control, &seen, next)) break;
    }
    if (seen == PARKED) enqueue();
}

static void park_commit(struct node *node) {
    int64_t owner = task.worker;
    if (cc__cas_acq_rel(&task.control, &owner, PARKED)) {
        if (twin != FLAG_AFTER_COMMIT || cc__load_acquire(&node->notified) == 0) return;
        int64_t parked = PARKED;
        if (cc__cas_acq_rel(&task.control, &parked, ASSIGNED)) enqueue();
        return;
    }
    if (twin == ENQUEUE_BEFORE_ASSIGNED) enqueue();
    /* An exchange, so that a wake-up between the two is part of what the next owner acquires; with a store it is
     * written over, and what came before it may stay unseen. */
    if (twin == BLIND_ABORT)
        cc__store_release(&task.control, ASSIGNED);
    else
        cc__xchg_acq_rel(&task.control, ASSIGNED);
    if (twin != ENQUEUE_BEFORE_ASSIGNED) enqueue();
}

/* Called by the fiber: returns after a wake-up, or for no reason. node may be NULL: no flag. */
static void park_if(struct node *node) {
    if ((cc__and_acq_rel(&task.control, ~NOTED) & NOTED) != 0) return;
    if (node != NULL && cc__load_acquire(&node->notified) != 0) return;
    task.node = node;
    task.parking = true;
    if (twin == COMMIT_ON_OWN_STACK) park_commit(node);
    cc__ctx_switch(&task.ctx, &home[task.worker]);
    mc_assert(cc__fiber_current() == (struct cc__fiber *)(void *)&fiber_name);
}

/* ---- the fiber ---- */

/* The node is freed on return, as if it lay in this frame. */
static void wait_for_token(void) {
    for (bool got = false; !got;) {
        struct node *node = malloc(sizeof *node);
        cc__store_relaxed(&node->notified, 0);
        pthread_mutex_lock(&wait_lock);
        got = tokens > 0;
        if (got)
            tokens--;
        else
            waiting = node;
        pthread_mutex_unlock(&wait_lock);
        if (!got) {
            park_if(node);
            pthread_mutex_lock(&wait_lock);
            got = cc__load_relaxed(&node->notified) != 0;
            waiting = NULL;
            pthread_mutex_unlock(&wait_lock);
        }
        free(node);
    }
}

/* No lock and no node: two bare flags, of two threads; a wake-up makes the store before it visible. */
static _Atomic int flags[2]; /* W: their threads.  R: the fiber */
static bool bare;

static void wait_for_flags(void) {
    while (cc__load_relaxed(&flags[0]) == 0 || cc__load_relaxed(&flags[1]) == 0) park_if(NULL);
}

static void fiber_main(void *arg) {
    (void)arg;
    for (; rounds < wanted; rounds++) {
        if (bare)
            wait_for_flags();
        else
            wait_for_token();
    }
    task.parking = false;
    cc__ctx_switch(&task.ctx, &home[task.worker]);
}

/* ---- workers ---- */

static void run_fiber(int self) {
    mc_assert(!task.running);
    task.running = true;
    task.worker = self;
    cc__fiber_set_current((struct cc__fiber *)(void *)&fiber_name);
    cc__ctx_switch(&home[self], &task.ctx);
    cc__fiber_set_current((struct cc__fiber *)(void *)&worker_name[self]);
    task.running = false;
}

static void worker(void) {
    int self = mc_self() + 1;
    cc__fiber_set_current((struct cc__fiber *)(void *)&worker_name[self]);
    for (;;) {
        mc_sem_wait(&run_queue);
        if (finished) break;
        task.queued = false;
        int64_t assigned = ASSIGNED;
        mc_assert(cc__cas_acq_rel(&task.control, &assigned, self));
        run_fiber(self);
        mc_assert(cc__fiber_current() == (struct cc__fiber *)(void *)&worker_name[self]);
        if (!task.parking) {
            finished = true;
            cc__store_release(&task.control, DONE);
            break;
        }
        if (twin != COMMIT_ON_OWN_STACK) park_commit(task.node);
    }
    mc_sem_post(&run_queue); /* so that the other worker ends, too */
}

/* ---- who wakes it ---- */

/* Hand over a token, and wake the fiber if it waits. */
static void poster(void) {
    pthread_mutex_lock(&wait_lock);
    struct node *node = waiting;
    if (twin == WAKE_BEFORE_FLAG && node != NULL) {
        pthread_mutex_unlock(&wait_lock);
        unpark();
        pthread_mutex_lock(&wait_lock);
        node = waiting;
    }
    waiting = NULL;
    if (node == NULL)
        tokens++;
    else if (twin != FLAG_AFTER_UNLOCK)
        cc__store_release(&node->notified, 1);
    pthread_mutex_unlock(&wait_lock);
    if (node == NULL) return;
    if (twin == FLAG_AFTER_UNLOCK) cc__store_release(&node->notified, 1);
    if (twin != WAKE_BEFORE_FLAG) unpark();
}

/* The same without a flag, as a timer or a cancellation wakes: the fiber looks again. */
static void flagless_poster(void) {
    pthread_mutex_lock(&wait_lock);
    tokens++;
    bool wake = waiting != NULL;
    waiting = NULL;
    pthread_mutex_unlock(&wait_lock);
    if (wake) unpark();
}

static void stray(void) {
    unpark();
}

static void first_flag(void) {
    cc__store_relaxed(&flags[0], 1);
    unpark();
}
static void second_flag(void) {
    cc__store_relaxed(&flags[1], 1);
    unpark();
}

/* ---- join: the end of a fiber against a thread that waits for it, in one word too ---- */

enum { LIVE, JOINING, ENDED };
static _Atomic int ending; /* W: the worker, the joiner */

static void ends(void) {
    if (twin == JOINER_BEFORE_DONE) {
        if (cc__load_acquire(&ending) == JOINING) mc_sem_post(&joiner);
        cc__store_release(&ending, ENDED);
    } else if (cc__xchg_acq_rel(&ending, ENDED) == JOINING) {
        mc_sem_post(&joiner);
    }
}

static void joins(void) {
    int live = LIVE;
    if (cc__cas_acq_rel(&ending, &live, JOINING)) mc_sem_wait(&joiner);
    mc_assert(cc__load_acquire(&ending) == ENDED);
}

/* ---- scenarios ---- */

static void begin(enum twin broken, int tokens_wanted) {
    twin = broken;
    wanted = tokens_wanted;
    cc__store_relaxed(&task.control, ASSIGNED);
    task.queued = true;
    mc_sem_init(&run_queue, 1);
    mc_sem_init(&joiner, 0);
    char *stack = mc_stack(STACK_BYTES);
    cc__ctx_make(&task.ctx, stack, stack + STACK_BYTES, fiber_main, NULL);
}

#define SETUP(name, broken, rounds)                                                                                    \
    static void name(void) {                                                                                           \
        begin(broken, rounds);                                                                                         \
    }
SETUP(sound, SOUND, 1)
SETUP(sound_twice, SOUND, 2)
SETUP(commit_on_own_stack, COMMIT_ON_OWN_STACK, 1)
SETUP(blind_unpark, BLIND_UNPARK, 1)
SETUP(no_latch, NO_LATCH, 1)
SETUP(wake_before_flag, WAKE_BEFORE_FLAG, 1)
SETUP(enqueue_before_assigned, ENQUEUE_BEFORE_ASSIGNED, 1)
SETUP(flag_after_commit, FLAG_AFTER_COMMIT, 1)
SETUP(flag_after_unlock, FLAG_AFTER_UNLOCK, 1)
SETUP(joiner_before_done, JOINER_BEFORE_DONE, 1)

static void bare_flags(void) {
    begin(SOUND, 1);
    bare = true;
}
static void assigned_left_alone(void) {
    begin(ASSIGNED_LEFT_ALONE, 1);
    bare = true;
}
static void blind_abort(void) {
    begin(BLIND_ABORT, 1);
    bare = true;
}

static void finished_once(void) {
    mc_assert(finished && rounds == wanted);
}

const struct mc_scenario mc_scenarios[] = {
    {"1 worker, poster", sound, {worker, poster}, finished_once},
    {"1 worker, flagless poster", sound, {worker, flagless_poster}, finished_once},
    {"2 workers, poster", sound, {worker, worker, poster}, finished_once},
    {"1 worker, poster, stray", sound, {worker, poster, stray}, finished_once},
    {"1 worker, two posters, two rounds", sound_twice, {worker, poster, poster}, finished_once},
    {"2 workers, poster, stray", sound, {worker, worker, poster, stray}, finished_once},
    {"2 workers, two posters, two rounds", sound_twice, {worker, worker, poster, poster}, finished_once, .full = true},
    {"1 worker, poster, stray, weak CAS fails at will", sound, {worker, poster, stray}, finished_once, .spurious = 1},
    {"1 worker, two bare flags", bare_flags, {worker, first_flag, second_flag}, finished_once},
    {"2 workers, two bare flags", bare_flags, {worker, worker, first_flag, second_flag}, finished_once},
    {"join", sound, {ends, joins}, NULL},

    {"PARKED before the switch", commit_on_own_stack, {worker, worker, poster}, finished_once, MC_RACE | MC_ASSERT},
    {"unpark without compare-and-swap", blind_unpark, {worker, poster, stray}, finished_once, MC_RACE | MC_ASSERT},
    {"unpark of a running fiber leaves no note", no_latch, {worker, flagless_poster}, finished_once, MC_DEADLOCK},
    {"unpark of a queued fiber writes nothing",
     assigned_left_alone,
     {worker, first_flag, second_flag},
     finished_once,
     MC_DEADLOCK},
    {"ASSIGNED stored, not exchanged, when a wake-up came",
     blind_abort,
     {worker, first_flag, second_flag},
     finished_once,
     MC_DEADLOCK},
    {"unpark before the flag is set", wake_before_flag, {worker, poster}, finished_once, MC_DEADLOCK},
    {"enqueued while still owned",
     enqueue_before_assigned,
     {worker, worker, flagless_poster},
     finished_once,
     MC_ASSERT | MC_RACE},
    {"flag read after PARKED is public",
     flag_after_commit,
     {worker, poster, worker},
     finished_once,
     MC_RACE | MC_USE_AFTER_FREE},
    {"flag set after the lock is dropped",
     flag_after_unlock,
     {worker, poster, stray},
     finished_once,
     MC_RACE | MC_USE_AFTER_FREE},
    {"joiner told before DONE", joiner_before_done, {ends, joins}, NULL, MC_DEADLOCK},
    {0},
};
