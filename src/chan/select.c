/* SPDX-License-Identifier: MIT */
/* Select: one wait with a node on several lists.
 *
 *   1 looks at the cases without a lock, from a random one on: takes one that can happen now
 *   2 begins a wait; locks all the lists it is about, in order of address, and freezes the channels
 *   3 looks again, with the locks: takes one that can happen; nobody has seen a node of it
 *   4 else a node goes on every list; unlocks all; waits
 *   5 decided by one node: takes the others off their lists. By a timeout or a cancellation: all of them. A descriptor
 *     that it was woken for is passed on to the next who waits, since the caller need not use it (driver/fd.c)
 *
 * Whoever meets one of the nodes claims the wait first, as it does for a plain send or receive: one compare-and-swap
 * decides, so there is one winner. Since all locks are held in 3 and 4, a select that looks is nowhere to be met, and
 * claims one other wait at most: never two at once, which two selects could do to each other in a circle.
 *
 * Rejected: registering with one lock at a time (a select that meets another one must then claim both, in an order, and
 * give up and try again); waking a select to try its cases again (another may have been quicker, time and again).
 *
 * Prev: chan/closer.c  Next: chan/poll.c */
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
    bool descriptors;    /* some case is about one */
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

/* Where a case waits: its list, whose it is, and the lock. */
static inline void find_place(struct place *p, const cc_case *c) {
    p->chan = NULL;
    p->list = p->lock = NULL;
    switch (c->op) {
    case CC_OP_RECV:
    case CC_OP_SEND:
    case CC_OP_CLOSED:
        if (c->chan == NULL) break;
        p->chan = c->chan;
        p->list = c->op == CC_OP_RECV ? &c->chan->rx : c->op == CC_OP_SEND ? &c->chan->tx : &c->chan->ends;
        p->lock = &c->chan->rx;
        break;
    case CC_OP_DONE:
        if (c->task.priv_record != NULL) p->list = p->lock = &((struct cc__task *)c->task.priv_record)->joiners;
        break;
    case CC_OP_READABLE:
    case CC_OP_WRITABLE:
        p->list = cc__fd_list_of(descriptor(c), way_of(c));
        p->lock = cc__fd_list_of(descriptor(c), CC__FD_IN);
        break;
    default: break;
    }
}

/* ---- what the cases say ---- */

/* A case that ends the wait at some time. */
static void read_after(struct select *s, const cc_case *c, int64_t *now) {
    if (*now == 0) *now = cc__choice_now();
    int64_t ns = c->ns < 0 ? 0 : c->ns, when = ns > CC__NEVER - 1 - *now ? CC__NEVER - 1 : *now + ns;
    if (s->after >= 0 && when >= s->deadline_ns) return;
    s->after = (int)(c - s->cases);
    s->deadline_ns = when;
}

static inline int read_cases(struct select *s) {
    int64_t now = 0;
    s->after = s->fallback = -1;
    s->deadline_ns = CC__NEVER;
    for (const cc_case *c = s->cases, *end = c + s->count; c < end; c++) {
        if (CC__LIKELY(c->op == CC_OP_RECV || c->op == CC_OP_SEND)) {
            if (CC__UNLIKELY(c->elem == NULL && c->chan != NULL)) return -EINVAL;
            continue;
        }
        if (c->op < CC_OP_NONE || c->op > CC_OP_WRITABLE) return -EINVAL;
        if (c->op == CC_OP_DEFAULT && s->fallback < 0) s->fallback = (int)(c - s->cases);
        if (c->op == CC_OP_AFTER) read_after(s, c, &now);
        s->descriptors = s->descriptors || on_descriptor(c);
    }
    return 0;
}

/* A channel is closed, and may be gone: the case that was made for that, or the code. */
static int closed(const struct select *s, const cc_chan *c, int code) {
    for (unsigned i = 0; i < s->count; i++)
        if (s->cases[i].op == CC_OP_CLOSED && s->cases[i].chan == c) return (int)i;
    return code;
}

/* An attempt on a channel failed: it is closed, or there is no memory. */
static int failed(const struct select *s, const cc_chan *c, int code) {
    return cc_channel_is_closed(c) != 0 ? closed(s, c, code) : code;
}

/* ---- 1: without a lock ---- */

/* What 1, 0 or an error of a descriptor means as a result. */
static int descriptor_index(int ready, unsigned i) {
    return ready > 0 ? (int)i : ready == 0 ? -EAGAIN : ready;
}

/* -EAGAIN: it cannot happen now. */
static inline int attempt(const struct select *s, unsigned i) {
    const cc_case *c = &s->cases[i];
    int rc = -EAGAIN;
    switch (c->op) {
    case CC_OP_RECV:
        if (c->chan != NULL && cc__chan_may_recv(c->chan)) rc = cc_channel_try_recv(c->chan, c->elem);
        break;
    case CC_OP_SEND:
        if (c->chan != NULL && cc__chan_may_send(c->chan)) rc = cc_channel_try_send(c->chan, c->elem);
        break;
    case CC_OP_CLOSED:
        if (c->chan != NULL && cc_channel_is_closed(c->chan) != 0 && cc_channel_len(c->chan) == 0) rc = 0;
        break;
    case CC_OP_DONE: return c->task.priv_record == NULL || cc__task_ended(c->task) ? (int)i : -EAGAIN;
    case CC_OP_READABLE:
    case CC_OP_WRITABLE: return descriptor_index(cc__fd_ready_now(descriptor(c), way_of(c)), i);
    default: break;
    }
    if (CC__LIKELY(rc == -EAGAIN)) return rc;
    return rc == 0 ? (int)i : failed(s, c->chan, rc);
}

