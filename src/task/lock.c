/* SPDX-License-Identifier: MIT */
/* The lock of wait lists: an exchange takes it, a store frees it; and one that is kept is taken back. See keep.h.
 *
 * The exchange that finds a lock kept is A1 of keep.h: from then on its word says that it is held.
 *
 * Prev: task/claims.h  Next: task/wait.c */
#include "keep.h"

#include "../plat/thread.h"
#include "../trace/edges.h"
#include "keep_hot.h"

/* Between two looks at a lock that another holds, first and at last. A lock is held for some 20 ns; but where two
 * workers want one all the time, who looks soon takes its line away each time, and both get more done if one of them
 * goes on with it for a while. */
enum { LOCK_PAUSES = 16, LOCK_PAUSES_GROW = 8, LOCK_PAUSES_MAX = 256 };

static struct cc__keeper keepers[CC__KEEPERS];
static _Atomic uint32_t taken[CC__KEEPERS]; /* whether a worker has it.  W, R: who begins or ends.  [KP3] */

struct cc__keeper *cc__keeper_begin(void) {
    if (!cc__barrier_possible() || CC__TRACING(CC__EDGES)) return NULL;
    for (uint32_t i = 0; i < CC__KEEPERS; i++) {
        /* [KP3] acquire: what the one before did with the locks it kept is seen. */
        if (cc__load_relaxed(&taken[i]) != 0 || cc__xchg_acquire(&taken[i], 1) != 0) continue;
        keepers[i].word = CC__LOCK_KEPT + i;
        return &keepers[i];
    }
    return NULL;
}

void cc__keeper_end(struct cc__keeper *k) {
    if (k != NULL) cc__store_release(&taken[k->word - CC__LOCK_KEPT], 0); /* [KP3] */
}

/* Wait for a little, and next time for longer. */
static void pause_for(unsigned *pauses) {
    if (*pauses > LOCK_PAUSES_MAX) {
        cc__thread_yield(); /* its holder lost the cpu */
        *pauses = LOCK_PAUSES_MAX;
    }
    cc__cpu_relax_for(*pauses);
    *pauses *= LOCK_PAUSES_GROW;
}

/* A2, A3. */
static void take_back(const struct cc__waitlist *l, uint32_t word) {
    struct cc__keeper *k = &keepers[word - CC__LOCK_KEPT];
    unsigned pauses = LOCK_PAUSES;
    cc__barrier_all(); /* [KP1] A2 */
    for (unsigned i = 0; i < CC__KEEPS; i++)
        while (cc__load_acquire(&k->in[i]) == l) pause_for(&pauses); /* [KP2] acquire: it is through */
}

#if CC__INLINE_HOT
void cc__waitlist_lock_slowly(struct cc__waitlist *l, uint32_t was)
#else
void cc__waitlist_lock(struct cc__waitlist *l)
#endif
{
    unsigned pauses = LOCK_PAUSES;
#if !CC__INLINE_HOT
    uint32_t was = CC__LOCK_HELD;
    if (cc__load_relaxed(&l->lock) != CC__LOCK_HELD) was = cc__xchg_acquire(&l->lock, CC__LOCK_HELD); /* [WL1] */
#endif
    while (was == CC__LOCK_HELD) {
        pause_for(&pauses);
        /* [WL1] acquire: what the last holder did is seen. */
        if (cc__load_relaxed(&l->lock) != CC__LOCK_HELD) was = cc__xchg_acquire(&l->lock, CC__LOCK_HELD);
    }
    if (was != CC__LOCK_FREE) take_back(l, was);
    cc__waitlist_note_taken(l);
#if !CC__INLINE_HOT
    CC__EDGE_ACQUIRE(l);
#endif
}

#if !CC__INLINE_HOT
void cc__waitlist_unlock(struct cc__waitlist *l) {
    cc__waitlist_note_dropped(l);
    CC__EDGE_RELEASE(l);
    /* [WL1] release: pairs with the acquire in cc__waitlist_lock(). */
    cc__store_release(&l->lock, CC__LOCK_FREE);
}
#endif

void cc__waitlist_leave(struct cc__waitlist *l, struct cc__wait *w) {
    cc__waitlist_lock(l);
    cc__waitlist_remove(l, w);
    cc__waitlist_unlock(l);
}
