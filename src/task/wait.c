/* SPDX-License-Identifier: MIT */
/* Waits and lists of them. See wait.h.
 *
 * Prev: task/lock.c  Next: task/pool.c */
#include "wait.h"

#include "../base/assert.h"
#include "../base/atomic.h"
#include "../base/text.h"
#include "../fiber/fiber.h"
#include "task.h"
#include "wait_hot.h"

/* ---- who holds what, in dev builds ---- */

#if CCRT_ASSERT >= 1
void cc__waitlist_note_taken(const struct cc__waitlist *lock) {
    struct cc__fiber *f = cc__fiber_current();
    if (f == NULL) return;
    if (f->held_count < CC__COUNT_OF(f->held)) f->held[f->held_count] = lock;
    f->held_count++;
}

void cc__waitlist_note_dropped(const struct cc__waitlist *lock) {
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
#endif

/* ---- lists ---- */

void cc__waitlist_prepend(struct cc__waitlist *l, struct cc__wait *w) {
    CC_ASSERT(w->node.prev == NULL && w->node.next == NULL && l->first != w);
    w->node.next = l->first == NULL ? NULL : &l->first->node;
    if (l->first == NULL)
        l->last = w;
    else
        l->first->node.prev = &w->node;
    l->first = w;
}

bool cc__wait_is_of(const struct cc__wait *copy, struct cc__task *t) {
    return copy->task == t && copy->epoch == cc__load_relaxed(&t->outcome) >> CC__OUTCOME_BITS;
}

enum cc__outcome cc__outcome_of(struct cc__task *t) {
    return (enum cc__outcome)(cc__load_relaxed(&t->outcome) & CC__OUTCOME_MASK);
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

bool cc__wait_may_be_cancelled(const struct cc__wait *w) {
    return (cc__load_relaxed(&w->task->outcome) & CC__OUTCOME_CANCELLABLE) != 0;
}