/* A channel that is closed is told only if nothing can happen. */
static int attempt_all(const struct select *s) {
    int error = -EAGAIN;
    for (unsigned k = 0, i = s->first; k < s->count; k++, i = i + 1 == s->count ? 0 : i + 1) {
        const cc_case *c = &s->cases[i];
        if (CC__LIKELY(c->op == CC_OP_RECV && c->chan != NULL) && !cc__chan_may_recv(c->chan)) continue; /* as most */
        int rc = attempt(s, i);
        if (CC__LIKELY(rc == -EAGAIN)) continue;
        if (rc >= 0) return rc;
        if (error == -EAGAIN) error = rc;
    }
    return error == -EAGAIN && s->fallback >= 0 ? s->fallback : error;
}

/* ---- 2: the locks ---- */

static inline void add_lock(struct select *s, struct cc__waitlist *l) {
    unsigned at = s->lock_count;
    if (at == 0 || (uintptr_t)s->locks[at - 1] < (uintptr_t)l) { /* most are in order already */
        s->locks[s->lock_count++] = l;
        return;
    }
    while (at > 0 && (uintptr_t)s->locks[at - 1] > (uintptr_t)l) at--;
    if (at > 0 && s->locks[at - 1] == l) return;
    for (unsigned i = s->lock_count++; i > at; i--) s->locks[i] = s->locks[i - 1];
    s->locks[at] = l;
}

