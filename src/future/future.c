/* SPDX-License-Identifier: MIT */
/* Futures: tasks without a stack. The struct in the user's memory is what stands in the queues (sched/polls.h), so a
 * wake allocates nothing, and costs what that of a task does. A worker that picks one calls its poll function on
 * whatever fiber it has, and that is all (run.c).
 *
 * Wake, poll, cancel and free meet in one word, with the states of a task's (task/state.c), the cancel bit, a bit for
 * "somebody awaits it", and the count of its wakers. IDLE is over, or never begun.
 *
 *   poll (P), by the worker that picked it            wake (W), by who has a waker, or cancel (C)
 *   P1 calls the poll function: ACTIVE                W1 stores what the poll function will look at
 *   P2 it woke itself: to the end of the ring         W2 PARKED: to ACTIVE, and queues it. ACTIVE: a note.
 *   P3 pending, no note: to PARKED; a note:              Else nothing
 *      eats it, to the end of the ring                C2 the same, and the cancel bit, in one step
 *   P4 ready: to DONE; without wakers: IDLE
 *
 *   let go (L), by who drops a waker                  await (A), or who waits for the counter and frees it (F)
 *   L1 one less. DONE, and it was the last: IDLE      A1 locks the list. IDLE: it is over
 *   L2 that, or P4 to IDLE: if somebody awaits it,    A2 else: "awaited", its node on the list; unlocks, waits
 *      it is DONE first; locks the list, takes all    F1 the counter is 0: frees it
 *      off, to IDLE, unlocks; settles their waits
 *   L3 counts out the counter
 *
 * Each step is one read-modify-write of the word, so they are totally ordered. A wake before P1, while it is queued,
 * leaves a note: polled once too often. One between P1 and P3 is seen at P3; one after P3 queues it. Only W2 and C2 on
 * PARKED, and P2 and P3 on a future that is in no queue, queue it: so it is in one queue, and polled by one worker at a
 * time. W2's release reaches P3's acquire, or the next poll through the queue. A future that woke itself needs no
 * change of the word: it is ACTIVE, and nobody else can queue it.
 *
 * A spawn that fails has made it ACTIVE for a moment, and takes it back as P4 and L2 do: somebody may await it.
 *
 * Who wakes holds a waker, or is the poll function: so it is not over meanwhile. The step to IDLE is the last touch of
 * the future, unless it is awaited: then it is the unlock. The counter was read before. So F1 may free it.
 * [FT1]: what was done with a waker, or by a poll, comes before L3 or the end of A.
 *
 * A cancellation is nothing that is waited for: C2 has it polled, and what it polls for looks at the bit (P3 of
 * polls.h), so no fences are needed as in sched/cancel.c.
 *
 * Rejected: a table of futures with generations for wakers (a wake would have to find it there; and 64 bytes more);
 * counting out at READY (a waker that is dropped later would touch freed memory).
 *
 * Prev: job/sort.c  Next: future/poll.c */
#include <ccrt/future.h>

#include "../base/assert.h"
#include "../plat/clock.h"
#include "../sched/claims.h"
#include "../sched/events.h"
#include "../sched/polls.h"

#include <errno.h>
#include <string.h>

/* The function itself, for who binds it: in C and C++ the macro of this name notes the place. */
#undef cc_future_init

static struct cc__task *task_of(void *future) {
    return future;
}
static struct cc__future *future_of(void *task) {
    return task;
}

/* Of struct cc__task. */
typedef void *task_fn(void *);

void cc_future_init_at(const cc_site *site, cc_future *f, cc_poll_fn *poll) {
    CC_CHECK(f != NULL && poll != NULL, "a future needs a poll function");
    memset(f, 0, offsetof(struct cc__future, wait)); /* a wait has its own beginning */
    struct cc__task *t = task_of(f);
    t->fn = (task_fn *)(void (*)(void))poll;
    t->site = site;
    t->stack_class = CC__STACKLESS;
}

void cc_future_init(cc_future *f, cc_poll_fn *poll) {
    cc_future_init_at(NULL, f, poll);
}

/* L2 of one that is awaited. */
static CC__COLD void tell(struct cc__task *t) {
    struct cc__waitlist *l = &future_of(t)->awaiters;
    struct cc__claims got = {0};
    cc__waitlist_lock(l);
    cc__claims_all(&got, l, CC__MATCHED);
    cc__state_over(t);
    cc__waitlist_unlock(l);
    cc__claims_wake(&got);
}

static void over(struct cc__task *t, cc_counter *counter, enum cc__held held) {
    if (held == CC__HELD) return;
    CC__EDGE_ACQUIRE(t);
    if (held == CC__AWAITED) tell(t);
    if (counter != NULL) cc_counter_done(counter); /* L3 */
}

/* A task of that runtime, or of the default one; counted in. */
static int admit(struct cc__task *t) {
    struct cc__worker *w = cc__worker_current();
    struct cc__runtime *rt = w != NULL ? w->runtime : NULL;
    int rc = rt != NULL ? 0 : cc__runtime_default(&rt);
    if (rc == 0) rc = cc__spawn_admit(rt, 1);
    if (rc != 0) return rc;
    t->runtime = rt;
    t->serial = cc__spawn_serial(rt, w);
    return 0;
}

int cc_future_spawn(cc_future *f, cc_counter *counter) {
    if (f == NULL || task_of(f)->stack_class != CC__STACKLESS || task_of(f)->fn == NULL) return -EINVAL;
    struct cc__task *t = task_of(f);
    if (!cc__state_future_begin(t)) return -EBUSY;
    int rc = admit(t);
    if (rc != 0) {
        over(t, NULL, cc__state_ready(t)); /* IDLE again: nobody has a waker, but somebody may await it by now */
        return rc;
    }
    t->value = counter;
    if (counter != NULL) cc_counter_add(counter, 1);
    if (CC__TRACING(CC__TRACE_SPAWN | CC__EDGES)) cc__event_spawn(t);
    cc__ready_new(t);
    return 0;
}

