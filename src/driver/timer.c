/* SPDX-License-Identifier: MIT */
/* Timers: a wheel between two pairing heaps, under a lock. The nodes are in the waiters' frames.
 *
 *     | near: a heap | wheel: a slot a tick                           | far: a heap |
 *                    base                                base + slots
 *
 * A tick is about a millisecond, the wheel about a second. As time goes on, slots that are reached are put in order and
 * into the near heap, where few are at a time; `base` goes with the clock, and what is far comes into the wheel. Any
 * timer may be in the near heap: that is only slower.
 *
 * All timers lie on other stacks, in no cache and on pages of their own: with a million of them it counts how many are
 * touched. In a slot that has many, those after the first few are told by keys in leaves. To add one touches no
 * other; to put them in order, none, and so they can be asked for beforehand; to take one out, its key. A leaf is
 * memory, which a sleep must not depend on: where there is none, the list of the first few has all.
 *
 * A timer that expires decides its waiter's wait under the lock; a waiter takes its timer out under the same lock
 * before its frame goes, so the node is never touched after that. Only plain threads wait otherwise, in the kernel, and
 * are never in here.
 *
 * Rejected: a heap in an array (it must grow: a sleep that fails for lack of memory); a heap alone (a million sleeps of
 * up to a second: a sixth of all processor time was spent on missing the cache in it); wheels alone (they round times).
 *
 * Prev: driver/timer.h  Next: driver/fd.h */
#include "timer.h"

#include "../base/assert.h"
#include "../plat/clock.h"

#include <stdlib.h>

enum { TICK_BITS = 20 };  /* of 2^20 ns */
enum { SPARES_MAX = 64 }; /* leaves that are kept */

static int64_t tick_of(int64_t when_ns) {
    return when_ns >> TICK_BITS;
}

void cc__timers_init(struct cc__timers *s, int64_t now_ns) {
    s->lock = (cc__lock)CC__LOCK_INIT;
    s->base = tick_of(now_ns);
    cc__store_relaxed(&s->next_ns, CC__NEVER);
}

/* ---- heaps ---- */

