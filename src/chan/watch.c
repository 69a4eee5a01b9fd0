/* SPDX-License-Identifier: MIT */
/* The newest value, and who waits for a newer one.
 *
 *   sender                                          receiver
 *   S1 locks; replaces the value; one more          R1 locks. The version is newer than what it has seen: takes
 *      version                                         both. Closed: -EPIPE
 *   S2 claims all who wait                          R2 else its node goes on the list; unlocks; waits
 *   S3 unlocks; settles them                        R3 woken: R1. There is a newer one now: it succeeds
 *
 * Who waits has seen the newest, so the next is news to each of them, and a close is the end for each. That a version
 * only grows makes R3 certain, whoever comes between.
 *
 * Rejected: a sequence lock, so that readers write nothing. It reads values while they are written, which is a data
 * race unless each byte is an atomic; who reads far more often than is sent may keep what it received.
 *
 * Prev: chan/broadcast.c  Next: chan/ordered.c */
#include <ccrt/watch.h>

#include "../base/assert.h"
#include "../sched/claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The functions themselves; the macros of these names are typed. */
#undef cc_watch_create
#undef cc_watch_send
#undef cc_watch_recv
#undef cc_watch_try_recv
#undef cc_watch_get
#undef cc_watch_version
#undef cc_watch_close
#undef cc_watch_destroy

struct cc_watch {
    struct cc__waitlist receivers; /* its lock guards the rest */
    size_t elem_bytes;
    uint64_t version;
    bool closed;
    _Alignas(max_align_t) char elem[];
};

int cc_watch_create(cc_watch **out, size_t elem_bytes, const void *first) {
    if (out == NULL) return -EINVAL;
    *out = NULL;
    if (elem_bytes == 0 || elem_bytes > PTRDIFF_MAX - sizeof(cc_watch)) return -EINVAL;
    cc_watch *w = calloc(1, sizeof *w + elem_bytes);
    if (w == NULL) return -ENOMEM;
    w->elem_bytes = elem_bytes;
    w->version = 1;
    if (first != NULL) memcpy(w->elem, first, elem_bytes);
    *out = w;
    return 0;
}

int cc_watch_send(cc_watch *w, const void *elem) {
    if (w == NULL || elem == NULL) return -EINVAL;
    struct cc__claims claims = {0};
    cc__waitlist_lock(&w->receivers);
    if (w->closed) {
        cc__waitlist_unlock(&w->receivers);
        return -EPIPE;
    }
    memcpy(w->elem, elem, w->elem_bytes);
    w->version++;
    cc__claims_all(&claims, &w->receivers, CC__MATCHED);
    cc__waitlist_unlock(&w->receivers);
    cc__claims_wake(&claims);
    cc__run_completed();
    return 0;
}

/* R1, with the lock: 0, -EPIPE, or -EAGAIN. */
static int take(cc_watch *w, uint64_t *seen, void *elem) {
    if (w->version <= *seen) return w->closed ? -EPIPE : -EAGAIN;
    memcpy(elem, w->elem, w->elem_bytes);
    *seen = w->version;
    return 0;
}

int cc_watch_try_recv(cc_watch *w, uint64_t *seen, void *elem) {
    if (w == NULL || seen == NULL || elem == NULL) return -EINVAL;
    cc__waitlist_lock(&w->receivers);
    int rc = take(w, seen, elem);
    cc__waitlist_unlock(&w->receivers);
    cc__run_completed();
    return rc;
}

int cc_watch_recv(cc_watch *w, uint64_t *seen, void *elem) {
    if (w == NULL || seen == NULL || elem == NULL) return -EINVAL;
    struct cc__task *self = cc__self();
    int rc;
    do {
        struct cc__wait wait;
        cc__waitlist_lock(&w->receivers);
        rc = take(w, seen, elem);
        if (rc == -EAGAIN && self == NULL) rc = -ENOMEM;
        if (rc != -EAGAIN) {
            cc__waitlist_unlock(&w->receivers);
            cc__run_completed();
            return rc;
        }
        cc__wait_begin(&wait, self, CC__BY_CANCEL, w, "watch recv");
        cc__waitlist_append(&w->receivers, &wait);
        cc__waitlist_unlock(&w->receivers);
        rc = cc__claims_wait(&wait, &w->receivers, &w->receivers);
    } while (rc == 0 || rc == CC__WAIT_AGAIN);
    return rc;
}

int cc_watch_get(cc_watch *w, void *elem) {
    if (w == NULL || elem == NULL) return -EINVAL;
    cc__waitlist_lock(&w->receivers);
    memcpy(elem, w->elem, w->elem_bytes);
    cc__waitlist_unlock(&w->receivers);
    return 0;
}

uint64_t cc_watch_version(cc_watch *w) {
    if (w == NULL) return 0;
    cc__waitlist_lock(&w->receivers);
    uint64_t version = w->version;
    cc__waitlist_unlock(&w->receivers);
    return version;
}

void cc_watch_close(cc_watch *w) {
    if (w == NULL) return;
    struct cc__claims claims = {0};
    cc__waitlist_lock(&w->receivers);
    w->closed = true;
    cc__claims_all(&claims, &w->receivers, CC__CLOSED);
    cc__waitlist_unlock(&w->receivers);
    cc__claims_wake(&claims);
}

void cc_watch_destroy(cc_watch *w) {
    if (w == NULL) return;
    cc__waitlist_lock(&w->receivers);
    CC_CHECK(w->receivers.first == NULL, "a watch is destroyed that somebody waits on");
    cc__waitlist_unlock(&w->receivers);
    free(w);
}
