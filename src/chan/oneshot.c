/* SPDX-License-Identifier: MIT */
/* One value, once. All of it is decided under one lock:
 *
 *   sender                                          receiver
 *   S1 locks; its end goes                          R1 locks. A value: takes it. No sender: -EPIPE
 *   S2 the receiver is gone: unlocks, frees         R2 else its node goes on the list; unlocks; waits
 *   S3 nobody waits: the value stays here;          R3 the value is in its frame
 *      unlocks                                      R4 or it gives up: the node comes off, under the lock;
 *   S4 else claims the first that waits, and           the value, if it comes, stays in the object
 *      for the others that nothing comes            R5 destroy: locks; its end goes; unlocks; the sender was
 *   S5 unlocks; copies into its frame, settles         gone: frees
 *
 * Who ends the second end frees. After its unlock the other touches nothing, so that one may.
 *
 * Prev: chan/poll.c  Next: chan/broadcast.c */
#include <ccrt/oneshot.h>

#include "../base/assert.h"
#include "../sched/claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The functions themselves; the macros of these names are typed. */
#undef cc_oneshot_create
#undef cc_oneshot_send
#undef cc_oneshot_drop
#undef cc_oneshot_recv
#undef cc_oneshot_try_recv
#undef cc_oneshot_destroy

struct cc_oneshot {
    struct cc__waitlist receivers; /* its lock guards the rest */
    size_t elem_bytes;
    bool sender, receiver; /* whose end is still there */
    bool full;             /* sent, and not received */
    _Alignas(max_align_t) char elem[];
};

int cc_oneshot_create(cc_oneshot **out, size_t elem_bytes) {
    if (out == NULL) return -EINVAL;
    *out = NULL;
    if (elem_bytes == 0 || elem_bytes > PTRDIFF_MAX - sizeof(cc_oneshot)) return -EINVAL;
    cc_oneshot *o = calloc(1, sizeof *o + elem_bytes);
    if (o == NULL) return -ENOMEM;
    o->elem_bytes = elem_bytes;
    o->sender = o->receiver = true;
    *out = o;
    return 0;
}

/* S1, S2, and R5: with the lock, which it gives up; one end is gone. True: both are, and so is the object. */
static bool unlock_and_free(cc_oneshot *o) {
    bool last = !o->sender && !o->receiver;
    cc__waitlist_unlock(&o->receivers);
    if (last) free(o);
    return last;
}

int cc_oneshot_send(cc_oneshot *o, const void *elem) {
    if (o == NULL || elem == NULL) return -EINVAL;
    cc__waitlist_lock(&o->receivers);
    if (!o->sender) {
        cc__waitlist_unlock(&o->receivers);
        return -EPIPE;
    }
    o->sender = false;
    if (!o->receiver) {
        (void)unlock_and_free(o);
        return -EPIPE;
    }
    size_t bytes = o->elem_bytes;
    struct cc__claims claims = {0};
    struct cc__wait *w = cc__claims_first(&claims, &o->receivers, CC__MATCHED);
    if (w == NULL) {
        memcpy(o->elem, elem, bytes);
        o->full = true;
    }
    cc__claims_all(&claims, &o->receivers, CC__CLOSED);
    cc__waitlist_unlock(&o->receivers);
    if (w != NULL) memcpy(w->value, elem, bytes);
    cc__claims_wake(&claims);
    cc__run_completed();
    return 0;
}

void cc_oneshot_drop(cc_oneshot *o) {
    if (o == NULL) return;
    struct cc__claims claims = {0};
    cc__waitlist_lock(&o->receivers);
    if (!o->sender) {
        cc__waitlist_unlock(&o->receivers);
        return;
    }
    o->sender = false;
    cc__claims_all(&claims, &o->receivers, CC__CLOSED);
    if (!unlock_and_free(o)) cc__claims_wake(&claims);
}

/* R1, with the lock: 0, -EPIPE, or -EAGAIN. */
static int take(cc_oneshot *o, void *elem) {
    if (!o->full) return o->sender ? -EAGAIN : -EPIPE;
    memcpy(elem, o->elem, o->elem_bytes);
    o->full = false;
    return 0;
}

int cc_oneshot_try_recv(cc_oneshot *o, void *elem) {
    if (o == NULL || elem == NULL) return -EINVAL;
    cc__waitlist_lock(&o->receivers);
    int rc = take(o, elem);
    cc__waitlist_unlock(&o->receivers);
    cc__run_completed();
    return rc;
}

int cc_oneshot_recv(cc_oneshot *o, void *elem) {
    if (o == NULL || elem == NULL) return -EINVAL;
    struct cc__task *self = cc__self();
    int rc;
    do {
        struct cc__wait w;
        cc__waitlist_lock(&o->receivers);
        rc = take(o, elem);
        if (rc == -EAGAIN && self == NULL) rc = -ENOMEM;
        if (rc != -EAGAIN) {
            cc__waitlist_unlock(&o->receivers);
            cc__run_completed();
            return rc;
        }
        cc__wait_begin(&w, self, CC__BY_CANCEL, o, "oneshot recv");
        w.value = elem;
        cc__waitlist_append(&o->receivers, &w);
        cc__waitlist_unlock(&o->receivers);
        rc = cc__claims_wait(&w, &o->receivers, &o->receivers);
    } while (rc == CC__WAIT_AGAIN);
    return rc;
}

void cc_oneshot_destroy(cc_oneshot *o) {
    if (o == NULL) return;
    cc__waitlist_lock(&o->receivers);
    CC_CHECK(o->receivers.first == NULL, "a oneshot is destroyed that somebody waits on");
    CC_CHECK(o->receiver, "a oneshot is destroyed twice");
    o->receiver = false;
    (void)unlock_and_free(o);
}