static void attach(struct cc__timer **where, struct cc__timer *t) {
    CC_ASSERT(where != NULL);
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

static void heap_add(struct cc__timer **top, struct cc__timer *t) {
    t->child = t->sibling = NULL;
    attach(top, meld(*top, t));
}

/* Take out any timer, wherever it is. */
static void take(struct cc__timers *s, struct cc__timer *t) {
    struct cc__timer *children = meld_siblings(t->child);
    if (t == s->near || t == s->far) {
        attach(t->link, children);
    } else {
        attach(t->link, t->sibling);
        if (children != NULL) attach(&s->near, meld(s->near, children));
    }
    t->link = NULL;
}

/* ---- the wheel ---- */

/* Room for one more in its leaves. False: no memory. */
static bool leaf_room(struct cc__timers *s, struct cc__timer_slot *slot) {
    struct cc__timer_leaf *l = slot->leaf;
    if (l != NULL && l->count < CC__COUNT_OF(l->key)) return true;
    l = s->spare;
    if (l != NULL) {
        s->spare = l->next;
        s->spares--;
    } else if ((l = malloc(sizeof *l)) == NULL) {
        return false;
    }
    l->count = 0;
    l->next = slot->leaf;
    slot->leaf = l;
    return true;
}

/* The last leaf is of no more use. */
static void leaf_drop(struct cc__timers *s, struct cc__timer_slot *slot) {
    struct cc__timer_leaf *l = slot->leaf;
    slot->leaf = l->next;
    if (s->spares == SPARES_MAX) {
        free(l);
        return;
    }
    l->next = s->spare;
    s->spare = l;
    s->spares++;
}

static void slot_add(struct cc__timers *s, struct cc__timer *t) {
    size_t i = (size_t)tick_of(t->when_ns) % CC__TIMER_SLOTS;
    uint64_t used = UINT64_C(1) << (i % 64);
    struct cc__timer_slot *slot = &s->slot[i];
    bool first = (s->used[i / 64] & used) == 0;
    s->used[i / 64] |= used;
    if (first) slot->listed = 0;
    if (first || t->when_ns < slot->soonest_ns) slot->soonest_ns = t->when_ns;
    t->child = t->sibling = NULL;
    if (slot->listed < CC__TIMER_LISTED || !leaf_room(s, slot)) {
        slot->listed++;
        attach(&t->sibling, slot->first);
        attach(&slot->first, t);
    } else {
        struct cc__timer_key *k = &slot->leaf->key[slot->leaf->count++];
        k->when_ns = t->when_ns;
        attach(&k->timer, t);
    }
}

/* Whether there is none; leaves of those that were taken out go. */
static bool slot_empty(struct cc__timers *s, struct cc__timer_slot *slot) {
    for (struct cc__timer_leaf *l; (l = slot->leaf) != NULL; leaf_drop(s, slot)) {
        while (l->count > 0 && l->key[l->count - 1].timer == NULL) l->count--;
        if (l->count > 0) return false;
    }
    return slot->first == NULL;
}

/* The tick of the first slot that has some, at or after `base`; -1: none. */
static int64_t first_used(struct cc__timers *s) {
    for (int64_t tick = s->base, end = s->base + CC__TIMER_SLOTS; tick < end;) {
        size_t i = (size_t)tick % CC__TIMER_SLOTS;
        uint64_t rest = s->used[i / 64] >> (i % 64);
        if (rest == 0) {
            tick += (int64_t)(64 - i % 64);
            continue;
        }
        tick += __builtin_ctzll(rest);
        if (tick >= end) break; /* those of the first slots of the next turn */
        i = (size_t)tick % CC__TIMER_SLOTS;
        if (!slot_empty(s, &s->slot[i])) return tick;
        s->used[i / 64] &= ~(UINT64_C(1) << (i % 64)); /* all were taken out */
    }
    return -1;
}

static void keys_sort(struct cc__timer_key *key, size_t n) {
    static const uint8_t gaps[] = {57, 23, 10, 4, 1}; /* Shell's way, with Ciura's gaps */
    for (size_t g = 0; g < sizeof gaps; g++) {
        for (size_t i = gaps[g]; i < n; i++) {
            struct cc__timer_key k = key[i];
            size_t to = i;
            for (; to >= gaps[g] && key[to - gaps[g]].when_ns > k.when_ns; to -= gaps[g]) key[to] = key[to - gaps[g]];
            key[to] = k;
        }
    }
}

/* Timers in order are a heap, each the only child of the one before: the first is taken out without a look at the
 * rest. */
static void keys_to_near(struct cc__timers *s, size_t n) {
    struct cc__timer *rest = NULL;
    keys_sort(s->key, n);
    while (n > 0) {
        struct cc__timer *t = s->key[--n].timer;
        t->sibling = NULL;
        attach(&t->child, rest);
        rest = t;
    }
    attach(&s->near, meld(s->near, rest));
}

/* One more of those that go there, which are n: how many are now left to be put in order. */
static size_t keys_add(struct cc__timers *s, size_t n, struct cc__timer_key k) {
    cc__prefetch_to_write((uintptr_t)k.timer);
    s->key[n++] = k;
    if (n < CC__COUNT_OF(s->key)) return n;
    keys_to_near(s, n);
    return 0;
}

/* Empty a slot into the near heap. */
static void slot_reached(struct cc__timers *s, int64_t tick) {
    size_t at = (size_t)tick % CC__TIMER_SLOTS, n = 0;
    struct cc__timer_slot *slot = &s->slot[at];
    s->used[at / 64] &= ~(UINT64_C(1) << (at % 64));
    for (struct cc__timer *t; (t = slot->first) != NULL;) {
        slot->first = t->sibling;
        n = keys_add(s, n, (struct cc__timer_key){t->when_ns, t});
    }
    for (struct cc__timer_leaf *l; (l = slot->leaf) != NULL; leaf_drop(s, slot))
        for (size_t i = 0; i < l->count; i++)
            if (l->key[i].timer != NULL) n = keys_add(s, n, l->key[i]);
    keys_to_near(s, n);
}

static void add(struct cc__timers *s, struct cc__timer *t) {
    int64_t tick = tick_of(t->when_ns);
    if (tick < s->base)
        heap_add(&s->near, t);
    else if (tick < s->base + CC__TIMER_SLOTS)
        slot_add(s, t);
    else
        heap_add(&s->far, t);
}

/* All that ends by now_ns is in the near heap, all that the wheel reaches is in it. */
static void advance(struct cc__timers *s, int64_t now_ns) {
    int64_t base = tick_of(now_ns) + 1, tick;
    if (base <= s->base) return;
    while ((tick = first_used(s)) >= 0 && tick < base) slot_reached(s, tick);
    s->base = base;
    while (s->far != NULL && tick_of(s->far->when_ns) < base + CC__TIMER_SLOTS) {
        struct cc__timer *t = s->far;
        take(s, t);
        add(s, t);
    }
}

/* ---- */

static void publish_next(struct cc__timers *s) {
    int64_t next = s->near == NULL ? CC__NEVER : s->near->when_ns;
    if (tick_of(next) >= s->base) { /* nothing is before the wheel */
        int64_t tick = first_used(s);
        int64_t wheel = tick < 0 ? CC__NEVER : s->slot[(size_t)tick % CC__TIMER_SLOTS].soonest_ns;
        if (wheel < next) next = wheel;
        if (s->far != NULL && s->far->when_ns < next) next = s->far->when_ns;
    }
    cc__store_relaxed(&s->next_ns, next);
}

bool cc__timers_add(struct cc__timers *s, struct cc__timer *t) {
    cc__lock_take(&s->lock);
    /* Only a wheel that stood still is advanced here: nobody looked at it for as long as nothing was due. */
    if (tick_of(t->when_ns) >= s->base + CC__TIMER_SLOTS) advance(s, cc__now_ns() - ((int64_t)1 << TICK_BITS));
    add(s, t);
    bool first = t->when_ns < cc__load_relaxed(&s->next_ns);
    if (first) cc__store_relaxed(&s->next_ns, t->when_ns);
    cc__lock_drop(&s->lock);
    return first;
}

void cc__timers_remove(struct cc__timers *s, struct cc__timer *t) {
    cc__lock_take(&s->lock);
    if (t->link != NULL) {
        take(s, t);
        if (t->when_ns <= cc__load_relaxed(&s->next_ns)) publish_next(s);
    }
    cc__lock_drop(&s->lock);
}

struct cc__task *cc__timers_expire(struct cc__timers *s, int64_t now_ns) {
    struct cc__task *ready = NULL, **last = &ready;
    cc__lock_take(&s->lock);
    advance(s, now_ns);
    while (s->near != NULL && s->near->when_ns <= now_ns) {
        struct cc__timer *t = s->near;
        struct cc__task *task = t->task;
        take(s, t);
        uint32_t generation = cc__task_generation(cc__load_relaxed(&task->control));
        if (!cc__wait_decide(task, t->epoch, CC__TIMED_OUT)) continue; /* decided before: it is on its way */
        if (cc__state_unpark(task, generation) != CC__UNPARK_QUEUE) continue;
        cc__prefetch_to_write((uintptr_t)task->fiber); /* it has slept: nothing of it is in the cache */
        task->next = NULL;
        *last = task;
        last = &task->next;
    }
    publish_next(s);
    cc__lock_drop(&s->lock);
    return ready;
}

/* All are taken out, by way of the near heap, and put back there. A future whose timer is in here cannot be over
 * before it has taken that out, which needs the lock. */
struct cc__task *cc__timers_cancel_futures(struct cc__timers *s) {
    struct cc__task *ready = NULL, **last = &ready;
    struct cc__timer *seen = NULL;
    cc__lock_take(&s->lock);
    advance(s, CC__NEVER);
    for (struct cc__timer *t; (t = s->near) != NULL; seen = t) {
        struct cc__task *task = t->task;
        take(s, t);
        t->sibling = seen;
        if (task->stack_class != CC__STACKLESS || cc__state_cancel(task) != CC__UNPARK_QUEUE) continue;
        task->next = NULL;
        *last = task;
        last = &task->next;
    }
    while (seen != NULL) {
        struct cc__timer *t = seen;
        seen = t->sibling;
        heap_add(&s->near, t);
    }
    publish_next(s);
    cc__lock_drop(&s->lock);
    return ready;
}

void cc__timers_end(struct cc__timers *s) {
    int64_t tick = first_used(s);
    CC_ASSERT(tick < 0 && s->near == NULL && s->far == NULL);
    (void)tick; /* the leaves of those that were taken out are spare now, or gone */
    while (s->spare != NULL) {
        struct cc__timer_leaf *l = s->spare;
        s->spare = l->next;
        free(l);
    }
    s->spares = 0;
}
