/* SPDX-License-Identifier: MIT */
/* The mutex: one word, and a list of those that wait.
 *
 * The word is the record of the owner, or 0, and two bits: WAITERS, the list is not empty; WOKEN, one that was woken or
 * that spins is about to try. It is free where there is no owner, unless WAITERS is all that is left: then it is being
 * unlocked, and as good as locked. Locking one that is free and has no bits is a compare-and-swap; unlocking one,
 * unless somebody is to be woken, a subtraction: the two take a sixth less time than two compare-and-swaps. Programs
 * have both inline (ccrt/mutex.h); from there they come here with what they found.
 *
 *   locks (L)                                       unlocks (U)
 *   L1 free, by CAS: ours                           U1 out of the word. No WAITERS are left, or WOKEN: free, and
 *   L2 its owner is about to run: spins a little,      nobody is to be woken
 *      and if there are WAITERS, sets WOKEN first   U2 else into the word again: it was nobody else's meanwhile
 *   L3 locks the list. Free: ours, as L1. Else      U3 locks the list, claims the first; it was the last: no
 *      by CAS sets WAITERS, clears WOKEN if it         WAITERS. Unlocks the list. There was nobody, all were
 *      was its own; its node on the list, unlocks      cancelled: U1
 *   L4 waits. Woken: WOKEN is its own; L1           U4 by CAS: free, with WOKEN. The last touch of the mutex
 *   L5 cancelled: off the list, by its lock. The    U5 settles the wait: look again; unparks
 *      last clears WAITERS, but not between U1, U2
 *
 * WOKEN says that somebody will look at the word after it was set, and before he waits: it is cleared only by such a
 * one, in the very CAS that takes the mutex or that found an owner, who will unlock. So U1 loses no wake-up. Two may
 * have it for their own, if one begins to spin while another is woken; then it is cleared too early, which is one
 * wake-up too many. It is U4 that sets it, not U3: who spun would clear it in between, and leave WAITERS alone. From U1
 * to U2 nobody sets it or clears WAITERS: that would make it free, for others to lock and perhaps to give back its
 * memory, and the one in U2 would write where it must not.
 *
 * Who spins looks seldom, a microsecond apart or so: each look takes the word away from the owner's cache, and an owner
 * that is left alone is through with it many times meanwhile.
 *
 * Who is awake may be quicker than who was woken: that is what makes it fast, since a mutex that is handed over is idle
 * until the one it was handed to runs. Who loses so goes back to the head of the list. Where the first has waited for a
 * millisecond, U4 makes it the owner instead (and leaves WOKEN alone). So that U3 is not put off for ever by one that
 * spins after the other, only a number of them in a row may set WOKEN; the list's mark counts them.
 *
 * Rejected: handing over always (with 2 workers ten times slower); a lock without the list's own lock (the list has to
 * be left in the middle by who is cancelled).
 *
 * Prev: sync/sync.c  Next: sync/cond.c */
#define CC_PRIV_MUTEX_CALLS 1 /* here they are */
#include <ccrt/mutex.h>

#include "sync.h"

#include "../base/assert.h"
#include "../sched/choice.h"

enum { WAITERS = 1, WOKEN = 2, BITS = WAITERS | WOKEN };
#ifndef CC__MUTEX_SPINS
#define CC__MUTEX_SPINS 4
#define CC__MUTEX_PAUSES 30 /* a spin */
#endif
enum { SPINNERS_IN_A_ROW = 64, PATIENCE_NS = 1000000 };

_Static_assert(_Alignof(struct cc__task) > BITS, "there is room for the bits");
_Static_assert(offsetof(struct cc__fiber, up) == CC_PRIV_FIBER_UP, "it is found inline");
_Static_assert(offsetof(struct cc__fiber, task) == CC_PRIV_FIBER_TASK, "it is found inline");

/* [MX1] An owner's release in U1 is seen by the next: what it did under the mutex. What changes the word after U1 has
 * no order of its own: each is a read-modify-write, so who reads the last of them sees what U1 released. */
static inline _Atomic uintptr_t *word_of(cc_mutex *m) {
    return (_Atomic uintptr_t *)(void *)&m->priv_word; /* W, R: any thread.  [MX1] */
}

static inline struct cc__task *owner_in(uintptr_t word) {
    return (struct cc__task *)(word & ~(uintptr_t)BITS); /* NOLINT(performance-no-int-to-ptr) */
}

static inline bool is_free(uintptr_t word) {
    return owner_in(word) == NULL && (word & BITS) != WAITERS;
}

