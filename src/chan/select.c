/* SPDX-License-Identifier: MIT */
/* Select: one wait with a node on several lists.
 *
 *   1 looks at the cases without a lock, from a random one on: takes one that can happen now
 *   2 begins a wait; locks all the lists it is about, in order of address, and freezes the channels
 *   3 looks again, with the locks: takes one that can happen; nobody has seen a node of it
 *   4 else a node goes on every list; unlocks all; waits
 *   5 decided by one node: takes the others off their lists. By a timeout or a cancellation: all of them
 *
 * Whoever meets one of the nodes claims the wait first, as it does for a plain send or receive: one compare-and-swap
 * decides, so there is one winner. Since all locks are held in 3 and 4, a select that looks is nowhere to be met, and
 * claims one other wait at most: never two at once, which two selects could do to each other in a circle.
 *
 * Rejected: registering with one lock at a time (a select that meets another one must then claim both, in an order, and
 * give up and try again); waking a select to try its cases again (another may have been quicker, time and again).
 *
 * Prev: chan/chan.c  Next: chan/poll.c */
#include <ccrt/select.h>

#include "../base/assert.h"
#include "../plat/clock.h"
#include "../sched/choice.h"
#include "../sched/events.h"
#include "../sched/leave.h"
#include "../sched/sched.h"
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 16 }; /* cases that need no memory but the frame */

/* Where a case waits. */
struct place {
    struct cc__waitlist *list; /* NULL: it never happens by a list */
    cc_chan *chan;             /* whose list it is; NULL: a task's, or a descriptor's */
    struct cc__waitlist *lock; /* the list whose lock guards it */
    struct cc__wait node;
};

struct select {
    const cc_case *cases;
    struct place *places;        /* one a case */
    struct cc__waitlist **locks; /* of all lists, in order of address, each once */
    unsigned count, lock_count;
    unsigned first;      /* the case to look at first */
    int after, fallback; /* the case with the earliest deadline, and the default; -1: none */
    int64_t deadline_ns;
};

static bool on_channel(const cc_case *c) {
    return c->chan != NULL && (c->op == CC_OP_RECV || c->op == CC_OP_SEND || c->op == CC_OP_CLOSED);
}

static bool on_descriptor(const cc_case *c) {
    return c->op == CC_OP_READABLE || c->op == CC_OP_WRITABLE;
}
static int descriptor(const cc_case *c) {
    return c->ns < 0 || c->ns > INT32_MAX ? -1 : (int)c->ns;
}
static enum cc__fd_way way_of(const cc_case *c) {
    return c->op == CC_OP_READABLE ? CC__FD_IN : CC__FD_OUT;
}

static struct cc__waitlist *list_of(const cc_case *c) {
    if (c->op == CC_OP_DONE)
        return c->task.priv_record == NULL ? NULL : &((struct cc__task *)c->task.priv_record)->joiners;
    if (on_descriptor(c)) return cc__fd_list_of(descriptor(c), way_of(c));
    if (!on_channel(c)) return NULL;
    if (c->op == CC_OP_CLOSED) return &c->chan->ends;
    return c->op == CC_OP_RECV ? &c->chan->rx : &c->chan->tx;
}

static struct cc__waitlist *lock_of(const cc_case *c, const struct place *p) {
    if (on_descriptor(c)) return cc__fd_list_of(descriptor(c), CC__FD_IN);
    return p->chan != NULL ? &p->chan->rx : p->list;
}

/* ---- what the cases say ---- */

static int read_cases(struct select *s) {
    int64_t now = 0;
    s->after = s->fallback = -1;
    s->deadline_ns = CC__NEVER;
    for (unsigned i = 0; i < s->count; i++) {
        const cc_case *c = &s->cases[i];
        if (c->op < CC_OP_NONE || c->op > CC_OP_WRITABLE) return -EINVAL;
        if (c->op == CC_OP_DEFAULT && s->fallback < 0) s->fallback = (int)i;
        if (c->op != CC_OP_AFTER) continue;
        if (now == 0) now = cc__choice_now();
        int64_t ns = c->ns < 0 ? 0 : c->ns, when = ns > CC__NEVER - 1 - now ? CC__NEVER - 1 : now + ns;
        if (s->after >= 0 && when >= s->deadline_ns) continue;
        s->after = (int)i;
        s->deadline_ns = when;
    }
    return 0;
}

