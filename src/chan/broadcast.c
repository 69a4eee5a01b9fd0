/* SPDX-License-Identifier: MIT */
/* Values for everybody. The newest `capacity` of them are in a ring, each at its number modulo the capacity; a
 * subscriber is the number of the value it wants next, so there is nobody to register and nothing to leave behind.
 *
 *   sender                                          subscriber
 *   S1 locks; writes the value over the oldest      R1 locks. Its number is below the newest: receives that one, or
 *   S2 claims all who wait                             the oldest that is kept if it is behind that, and counts the
 *   S3 unlocks; settles them                           difference as lost. Closed: -EPIPE
 *                                                   R2 else its node goes on the list; unlocks; waits
 *                                                   R3 woken: R1. There is a value now: it succeeds
 *
 * Who waits has received all there is, so the next value is for each of them, and a close is the end for each. They
 * fetch it themselves: the sender's time does not grow by a copy for each, and who is woken late gets it as from the
 * ring, lag and all.
 *
 * Rejected: a queue for each subscriber, which costs memory for those who do not come back; and an error of its own for
 * a lag, which ends the loops of those who do not mind.
 *
 * Prev: chan/oneshot.c  Next: chan/watch.c */
#include <ccrt/broadcast.h>

#include "../base/assert.h"
#include "../sched/claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The functions themselves; the macros of these names are typed. */
#undef cc_broadcast_create
#undef cc_broadcast_subscribe
#undef cc_broadcast_send
#undef cc_broadcast_recv
#undef cc_broadcast_try_recv
#undef cc_broadcast_close
#undef cc_broadcast_destroy

struct cc_broadcast {
    struct cc__waitlist receivers; /* its lock guards the rest */
    size_t elem_bytes;
    uint64_t capacity;
    uint64_t sent; /* the number of the next value */
    bool closed;
    _Alignas(max_align_t) char ring[];
};

int cc_broadcast_create(cc_broadcast **out, size_t elem_bytes, size_t capacity) {
    if (out == NULL) return -EINVAL;
    *out = NULL;
    if (elem_bytes == 0 || capacity == 0 || capacity > (PTRDIFF_MAX - sizeof(cc_broadcast)) / elem_bytes)
        return -EINVAL;
    cc_broadcast *b = malloc(sizeof *b + elem_bytes * capacity);
    if (b == NULL) return -ENOMEM;
    *b = (struct cc_broadcast){.elem_bytes = elem_bytes, .capacity = capacity};
    *out = b;
    return 0;
}

static char *place(cc_broadcast *b, uint64_t number) {
    return b->ring + (size_t)(number % b->capacity) * b->elem_bytes;
}

int cc_broadcast_subscribe(cc_broadcast *b, cc_subscriber *s) {
    if (b == NULL || s == NULL) return -EINVAL;
    cc__waitlist_lock(&b->receivers);
    *s = (cc_subscriber){.priv_next = b->sent};
    cc__waitlist_unlock(&b->receivers);
    return 0;
}

int cc_broadcast_send(cc_broadcast *b, const void *elem) {
    if (b == NULL || elem == NULL) return -EINVAL;
    struct cc__claims claims = {0};
    cc__waitlist_lock(&b->receivers);
    if (b->closed) {
        cc__waitlist_unlock(&b->receivers);
        return -EPIPE;
    }
    memcpy(place(b, b->sent), elem, b->elem_bytes);
    b->sent++;
    cc__claims_all(&claims, &b->receivers, CC__MATCHED);
    cc__waitlist_unlock(&b->receivers);
    cc__claims_wake(&claims);
    cc__run_completed();
    return 0;
}

/* R1, with the lock: 0, -EPIPE, or -EAGAIN. */
static int take(cc_broadcast *b, cc_subscriber *s, void *elem) {
    if (s->priv_next >= b->sent) return b->closed ? -EPIPE : -EAGAIN;
    uint64_t oldest = b->sent > b->capacity ? b->sent - b->capacity : 0;
    s->lagged = s->priv_next < oldest ? oldest - s->priv_next : 0;
    s->lost += s->lagged;
    s->priv_next += s->lagged;
    memcpy(elem, place(b, s->priv_next), b->elem_bytes);
    s->priv_next++;
    return 0;
}

int cc_broadcast_try_recv(cc_broadcast *b, cc_subscriber *s, void *elem) {
    if (b == NULL || s == NULL || elem == NULL) return -EINVAL;
    cc__waitlist_lock(&b->receivers);
    int rc = take(b, s, elem);
    cc__waitlist_unlock(&b->receivers);
    cc__run_completed();
    return rc;
}

int cc_broadcast_recv(cc_broadcast *b, cc_subscriber *s, void *elem) {
    if (b == NULL || s == NULL || elem == NULL) return -EINVAL;
    struct cc__task *self = cc__self();
    int rc;
    do {
        struct cc__wait w;
        cc__waitlist_lock(&b->receivers);
        rc = take(b, s, elem);
        if (rc == -EAGAIN && self == NULL) rc = -ENOMEM;
        if (rc != -EAGAIN) {
            cc__waitlist_unlock(&b->receivers);
            cc__run_completed();
            return rc;
        }
        cc__wait_begin(&w, self, CC__BY_CANCEL, b, "broadcast recv");
        cc__waitlist_append(&b->receivers, &w);
        cc__waitlist_unlock(&b->receivers);
        rc = cc__claims_wait(&w, &b->receivers, &b->receivers);
    } while (rc == 0 || rc == CC__WAIT_AGAIN);
    return rc;
}

void cc_broadcast_close(cc_broadcast *b) {
    if (b == NULL) return;
    struct cc__claims claims = {0};
    cc__waitlist_lock(&b->receivers);
    b->closed = true;
    cc__claims_all(&claims, &b->receivers, CC__CLOSED);
    cc__waitlist_unlock(&b->receivers);
    cc__claims_wake(&claims);
}

void cc_broadcast_destroy(cc_broadcast *b) {
    if (b == NULL) return;
    cc__waitlist_lock(&b->receivers);
    CC_CHECK(b->receivers.first == NULL, "a broadcast is destroyed that somebody waits on");
    cc__waitlist_unlock(&b->receivers);
    free(b);
}
