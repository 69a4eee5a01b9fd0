/* SPDX-License-Identifier: MIT */
/* Semaphores: permits, and those that wait for some, in the order they came.
 *
 * All is decided under the list's lock, as sync.h has it: permits are taken by who finds enough of them and nobody
 * waiting, or given to the first that waits, as soon as there are enough for it. Nobody overtakes, so who wants many
 * gets them: permits add up for it. When the first leaves the list because it was cancelled, what was kept for it may
 * do for those behind.
 *
 * Prev: sync/rwlock.c  Next: sync/once.c */
#include <ccrt/sem.h>

#include "sync.h"

#include "../base/assert.h"

/* With the lock. */
static bool try_take(cc_sem *s, unsigned permits) {
    if (CC__SYNC_LIST(s)->first != NULL || s->priv_permits < permits) return false;
    s->priv_permits -= permits;
    return true;
}

/* With the lock: to the first, and the next, while there are enough. A node's tag is how many it waits for. */
static void grant(cc_sem *s, struct cc__claims *got) {
    struct cc__waitlist *l = CC__SYNC_LIST(s);
    while (l->first != NULL && l->first->tag <= s->priv_permits)
        if (cc__claims_take(got, l, CC__MATCHED)) s->priv_permits -= got->last->tag;
}

static void leave(cc_sem *s, struct cc__wait *w) {
    struct cc__claims got = {0};
    cc__waitlist_lock(CC__SYNC_LIST(s));
    cc__waitlist_remove(CC__SYNC_LIST(s), w);
    grant(s, &got);
    cc__waitlist_unlock(CC__SYNC_LIST(s));
    cc__claims_wake(&got);
}

static int acquire(cc_sem *s, unsigned permits, bool cancellable) {
    struct cc__waitlist *l = CC__SYNC_LIST(s);
    struct cc__task *self = cc__sync_self();
    for (;;) {
        struct cc__wait w;
        cc__waitlist_lock(l);
        bool got = try_take(s, permits);
        if (!got) {
            cc__wait_begin(&w, self, cc__sync_deciders(cancellable), s, "semaphore");
            w.tag = permits;
            cc__waitlist_append(l, &w);
        }
        cc__waitlist_unlock(l);
        if (got) return 0;
        int rc = cc__sync_wait(&w, cancellable);
        if (rc == 0) return 0;
        leave(s, &w);
        if (rc != CC__WAIT_AGAIN) return rc;
    }
}

void cc_sem_acquire(cc_sem *s, unsigned permits) {
    (void)acquire(s, permits, false);
}

int cc_sem_acquire_cancellable(cc_sem *s, unsigned permits) {
    return acquire(s, permits, true);
}

int cc_sem_try_acquire(cc_sem *s, unsigned permits) {
    cc__waitlist_lock(CC__SYNC_LIST(s));
    bool got = try_take(s, permits);
    cc__waitlist_unlock(CC__SYNC_LIST(s));
    return got ? 0 : -EAGAIN;
}

void cc_sem_release(cc_sem *s, unsigned permits) {
    struct cc__claims got = {0};
    cc__waitlist_lock(CC__SYNC_LIST(s));
    CC_CHECK(permits <= UINT32_MAX - s->priv_permits, "a semaphore has more permits than can be counted");
    s->priv_permits += permits;
    grant(s, &got);
    cc__waitlist_unlock(CC__SYNC_LIST(s));
    cc__claims_wake(&got);
}