/* Whether the owner may be through in a moment: it is not parked, and not waiting for this worker. */
static bool owner_goes_on(const struct cc__task *owner, const struct cc__task *self) {
    if (owner == NULL) return true; /* U1 */
    uint64_t control = cc__load_relaxed(&owner->control);
    if ((control & CC__CONTROL_STATE) != CC__ACTIVE) return false;
    return (control & CC__CONTROL_THREAD) != 0 || self->runtime == NULL || cc__worker_count(self->runtime) > 1;
}

/* L2: whether whoever unlocks is to rely on us: unless there is nobody else, or too many have been relied on. */
static bool may_announce(cc_mutex *m, uintptr_t now) {
    return owner_in(now) != NULL && (now & BITS) == WAITERS &&
           cc__load_relaxed(&CC__SYNC_LIST(m)->mark) < SPINNERS_IN_A_ROW;
}

/* L1: it is free, with these bits. True: ours. */
static bool take(cc_mutex *m, struct cc__task *self, uintptr_t *now, uintptr_t own) {
    /* [MX1] acquire: pairs with the release of who unlocked. */
    if (!cc__cas_acquire(word_of(m), now, (*now & ~own) | (uintptr_t)self)) return false;
    CC__EDGE_ACQUIRE(m);
    return true;
}

/* L1, L2. *own: WOKEN, if that is ours to clear. True: locked. */
static bool lock_spinning(cc_mutex *m, struct cc__task *self, uintptr_t *own) {
    uintptr_t now = cc__load_relaxed(word_of(m));
    bool announced = false;
    for (unsigned spins = 0; spins <= CC__MUTEX_SPINS;) {
        struct cc__task *owner = owner_in(now);
        if (is_free(now)) {
            if (!take(m, self, &now, *own)) continue;
            /* With the mutex: nobody else writes the mark but who has it, with or without the list's lock. */
            _Atomic uint32_t *in_a_row = &CC__SYNC_LIST(m)->mark;
            if (announced) cc__store_relaxed(in_a_row, cc__load_relaxed(in_a_row) + 1);
            return true;
        }
        CC_CHECK(owner != self, "a mutex was locked twice by the same task or thread");
        if (!owner_goes_on(owner, self)) return false;
        if (*own == 0 && may_announce(m, now)) {
            if (!cc__cas_relaxed(word_of(m), &now, now | WOKEN)) continue;
            *own = WOKEN;
            announced = true;
        }
        cc__cpu_relax_for(CC__MUTEX_PAUSES);
        spins++;
        now = 0; /* taken at once if it is free: whoever only looks comes too late with the rest */
    }
    return false;
}

/* L3. False: it was free, and is ours. */
static bool queue_up(cc_mutex *m, struct cc__wait *w, uintptr_t own) {
    struct cc__waitlist *l = CC__SYNC_LIST(m);
    cc__waitlist_lock(l);
    uintptr_t now = cc__load_relaxed(word_of(m));
    for (;;) {
        if (is_free(now)) {
            if (!take(m, w->task, &now, own)) continue;
            cc__waitlist_unlock(l);
            return false;
        }
        if (cc__cas_relaxed(word_of(m), &now, (now & ~own) | WAITERS)) break;
    }
    if (w->tag != 0)
        cc__waitlist_prepend(l, w);
    else
        cc__waitlist_append(l, w);
    cc__waitlist_unlock(l);
    return true;
}

/* L5. */
static void leave(cc_mutex *m, struct cc__wait *w) {
    struct cc__waitlist *l = CC__SYNC_LIST(m);
    cc__waitlist_lock(l);
    cc__waitlist_remove(l, w);
    uintptr_t now = cc__load_relaxed(word_of(m));
    while (l->first == NULL && now != WAITERS && !cc__cas_relaxed(word_of(m), &now, now & ~(uintptr_t)WAITERS)) {
    } /* U1 has left WAITERS alone: U3 clears it */
    cc__waitlist_unlock(l);
}

/* One wait. 0: locked; -EPIPE: woken, to look again; else cancelled, or CC__WAIT_AGAIN. */
static int lock_waiting(cc_mutex *m, struct cc__task *self, bool cancellable, uintptr_t own, int64_t *since_ns) {
    struct cc__wait w;
    cc__wait_begin(&w, self, cc__sync_deciders(cancellable), m, "mutex");
    w.tag = *since_ns != 0; /* it has waited before: to the head of the list */
    if (*since_ns == 0) *since_ns = cc__choice_now();
    w.value = (void *)(uintptr_t)*since_ns; /* NOLINT(performance-no-int-to-ptr) */
    if (!queue_up(m, &w, own)) return 0;
    int rc = cc__sync_wait(&w, cancellable);
    if (rc != 0 && rc != -EPIPE) leave(m, &w);
    return rc;
}

