/* SPDX-License-Identifier: MIT */
/* What is done once: the list's mark says whether it is new, under way or done; done, it is one load to see that.
 *
 * Prev: sync/sem.c  Next: sync/waitgroup.c */
#include <ccrt/once.h>

#include "sync.h"

#include "../base/assert.h"

enum { NEW, UNDER_WAY, DONE }; /* the list's mark */

static void run(cc_once *o, void (*fn)(void)) {
    struct cc__waitlist *l = CC__SYNC_LIST(o);
    struct cc__claims got = {0};
    fn();
    cc__waitlist_lock(l);
    o->priv_runner = NULL;
    cc__store_release(&l->mark, DONE); /* [ON1] release: what fn did is seen by who finds it done */
    cc__claims_all(&got, l, CC__MATCHED);
    cc__waitlist_unlock(l);
    cc__claims_wake(&got);
}

/* It was not done a moment ago. */
static CC__NOINLINE int once_slowly(cc_once *o, void (*fn)(void), bool cancellable) {
    struct cc__waitlist *l = CC__SYNC_LIST(o);
    struct cc__task *self = cc__sync_self();
    for (;;) {
        struct cc__wait w;
        cc__waitlist_lock(l);
        uint32_t was = cc__load_relaxed(&l->mark);
        bool inside = was == UNDER_WAY && o->priv_runner == self;
        if (was == NEW) {
            cc__store_relaxed(&l->mark, UNDER_WAY);
            o->priv_runner = self;
        } else if (was == UNDER_WAY && !inside) {
            cc__wait_begin(&w, self, cc__sync_deciders(cancellable), o, "once");
            cc__waitlist_append(l, &w);
        }
        cc__waitlist_unlock(l);
        CC_CHECK(!inside, "what is done once asked for itself");
        if (was == NEW) run(o, fn);
        if (was != UNDER_WAY) return 0;
        int rc = cc__sync_wait(&w, cancellable);
        if (rc == 0) return 0;
        cc__waitlist_leave(l, &w);
        if (rc != CC__WAIT_AGAIN) return rc;
    }
}

/* [ON1] acquire: pairs with the release in run(). */
static inline bool is_done(cc_once *o) {
    bool done = cc__load_acquire(&CC__SYNC_LIST(o)->mark) == DONE;
    CC__EDGE_ACQUIRE(CC__SYNC_LIST(o));
    return done;
}

void cc_once_do(cc_once *o, void (*fn)(void)) {
    if (CC__UNLIKELY(!is_done(o))) (void)once_slowly(o, fn, false);
}

int cc_once_do_cancellable(cc_once *o, void (*fn)(void)) {
    return CC__LIKELY(is_done(o)) ? 0 : once_slowly(o, fn, true);
}
