/* SPDX-License-Identifier: MIT */
/* Channels, for poll functions: one attempt, and if that does not do, the future's node goes on the list. It is met
 * there as any other waiter is: a value is copied into its struct, or from it, and it is polled again
 * (sched/polls.h). What is done at once is counted, so that a channel that is always ready lets others run.
 *
 * Prev: chan/select.c  Next: chan/oneshot.c */
#include <ccrt/future.h>

#include "chan.h"

#include "../sched/polls.h"

#include <errno.h>

static void leave_receivers(struct cc__wait *w) {
    cc_chan *c = w->object;
    cc__chan_leave(c, &c->rx, w);
}
static void leave_senders(struct cc__wait *w) {
    cc_chan *c = w->object;
    cc__chan_leave(c, &c->tx, w);
}

/* One that waits already. */
static int look(struct cc__future *p, cc_chan *c, void (*leave)(struct cc__wait *)) {
    enum cc__outcome outcome;
    CC_CHECK(p->polls == CC__POLLS_TIMER || p->wait.object != c || p->leave == leave,
             "a poll function sends where it waits to receive, or the other way; it has to give that up first");
    int rc = cc__polled_look(p, c, &outcome);
    if (rc != CC__POLL_OVER) return rc;
    return outcome == CC__CLOSED ? (int)p->wait.tag : 0;
}

/* It was tried in vain: once more under the lock, and then it waits. */
static int enlist(struct cc__future *p, cc_chan *c, bool send, void *elem) {
    struct cc__meet m;
    if (cc__polled_cancelled(p)) return -ECANCELED;
    cc__wait_begin(&p->wait, cc__polled_task(p), CC__BY_ANY, c, send ? "send" : "receive");
    p->wait.value = elem;
    cc__chan_lock(c);
    int rc = send ? cc__chan_send_locked(c, elem, &m) : cc__chan_recv_locked(c, elem, &m);
    if (rc == -EAGAIN) {
        cc__polled_begins(p, CC__POLLS_LIST);
        p->leave = send ? leave_senders : leave_receivers;
        cc__chan_append(c, send ? &c->tx : &c->rx, &p->wait);
        cc__keep_unlock(cc__keeper_here(), &c->rx, &c->habit, 1, true);
        return rc;
    }
    size_t bytes = c->elem_bytes;
    cc__chan_unlock(c);
    if (rc == 0) cc__chan_meet(&m, bytes);
    return rc;
}

/* It does not wait already: one attempt. If it was done, it is one operation, whatever it counts for inside. */
static int attempt(struct cc__future *p, cc_chan *c, bool send, void *elem) {
    if (!cc__polled_may_go_on()) return -EAGAIN;
    struct cc__worker *w = cc__worker_current();
    unsigned had = w->budget;
    int rc = send ? cc_channel_try_send(c, elem) : cc_channel_try_recv(c, elem);
    if (rc == -EAGAIN) rc = enlist(p, c, send, elem);
    if (rc == 0) w->budget = had - 1;
    return rc;
}

int cc_channel_poll_send(cc_future *f, cc_chan *c, const void *elem) {
    struct cc__future *p = cc__polled_self(f);
    if (c == NULL || elem == NULL) return -EINVAL;
    if (cc__polled_task(p)->polls) return look(p, c, leave_senders);
    return attempt(p, c, true, (void *)(uintptr_t)elem); /* it is only read */
}

int cc_channel_poll_recv(cc_future *f, cc_chan *c, void *elem) {
    struct cc__future *p = cc__polled_self(f);
    if (c == NULL || elem == NULL) return -EINVAL;
    if (cc__polled_task(p)->polls) return look(p, c, leave_receivers);
    return attempt(p, c, false, elem);
}
