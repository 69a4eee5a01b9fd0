/* SPDX-License-Identifier: MIT */
/* Counts of things under way.
 *
 *   counts out (C)                                waits (W)
 *   C1 not the last: by CAS, without the lock     W1 locks
 *   C2 else: locks, counts out; 0: takes all      W2 the count is 0: unlocks, goes on
 *      that wait off. Unlocks                     W3 its node on the list, unlocks, waits
 *   C3 settles their waits, unparks them
 *
 * The count becomes 0 with the lock held. So who finds it 0 at W2 comes after the last touch of whoever counted out, as
 * does who is woken by C3: it may leave the frame that the group is in. (As nurseries do it: scope/nursery.c.)
 *
 * Prev: sync/once.c  Next: sync/barrier.c */
#include <ccrt/waitgroup.h>

#include "sync.h"

#include "../base/assert.h"

static _Atomic size_t *count_of(cc_waitgroup *g) {
    return (_Atomic size_t *)(void *)&g->priv_count; /* W, R: any thread.  [WG1] */
}

static void count_out(cc_waitgroup *g, size_t n) {
    struct cc__waitlist *l = CC__SYNC_LIST(g);
    struct cc__claims got = {0};
    size_t now = cc__load_relaxed(count_of(g));
    CC__EDGE_RELEASE(l);                                         /* its lock is what the waiters take */
    while (now > n)                                              /* C1 */
        if (cc__cas_release(count_of(g), &now, now - n)) return; /* [WG1] release: for who counts out the last */
    cc__waitlist_lock(l);
    /* [WG1] acquire: what those did that were counted out before is the waiters' to see, through the lock. */
    now = cc__sub_acq_rel(count_of(g), n);
    CC_CHECK(now >= n, "a waitgroup was counted below zero");
    if (now == n) cc__claims_all(&got, l, CC__MATCHED);
    cc__waitlist_unlock(l);
    cc__claims_wake(&got);
}

void cc_waitgroup_add(cc_waitgroup *g, int n) {
    if (n >= 0)
        cc__add_relaxed(count_of(g), (size_t)n);
    else
        count_out(g, (size_t)0 - (size_t)n);
}

void cc_waitgroup_done(cc_waitgroup *g) {
    count_out(g, 1);
}

static int waitgroup_wait(cc_waitgroup *g, bool cancellable) {
    struct cc__waitlist *l = CC__SYNC_LIST(g);
    struct cc__task *self = cc__sync_self();
    for (;;) {
        struct cc__wait w;
        cc__waitlist_lock(l);
        bool wait = cc__load_relaxed(count_of(g)) != 0;
        if (wait) {
            cc__wait_begin(&w, self, cc__sync_deciders(cancellable), g, "waitgroup");
            cc__waitlist_append(l, &w);
        }
        cc__waitlist_unlock(l);
        if (!wait) return 0;
        int rc = cc__sync_wait(&w, cancellable);
        if (rc == 0) return 0;
        cc__waitlist_leave(l, &w);
        if (rc != CC__WAIT_AGAIN) return rc;
    }
}

void cc_waitgroup_wait(cc_waitgroup *g) {
    (void)waitgroup_wait(g, false);
}

int cc_waitgroup_wait_cancellable(cc_waitgroup *g) {
    return waitgroup_wait(g, true);
}