static CC__NOINLINE int lock_slowly(cc_mutex *m, struct cc__task *self, bool cancellable) {
    uintptr_t own = 0;
    int64_t since_ns = 0;
    if (self == NULL) self = cc__sync_self_slowly();
    for (;;) {
        if (lock_spinning(m, self, &own)) return 0;
        int rc = lock_waiting(m, self, cancellable, own, &since_ns);
        if (rc == 0) return 0;
        if (rc < 0 && rc != -EPIPE) return rc;
        own = rc == -EPIPE ? WOKEN : 0;
    }
}

/* These and the unlock are jumps into the slow way or straight code: nothing is kept for it on the stack. */
void cc_mutex_lock(cc_mutex *m) {
    struct cc__task *self = cc__sync_self_known();
    uintptr_t now = 0;
    if (CC__LIKELY(self != NULL) && CC__LIKELY(take(m, self, &now, 0))) return;
    (void)lock_slowly(m, self, false);
}

int cc_mutex_lock_cancellable(cc_mutex *m) {
    struct cc__task *self = cc__sync_self_known();
    uintptr_t now = 0;
    if (CC__LIKELY(self != NULL) && CC__LIKELY(take(m, self, &now, 0))) return 0;
    return lock_slowly(m, self, true);
}

int cc_mutex_trylock(cc_mutex *m) {
    struct cc__task *self = cc__sync_self();
    uintptr_t now = cc__load_relaxed(word_of(m));
    while (is_free(now))
        if (take(m, self, &now, 0)) return 0;
    return -EAGAIN;
}

/* U3: whom to wake, claimed; or NULL. *hand_over: it is to be the owner. */
static struct cc__wait *choose(cc_mutex *m, bool *hand_over) {
    struct cc__waitlist *l = CC__SYNC_LIST(m);
    struct cc__claims got = {0};
    cc__waitlist_lock(l);
    struct cc__wait *w = cc__claims_first(&got, l, CC__MATCHED);
    *hand_over = w != NULL && cc__choice_now() - (int64_t)(uintptr_t)w->value >= PATIENCE_NS;
    if (l->first == NULL) cc__and_relaxed(word_of(m), ~(uintptr_t)WAITERS);
    cc__store_relaxed(&l->mark, 0);
    cc__waitlist_unlock(l);
    return w;
}

/* U2 to U5: U1 found more than self in the word, or not even that. */
static CC__NOINLINE void unlock_slowly(cc_mutex *m, struct cc__task *self, uintptr_t was) {
    CC_CHECK(owner_in(was) != NULL, "a mutex was unlocked that nobody has locked");
    CC_CHECK(owner_in(was) == self, "a mutex was unlocked by another than its owner");
    struct cc__wait *w = NULL;
    bool hand_over = false;
    while (w == NULL) {
        if ((was & BITS) != WAITERS) return;
        cc__add_relaxed(word_of(m), (uintptr_t)self); /* U2 */
        w = choose(m, &hand_over);
        if (w == NULL) was = cc__sub_relaxed(word_of(m), (uintptr_t)self); /* U1 again */
    }
    uintptr_t next = hand_over ? (uintptr_t)w->task : WOKEN;
    uintptr_t now = cc__load_relaxed(word_of(m));
    while (!cc__cas_relaxed(word_of(m), &now, (now & BITS) | next)) {
    } /* U4 */
    cc__wake_claimed(w, hand_over ? CC__MATCHED : CC__CLOSED);
}

/* U1. */
static inline void unlock(cc_mutex *m, struct cc__task *self) {
    /* [MX1] release: what was done under it is seen by the next owner. */
    uintptr_t was = cc__sub_release(word_of(m), (uintptr_t)self);
    if (CC__UNLIKELY(was != (uintptr_t)self)) unlock_slowly(m, self, was);
}

void cc_priv_mutex_unlocked(cc_mutex *m, uintptr_t was) {
    unlock_slowly(m, cc__sync_self(), was);
}

static CC__NOINLINE void unlock_and_tell(cc_mutex *m) {
    CC__EDGE_RELEASE(m);
    unlock(m, cc__sync_self());
}

void cc_mutex_unlock(cc_mutex *m) {
    struct cc__task *self = cc__sync_self_known();
    if (CC__UNLIKELY(self == NULL || CC__TRACING(CC__EDGES)))
        unlock_and_tell(m);
    else
        unlock(m, self);
}
