/* SPDX-License-Identifier: MIT */
/* What all locks share: see sync.h.
 *
 * Prev: sync/sync.h  Next: sync/mutex.c */
#include "sync.h"

#include "../base/assert.h"

CC__COLD struct cc__task *cc__sync_self_slowly(void) {
    struct cc__task *self = cc__self();
    CC_CHECK(self != NULL, "no memory to let this thread wait");
    return self;
}

bool cc__sync_take(struct cc__waitlist *l, struct cc__claimed *got) {
    struct cc__wait *w = cc__waitlist_take_first(l);
    if (!cc__wait_claim(w)) return false;
    if (got->first == NULL)
        got->first = w;
    else
        got->last->node.next = &w->node;
    got->last = w;
    return true;
}

void cc__sync_wake(struct cc__claimed *got) {
    for (struct cc__wait *w = got->first, *next; w != NULL; w = next) {
        next = w->node.next == NULL ? NULL : CC__CONTAINER_OF(w->node.next, struct cc__wait, node);
        cc__wake_claimed(w, CC__MATCHED);
    }
}
