/* SPDX-License-Identifier: MIT */
/* Fork and join on records in the caller's frame.
 *
 * Each worker has a deque of pointers to records: the owner pushes and pops at its head, thieves take the oldest at its
 * tail. What is between tail and `split` is for thieves, what is between split and head for the owner, who needs no
 * lock and no fence for it. All else happens with the deque's lock held, and seldom.
 *
 *   owner forks                                  owner joins its newest
 *   F1 writes record and place, head + 1         J1 head - 1
 *   F2 light fence                               J2 light fence
 *   F3 limit is behind: through                  J3 split is not above: it is its own to call
 *   F4 else: lengthens, shares, wakes (below)    J4 else, with the lock: not stolen, so it takes it, and half of what
 *                                                   is left for thieves back; or stolen: all below are, so
 *                                                   tail = split = head; waits for its end
 *
 *   thief takes one, with the lock               thief insists, with the lock, where tail = split
 *   T1 tail < split: takes *tail, tail + 1       R1 split = tail + half of what seems to be there
 *                                                R2 heavy fence
 *                                                R3 reads head; split is not to be above it. Then T1
 *
 * J1..J3 against R1..R3 is the one race without a lock. A heavy fence makes the owner pass a full fence at some
 * point P between R1 and R3. If J1 comes before P, R3 sees it and leaves that place alone; else J3 comes after P, sees
 * R1, and the owner waits for the lock. So what R3 sees below split is the thief's. (The light fence keeps only the
 * compiler from moving J3 before J1.)
 *
 * Hunger. A worker that finds nothing sets the limits of all deques to NULL, so that the next fork goes to F4:
 *
 *   owner at F4, limit NULL                      worker that goes to sleep
 *   A1 nobody is idle: limit = end, full fence,  S1 sets its idle bit, full fence (sched/idle.c)
 *      and looks once more: nobody idle, nobody  H1 reads limits: those that are not NULL it sets to NULL, then
 *      searching: through                           a heavy fence
 *   A2 somebody is idle: limit = NULL            H2 reads heads and tails: there is something: does not sleep
 *   A3 shares half, if nothing is shared
 *   A4 wakes one, if somebody is idle
 *
 * F1..F3 against H1..H2, by the fences of F2 and H1: either F3 finds the limit NULL, or H2 finds the fork. A1 against
 * S1 and H1, by full fences: either A1 sees who is idle and A2 undoes it, or H1 finds a limit that is not NULL. So no
 * fork lies in a deque while a worker sleeps, unless somebody has been woken for it. Who searches in vain sets limits,
 * too, but not to NULL, which says that H1's fence was passed; after a while it insists. A loop looks at it between
 * forks, too. Where there is no heavy fence, limits stay NULL and each fork is shared at once.
 *
 * Away. Places belong to the task that runs now: before it leaves its worker, for whatever reason, its forks become
 * tasks in the worker's queue; a join then waits, and claims nothing back. So do those above one that is joined out of
 * order, and the older half of a full deque. priv_at says where a record is, so a place that has another record by then
 * is not taken for it. What is away is in a list of its task's, for scopes that are left.
 *
 * Scopes. A fork runs under the scope of its fork. One that is still in the deque does not know it: it is what its
 * task is in, until that enters a scope; then all there are told theirs, and those are for thieves, so that their
 * joins come here: they are called under their own scope. Split is never below those, also where R3 finds the newest
 * of them just being joined: then only `shared` is, what thieves read. Who leaves a scope joins what was forked in it.
 *
 * The end. One word a record: NULL, then the child's end (DONE) or the joiner's wait, whichever comes first; the second
 * finds the first. The exchange is the child's last touch of a record whose joiner does not wait yet.
 *
 * Rejected: records with room for a task (a stale handle may look at a task's record at any time, a frame is gone by
 * then); a fence in J2 (twice the price of a fork); thieves that signal the owner (a handler in user code).
 *
 * Prev: scope/combine.c  Next: job/job.c */
