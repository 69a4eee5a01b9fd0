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