/* A channel is closed: the case that was made for that, or the code. */
static int closed(const struct select *s, const cc_chan *c, int code) {
    for (unsigned i = 0; i < s->count; i++)
        if (s->cases[i].op == CC_OP_CLOSED && s->cases[i].chan == c) return (int)i;
    return code;
}

/* ---- 1: without a lock ---- */

/* What 1, 0 or an error of a descriptor means as a result. */
static int descriptor_index(int ready, unsigned i) {
    return ready > 0 ? (int)i : ready == 0 ? -EAGAIN : ready;
}

/* -EAGAIN: it cannot happen now. */
static int attempt(const struct select *s, unsigned i) {
    const cc_case *c = &s->cases[i];
    int rc = -EAGAIN;
    if (c->op == CC_OP_DONE) return c->task.priv_record == NULL || cc__task_ended(c->task) ? (int)i : -EAGAIN;
    if (on_descriptor(c)) return descriptor_index(cc__fd_ready_now(descriptor(c), way_of(c)), i);
    if (!on_channel(c)) return -EAGAIN;
    if (c->op == CC_OP_RECV && cc__chan_may_recv(c->chan)) rc = cc_channel_try_recv(c->chan, c->elem);
    if (c->op == CC_OP_SEND && cc__chan_may_send(c->chan)) rc = cc_channel_try_send(c->chan, c->elem);
    if (c->op == CC_OP_CLOSED && cc_channel_is_closed(c->chan) != 0 && cc_channel_len(c->chan) == 0) return (int)i;
    if (rc == 0) return (int)i;
    return rc == -EAGAIN || rc == -ENOMEM ? rc : closed(s, c->chan, rc);
}

/* A channel that is closed is told only if nothing can happen. */
static int attempt_all(const struct select *s) {
    int error = -EAGAIN;
    for (unsigned k = 0, i = s->first; k < s->count; k++, i = i + 1 == s->count ? 0 : i + 1) {
        int rc = attempt(s, i);
        if (rc >= 0) return rc;
        if (error == -EAGAIN) error = rc;
    }
    return error == -EAGAIN && s->fallback >= 0 ? s->fallback : error;
}

/* ---- 2: the locks ---- */

static void add_lock(struct select *s, struct cc__waitlist *l) {
    unsigned at = s->lock_count; /* most are in order already */
    while (at > 0 && (uintptr_t)s->locks[at - 1] > (uintptr_t)l) at--;
    if (at > 0 && s->locks[at - 1] == l) return;
    for (unsigned i = s->lock_count++; i > at; i--) s->locks[i] = s->locks[i - 1];
    s->locks[at] = l;
}

static void find_places(struct select *s) {
    s->lock_count = 0;
    for (unsigned i = 0; i < s->count; i++) {
        struct place *p = &s->places[i];
        p->chan = on_channel(&s->cases[i]) ? s->cases[i].chan : NULL;
        p->list = list_of(&s->cases[i]);
        p->lock = lock_of(&s->cases[i], p);
        if (p->list != NULL) add_lock(s, p->lock);
    }
}

/* The node of any case, for the whole of the wait. */
static struct cc__wait *begin(struct select *s, struct cc__task *self) {
    struct cc__wait *w = &s->places[0].node;
    cc__wait_begin(w, self, CC__BY_CANCEL, NULL, "select");
    w->one_of = true;
    struct cc__wait begun = *w;
    for (unsigned i = 0; i < s->count; i++) {
        struct place *p = &s->places[i];
        p->node = begun;
        p->node.value = s->cases[i].elem;
        p->node.object = p->chan != NULL ? (void *)p->chan : s->cases[i].task.priv_record;
    }
    return w;
}

/* Descriptors are watched from before the locks are taken: what comes then is remembered. */
static int prepare_descriptors(struct select *s) {
    int rc = 0;
    for (unsigned i = 0; i < s->count && rc == 0; i++)
        if (on_descriptor(&s->cases[i])) rc = cc__fd_prepare(descriptor(&s->cases[i]), &s->places[i].node);
    return rc;
}

static inline void lock_all(struct select *s) {
    for (unsigned i = 0; i < s->lock_count; i++) cc__waitlist_lock(s->locks[i]);
    for (unsigned i = 0; i < s->count; i++) {
        cc_chan *c = s->places[i].chan;
        if (c != NULL && !c->always) cc__chan_freeze(c);
    }
}

