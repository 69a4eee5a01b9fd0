/* SPDX-License-Identifier: MIT */
/* Barriers: how many have come in this round, and those that wait for the others.
 *
 * Who comes last begins the next round and lets all go on, under the list's lock; as sync.h has it. One that is being
 * cancelled just then, and has not taken its node off yet, was counted: it finds the round over, and passes like the
 * others. One that takes it off before has not come.
 *
 * Prev: sync/waitgroup.c  Next: sync/notify.c */
#include <ccrt/barrier.h>

#include "sync.h"

#include "../base/assert.h"

/* With the lock, by who came last: the round is over. */
static void open_up(cc_barrier *b, struct cc__claims *got) {
    struct cc__waitlist *l = CC__SYNC_LIST(b);
    b->priv_arrived = 0;
    b->priv_round++;
    cc__claims_all(got, l, CC__MATCHED);
}

/* Cancelled: whether the round is over after all; else the caller has not come. */
static bool leave(cc_barrier *b, struct cc__wait *w, uint64_t round) {
    struct cc__waitlist *l = CC__SYNC_LIST(b);
    cc__waitlist_lock(l);
    bool over = b->priv_round != round;
    if (!over) {
        cc__waitlist_remove(l, w);
        b->priv_arrived--;
    }
    cc__waitlist_unlock(l);
    return over;
}

static int barrier_wait(cc_barrier *b, bool cancellable) {
    struct cc__waitlist *l = CC__SYNC_LIST(b);
    struct cc__task *self = cc__sync_self();
    CC_CHECK(b->priv_parties > 0, "a barrier without parties was waited for");
    for (;;) {
        struct cc__wait w;
        struct cc__claims got = {0};
        cc__waitlist_lock(l);
        uint64_t round = b->priv_round;
        bool last = ++b->priv_arrived == b->priv_parties;
        if (last) {
            open_up(b, &got);
        } else {
            cc__wait_begin(&w, self, cc__sync_deciders(cancellable), b, "barrier");
            cc__waitlist_append(l, &w);
        }
        cc__waitlist_unlock(l);
        cc__claims_wake(&got);
        if (last) return 1;
        int rc = cc__sync_wait(&w, cancellable);
        if (rc == 0 || leave(b, &w, round)) return 0;
        if (rc != CC__WAIT_AGAIN) return rc;
    }
}

int cc_barrier_wait(cc_barrier *b) {
    return barrier_wait(b, false);
}

int cc_barrier_wait_cancellable(cc_barrier *b) {
    return barrier_wait(b, true);
}
