/* SPDX-License-Identifier: MIT */
/* Waits and lists of them. See wait.h.
 *
 * Prev: task/wait.h  Next: task/pool.c */
#include "wait.h"

#include "../base/assert.h"
#include "../base/atomic.h"
#include "../base/text.h"
#include "../fiber/fiber.h"
#include "../plat/thread.h"
#include "task.h"

enum { OUTCOME_MASK = 7, CANCELLABLE = 8, CONTESTED = 16, CLAIMED = 32, OUTCOME_BITS = 6, LOCK_SPINS = 100 };

/* ---- who holds what, in dev builds ---- */

#if CCRT_ASSERT >= 1
static void note_taken(const void *lock) {
    struct cc__fiber *f = cc__fiber_current();
    if (f == NULL) return;
    if (f->held_count < CC__COUNT_OF(f->held)) f->held[f->held_count] = lock;
    f->held_count++;
}

static void note_dropped(const void *lock) {
    struct cc__fiber *f = cc__fiber_current();
    if (f == NULL || f->held_count == 0) return;
    unsigned i = --f->held_count;
    if (i >= CC__COUNT_OF(f->held)) return;
    for (const void *after = f->held[i]; after != lock && i > 0;) { /* not the newest: the others move down */
        const void *before = f->held[--i];
        f->held[i] = after;
        after = before;
    }
}

void cc__waitlist_none_held(const char *what) {
    struct cc__fiber *f = cc__fiber_current();
    if (f == NULL || f->held_count == 0) return;
    char line[160];
    struct cc__text text = cc__text_on(line, sizeof line);
    cc__text_dec(&text, f->held_count);
    cc__text_str(&text, f->held_count == 1 ? " lock is held:" : " locks are held, the oldest first:");
    for (unsigned i = 0; i < f->held_count && i < CC__COUNT_OF(f->held); i++) {
        cc__text_str(&text, " ");
        cc__text_hex(&text, (uintptr_t)f->held[i]);
    }
    line[text.len < sizeof line ? text.len : sizeof line - 1] = 0;
    cc__fail(what, line, __FILE__, __LINE__);
}
#else
static void note_taken(const void *lock) {
    (void)lock;
}
static void note_dropped(const void *lock) {
    (void)lock;
}
#endif

/* ---- lists ---- */

void cc__waitlist_lock(struct cc__waitlist *l) {
    /* [WL1] acquire: what the last holder did is seen. */
    for (unsigned spins = 0; cc__load_relaxed(&l->lock) != 0 || cc__xchg_acquire(&l->lock, 1) != 0; spins++) {
        if (spins < LOCK_SPINS)
            cc__cpu_relax();
        else
            cc__thread_yield(); /* its holder lost the cpu */
    }
    note_taken(l);
}

void cc__waitlist_unlock(struct cc__waitlist *l) {
    note_dropped(l);
    /* [WL1] release: pairs with the acquire in cc__waitlist_lock(). */
    cc__store_release(&l->lock, 0);
}

static struct cc__wait *wait_of(struct cc__node *n) {
    return n == NULL ? NULL : CC__CONTAINER_OF(n, struct cc__wait, node);
}

void cc__waitlist_append(struct cc__waitlist *l, struct cc__wait *w) {
    CC_ASSERT(w->node.prev == NULL && w->node.next == NULL && l->first != w);
    w->node.prev = l->last == NULL ? NULL : &l->last->node;
    if (l->last == NULL)
        l->first = w;
    else
        l->last->node.next = &w->node;
    l->last = w;
}

void cc__waitlist_remove(struct cc__waitlist *l, struct cc__wait *w) {
    struct cc__wait *prev = wait_of(w->node.prev), *next = wait_of(w->node.next);
    if (prev == NULL && l->first != w) return; /* not on it */
    if (prev == NULL)
        l->first = next;
    else
        prev->node.next = w->node.next;
    if (next == NULL)
        l->last = prev;
    else
        next->node.prev = w->node.prev;
    w->node.prev = w->node.next = NULL;
}