#include "../base/atomic.h"
#include "../base/base.h"
#if CC__TSAN /* [FJ2] light or heavy, there they are C11's */
#define CC_PRIV_FORK_FENCE() cc__fence_full()
#endif
#include <ccrt/fork.h>

#include "../base/assert.h"
#include "../plat/barrier.h"
#include "../plat/vm.h"
#include "../sched/choice.h"
#include "../sched/events.h"
#include "../sched/leave.h"
#include "../sched/sched.h"

#ifndef CC__FORK_PLACES
#define CC__FORK_PLACES ((size_t)1 << 20)
#endif

/* priv_at of a record that was forked and is in no deque; priv_state of one that ended, or that nobody else runs. */
#define AWAY ((cc_priv_fork **)sizeof(void *))
static char done_mark, kept_mark;
#define DONE ((void *)&done_mark)
#define KEPT ((void *)&kept_mark)

static cc_priv_forks nobody; /* a plain thread's: no places */

__attribute__((used)) __thread cc_priv_forks *cc_priv_forks_here = &nobody;

CC__NOINLINE cc_priv_forks *cc_priv_forks_get(void) {
    __asm__ volatile("" ::: "memory");
    return cc_priv_forks_here;
}

static void *_Atomic *state_of(cc_priv_fork *r) {
    return (void *_Atomic *)(void *)&r->priv_state;
}

/* With the lock. */
static void set_split(struct cc__forks *f, cc_priv_fork **to) {
    cc__store_relaxed(cc__forks_split(f), to);
    cc__store_relaxed(&f->shared, to);
}

/* ---- forks as tasks ---- */

static void *child_main(void *arg) {
    cc_priv_fork *r = arg;
    struct cc__task *t = cc__load_relaxed(&cc__worker_current()->current);
    CC__EDGE_ACQUIRE(r);
    r->priv_what->run(r);
    if (t->has_locals) cc__locals_end(t);
    if (t->listed) cc__nursery_unlist(t);
    CC__EDGE_RELEASE(r);
    /* [FJ4] release: the joiner sees what the child did; acquire: the wait it left there. */
    struct cc__wait *waits = cc__xchg_acq_rel(state_of(r), DONE);
    if (waits != NULL) cc__wake_next(cc__worker_current(), waits, CC__MATCHED);
    return NULL;
}

/* The nursery that tells of a cancellation those under this scope; or NULL. */
static struct cc_nursery *nursery_of(cc_priv_scope *s) {
    for (; s != NULL && s->kind != CC__SCOPE_SHIELD; s = s->up)
        if (s->kind == CC__SCOPE_NURSERY) return (cc_nursery *)(void *)s;
    return NULL;
}

/* A task that will run a fork; for which one is said later. NULL: no memory. */
static struct cc__task *task_new(struct cc__runtime *rt) {
    struct cc__task *t;
    if (cc__spawn_prepare(rt, &t, child_main, NULL) != 0) return NULL;
    t->no_handle = 1;
    return t;
}

/* It is for this one, of that parent; its scope is known. */
static void task_set(struct cc__task *t, cc_priv_fork *r, const struct cc__task *parent) {
    t->value = r;
    t->site = &r->priv_what->site;
    t->scope = r->priv_scope;
    t->nursery = nursery_of(r->priv_scope);
    t->is_fork = 1;
    t->home = parent->is_fork ? parent->home : parent->nursery;
    t->priority = parent->fn != NULL ? parent->priority : CC_PRIORITY_NORMAL;
    cc__store_relaxed(state_of(r), NULL);
    if (CC__TRACING(CC__TRACE_SPAWN | CC__EDGES)) cc__event_spawn(t);
}

/* ---- records that are away ---- */

static void link_away(struct cc__task *self, cc_priv_fork *r) {
    cc_priv_fork **first = &self->fiber->forks;
    r->priv_at = AWAY;
    r->priv_next = *first;
    r->priv_link = first;
    if (*first != NULL) (*first)->priv_link = &r->priv_next;
    *first = r;
}

