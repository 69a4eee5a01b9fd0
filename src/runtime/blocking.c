/* SPDX-License-Identifier: MIT */
/* Blocking calls: on threads kept for them, or in place with a word to the monitor.
 *
 * The pool is the process's. A job lies in the frame of who waits for it. Its thread hands over the result, decides the
 * wait, and touches it no more. A thread that has had no job for a while ends. One is started whenever more jobs wait
 * than threads do; if that fails and there is no thread at all, the job is taken back and runs in place.
 *
 * Prev: runtime/quit.c  Next: runtime/main.c */
#include <ccrt/blocking.h>

#include "../plat/clock.h"
#include "../plat/futex.h"
#include "../plat/thread.h"
#include "../sched/leave.h"
#include "blocking.h"

#include <errno.h>

enum { THREADS_MAX = 512, IDLE_NS = 2000000000 };

struct job {
    struct job *next;
    int (*fn)(void *);
    void *arg;
    int result;
    uint32_t generation; /* of the waiting task */
    struct cc__wait wait;
};

static struct {
    cc__lock lock; /* guards all that is not atomic */
    struct job *first, **last;
    unsigned queued, threads, idle;
    _Atomic uint32_t bell;    /* futex word: one more for each job.  W: with the lock.  R: who is idle */
    _Atomic unsigned pending; /* jobs whose callers are still to be woken.  W: they, who wakes.  R: anyone.  [BL1] */
} pool = {.lock = CC__LOCK_INIT, .last = &pool.first};

unsigned cc__blocking_pending(void) {
    return cc__load_acquire(&pool.pending); /* [BL1] acquire: then look into the queues */
}

/* ---- the pool's threads ---- */

/* With the lock. */
static struct job *take_first(void) {
    struct job *j = pool.first;
    if (j == NULL) return NULL;
    pool.first = j->next;
    if (pool.first == NULL) pool.last = &pool.first;
    pool.queued--;
    return j;
}

/* The next job; NULL: there has been none for long, and this thread counts no more. */
static struct job *next_job(void) {
    struct job *j;
    int64_t until = cc__now_ns() + IDLE_NS;
    bool late = false;
    cc__lock_take(&pool.lock);
    while ((j = take_first()) == NULL && !late) {
        uint32_t bell = cc__load_relaxed(&pool.bell);
        pool.idle++;
        cc__lock_drop(&pool.lock);
        late = cc__futex_wait(&pool.bell, bell, until) == -ETIMEDOUT;
        cc__lock_take(&pool.lock);
        pool.idle--;
    }
    if (j == NULL) pool.threads--;
    cc__lock_drop(&pool.lock);
    return j;
}

static void *thread_main(void *unused) {
    cc__thread_set_name("ccrt-blocking");
    for (struct job *j; (j = next_job()) != NULL;) {
        j->result = j->fn(j->arg);
        struct cc__task *t = j->wait.task;
        uint32_t generation = j->generation;
        cc__wait_decide(t, j->wait.epoch, CC__MATCHED);
        cc__unpark(t, generation);
        /* Last: until the task is queued, this is all that says that it will be (deadlock.c). */
        cc__sub_acq_rel(&pool.pending, 1); /* [BL1] release: the task is queued */
    }
    cc__thread_ends();
    return unused;
}

/* ---- who has jobs ---- */

/* With the lock: put it in line. Whether a thread is to be started for it. */
static bool append(struct job *j) {
    j->next = NULL;
    *pool.last = j;
    pool.last = &j->next;
    pool.queued++;
    cc__add_relaxed(&pool.pending, 1);
    cc__store_relaxed(&pool.bell, cc__load_relaxed(&pool.bell) + 1);
    if (pool.queued <= pool.idle || pool.threads == THREADS_MAX) return false;
    pool.threads++;
    return true;
}

/* No thread could be started. Whether there is none to do the job, which is then taken back. */
static bool take_back(struct job *j) {
    cc__lock_take(&pool.lock);
    bool nobody = --pool.threads == 0;
    struct job **at = &pool.first;
    while (nobody && *at != NULL && *at != j) at = &(*at)->next;
    nobody = nobody && *at == j; /* else a thread that has ended meanwhile did it */
    if (nobody) {
        *at = j->next;
        if (pool.last == &j->next) pool.last = at;
        pool.queued--;
        cc__sub_acq_rel(&pool.pending, 1);
    }
    cc__lock_drop(&pool.lock);
    return nobody;
}

/* False: it could not be given to anybody. */
static bool give(struct job *j) {
    cc__thread thread;
    cc__lock_take(&pool.lock);
    bool start = append(j);
    cc__lock_drop(&pool.lock);
    if (!start) {
        cc__futex_wake(&pool.bell, 1);
        return true;
    }
    if (cc__thread_start(&thread, thread_main, NULL) != 0) return !take_back(j);
    cc__thread_let_go(&thread);
    return true;
}

static int call_in_place(int (*fn)(void *), void *arg) {
    int rc = 0;
    CC_BLOCKING {
        rc = fn(arg);
    }
    return rc;
}

int cc_blocking(int (*fn)(void *), void *arg) {
    if (fn == NULL) return -EINVAL;
    cc__fiber_check_allowed();
    struct cc__worker *w = cc__worker_current();
    struct cc__task *self = w == NULL ? NULL : cc__load_relaxed(&w->current);
    if (self == NULL) return fn(arg);
    struct job j = {.fn = fn, .arg = arg, .generation = cc__task_generation(cc__load_relaxed(&self->control))};
    cc__wait_begin(&j.wait, self, CC__BY_LIST, (void *)(uintptr_t)fn, "blocking call");
    if (!give(&j)) return call_in_place(fn, arg);
    cc__wait_for_ever(&j.wait);
    return j.result;
}

/* ---- in place ---- */

cc_priv_blocking *cc_priv_blocking_enter(cc_priv_blocking *b) {
    struct cc__worker *w = cc__worker_current();
    *b = (cc_priv_blocking){.priv_worker = w};
    if (w == NULL || cc__load_relaxed(&w->current) == NULL) return b;
    b->priv_outer = cc__load_relaxed(&w->blocking);
    cc__store_relaxed(&w->blocking, cc__load_relaxed(&w->tick) + 1);
    cc__idle_blocks(w);
    return b;
}

void cc_priv_blocking_leave(cc_priv_blocking *b) {
    struct cc__worker *w = cc__worker_current();
    if (w == NULL || w != b->priv_worker) return; /* it has waited in there, and moved */
    if (cc__load_relaxed(&w->blocking) == cc__load_relaxed(&w->tick) + 1)
        cc__store_relaxed(&w->blocking, b->priv_outer);
}