static inline void unlock_all(struct select *s) {
    for (unsigned i = s->lock_count; i > 0; i--) cc__waitlist_unlock(s->locks[i - 1]);
}

/* ---- 3: with the locks ---- */

static int attempt_locked(const struct select *s, unsigned i, struct cc__meet *m) {
    const cc_case *c = &s->cases[i];
    int rc;
    switch (c->op) {
    case CC_OP_DONE: return cc__task_ended_locked(c->task) ? (int)i : -EAGAIN;
    case CC_OP_CLOSED: return cc__chan_ended_locked(c->chan) ? (int)i : -EAGAIN;
    case CC_OP_READABLE:
    case CC_OP_WRITABLE: return descriptor_index(cc__fd_look(descriptor(c), way_of(c), &s->places[i].node), i);
    case CC_OP_RECV:
        if (!cc__chan_may_recv(c->chan)) return -EAGAIN;
        rc = cc__chan_recv_locked(c->chan, c->elem, m);
        break;
    default:
        if (!cc__chan_may_send(c->chan)) return -EAGAIN;
        rc = cc__chan_send_locked(c->chan, c->elem, m);
        break;
    }
    if (rc == 0) return (int)i;
    return rc == -EAGAIN || rc == -ENOMEM ? rc : closed(s, c->chan, rc);
}

static int attempt_all_locked(const struct select *s, struct cc__meet *m, size_t *elem_bytes) {
    int error = -EAGAIN;
    for (unsigned k = 0, i = s->first; k < s->count; k++, i = i + 1 == s->count ? 0 : i + 1) {
        if (s->places[i].list == NULL) continue;
        int rc = attempt_locked(s, i, m);
        if (rc >= 0) {
            *elem_bytes = s->cases[i].chan == NULL ? 0 : s->cases[i].chan->elem_bytes;
            return rc;
        }
        if (error == -EAGAIN) error = rc;
    }
    return error;
}

/* It need not wait: a channel where nobody waits may thaw. */
static void go_on(struct select *s, struct cc__meet *m, size_t elem_bytes) {
    for (unsigned i = 0; i < s->count; i++)
        if (s->places[i].chan != NULL) cc__chan_thaw(s->places[i].chan);
    unlock_all(s);
    cc__chan_meet(m, elem_bytes);
}

/* ---- 4: nodes ---- */

static inline void append_all(struct select *s) {
    for (unsigned i = 0; i < s->count; i++) {
        struct place *p = &s->places[i];
        if (p->list == NULL) continue;
        if (p->chan != NULL)
            cc__chan_append(p->chan, p->list, &p->node);
        else
            cc__waitlist_append(p->list, &p->node);
    }
}

/* ---- 5 ---- */

/* Off all lists but that of case `but`, whose node is off. */
static void leave_all(struct select *s, unsigned but) {
    for (unsigned i = 0; i < s->count; i++) {
        struct place *p = &s->places[i];
        if (p->list == NULL || i == but) continue;
        if (p->chan != NULL) {
            cc__chan_leave(p->chan, p->list, &p->node);
            continue;
        }
        cc__waitlist_lock(p->lock);
        cc__waitlist_remove(p->list, &p->node);
        cc__waitlist_unlock(p->lock);
    }
}

/* The case whose node its wait was decided by. */
static unsigned find_hit(const struct select *s) {
    unsigned i = 0;
    while (i < s->count && !s->places[i].node.hit) i++;
    CC_ASSERT(i < s->count);
    return i;
}

/* By one of its nodes. rc: 0, or -EPIPE if what it waited on was closed, or a task ended. */
static int decided(struct select *s, int rc) {
    unsigned i = find_hit(s);
    leave_all(s, i);
    if (rc == 0 || s->cases[i].op == CC_OP_DONE || s->cases[i].op == CC_OP_CLOSED) return (int)i;
    if (on_descriptor(&s->cases[i])) return -EBADF;
    return closed(s, s->cases[i].chan, (int)s->places[i].node.tag);
}