static void unlink_away(cc_priv_fork *r) {
    if (r->priv_link == NULL) return;
    *r->priv_link = r->priv_next;
    if (r->priv_next != NULL) r->priv_next->priv_link = r->priv_link;
    r->priv_link = NULL;
}

/* With the lock: its scope, if it does not know yet. */
static void tell_scope(struct cc__forks *f, cc_priv_fork **at, const struct cc__task *owner) {
    if (at >= f->scoped) (*at)->priv_scope = owner->scope;
}

/* With the lock: places [from, to) of the running task are left; those that were not stolen become tasks. How many. */
static size_t send_away(struct cc__worker *w, cc_priv_fork **from, cc_priv_fork **to, struct cc__tasks *out) {
    struct cc__forks *f = &w->forks;
    struct cc__task *self = cc__load_relaxed(&w->current);
    size_t count = 0;
    for (cc_priv_fork **at = from; at < to; at++) {
        cc_priv_fork *r = *at;
        bool stolen = at < cc__load_relaxed(&f->tail);
        if (!stolen) tell_scope(f, at, self);
        link_away(self, r);
        if (stolen) continue;
        struct cc__task *t = task_new(w->runtime);
        if (t == NULL) {
            cc__store_relaxed(state_of(r), KEPT);
            continue;
        }
        task_set(t, r, self);
        cc__tasks_append(out, t);
        count++;
    }
    cc__store_relaxed(&w->count.spawned, cc__load_relaxed(&w->count.spawned) + count);
    return count;
}

/* Queue what was sent away. */
static void queue_here(struct cc__worker *w, struct cc__tasks tasks) {
    if (tasks.first == NULL) return;
    for (struct cc__task *t; (t = cc__tasks_take(&tasks)) != NULL;)
        cc__ready_is_plain(t) ? cc__ready_taken(w, t) : cc__inject_push(&w->runtime->inject, t);
    cc__idle_notify(w->runtime);
}

/* With the lock: all places from here on are free. */
static void cut(struct cc__forks *f, cc_priv_fork **at) {
    cc__store_relaxed(cc__forks_head(f), at);
    if (cc__load_relaxed(&f->tail) > at) cc__store_relaxed(&f->tail, at);
    if (cc__load_relaxed(cc__forks_split(f)) > at) set_split(f, at);
    if (f->scoped > at) f->scoped = at;
}

void cc__forks_flush(struct cc__worker *w) {
    struct cc__forks *f = &w->forks;
    struct cc__tasks out = {0};
    cc__waitlist_lock(&f->lock);
    send_away(w, f->base, cc__load_relaxed(cc__forks_head(f)), &out);
    cut(f, f->base);
    cc__waitlist_unlock(&f->lock);
    queue_here(w, out);
}

/* ---- forking ---- */

/* The older half goes to the global queue, the others move down. */
static CC__COLD void spill_half(struct cc__worker *w) {
    struct cc__forks *f = &w->forks;
    struct cc__tasks out = {0};
    cc__waitlist_lock(&f->lock);
    cc_priv_fork **head = cc__load_relaxed(cc__forks_head(f)), **mid = f->base + (head - f->base) / 2;
    cc_priv_fork **tail = cc__load_relaxed(&f->tail), **split = cc__load_relaxed(cc__forks_split(f));
    size_t count = send_away(w, f->base, mid, &out);
    ptrdiff_t gone = mid - f->base;
    for (cc_priv_fork **at = mid; at < head; at++) {
        at[-gone] = *at;
        (*at)->priv_at = at - gone;
    }
    cc__store_relaxed(&f->tail, tail > mid ? tail - gone : f->base);
    set_split(f, split > mid ? split - gone : f->base);
    f->scoped = f->scoped > mid ? f->scoped - gone : f->base;
    cc__store_relaxed(cc__forks_head(f), head - gone);
    cc__waitlist_unlock(&f->lock);
    if (count > 0 && cc__ready_is_plain(out.first)) {
        cc__inject_push_batch(&w->runtime->inject, out, count);
        cc__idle_notify_many(w->runtime, count);
    } else {
        queue_here(w, out);
    }
}

