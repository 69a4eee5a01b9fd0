/* SPDX-License-Identifier: MIT */
/* The search in other workers' queues, by a worker that counts as a searcher.
 *
 * Four rounds, each from a random victim on: everybody's timers that are due, the global queue, half of a ring,
 * a whole post; in the last round a slot whose owner has run the same task for some 20 us: the one to run next is left
 * to its owner, so that tasks that wake each other in turn stay together, unless the owner is long about something.
 * Where workers are bound to several nodes of memory, each round goes from near to far (placement.c). And, by a worker
 * that has enough to do, a look at one other now and then.
 *
 * Prev: sched/worker.c  Next: sched/run.c */
#include "sched.h"

#include "../plat/barrier.h"
#include "choice.h"
#include "events.h"

enum { ROUNDS = 4, SPIN_PAUSES = 8, SPIN_TURNS = 8 };

/* What is in a slot that its owner leaves alone: the owner runs something long. Or NULL. The slot is not looked at in
 * between: each look would cost its owner a cache miss. */
static struct cc__task *slot_left_alone(struct cc__worker *owner) {
    struct cc__task *t = cc__load_relaxed(&owner->slot.task);
    if (t == NULL) return NULL;
    uint32_t tick = cc__load_relaxed(&owner->tick);
    int64_t until = cc__choice_now() + cc__choice_patience_ns();
    while (cc__choice_now() < until) cc__cpu_relax();
    return cc__load_relaxed(&owner->slot.task) == t && cc__load_relaxed(&owner->tick) == tick ? t : NULL;
}

/* Take this from a slot, if it is still there: see slot.h. */
static bool take_slot(struct cc__slot *s, struct cc__task *t) {
    if (!cc__barrier_possible()) return cc__cas_acq_rel(&s->task, &t, NULL); /* [RQ3] acquire */
    uint32_t none = 0;
    if (!cc__cas_relaxed(&s->thief, &none, 1)) return false; /* no order: the slot itself tells what is there */
    cc__barrier_all();                                       /* [SL1] T2 */
    bool got = cc__load_acquire(&s->taking) == 0 && cc__cas_acq_rel(&s->task, &t, NULL); /* [SL2] [RQ3] */
    cc__store_release(&s->thief, 0); /* [SL2] release: it is empty, or not */
    return got;
}

static struct cc__task *steal_slot(struct cc__worker *victim) {
    struct cc__task *t = slot_left_alone(victim);
    return t != NULL && take_slot(&victim->slot, t) ? t : NULL;
}

static struct cc__task *steal_from(struct cc__worker *w, struct cc__worker *victim, bool last) {
    struct cc__task *t = cc__runq_steal(w, &w->begun, &victim->begun);
    if (t == NULL) t = cc__runq_steal(w, &w->fresh, &victim->fresh);
    if (t == NULL && cc__jobs_any(victim)) t = cc__jobs_steal(w, victim);
    if (t == NULL && cc__forks_any(&victim->forks)) t = cc__forks_steal(w, victim, last);
    if (t == NULL && cc__load_relaxed(&victim->post) != NULL) {
        struct cc__tasks post = cc__inbox_take(&victim->post);
        t = cc__tasks_take(&post);
        cc__ready_all_taken(w, post);
    }
    if (t == NULL && last) t = steal_slot(victim);
    if (t != NULL && CC__TRACING(CC__TRACE_STEAL)) cc__event_steal(w, victim);
    return t;
}

static struct cc__task *steal_from_any(struct cc__worker *w, bool last, unsigned count) {
    struct cc__task *t = NULL;
    unsigned start = cc__choice_victim(w);
    for (unsigned i = 0; t == NULL && i < count; i++) {
        struct cc__worker *victim = &w->runtime->workers[(start + i) % count];
        if (victim != w) t = steal_from(w, victim, last);
    }
    return t;
}

/* Ring by ring, each from any of it on; those who came in addition sit anywhere. */
static CC__COLD struct cc__task *steal_near_first(struct cc__worker *w, bool last, unsigned count) {
    struct cc__runtime *rt = w->runtime;
    const struct cc__victims *v = w->victims;
    struct cc__task *t = NULL;
    for (unsigned ring = 0, begin = 0; t == NULL && ring < CC__RINGS; begin = v->end[ring++]) {
        unsigned n = v->end[ring] - begin, start = n == 0 ? 0 : cc__choice_near(w, n);
        for (unsigned i = 0; t == NULL && i < n; i++) {
            struct cc__worker *victim = &rt->workers[v->worker[begin + (start + i) % n]];
            if (victim != w) t = steal_from(w, victim, last);
        }
    }
    for (unsigned i = rt->base_count; t == NULL && i < count; i++) t = steal_from(w, &rt->workers[i], last);
    return t;
}

static struct cc__task *steal_round(struct cc__worker *w, bool last) {
    struct cc__runtime *rt = w->runtime;
    int64_t now = 0;
    bool fired = false;
    unsigned count = cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++) fired |= cc__worker_expire(&rt->workers[i].timers, &now);
    struct cc__task *t = fired ? cc__worker_pick_local(w) : NULL;
    if (t == NULL) t = cc__inject_take_batch(&rt->inject, w);
    if (t != NULL || rt->no_stealing) return t;
    return w->victims == NULL ? steal_from_any(w, last, count) : steal_near_first(w, last, count);
}

struct cc__task *cc__steal(struct cc__worker *w) {
    struct cc__task *t = NULL;
    int rounds = cc__worker_count(w->runtime) == 1 ? 1 : ROUNDS;
    for (int round = 1; t == NULL && round <= rounds; round++) t = steal_round(w, round == ROUNDS);
    return t;
}