/* Where each case waits, with its node, and the locks of all. The node of any is for the whole of the wait. */
static inline struct cc__wait *begin(struct select *s, struct cc__task *self) {
    struct cc__wait *w = &s->places[0].node;
    cc__wait_begin(w, self, CC__BY_CANCEL, NULL, "select");
    uint64_t epoch = w->epoch;
    const cc_case *c = s->cases;
    s->lock_count = 0;
    for (struct place *p = s->places, *end = p + s->count; p < end; p++, c++) {
        p->node = (struct cc__wait){.task = self, .epoch = epoch, .value = c->elem, .one_of = true, .reason = "select"};
        if (CC__LIKELY(c->op == CC_OP_RECV && c->chan != NULL)) {
            p->node.object = p->chan = c->chan;
            p->list = p->lock = &c->chan->rx;
        } else {
            find_place(p, c);
            p->node.object = p->chan != NULL ? (void *)p->chan : c->task.priv_record;
            if (p->list == NULL) continue;
        }
        add_lock(s, p->lock);
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

static inline void lock_all(struct select *s, bool told) {
    struct cc__keeper *k = cc__keeper_here();
    for (unsigned i = 0; i < s->lock_count; i++) cc__keep_lock(k, s->locks[i], told);
}

static inline void unlock_all(struct select *s, bool told) {
    struct cc__keeper *k = cc__keeper_here();
    for (unsigned i = s->lock_count; i > 0; i--) cc__keep_unlock_as_it_is(k, s->locks[i - 1], told);
}

/* ---- 3: with the locks ---- */

static inline int attempt_locked(const struct select *s, unsigned i, struct cc__meet *m) {
    const cc_case *c = &s->cases[i];
    int rc;
    if (s->places[i].chan != NULL && !c->chan->always) cc__chan_freeze(c->chan);
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
    return rc == -EAGAIN ? rc : failed(s, c->chan, rc);
}

/* Most are: a receive where nothing is. An open channel is still to be frozen. */
static inline bool has_to_wait(const cc_case *c) {
    if (c->op != CC_OP_RECV || c->chan == NULL || cc__load_relaxed(&c->chan->taken.frozen) == 0) return false;
    return !cc__chan_may_recv(c->chan);
}

static inline int attempt_all_locked(const struct select *s, struct cc__meet *m, size_t *elem_bytes) {
    int error = -EAGAIN;
    for (unsigned k = 0, i = s->first; k < s->count; k++, i = i + 1 == s->count ? 0 : i + 1) {
        if (CC__LIKELY(has_to_wait(&s->cases[i])) || s->places[i].list == NULL) continue;
        int rc = attempt_locked(s, i, m);
        if (CC__LIKELY(rc == -EAGAIN)) continue;
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
    unlock_all(s, true);
    cc__chan_meet(m, elem_bytes);
}

/* ---- 4: nodes ---- */

static inline void append_all(struct select *s) {
    for (struct place *p = s->places, *end = p + s->count; p < end; p++) {
        if (p->list == NULL) continue;
        if (CC__LIKELY(p->chan != NULL))
            cc__chan_append(p->chan, p->list, &p->node);
        else
            cc__waitlist_append(p->list, &p->node);
    }
}

/* ---- 5 ---- */

/* Off all lists but that of case `but`, whose node is off. */
static inline __attribute__((always_inline)) void leave_all(struct select *s, unsigned but, bool told) {
    struct cc__keeper *k = cc__keeper_here();
    for (unsigned i = 0; i < s->count; i++) {
        struct place *p = &s->places[i];
        if (p->list == NULL || i == but) continue;
        cc__keep_lock(k, p->lock, told);
        if (p->chan != NULL)
            cc__chan_remove(p->chan, p->list, &p->node);
        else
            cc__waitlist_remove(p->list, &p->node);
        cc__keep_unlock_as_it_is(k, p->lock, told);
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
static inline __attribute__((always_inline)) int decided(struct select *s, int rc, bool told) {
    unsigned i = find_hit(s);
    leave_all(s, i, told);
    if (CC__UNLIKELY(s->descriptors) && rc == 0 && on_descriptor(&s->cases[i]))
        cc__fd_chosen(descriptor(&s->cases[i]), way_of(&s->cases[i]));
    if (rc == 0 || s->cases[i].op == CC_OP_DONE || s->cases[i].op == CC_OP_CLOSED) return (int)i;
    if (on_descriptor(&s->cases[i])) return -EBADF;
    return closed(s, s->cases[i].chan, (int)s->places[i].node.tag);
}

/* For CC_CHAN_DEBUG; the others of a select that was decided by one are told so, one by one, if that is asked for. */
static CC__COLD void say_decided(const struct select *s, int rc) {
    int why = rc == CC__WAIT_AGAIN ? CC_CHAN_NOTIFY_SIGNAL : CC_CHAN_NOTIFY_CANCEL;
    if (rc == 0 || rc == -EPIPE) {
        bool by_channel = on_channel(&s->cases[find_hit(s)]); /* else a task ended, or a descriptor is ready */
        why = !by_channel ? CC_CHAN_NOTIFY_SIGNAL : rc == 0 ? CC_CHAN_NOTIFY_DATA : CC_CHAN_NOTIFY_CLOSE;
    }
    cc__event_chan("leaves a select", NULL, NULL, cc_chan_notify_name(why));
    if (!CC__TRACING(CC__LOG_CHAN_MORE)) return;
    for (unsigned i = 0; i < s->count; i++)
        if (on_channel(&s->cases[i]) && !s->places[i].node.hit)
            cc__event_chan("no longer waits at", s->cases[i].chan, NULL, cc_chan_notify_name(CC_CHAN_NOTIFY_CANCEL));
}

static inline __attribute__((always_inline)) int select_wait_as(struct select *s, struct cc__task *self, bool told) {
    for (;;) {
        struct cc__meet m = {0};
        size_t elem_bytes = 0;
        struct cc__wait *w = begin(s, self);
        int rc = CC__UNLIKELY(s->descriptors) ? prepare_descriptors(s) : 0;
        if (rc != 0) return rc;
        lock_all(s, told);
        rc = attempt_all_locked(s, &m, &elem_bytes);
        if (rc != -EAGAIN) {
            go_on(s, &m, elem_bytes);
            return rc;
        }
        append_all(s);
        unlock_all(s, told);
        if (told && CC__TRACING(CC__LOG_CHAN)) cc__event_chan("waits in a select", NULL, NULL, NULL);
        rc = cc__wait_cancellable_here(w, s->deadline_ns);
        if (told && CC__TRACING(CC__LOG_CHAN)) say_decided(s, rc);
        if (rc == 0 || rc == -EPIPE) return decided(s, rc, told);
        leave_all(s, s->count, told);
        if (rc == CC__OWN_DEADLINE) return s->after;
        if (rc != CC__WAIT_AGAIN) return rc;
    }
}

static CC__COLD int select_wait_told(struct select *s, struct cc__task *self) {
    return select_wait_as(s, self, true);
}

static inline int select_wait(struct select *s, struct cc__task *self) {
    if (CC__TRACING(CC__EDGES | CC__LOG_CHAN | CC__LOG_CHAN_MORE)) return select_wait_told(s, self);
    return select_wait_as(s, self, false);
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

/* A send or receive, and nothing else: 0 is its index, too. */
static int select_one(const cc_case *c) {
    return c->op == CC_OP_RECV ? cc_channel_recv(c->chan, c->elem) : cc_channel_send(c->chan, c->elem);
}

int cc_select_cases(const cc_case *cases, size_t count, int order) {
    if (cases == NULL || count == 0 || count > INT32_MAX) return -EINVAL;
    struct select s = {.cases = cases, .count = (unsigned)count};
    int rc = read_cases(&s);
    if (rc != 0) return rc;
    if (order != CC_SELECT_IN_ORDER && count > 1) s.first = cc__choice_case(cc__worker_current(), s.count);
    if (count == 1 && on_channel(cases) && cases->op != CC_OP_CLOSED) return select_one(cases);
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