/* A3. all: not half of it. */
static void share(struct cc__forks *f, bool all) {
    cc__waitlist_lock(&f->lock);
    cc_priv_fork **tail = cc__load_relaxed(&f->tail), **head = cc__load_relaxed(cc__forks_head(f));
    if (all)
        set_split(f, head);
    else if (cc__load_relaxed(cc__forks_split(f)) <= tail)
        set_split(f, tail + (head - tail + 1) / 2);
    cc__waitlist_unlock(&f->lock);
}

static bool somebody_idle(struct cc__runtime *rt) {
    return cc__bits_find(&rt->idle, 0) != CC__BITS_NONE;
}

/* F4 */
void cc__forks_offer(struct cc__worker *w) {
    struct cc__forks *f = &w->forks;
    bool idle = somebody_idle(w->runtime), heavy = cc__barrier_possible();
    if (!idle) {
        cc__store_relaxed(cc__forks_limit(f), heavy ? f->end - 1 : NULL);
        cc__fence_full(); /* [FJ3] A1: who goes idle sets it to NULL again, or is seen here */
        idle = somebody_idle(w->runtime);
        if (idle) cc__store_relaxed(cc__forks_limit(f), NULL); /* A2 */
        if (heavy && !idle && cc__load_relaxed(&w->runtime->searching) == 0) return;
    }
    share(f, !heavy);
    if (idle) cc__idle_notify(w->runtime); /* A4 */
}

void cc_priv_fork_slowly(cc_priv_fork *r) {
    struct cc__worker *w = cc__worker_current();
    if (CC__UNLIKELY(r->priv_at >= w->forks.end - 1)) spill_half(w);
    cc__forks_offer(w);
}

/* Places for a worker's forks. */
static bool map_places(struct cc__worker *w) {
    struct cc__forks *f = &w->forks;
    void *at;
    if (cc__vm_map(&at, CC__FORK_PLACES * sizeof(cc_priv_fork *)) != 0) return false;
    cc__waitlist_lock(&f->lock);
    f->base = f->scoped = at;
    f->end = f->base + CC__FORK_PLACES;
    cc__store_relaxed(&f->tail, f->base);
    set_split(f, f->base);
    cc__store_relaxed(cc__forks_limit(f), NULL);
    cc__store_release(cc__forks_head(f), f->base); /* [FJ1] */
    cc__waitlist_unlock(&f->lock);
    return true;
}

/* A plain thread's fork, or one for which there is no place. */
void cc_priv_fork_away(cc_priv_fork *r) {
    struct cc__worker *w = cc__worker_current();
    if (w != NULL && map_places(w)) {
        cc_priv_fork_push(r);
        return;
    }
    struct cc__task *self = cc__self(), *t;
    r->priv_at = AWAY;
    r->priv_link = NULL;
    r->priv_scope = NULL;
    cc__store_relaxed(state_of(r), KEPT);
    if (self == NULL) return; /* a thread without a record is in no scope */
    r->priv_scope = self->scope;
    link_away(self, r);
    if ((t = task_new(w != NULL ? w->runtime : NULL)) == NULL) return;
    task_set(t, r, self);
    if (cc__spawn_launch(t) == 0) return;
    cc__store_relaxed(state_of(r), KEPT);
    cc__record_free(t);
}

void cc_priv_fork_call(cc_priv_fork *r) {
    CC__EDGE_RELEASE(r); /* who has ThreadSanitizer comes here */
    cc_priv_fork_push(r);
}

/* ---- joining ---- */

/* Look on for a moment if nothing is queued: who leaves comes back on its child's worker, far from its caches. */
static void await_here(cc_priv_fork *r) {
    struct cc__worker *w = cc__worker_current();
    int64_t until = cc__choice_now() + cc__choice_join_ns();
    while (cc__load_relaxed(state_of(r)) == NULL && !cc__steal_queued(w->runtime) && cc__choice_now() < until)
        cc__cpu_relax_for(4);
}

