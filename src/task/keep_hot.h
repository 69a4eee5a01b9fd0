/* SPDX-License-Identifier: MIT */
/* What is done with a lock that may be kept, inline in release builds; see keep.h, of which this is a part.
 *
 * Prev: task/keep.h  Next: task/claims.h */
#ifndef CC__TASK_KEEP_HOT_H
#define CC__TASK_KEEP_HOT_H

#include "keep.h"

CC__HOTTEST bool cc__keep_enter(struct cc__keeper *k, struct cc__waitlist *l) {
    if (k == NULL || cc__load_relaxed(&l->lock) != k->word || CC__UNLIKELY(k->depth == CC__KEEPS)) return false;
    cc__store_release(&k->in[k->depth], l); /* [KP2] release: it is through with where it was before */
    cc__barrier_light();                    /* [KP1] K3 */
    if (CC__LIKELY(cc__load_relaxed(&l->lock) == k->word)) {
        k->depth++;
        cc__waitlist_note_taken(l);
        return true;
    }
    cc__store_release(&k->in[k->depth], NULL); /* [KP2] as there */
    return false;
}

CC__HOTTEST bool cc__keep_leave(struct cc__keeper *k, struct cc__waitlist *l) {
    if (k == NULL || k->depth == 0 || cc__load_relaxed(&k->in[k->depth - 1]) != l) return false;
    cc__waitlist_note_dropped(l);
    cc__store_release(&k->in[--k->depth], NULL); /* [KP2] release: what was done with the lock is seen */
    return true;
}

CC__HOTTEST void cc__keep_lock(struct cc__keeper *k, struct cc__waitlist *l, bool told) {
    if (cc__keep_enter(k, l)) return;
    told ? cc__waitlist_lock(l) : cc__waitlist_lock_untold(l);
}

CC__HOTTEST void cc__keep_unlock_as_it_is(struct cc__keeper *k, struct cc__waitlist *l, bool told) {
    if (cc__keep_leave(k, l)) return;
    told ? cc__waitlist_unlock(l) : cc__waitlist_unlock_untold(l);
}

CC__HOTTEST void cc__keep_unlock(struct cc__keeper *k, struct cc__waitlist *l, struct cc__habit *h, unsigned times,
                                 bool told) {
    if (cc__keep_leave(k, l)) return;
    if (k == NULL || h->last != k->word) {
        h->last = k == NULL ? 0 : k->word;
        h->times = 0;
    } else if (CC__UNLIKELY((h->times += times) > (uint32_t)CC__KEEP_AFTER << 2 * h->kept)) {
        h->times = 0;
        if (h->kept < CC__KEEP_GROWS) h->kept++;
        cc__waitlist_note_dropped(l);
        cc__store_release(&l->lock, k->word); /* [WL1] release: who takes it back sees what was done */
        return;
    }
    told ? cc__waitlist_unlock(l) : cc__waitlist_unlock_untold(l);
}

#endif /* CC__TASK_KEEP_HOT_H */
