/* SPDX-License-Identifier: MIT */
/* Notifications: those that wait, and one that nobody has waited for yet.
 *
 * All is decided under the list's lock, as sync.h has it. A notification goes to the first that can still take it, and
 * if there is none it is remembered: who is cancelled keeps it from nobody. What was notified to all is told by
 * its round: one whose wait was cancelled for a scope outside its shield begins anew, and finds that it was meant.
 *
 * Prev: sync/barrier.c  Next: runtime/env.c */
#include <ccrt/notify.h>

#include "sync.h"

/* With the lock: whether there is one for the caller, which came in that round. */
static bool try_take(cc_notify *n, uint64_t round) {
    if (n->priv_round != round) return true;
    if (n->priv_pending == 0) return false;
    n->priv_pending = 0;
    return true;
}

static int notify_wait(cc_notify *n, bool cancellable) {
    struct cc__waitlist *l = CC__SYNC_LIST(n);
    struct cc__task *self = cc__sync_self();
    uint64_t came = 0;
    for (bool again = false;; again = true) {
        struct cc__wait w;
        cc__waitlist_lock(l);
        if (!again) came = n->priv_round;
        bool got = try_take(n, came);
        if (!got) {
            cc__wait_begin(&w, self, cc__sync_deciders(cancellable), n, "notification");
            cc__waitlist_append(l, &w);
        }
        cc__waitlist_unlock(l);
        if (got) return 0;
        int rc = cc__sync_wait(&w, cancellable);
        if (rc == 0) return 0;
        cc__waitlist_leave(l, &w);
        if (rc != CC__WAIT_AGAIN) return rc;
    }
}

void cc_notify_wait(cc_notify *n) {
    (void)notify_wait(n, false);
}

int cc_notify_wait_cancellable(cc_notify *n) {
    return notify_wait(n, true);
}

void cc_notify_one(cc_notify *n) {
    struct cc__waitlist *l = CC__SYNC_LIST(n);
    struct cc__claims got = {0};
    cc__waitlist_lock(l);
    if (cc__claims_first(&got, l, CC__MATCHED) == NULL) n->priv_pending = 1;
    cc__waitlist_unlock(l);
    cc__claims_wake(&got);
}

void cc_notify_all(cc_notify *n) {
    struct cc__waitlist *l = CC__SYNC_LIST(n);
    struct cc__claims got = {0};
    cc__waitlist_lock(l);
    n->priv_round++;
    cc__claims_all(&got, l, CC__MATCHED);
    cc__waitlist_unlock(l);
    cc__claims_wake(&got);
}