/* For CC_CHAN_DEBUG; the others of a select that was decided by one are told so, one by one, if that is asked for. */
static CC__COLD void say_decided(const struct select *s, int rc) {
    int why = rc == 0        ? CC_CHAN_NOTIFY_DATA
              : rc == -EPIPE ? CC_CHAN_NOTIFY_CLOSE
                             : (rc == CC__WAIT_AGAIN ? CC_CHAN_NOTIFY_SIGNAL : CC_CHAN_NOTIFY_CANCEL);
    cc__event_chan("leaves a select", NULL, NULL, cc_chan_notify_name(why));
    if (!CC__TRACING(CC__LOG_CHAN_MORE)) return;
    for (unsigned i = 0; i < s->count; i++)
        if (on_channel(&s->cases[i]) && !s->places[i].node.hit)
            cc__event_chan("no longer waits at", s->cases[i].chan, NULL, cc_chan_notify_name(CC_CHAN_NOTIFY_CANCEL));
}

static int select_wait(struct select *s, struct cc__task *self) {
    find_places(s);
    for (;;) {
        struct cc__meet m = {0};
        size_t elem_bytes = 0;
        struct cc__wait *w = begin(s, self);
        int rc = prepare_descriptors(s);
        if (rc != 0) return rc;
        lock_all(s);
        rc = attempt_all_locked(s, &m, &elem_bytes);
        if (rc != -EAGAIN) {
            go_on(s, &m, elem_bytes);
            return rc;
        }
        append_all(s);
        unlock_all(s);
        if (CC__TRACING(CC__LOG_CHAN)) cc__event_chan("waits in a select", NULL, NULL, NULL);
        rc = cc__wait_cancellable_here(w, s->deadline_ns, false);
        if (CC__TRACING(CC__LOG_CHAN)) say_decided(s, rc);
        if (rc == 0 || rc == -EPIPE) return decided(s, rc);
        leave_all(s, s->count);
        if (rc == CC__OWN_DEADLINE) return s->after;
        if (rc != CC__WAIT_AGAIN) return rc;
    }
}

static int select_many(struct select *s, struct cc__task *self) {
    s->places = malloc(s->count * (sizeof s->places[0] + sizeof s->locks[0]));
    if (s->places == NULL) return -ENOMEM;
    s->locks = (struct cc__waitlist **)(void *)&s->places[s->count];
    int rc = select_wait(s, self);
    free(s->places);
    return rc;
}

static int select_few(struct select *s, struct cc__task *self) {
    struct place places[FEW];
    struct cc__waitlist *locks[FEW];
    s->places = places;
    s->locks = locks;
    return select_wait(s, self);
}

int cc_select_cases(const cc_case *cases, size_t count, int order) {
    if (cases == NULL || count == 0 || count > INT32_MAX) return -EINVAL;
    struct select s = {.cases = cases, .count = (unsigned)count};
    int rc = read_cases(&s);
    if (rc != 0) return rc;
    if (order != CC_SELECT_IN_ORDER && count > 1) s.first = cc__choice_case(cc__worker_current(), s.count);
    rc = attempt_all(&s);
    if (rc != -EAGAIN) {
        cc__run_completed();
        return rc;
    }
    struct cc__task *self = cc__self();
    if (self == NULL) return -ENOMEM;
    return count <= FEW ? select_few(&s, self) : select_many(&s, self);
}

/* ---- as a block ---- */

int cc_priv_select_step(cc_priv_select *s) {
    if (s->pass == 0) {
        s->pass = 1;
        return 1;
    }
    if (s->pass == 2) return 0;
    s->pass = 2;
    if (s->result == 0) s->result = cc_select_cases(s->cases, s->count, s->order);
    if (s->cases != s->few) free(s->cases); /* a body that is entered need not come back here */
    s->count = 0;
    return 1;
}

static cc_case *block_add(cc_priv_select *s) {
    if (s->count == s->room) {
        cc_case *more = s->room > INT32_MAX / 2 ? NULL : malloc(2 * s->room * sizeof *more);
        if (more == NULL) {
            s->result = -ENOMEM;
            return NULL;
        }
        memcpy(more, s->cases, s->count * sizeof *more);
        if (s->cases != s->few) free(s->cases);
        s->cases = more;
        s->room *= 2;
    }
    return &s->cases[s->count++];
}

int cc_priv_select_add(cc_priv_select *s, int op, cc_chan *chan, void *elem, int64_t ns) {
    cc_case *c = block_add(s);
    if (c != NULL) *c = (cc_case){.op = op, .chan = chan, .elem = elem, .ns = ns};
    return 0;
}

int cc_priv_select_add_task(cc_priv_select *s, cc_task task) {
    cc_case *c = block_add(s);
    if (c != NULL) *c = (cc_case){.op = CC_OP_DONE, .task = task};
    return 0;
}
