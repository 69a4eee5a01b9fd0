/* SPDX-License-Identifier: MIT */
/* Goal: why the pending wake-up is part of the control word: with a word of its own, parking is a Dekker
 * pair that only seq_cst saves, and one that looks right on paper loses wake-ups.
 * Method: the protocol of model_park_examples.c with `pending` apart from `control`, in three forms:
 *   literal    a wake-up that does not see PARKED sets pending and leaves, without looking again
 *   re-read    sets pending, then looks at control once more; the other side parks, then looks at pending
 *              - with release and acquire: each may miss the other's store
 *              - with seq_cst: sound
 * The fiber is played by its worker: it has no stack, `resumed` says where it goes on.
 */
#include "ccmc.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ASSIGNED = -1, PARKED = -2, DONE = -4 };

static enum form { LITERAL, RELEASE_ACQUIRE, SEQ_CST } form;

static struct task {
    _Atomic int control; /* the worker's number, or one of the above */
    _Atomic int pending;
    _Atomic int notified; /* the flag it waits for */
    bool resumed, running;
} task;

static struct mc_sem run_queue;
static pthread_mutex_t wait_lock = PTHREAD_MUTEX_INITIALIZER;
static bool waiting, finished, got_it; /* waiting and tokens under wait_lock */
static int tokens;

/* ---- the same operations in the order that the form asks for ---- */

static int load(_Atomic int *p) {
    return form == SEQ_CST ? atomic_load_explicit(p, memory_order_seq_cst)
                           : atomic_load_explicit(p, memory_order_acquire);
}

static void store(_Atomic int *p, int v) {
    if (form == SEQ_CST)
        atomic_store_explicit(p, v, memory_order_seq_cst);
    else
        atomic_store_explicit(p, v, memory_order_release);
}

static bool cas(_Atomic int *p, int from, int to) {
    if (form == SEQ_CST)
        return atomic_compare_exchange_strong_explicit(p, &from, to, memory_order_seq_cst, memory_order_acquire);
    return atomic_compare_exchange_strong_explicit(p, &from, to, memory_order_acq_rel, memory_order_acquire);
}

/* ---- the protocol ---- */

static void enqueue(void) {
    mc_sem_post(&run_queue);
}

static void unpark(void) {
    if (form == LITERAL) {
        while (load(&task.control) == PARKED) {
            if (!cas(&task.control, PARKED, ASSIGNED)) continue;
            enqueue();
            return;
        }
        store(&task.pending, 1);
        return;
    }
    store(&task.pending, 1);
    if (load(&task.control) == PARKED && cas(&task.control, PARKED, ASSIGNED)) enqueue();
}

static bool park_enter(void) {
    if (atomic_exchange_explicit(&task.pending, 0, memory_order_acq_rel) != 0) return false;
    return atomic_load_explicit(&task.notified, memory_order_acquire) == 0;
}

static void park_commit(int self) {
    if (atomic_load_explicit(&task.pending, memory_order_acquire) != 0 ||
        atomic_load_explicit(&task.notified, memory_order_acquire) != 0) {
        atomic_store_explicit(&task.control, ASSIGNED, memory_order_release);
        enqueue();
        return;
    }
    cas(&task.control, self, PARKED);
    if (load(&task.pending) != 0 && cas(&task.control, PARKED, ASSIGNED)) enqueue();
}

/* ---- the fiber, one turn on a worker: false if it parks ---- */

static bool take_or_wait(void) {
    pthread_mutex_lock(&wait_lock);
    atomic_store_explicit(&task.notified, 0, memory_order_relaxed);
    bool got = tokens > 0;
    if (got)
        tokens--;
    else
        waiting = true;
    pthread_mutex_unlock(&wait_lock);
    return got;
}

static bool was_notified(void) {
    pthread_mutex_lock(&wait_lock);
    bool got = atomic_load_explicit(&task.notified, memory_order_acquire) != 0;
    waiting = false;
    pthread_mutex_unlock(&wait_lock);
    return got;
}

static bool fiber_turn(void) {
    bool resumed = task.resumed;
    for (;; resumed = true) {
        if (resumed && was_notified()) return true;
        if (take_or_wait()) return true;
        task.resumed = true;
        if (park_enter()) return false;
    }
}

static void worker(void) {
    int self = mc_self() + 1;
    for (;;) {
        mc_sem_wait(&run_queue);
        if (finished) break;
        if (!cas(&task.control, ASSIGNED, self)) continue; /* woken twice: the other one runs it */
        mc_assert(!task.running);
        task.running = true;
        bool ended = fiber_turn();
        task.running = false;
        if (ended) {
            got_it = finished = true;
            atomic_store_explicit(&task.control, DONE, memory_order_release);
            break;
        }
        park_commit(self);
    }
    mc_sem_post(&run_queue);
}

/* ---- who wakes it ---- */

static void poster(void) {
    pthread_mutex_lock(&wait_lock);
    bool wake = waiting;
    waiting = false;
    if (wake)
        atomic_store_explicit(&task.notified, 1, memory_order_release);
    else
        tokens++;
    pthread_mutex_unlock(&wait_lock);
    if (wake) unpark();
}

static void flagless_poster(void) {
    pthread_mutex_lock(&wait_lock);
    bool wake = waiting;
    tokens++;
    waiting = false;
    pthread_mutex_unlock(&wait_lock);
    if (wake) unpark();
}

static void stray(void) {
    unpark();
}

/* ---- scenarios ---- */

static void begin(enum form f) {
    form = f;
    atomic_store_explicit(&task.control, ASSIGNED, memory_order_relaxed);
    mc_sem_init(&run_queue, 1);
}
static void literal(void) {
    begin(LITERAL);
}
static void release_acquire(void) {
    begin(RELEASE_ACQUIRE);
}
static void seq_cst(void) {
    begin(SEQ_CST);
}

static void finished_once(void) {
    mc_assert(finished && got_it);
}

const struct mc_scenario mc_scenarios[] = {
    {"literal: poster", literal, {worker, poster}, finished_once, MC_DEADLOCK},
    {"literal: flagless poster", literal, {worker, flagless_poster}, finished_once, MC_DEADLOCK},
    {"re-read, release and acquire: poster", release_acquire, {worker, poster}, finished_once, MC_DEADLOCK},
    {"re-read, release and acquire: flagless poster",
     release_acquire,
     {worker, flagless_poster},
     finished_once,
     MC_DEADLOCK},
    {"re-read, seq_cst: poster", seq_cst, {worker, poster}, finished_once},
    {"re-read, seq_cst: flagless poster", seq_cst, {worker, flagless_poster}, finished_once},
    {"re-read, seq_cst: 2 workers, poster", seq_cst, {worker, worker, poster}, finished_once},
    {"re-read, seq_cst: poster, stray", seq_cst, {worker, poster, stray}, finished_once},
    {"re-read, seq_cst: 2 workers, poster, stray", seq_cst, {worker, worker, poster, stray}, finished_once},
    {0},
};