/* Wait until its child has ended. False: it has none. */
static bool await(cc_priv_fork *r) {
    struct cc__wait w;
    void *state = cc__load_acquire(state_of(r)); /* [FJ4] */
    if (state == KEPT) return false;
    if (state == DONE) return true;
    struct cc__task *self = cc__self();
    CC_CHECK(self != NULL, "no memory to let this thread wait");
    cc__wait_begin(&w, self, CC__BY_LIST, r, "fork");
    /* [FJ4] release: the child that ends sees the wait; acquire: it has ended, and what it did is seen. */
    if (cc__cas_acq_rel(state_of(r), &state, &w)) cc__wait_for_ever(&w);
    return true;
}

/* J4, and whatever is above is sent away. True: it was not stolen. */
static bool claim(struct cc__worker *w, cc_priv_fork **at) {
    struct cc__forks *f = &w->forks;
    struct cc__tasks out = {0};
    cc__waitlist_lock(&f->lock);
    cc_priv_fork **head = cc__load_relaxed(cc__forks_head(f));
    if (head > at + 1) {
        send_away(w, at + 1, head, &out);
        cut(f, at + 1);
    }
    cc_priv_fork **tail = cc__load_relaxed(&f->tail);
    bool mine = tail <= at;
    if (mine) tell_scope(f, at, cc__load_relaxed(&w->current));
    cut(f, at);
    if (mine && cc__barrier_possible()) { /* half of what is for thieves is taken back, but not what knows its scope */
        cc_priv_fork **half = tail + (at - tail) / 2;
        if (half < f->scoped) half = f->scoped;
        if (half < cc__load_relaxed(cc__forks_split(f))) set_split(f, half);
    }
    cc__waitlist_unlock(&f->lock);
    queue_here(w, out);
    return mine;
}

/* Whether this place is one of the running task's, with that record; after J1 it may be where head is. */
static bool is_here(struct cc__worker *w, cc_priv_fork **at, const cc_priv_fork *r) {
    return w != NULL && at >= w->forks.base && at <= cc__load_relaxed(cc__forks_head(&w->forks)) && *at == r;
}

/* Call it here, under its own scope. */
static void call_under_scope(cc_priv_fork *r, struct cc__task *self) {
    struct cc_priv_scope *now = self->scope;
    self->scope = r->priv_scope;
    r->priv_what->run(r);
    self->scope = now;
    if (now != NULL) cc__state_set_cancel(self); /* its nurseries in between were out of sight: it looks again */
}

int cc_priv_join_slowly(cc_priv_fork *r) {
    cc_priv_fork **at = r->priv_at;
    CC_CHECK(at != NULL, "a fork was joined that was not forked, or was joined before");
    struct cc__worker *w = cc__worker_current();
    CC_CHECK(at == AWAY || is_here(w, at, r), "a fork was joined by another than who forked it");
    bool call = at != AWAY && claim(w, at);
    if (at == AWAY) unlink_away(r);
    if (at != AWAY && !call) await_here(r);
    if (!call && await(r)) {
        CC__EDGE_ACQUIRE(r);
        r->priv_at = NULL;
        return 0;
    }
    struct cc__task *self = cc__self();
    r->priv_at = NULL; /* it is ours to call: claimed, or kept, and so run by nobody */
    if (self == NULL || r->priv_scope == self->scope) return 1;
    call_under_scope(r, self);
    return 0;
}

int cc_priv_join_call(cc_priv_fork *r) {
    return cc_priv_fork_pop(r);
}

void cc_priv_fork_left(cc_priv_fork *r) {
    if (cc_priv_join_slowly(r)) r->priv_what->run(r);
}

/* ---- scopes ---- */