/* What waits in the ring of one that has picked nothing since the last look: it computes, or the system runs something
 * else in its place, a time slice long. What is new goes to others meanwhile; those would be the only ones to wait. One
 * other worker is looked at each time, since each look costs it a cache miss (docs/decisions/0022-stranded.md). */
struct cc__task *cc__steal_stranded(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    unsigned count = cc__worker_count(rt);
    if (CC__LIKELY(count == 1) || rt->no_stealing) return NULL;
    struct cc__worker *other = &rt->workers[w->other % count];
    struct cc__task *first = NULL, *t;
    if (other != w && cc__load_relaxed(&other->tick) == w->other_tick) {
        while ((t = cc__runq_steal(w, &w->begun, &other->begun)) != NULL) {
            if (first == NULL)
                first = t;
            else
                cc__runq_push(w, &w->begun, t);
        }
    }
    if (++w->other % count == w->id) w->other++;
    w->other_tick = cc__load_relaxed(&rt->workers[w->other % count].tick);
    return first;
}

static bool share_jobs(struct cc__worker *victim) {
    struct cc__task *got[CC__JOBS_STEAL];
    bool any = false;
    for (uint32_t n; cc__jobs_any(victim) && (n = cc__jobs_take_half(victim, got, CC__JOBS_STEAL)) > 0; any = true)
        cc__inject_push_many(&victim->runtime->inject, CC_PRIORITY_NORMAL, got, n);
    return any;
}

static bool share_ring(struct cc__runtime *rt, struct cc__runq *q, int lane) {
    struct cc__task *got[CC__RUNQ_SLOTS / 2];
    bool any = false;
    for (uint32_t n; (n = cc__runq_take_half(q, got)) > 0; any = true) cc__inject_push_many(&rt->inject, lane, got, n);
    return any;
}

bool cc__steal_share(struct cc__worker *victim) {
    struct cc__runtime *rt = victim->runtime;
    if (rt->no_stealing) return false;
    struct cc__task *t = cc__load_relaxed(&victim->slot.task);
    bool any = t != NULL && take_slot(&victim->slot, t);
    if (any) cc__inject_push(&rt->inject, t);
    if (share_ring(rt, &victim->begun, CC__LANE_BEGUN)) any = true;
    if (share_ring(rt, &victim->fresh, CC_PRIORITY_NORMAL)) any = true;
    if (share_jobs(victim)) any = true;
    if (cc__load_relaxed(&victim->post) == NULL) return any;
    struct cc__tasks post = cc__inbox_take(&victim->post);
    for (; (t = cc__tasks_take(&post)) != NULL; any = true) cc__inject_push(&rt->inject, t);
    return any;
}

bool cc__steal_queued(struct cc__runtime *rt) {
    if (!cc__inject_empty(&rt->inject)) return true;
    unsigned count = rt->no_stealing ? 0 : cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++) {
        struct cc__worker *v = &rt->workers[i];
        if (!cc__runq_empty(&v->begun) || !cc__runq_empty(&v->fresh) || cc__load_relaxed(&v->post) != NULL) return true;
        if (cc__jobs_any(v)) return true;
    }
    return false;
}

/* Whether somebody has forks that are for thieves. They are not queued: their owner comes to them by itself. */
static bool any_forks(struct cc__runtime *rt) {
    unsigned count = rt->no_stealing ? 0 : cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++)
        if (cc__forks_shared(&rt->workers[i].forks)) return true;
    return false;
}

/* Whether there is something w could run at once; slots are left out. */
static bool any_queued(struct cc__worker *w) {
    if (cc__load_relaxed(&w->mail) != NULL || cc__load_relaxed(&w->post) != NULL) return true;
    return cc__steal_queued(w->runtime) || any_forks(w->runtime);
}

bool cc__steal_visible(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    if (any_queued(w)) return true;
    unsigned count = rt->no_stealing ? 0 : cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++)
        if (cc__load_relaxed(&rt->workers[i].slot.task) != NULL || cc__forks_any(&rt->workers[i].forks)) return true;
    return false;
}

bool cc__steal_anything(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    if (any_queued(w) || w->pinned.first != NULL) return true; /* a timer or a descriptor of its own, found searching */
    unsigned count = rt->no_stealing ? 0 : cc__worker_count(rt);
    /* A slot that changes while we look is its owner's; what is put there from now on finds us idle. */
    for (unsigned i = 0; i < count; i++)
        if (slot_left_alone(&rt->workers[i]) != NULL) return true;
    return count > 1 && cc__forks_hungry(w);
}

/* Look on for a while before sleeping: waking a thread costs its waker microseconds. Only one worker does so at a time,
 * none of a higher tier, and lets others have the cpu: who is to publish something may be waiting for it. */
bool cc__steal_spin(struct cc__worker *w) {
    struct cc__runtime *rt = w->runtime;
    if (cc__load_relaxed(&rt->searching) != 1 || cc__worker_count(rt) == 1 || w->tier > 0) return false;
    if (!rt->no_stealing) cc__forks_want(w);
    int64_t until = cc__choice_now() + cc__choice_spin_ns();
    for (unsigned turn = 0; cc__choice_now() < until; turn++) {
        if (turn % SPIN_TURNS == 0) cc__thread_yield();
        cc__cpu_relax_for(SPIN_PAUSES);
        if (any_queued(w)) return true;
        if (cc__load_relaxed(&rt->stopping) != 0) return false;
    }
    return false;
}
