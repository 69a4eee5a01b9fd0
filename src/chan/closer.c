/* SPDX-License-Identifier: MIT */
/* Channels that the end of a nursery closes.
 *
 * What is sent to such a channel comes from inside the nursery. So a receive inside it that waits for the close waits
 * for itself if all others inside wait in the same way: it is told so, and so are they. That is looked at when one is
 * about to wait, and when a child ends or the owner comes to its brace (the hook): one of these is the last to do so.
 *
 * Who waits counts only if nothing else could end its wait and have it send: it receives and does not select; it has no
 * deadline that its nursery has not; no nursery of its own is open, nor has it forks, in which others could send; it is
 * a child, not a fork, which its nursery does not count; and it is not about to go on, its time being up. Where one
 * does not count there is no report, and the deadlock report of the runtime is left.
 *
 * A node on the list says whether its task had forks (its tag); what else is looked at stays as it is until the node is
 * off the list.
 *
 * Prev: chan/chan.c  Next: chan/select.c */
#include <ccrt/scope.h>

#include "chan.h"

#include "../sched/sched.h"

#include <errno.h>

/* Its innermost nursery is the one that closes the channel, and no deadline of its own comes first. */
static bool is_bound(const cc_chan *c, const struct cc__task *t) {
    const cc_priv_scope *s = t->scope, *home = &c->closer->priv_scope;
    if (s != NULL && s->deadline_ns < home->deadline_ns) return false;
    while (s != NULL && s->kind != CC__SCOPE_NURSERY) s = s->up;
    return s == home;
}

/* Whether nothing but the close, or a sender, ends this wait. */
static bool counts(const cc_chan *c, const struct cc__wait *w) {
    const struct cc__task *t = w->task;
    if (t->stack_class == CC__STACKLESS || w->one_of || w->tag != 0 || t->is_fork) return false;
    if (t->nursery != c->closer && t != cc__nursery_owner(c->closer)) return false;
    return is_bound(c, t) && cc__wait_outcome(w) == CC__PENDING;
}

/* Whether nobody inside is left who could send: its children wait here, and so does its owner, or for them. */
static bool only_waits(const cc_chan *c, const struct cc__wait *about_to) {
    bool owner_waits;
    size_t live = cc__nursery_live(c->closer, &owner_waits), children = 0;
    const struct cc__task *owner = cc__nursery_owner(c->closer);
    for (const struct cc__wait *w = about_to != NULL ? about_to : c->rx.first; w != NULL;
         w = w == about_to ? c->rx.first : cc__wait_of(w->node.next)) {
        if (!counts(c, w)) continue;
        owner_waits = owner_waits || w->task == owner;
        children += w->task != owner;
    }
    return owner_waits && children == live;
}

bool cc__chan_waits_for_itself(const cc_chan *c, const struct cc__wait *w) {
    return counts(c, w) && only_waits(c, w);
}

/* Of the hook: those that count, if nobody is left to send. */
static void chan_all_wait(struct cc__nursery_hook *h, struct cc__claims *over) {
    cc_chan *c = CC__CONTAINER_OF(h, cc_chan, hook);
    cc__chan_lock(c);
    if (c->rx.first != NULL && only_waits(c, NULL)) {
        for (struct cc__wait *w = c->rx.first, *next; w != NULL; w = next) {
            next = cc__wait_of(w->node.next);
            if (!counts(c, w)) continue;
            cc__waitlist_remove(&c->rx, w);
            if (!cc__wait_claim(w)) continue;
            w->tag = (uint32_t)-EDEADLK;
            cc__claims_add(over, w, CC__CLOSED);
        }
        cc__chan_note(&c->rx);
    }
    cc__chan_unlock(c);
}

static void chan_at_end(struct cc__nursery_hook *h) {
    cc_chan *c = CC__CONTAINER_OF(h, cc_chan, hook);
    cc__chan_lock(c);
    c->closer = NULL;
    cc__chan_unlock(c);
    cc_channel_close(c);
}

int cc_channel_close_with(cc_chan *c, struct cc_nursery *n) {
    if (c == NULL || n == NULL) return -EINVAL;
    cc__chan_check(c);
    cc__chan_lock(c);
    bool free_yet = c->closer == NULL;
    if (free_yet) {
        c->closer = n;
        c->hook = (struct cc__nursery_hook){.at_end = chan_at_end, .all_wait = chan_all_wait};
    }
    cc__chan_unlock(c);
    if (free_yet) cc__nursery_add_hook(n, &c->hook);
    return free_yet ? 0 : -EBUSY;
}
