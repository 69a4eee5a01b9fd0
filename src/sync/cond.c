/* SPDX-License-Identifier: MIT */
/* Conditions: a list of those that wait, and a mark that says whether there are any.
 *
 * A waiter is on the list before it gives up the mutex, and what it waits for is changed with the mutex locked: so who
 * changed it after the waiter looked finds it on the list, also by the mark alone, which needs no order but the
 * mutex's. A signal goes to the first that can still take it: one that is cancelled is passed over (sync.h, L2).
 *
 * A wait that was cancelled for a scope outside the caller's shield returns as if for no reason: to go back on the list
 * would miss what was signalled meanwhile.
 *
 * Prev: sync/mutex.c  Next: sync/rwlock.c */
#define CC_PRIV_MUTEX_CALLS 1 /* where ThreadSanitizer is told of it (trace/edges.h) */
#include <ccrt/cond.h>

#include "sync.h"

#include "../base/assert.h"

static bool is_owner(const cc_mutex *m, const struct cc__task *self) {
    uintptr_t word = cc__load_relaxed((const _Atomic uintptr_t *)(const void *)&m->priv_word);
    return (word & ~(uintptr_t)(_Alignof(struct cc__task) - 1)) == (uintptr_t)self;
}

static void mark(struct cc__waitlist *l) {
    cc__store_relaxed(&l->mark, l->first != NULL); /* with the lock */
}

static int cond_wait(cc_cond *c, cc_mutex *m, bool cancellable) {
    struct cc__task *self = cc__sync_self();
    struct cc__waitlist *l = CC__SYNC_LIST(c);
    struct cc__wait w;
    CC_CHECK(is_owner(m, self), "a condition was waited for without its mutex");
    cc__wait_begin(&w, self, cc__sync_deciders(cancellable), c, "condition");
    cc__waitlist_lock(l);
    cc__waitlist_append(l, &w);
    mark(l);
    cc__waitlist_unlock(l);
    cc_mutex_unlock(m);
    int rc = cc__sync_wait(&w, cancellable);
    if (rc != 0) {
        cc__waitlist_lock(l);
        cc__waitlist_remove(l, &w);
        mark(l);
        cc__waitlist_unlock(l);
    }
    cc_mutex_lock(m);
    return rc == CC__WAIT_AGAIN ? 0 : rc;
}

void cc_cond_wait(cc_cond *c, cc_mutex *m) {
    (void)cond_wait(c, m, false);
}

int cc_cond_wait_cancellable(cc_cond *c, cc_mutex *m) {
    return cond_wait(c, m, true);
}

static void wake(cc_cond *c, bool all) {
    struct cc__waitlist *l = CC__SYNC_LIST(c);
    struct cc__claims got = {0};
    if (cc__load_relaxed(&l->mark) == 0) return; /* see above */
    cc__waitlist_lock(l);
    while (cc__claims_first(&got, l, CC__MATCHED) != NULL && all) {
    }
    mark(l);
    cc__waitlist_unlock(l);
    cc__claims_wake(&got);
}

void cc_cond_signal(cc_cond *c) {
    wake(c, false);
}

void cc_cond_broadcast(cc_cond *c) {
    wake(c, true);
}