void cc__forks_scope_enter(struct cc__task *self) {
    struct cc__worker *w = cc__worker_current();
    if (w == NULL || !cc__forks_own_any(&w->forks)) return;
    struct cc__forks *f = &w->forks;
    cc__waitlist_lock(&f->lock);
    cc_priv_fork **head = cc__load_relaxed(cc__forks_head(f)), **tail = cc__load_relaxed(&f->tail);
    for (cc_priv_fork **at = f->scoped > tail ? f->scoped : tail; at < head; at++) tell_scope(f, at, self);
    f->scoped = head;
    set_split(f, head);
    cc__waitlist_unlock(&f->lock);
}

/* The newest in the deque, if it was forked under this scope; or NULL. */
static cc_priv_fork *newest_under(struct cc__worker *w, const cc_priv_scope *s) {
    struct cc__forks *f = &w->forks;
    cc_priv_fork *r = NULL;
    cc__waitlist_lock(&f->lock);
    cc_priv_fork **head = cc__load_relaxed(cc__forks_head(f));
    if (head > f->base && (head > f->scoped || head[-1]->priv_scope == s)) r = head[-1];
    cc__waitlist_unlock(&f->lock);
    return r;
}

/* Have it run and ended, here or elsewhere; it is still to be joined, which finds its result. */
static void complete(cc_priv_fork *r) {
    if (cc_priv_join_slowly(r)) r->priv_what->run(r);
    cc__store_relaxed(state_of(r), DONE);
    r->priv_at = AWAY;
    r->priv_link = NULL;
}

void cc__forks_scope_leave(struct cc__task *self, struct cc_priv_scope *s) {
    for (;;) {
        struct cc__worker *w = cc__worker_current(); /* it may have moved */
        cc_priv_fork *r = w != NULL && cc__forks_own_any(&w->forks) ? newest_under(w, s) : NULL;
        if (r == NULL)
            for (r = self->fiber->forks; r != NULL && r->priv_scope != s;) r = r->priv_next;
        if (r == NULL) return;
        complete(r);
    }
}

/* ---- thieves ---- */

static void fence_of_thief(void) {
    cc__barrier_all(); /* [FJ2] R2 */
}

/* R1 to R3, with the lock; all: not half of it. */
static void insist(struct cc__forks *f, bool all) {
    cc_priv_fork **tail = cc__load_relaxed(&f->tail), **head = cc__load_relaxed(cc__forks_head(f));
    if (head <= tail || !cc__barrier_possible()) return;
    cc_priv_fork **split = all ? head : tail + (head - tail + 1) / 2;
    if (split < cc__load_relaxed(cc__forks_split(f))) split = cc__load_relaxed(cc__forks_split(f));
    cc__store_relaxed(cc__forks_split(f), split);
    fence_of_thief();
    head = cc__load_acquire(cc__forks_head(f)); /* [FJ1] acquire: what is below it may be read */
    if (head < split) split = head < tail ? tail : head;
    /* One that knows its scope and is being joined now, after J1, is not for thieves; but its join is to come here. */
    cc__store_relaxed(cc__forks_split(f), split < f->scoped ? f->scoped : split);
    cc__store_relaxed(&f->shared, split);
}

/* T1, with the lock. The record, with its scope; or NULL. */
static cc_priv_fork *take(struct cc__worker *victim) {
    struct cc__forks *f = &victim->forks;
    cc_priv_fork **tail = cc__load_relaxed(&f->tail);
    if (tail >= cc__load_relaxed(&f->shared)) return NULL;
    tell_scope(f, tail, cc__load_relaxed(&victim->current));
    cc__store_relaxed(&f->tail, tail + 1);
    return *tail;
}

static bool set_limit(struct cc__forks *f, cc_priv_fork **to) {
    cc_priv_fork **_Atomic *limit = cc__forks_limit(f), **is = cc__load_relaxed(limit);
    if (is == NULL || is == to) return false;
    cc__store_relaxed(limit, to);
    return true;
}

