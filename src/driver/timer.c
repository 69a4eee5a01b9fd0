/* SPDX-License-Identifier: MIT */
/* Timers in a pairing heap under a lock. Nothing allocates: the nodes are in the waiters' frames.
 *
 * Insert is O(1), removal of any O(log n) amortised. A timer that expires decides its waiter's wait under the
 * lock; a waiter takes its timer out under the same lock before its frame goes, so the node is never touched
 * after that. Only plain threads wait otherwise, in the kernel, and are never in here.
 *
 * Rejected: a heap in an array (it must grow: a sleep that fails for lack of memory); a wheel (a million timers
 * of any length cost as little here, and there is no tick).
 *
 * Prev: driver/timer.h  Next: sched/sched.h */
#include "timer.h"

#include "../base/assert.h"

void cc__timers_init(struct cc__timers *s) {
    *s = (struct cc__timers){.lock = CC__LOCK_INIT};
    cc__store_relaxed(&s->next_ns, CC__NEVER);
}

static void attach(struct cc__timer **where, struct cc__timer *t) {
    *where = t;
    if (t != NULL) t->link = where;
}

/* Join two heaps: the later becomes the first child of the earlier. */
static struct cc__timer *meld(struct cc__timer *a, struct cc__timer *b) {
    if (a == NULL) return b;
    if (b == NULL) return a;
    if (b->when_ns < a->when_ns) {
        struct cc__timer *t = a;
        a = b;
        b = t;
    }
    attach(&b->sibling, a->child);
    attach(&a->child, b);
    return a;
}

/* Join a list of siblings: pairs from the left, then all from the right. */
static struct cc__timer *meld_siblings(struct cc__timer *first) {
    struct cc__timer *pairs = NULL, *all = NULL;
    while (first != NULL) {
        struct cc__timer *a = first, *b = a->sibling;
        first = b == NULL ? NULL : b->sibling;
        a->sibling = NULL;
        if (b != NULL) b->sibling = NULL;
        a = meld(a, b);
        a->sibling = pairs; /* a list in reverse, for the second pass */
        pairs = a;
    }
    while (pairs != NULL) {
        struct cc__timer *next = pairs->sibling;
        pairs->sibling = NULL;
        all = meld(all, pairs);
        pairs = next;
    }
    return all;
}

static void publish_next(struct cc__timers *s) {
    cc__store_relaxed(&s->next_ns, s->top == NULL ? CC__NEVER : s->top->when_ns);
}

bool cc__timers_add(struct cc__timers *s, struct cc__timer *t) {
    t->child = t->sibling = NULL;
    cc__lock_take(&s->lock);
    attach(&s->top, meld(s->top, t));
    publish_next(s);
    bool first = s->top == t;
    cc__lock_drop(&s->lock);
    return first;
}

static void timers_take(struct cc__timers *s, struct cc__timer *t) {
    struct cc__timer *children = meld_siblings(t->child);
    if (t == s->top) {
        attach(&s->top, children);
    } else {
        attach(t->link, t->sibling);
        attach(&s->top, meld(s->top, children));
    }
    t->link = NULL;
}

void cc__timers_remove(struct cc__timers *s, struct cc__timer *t) {
    cc__lock_take(&s->lock);
    if (t->link != NULL) {
        timers_take(s, t);
        publish_next(s);
    }
    cc__lock_drop(&s->lock);
}

struct cc__task *cc__timers_expire(struct cc__timers *s, int64_t now_ns) {
    struct cc__task *ready = NULL, **last = &ready;
    cc__lock_take(&s->lock);
    while (s->top != NULL && s->top->when_ns <= now_ns) {
        struct cc__timer *t = s->top;
        struct cc__task *task = t->task;
        timers_take(s, t);
        uint32_t generation = cc__task_generation(cc__load_relaxed(&task->control));
        if (!cc__wait_decide(task, t->epoch, CC__TIMED_OUT)) continue; /* decided before: it is on its way */
        if (cc__state_unpark(task, generation) != CC__UNPARK_QUEUE) continue;
        task->next = NULL;
        *last = task;
        last = &task->next;
    }
    publish_next(s);
    cc__lock_drop(&s->lock);
    return ready;
}
