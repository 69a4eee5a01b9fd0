/* SPDX-License-Identifier: MIT */
/* The search for the next task, and a worker's life.
 *
 * Order: the slot (three times in a row at most, then it goes to the tail of the ring, or two tasks that wake
 * each other would keep all others out), the ring, the global queue in a batch, timers that are due; then as a
 * searcher, in four rounds: everybody's timers, the global queue, half of a random victim's ring, and in the last
 * round a slot whose owner has left it alone. Every 61st task the global queue and the timers come first, so
 * that no local crowd starves them.
 *
 * Prev: sched/inject.c  Next: sched/run.c */
#include "sched.h"

#include "../base/text.h"
#include "../plat/clock.h"
#include "../plat/futex.h"

enum { FAIR_EVERY = 61, LIFO_MAX = 3, ROUNDS = 4, SLOT_PATIENCE_NS = 20000, SPIN_NS = 50000, SPIN_PAUSES = 8 };

/* Fire what is due in one set; the tasks become runnable here. */
static bool expire(struct cc__timers *s, int64_t *now) {
    int64_t next = cc__load_relaxed(&s->next_ns);
    if (next == CC__NEVER) return false;
    if (*now == 0) *now = cc__now_ns();
    if (next > *now) return false;
    struct cc__task *ready = cc__timers_expire(s, *now);
    cc__ready_list(ready);
    return ready != NULL;
}

static struct cc__task *take_slot(struct cc__worker *w) {
    if (cc__load_relaxed(&w->lifo) == NULL) return NULL;
    return cc__xchg_acq_rel(&w->lifo, NULL); /* [RQ3] acquire: a thief may have been quicker; then NULL */
}

static struct cc__task *pick_local(struct cc__worker *w) {
    struct cc__task *t = take_slot(w);
    if (t != NULL && w->lifo_streak < LIFO_MAX) {
        w->lifo_streak++;
        return t;
    }
    w->lifo_streak = 0;
    struct cc__task *first = cc__runq_pop(&w->runq);
    if (first == NULL) return t; /* nobody waits that it could keep out */
    if (t != NULL) cc__runq_push(w, t);
    return first;
}

struct cc__task *cc__worker_pick(struct cc__worker *w) {
    struct cc__task *t = NULL;
    int64_t now = 0;
    if (++w->tick % FAIR_EVERY == 0) {
        expire(&w->timers, &now);
        t = cc__inject_take(&w->runtime->inject, w);
    }
    if (t == NULL) t = pick_local(w);
    if (t == NULL) t = cc__inject_take(&w->runtime->inject, w);
    if (t == NULL && expire(&w->timers, &now)) t = pick_local(w);
    if (t != NULL) cc__state_own(t, w->id);
    return t;
}

/* What is in a slot that its owner does not touch for a while: the owner runs something long. Or NULL. */
static struct cc__task *slot_left_alone(struct cc__worker *owner) {
    struct cc__task *t = cc__load_relaxed(&owner->lifo);
    if (t == NULL) return NULL;
    int64_t until = cc__now_ns() + SLOT_PATIENCE_NS;
    while (cc__now_ns() < until) {
        if (cc__load_relaxed(&owner->lifo) != t) return NULL;
        cc__cpu_relax();
    }
    return t;
}

static struct cc__task *steal_slot(struct cc__worker *victim) {
    struct cc__task *t = slot_left_alone(victim);
    return t != NULL && cc__cas_acq_rel(&victim->lifo, &t, NULL) ? t : NULL; /* [RQ3] acquire */
}

static struct cc__task *search_round(struct cc__worker *w, int round) {
    struct cc__runtime *rt = w->runtime;
    int64_t now = 0;
    bool fired = false;
    for (unsigned i = 0; i < rt->worker_count; i++) fired |= expire(&rt->workers[i].timers, &now);
    struct cc__task *t = fired ? pick_local(w) : NULL;
    if (t == NULL) t = cc__inject_take(&rt->inject, w);
    uint32_t start = cc__rng_below(&w->rng, rt->worker_count);
    for (unsigned i = 0; t == NULL && i < rt->worker_count; i++) {
        struct cc__worker *victim = &rt->workers[(start + i) % rt->worker_count];
        if (victim == w) continue;
        t = cc__runq_steal(w, &victim->runq);
        if (t == NULL && round == ROUNDS - 1) t = steal_slot(victim);
    }
    return t;
}

static bool any_queued(struct cc__runtime *rt) {
    if (cc__load_relaxed(&rt->inject.count) > 0) return true;
    for (unsigned i = 0; i < rt->worker_count; i++)
        if (!cc__runq_empty(&rt->workers[i].runq)) return true;
    return false;
}

bool cc__worker_any_work(struct cc__runtime *rt) {
    if (any_queued(rt)) return true;
    /* A slot that changes while we look is its owner's; what is put there from now on finds us idle. */
    for (unsigned i = 0; i < rt->worker_count; i++)
        if (slot_left_alone(&rt->workers[i]) != NULL) return true;
    return false;
}

/* Look on for a while before sleeping, without system calls: waking a thread costs its waker microseconds. Only one
 * worker does so at a time. True: there is something. */
static bool spin(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    if (cc__load_relaxed(&rt->searching) != 1 || rt->worker_count == 1) return false;
    int64_t until = cc__now_ns() + SPIN_NS;
    while (cc__now_ns() < until) {
        for (int i = 0; i < SPIN_PAUSES; i++) cc__cpu_relax();
        if (any_queued(rt)) return true;
        if (cc__load_relaxed(&rt->stopping) != 0) return false;
    }
    return false;
}

struct cc__task *cc__worker_find(struct cc__worker *w) {
    for (;;) {
        struct cc__task *t = cc__worker_pick(w);
        if (t != NULL) {
            cc__idle_stop_searching(w, true);
            return t;
        }
        if (cc__idle_start_searching(w)) {
            for (int round = 0; t == NULL && round < ROUNDS; round++) t = search_round(w, round);
            if (t != NULL) {
                cc__state_own(t, w->id);
                cc__idle_stop_searching(w, true);
                return t;
            }
            if (spin(w)) continue;
        }
        if (!cc__idle_sleep(w)) {
            cc__idle_stop_searching(w, false);
            return NULL;
        }
    }
}

void *cc__worker_main(void *arg) {
    struct cc__worker *w = arg;
    char name[16];
    struct cc__text text = cc__text_on(name, sizeof name - 1);
    cc__text_str(&text, "ccrt-");
    cc__text_dec(&text, w->id);
    name[text.len] = 0;
    cc__thread_set_name(name);
    cc__worker_set_current(w);
    struct cc__task *t;
    if (cc__fiber_attach(&w->root) != 0) w->root = NULL;
    /* [RT1] release: the starter may go on; it looks whether there is a root. */
    cc__store_release(&w->started, 1);
    cc__futex_wake(&w->started, 1);
    if (w->root == NULL) return NULL;
    while ((t = cc__worker_find(w)) != NULL) cc__run_task(w, t);
    cc__run_drop_fibers(w);
    cc__stack_cache_shrink(&w->stacks, 0);
    cc__task_cache_drain(&w->records);
    cc__worker_set_current(NULL);
    return NULL;
}