/* Ask, and wait until something is for thieves, or nothing is there any more. True: neither; it takes insisting. */
static bool ask(struct cc__forks *f) {
    cc__fence_full(); /* [FJ3] who searches was counted before: A1 sees that */
    (void)set_limit(f, CC__FORKS_WANTED);
    int64_t until = cc__choice_now() + cc__choice_spin_ns();
    for (int turn = 1; !cc__forks_shared(f) && cc__forks_any(f); turn++) {
        if (cc__choice_now() >= until) return true;
        cc__cpu_relax_for(8);
        if (turn % 8 == 0) cc__thread_yield(); /* the owner may be waiting for this cpu */
    }
    return false;
}

struct cc__task *cc__forks_steal(struct cc__worker *w, struct cc__worker *victim, bool insistent) {
    struct cc__forks *f = &victim->forks;
    bool force = insistent && !cc__forks_shared(f) && ask(f);
    if (!force && !cc__forks_shared(f)) return NULL;
    struct cc__task *t = task_new(w->runtime);
    if (t == NULL) return NULL;
    cc__waitlist_lock(&f->lock);
    if (force && !cc__forks_shared(f)) insist(f, false);
    cc_priv_fork *r = take(victim);
    if (r != NULL) task_set(t, r, cc__load_relaxed(&victim->current));
    cc__waitlist_unlock(&f->lock);
    if (r == NULL) {
        cc__record_free(t);
        return NULL;
    }
    cc__count(&w->count.spawned);
    cc__count(&w->count.stolen);
    return t;
}

/* All others' limits are this, or NULL; whether some were neither. */
static bool set_limits(struct cc__worker *w, cc_priv_fork **to) {
    bool any = false;
    for (unsigned i = 0, count = cc__worker_count(w->runtime); i < count; i++)
        if (i != w->id && set_limit(&w->runtime->workers[i].forks, to)) any = true;
    return any;
}

void cc__forks_want(struct cc__worker *w) {
    cc__fence_full(); /* [FJ3] as in ask() */
    (void)set_limits(w, CC__FORKS_WANTED);
}

static void fence_of_hungry(void) {
    cc__barrier_all(); /* [FJ2] H1 */
}

bool cc__forks_hungry(struct cc__worker *w) {
    unsigned i = 0, count = cc__worker_count(w->runtime);
    if (set_limits(w, NULL)) fence_of_hungry();
    while (i < count && !cc__forks_any(&w->runtime->workers[i].forks)) i++;
    return i < count;
}

void cc__forks_open(struct cc__worker *w) {
    share(&w->forks, true);
}

bool cc__forks_share(struct cc__worker *victim) {
    struct cc__runtime *rt = victim->runtime;
    struct cc__forks *f = &victim->forks;
    bool any = false;
    if (!cc__forks_any(f)) return false;
    struct cc__task *t = task_new(rt);
    cc__waitlist_lock(&f->lock);
    insist(f, true);
    for (cc_priv_fork *r; t != NULL && (r = take(victim)) != NULL; t = task_new(rt)) {
        task_set(t, r, cc__load_relaxed(&victim->current));
        cc__add_relaxed(&rt->spawned, 1);
        cc__inject_push(&rt->inject, t);
        any = true;
    }
    cc__waitlist_unlock(&f->lock);
    if (t != NULL) cc__record_free(t);
    return any;
}

void cc__forks_begin(struct cc__worker *w) {
    cc_priv_forks_here = &w->forks.own;
}

void cc__forks_end(struct cc__worker *w) {
    struct cc__forks *f = &w->forks;
    cc_priv_forks_here = &nobody;
    if (f->base == NULL) return;
    cc__waitlist_lock(&f->lock);
    void *at = f->base;
    f->base = f->end = f->scoped = NULL;
    cc__store_relaxed(cc__forks_head(f), NULL);
    cc__store_relaxed(cc__forks_limit(f), NULL);
    cc__store_relaxed(&f->tail, NULL);
    set_split(f, NULL);
    cc__waitlist_unlock(&f->lock);
    cc__vm_unmap(at, CC__FORK_PLACES * sizeof(cc_priv_fork *));
}

void cc__forks_forgotten(void) {
    CC_CHECK(false, "a task has ended and did not join all it had forked");
}