struct cc__wait *cc__waitlist_take_first(struct cc__waitlist *l) {
    struct cc__wait *w = l->first;
    if (w != NULL) cc__waitlist_remove(l, w);
    return w;
}

void cc__waitlist_leave(struct cc__waitlist *l, struct cc__wait *w) {
    cc__waitlist_lock(l);
    cc__waitlist_remove(l, w);
    cc__waitlist_unlock(l);
}

void cc__wait_begin(struct cc__wait *w, struct cc__task *self, enum cc__deciders by, void *object, const char *reason) {
    static const uint8_t kind[] = {[CC__BY_ANY] = CONTESTED, [CC__BY_CANCEL] = CONTESTED | CANCELLABLE};
    uint64_t epoch = (cc__load_relaxed(&self->outcome) >> OUTCOME_BITS) + 1;
    *w = (struct cc__wait){.task = self, .epoch = epoch, .object = object, .reason = reason};
    /* Nobody holds this epoch yet, so no order is needed: the list's lock publishes it. */
    cc__store_relaxed(&self->outcome, epoch << OUTCOME_BITS | kind[by] | CC__PENDING);
}

enum cc__outcome cc__wait_outcome(const struct cc__wait *w) {
    /* [WT1] acquire: pairs with the release in cc__wait_decide(); what the decider wrote may be read. */
    uint64_t now = cc__load_acquire(&w->task->outcome);
    CC_ASSERT(now >> OUTCOME_BITS == w->epoch);
    return (enum cc__outcome)(now & OUTCOME_MASK);
}

bool cc__wait_contested(const struct cc__wait *w) {
    return (cc__load_relaxed(&w->task->outcome) & CONTESTED) != 0;
}

bool cc__wait_is_of(const struct cc__wait *copy, struct cc__task *t) {
    return copy->task == t && copy->epoch == cc__load_relaxed(&t->outcome) >> OUTCOME_BITS;
}

static bool is_open(uint64_t now) {
    return (now & (OUTCOME_MASK | CLAIMED)) == CC__PENDING;
}

/* From pending, of any kind, to an outcome. */
static bool decide(struct cc__task *t, uint64_t now, enum cc__outcome outcome) {
    uint64_t decided = now | (uint64_t)outcome; /* pending is 0 */
    /* [WT1] release: what the decider wrote before (a value handed over) is seen by the waiter. */
    if ((now & CONTESTED) != 0) return cc__cas_acq_rel(&t->outcome, &now, decided);
    cc__store_release(&t->outcome, decided); /* [WT1] */
    return true;
}

bool cc__wait_decide(struct cc__task *t, uint64_t epoch, enum cc__outcome outcome) {
    uint64_t now = cc__load_relaxed(&t->outcome);
    if (now >> OUTCOME_BITS != epoch || !is_open(now)) return false;
    return decide(t, now, outcome); /* the word of one wait is claimed or decided once: no loop */
}

bool cc__wait_claim(struct cc__wait *w) {
    struct cc__task *t = w->task;
    uint64_t now = cc__load_relaxed(&t->outcome);
    if (now >> OUTCOME_BITS != w->epoch || !is_open(now)) return false;
    if ((now & CONTESTED) == 0) return true; /* nobody else could */
    /* No order: what the claimer writes is published by settling, what it reads was by the list's lock. */
    return cc__cas_relaxed(&t->outcome, &now, now | CLAIMED);
}

void cc__wait_settle(struct cc__wait *w, enum cc__outcome outcome) {
    struct cc__task *t = w->task;
    uint64_t now = cc__load_relaxed(&t->outcome);
    CC_ASSERT(now >> OUTCOME_BITS == w->epoch && (now & OUTCOME_MASK) == CC__PENDING);
    w->hit = true;
    /* [WT1] release: what was written into the waiter's frame is seen by it. */
    cc__store_release(&t->outcome, (now & ~(uint64_t)CLAIMED) | (uint64_t)outcome);
}

bool cc__wait_cancel(struct cc__task *t) {
    uint64_t now = cc__load_relaxed(&t->outcome);
    if (!is_open(now) || (now & CANCELLABLE) == 0) return false;
    return decide(t, now, CC__CANCELLED);
}