/* ---- its end ---- */

void cc__future_let_go(struct cc__task *t) {
    cc_counter *counter = t->value; /* before it can be over */
    CC__EDGE_RELEASE(t);
    over(t, counter, cc__state_let_go(t));
}

static void end(struct cc__worker *w, struct cc__task *t) {
    cc_counter *counter = t->value;
    CC_ASSERT(!t->polls);
    /* [SD1] release: shutdown that counts this end sees all it spawned. Its wakers have no more to do with the
     * runtime. */
    cc__store_release(&w->count.ended, cc__load_relaxed(&w->count.ended) + 1);
    CC__EDGE_RELEASE(t);
    over(t, counter, cc__state_ready(t)); /* P4 */
}

/* ---- polling ---- */

struct cc__worker *cc__future_poll(struct cc__fiber *f, struct cc__task *t) {
    cc_poll_fn *poll = (cc_poll_fn *)(void (*)(void))t->fn;
    t->fiber = f; /* meanwhile */
    f->task = t;
    f->waits_for = 0;
    /* Only its first line is touched here; its name, for tools, is behind that. */
    cc__fiber_describe(f, t->serial, CC__UNLIKELY(f->hooks != 0) ? cc__task_label(t) : NULL);
    cc_poll_state how = poll((cc_future *)(void *)t, (cc_waker *)(void *)t); /* P1 */
    struct cc__worker *w = cc__worker_current();
    if (CC__UNLIKELY(f->frame != NULL)) cc__frame_end(f);
    if (CC__UNLIKELY(f->forks != NULL || cc__forks_own_any(&w->forks))) cc__forks_forgotten();
    if (CC__UNLIKELY(f->waits_for != 0)) w->again = true; /* it has waited, by misuse, and may have eaten a note */
    if (how == CC_READY && t->polls) (void)cc_poll_cancel((cc_future *)(void *)t);
    t->fiber = NULL;
    cc__store_relaxed(&w->current, NULL); /* it may be gone soon */
    bool again = w->again;
    w->again = false;
    if (how == CC_READY) {
        end(w, t);
        return w;
    }
    CC__EDGE_RELEASE(t);
    if (again || !cc__state_park(t)) /* P2, P3 */
        cc__ready_later(w, t);
    else
        cc__count(&w->count.parked);
    return w;
}

/* ---- wakers ---- */

void cc_waker_wake(cc_waker *waker) {
    struct cc__task *t = task_of(waker);
    struct cc__worker *w = cc__worker_current();
    if (w != NULL && cc__load_relaxed(&w->current) == t)
        w->again = true; /* P2 */
    else
        cc__unpark(t, 0);
}

cc_waker *cc_waker_clone(cc_waker *w) {
    cc__state_hold(task_of(w));
    return w;
}

void cc_waker_drop(cc_waker *w) {
    if (w != NULL) cc__future_let_go(task_of(w));
}

/* ---- cancellation ---- */

void cc_future_cancel(cc_future *f) {
    struct cc__task *t = task_of(f);
    CC__EDGE_RELEASE(t);
    if (cc__state_cancel(t) == CC__UNPARK_QUEUE) cc__ready(t);
}

bool cc__polled_cancelled(const struct cc__future *p) {
    if (p->shields > 0) return false;
    const struct cc__task *t = (const struct cc__task *)(const void *)p;
    /* [TS2] acquire: it may have come just now: what who cancels did before is seen. */
    if (CC__UNLIKELY((cc__load_acquire(&p->control) & CC__CONTROL_CANCEL) != 0)) return true;
    return t->runtime != NULL && cc__load_acquire(&t->runtime->cancelled) != 0; /* [CN2] */
}

int cc_future_cancelled(const cc_future *f) {
    return cc__polled_cancelled((const struct cc__future *)(const void *)f) ? -ECANCELED : 0;
}

void cc_future_shield(cc_future *f) {
    CC_CHECK(future_of(f)->shields < UINT32_MAX, "a future is in too many shields");
    future_of(f)->shields++;
}

void cc_future_unshield(cc_future *f) {
    CC_CHECK(future_of(f)->shields > 0, "a future leaves a shield that it is not in");
    future_of(f)->shields--;
}

/* ---- awaiting ---- */

static int await(cc_future *f, bool cancellable) {
    struct cc__task *self = cc__self();
    struct cc__waitlist *l = &future_of(f)->awaiters;
    CC_CHECK(self != NULL, "no memory to let this thread wait");
    for (;;) {
        struct cc__wait w;
        cc__waitlist_lock(l); /* A1 */
        bool wait = cc__state_await(task_of(f));
        if (wait) {
            cc__wait_begin(&w, self, cancellable ? CC__BY_CANCEL : CC__BY_LIST, f, "await");
            cc__waitlist_append(l, &w);
        }
        cc__waitlist_unlock(l);
        if (!wait) {
            CC__EDGE_ACQUIRE(task_of(f));
            cc__run_completed();
            return 0;
        }
        int rc = 0;
        if (cancellable)
            rc = cc__claims_wait(&w, l, l);
        else
            (void)cc__wait_for_ever(&w);
        if (rc != CC__WAIT_AGAIN) return rc;
    }
}

void cc_future_await(cc_future *f) {
    (void)await(f, false);
}

int cc_future_await_cancellable(cc_future *f) {
    return await(f, true);
}
