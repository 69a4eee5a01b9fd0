/* SPDX-License-Identifier: MIT */
/* Waits and lists of them. See wait.h.
 *
 * Prev: task/claims.h  Next: task/pool.c */
#include "wait.h"

#include "../base/assert.h"
#include "../base/atomic.h"
#include "../base/text.h"
#include "../fiber/fiber.h"
#include "../plat/thread.h"
#include "task.h"
#include "wait_hot.h"

/* Between two looks at a lock that another holds, first and at last. A lock is held for some 20 ns, so the first look
 * comes soon; where two workers want one all the time, who has it goes on with it while the other waits, and both get
 * more done. */
enum { LOCK_PAUSES = 4, LOCK_PAUSES_GROW = 8, LOCK_PAUSES_MAX = 128 };

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
#if !CC__INLINE_HOT
static void note_dropped(const void *lock) {
    (void)lock;
}
#endif
#endif

/* ---- lists ---- */

#if CC__INLINE_HOT
void cc__waitlist_lock_slowly(struct cc__waitlist *l)
#else
void cc__waitlist_lock(struct cc__waitlist *l)
#endif
{
    /* [WL1] acquire: what the last holder did is seen. */
    unsigned pauses = LOCK_PAUSES;
    for (; cc__load_relaxed(&l->lock) != 0 || cc__xchg_acquire(&l->lock, 1) != 0; pauses *= LOCK_PAUSES_GROW) {
        if (pauses > LOCK_PAUSES_MAX) {
            cc__thread_yield(); /* its holder lost the cpu */
            pauses = LOCK_PAUSES_MAX;
        }
        cc__cpu_relax_for(pauses);
    }
    note_taken(l);
#if !CC__INLINE_HOT
    CC__EDGE_ACQUIRE(l);
#endif
}

#if !CC__INLINE_HOT
void cc__waitlist_unlock(struct cc__waitlist *l) {
    note_dropped(l);
    CC__EDGE_RELEASE(l);
    /* [WL1] release: pairs with the acquire in cc__waitlist_lock(). */
    cc__store_release(&l->lock, 0);
}
#endif

void cc__waitlist_prepend(struct cc__waitlist *l, struct cc__wait *w) {
    CC_ASSERT(w->node.prev == NULL && w->node.next == NULL && l->first != w);
    w->node.next = l->first == NULL ? NULL : &l->first->node;
    if (l->first == NULL)
        l->last = w;
    else
        l->first->node.prev = &w->node;
    l->first = w;
}

void cc__waitlist_leave(struct cc__waitlist *l, struct cc__wait *w) {
    cc__waitlist_lock(l);
    cc__waitlist_remove(l, w);
    cc__waitlist_unlock(l);
}

bool cc__wait_is_of(const struct cc__wait *copy, struct cc__task *t) {
    return copy->task == t && copy->epoch == cc__load_relaxed(&t->outcome) >> CC__OUTCOME_BITS;
}

/* From pending, of any kind, to an outcome. */
static bool decide(struct cc__task *t, uint64_t now, enum cc__outcome outcome) {
    uint64_t decided = now | (uint64_t)outcome; /* pending is 0 */
    CC__EDGE_RELEASE(t);
    /* [WT1] release: what the decider wrote before (a value handed over) is seen by the waiter. */
    if ((now & CC__OUTCOME_CONTESTED) != 0) return cc__cas_acq_rel(&t->outcome, &now, decided);
    cc__store_release(&t->outcome, decided); /* [WT1] */
    return true;
}

bool cc__wait_decide(struct cc__task *t, uint64_t epoch, enum cc__outcome outcome) {
    uint64_t now = cc__load_relaxed(&t->outcome);
    if (now >> CC__OUTCOME_BITS != epoch || !cc__wait_is_open(now)) return false;
    return decide(t, now, outcome); /* the word of one wait is claimed or decided once: no loop */
}

bool cc__wait_cancel(struct cc__task *t) {
    uint64_t now = cc__load_relaxed(&t->outcome);
    if (!cc__wait_is_open(now) || (now & CC__OUTCOME_CANCELLABLE) == 0) return false;
    return decide(t, now, CC__CANCELLED);
}
