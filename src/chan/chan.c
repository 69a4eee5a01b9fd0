/* SPDX-License-Identifier: MIT */
/* Channels. See chan.h for the protocol and ring.h for the ring.
 *
 * A send or receive is one attempt on the ring, and if that does not do, the slow path: one attempt under the lock, and
 * if that does not do either, a node on the list and a wait. There is one such path for each direction, whoever calls:
 * fiber or thread, with or without a deadline, to try or to wait; select.c has the same for several channels at once.
 *
 * Rejected: a count of senders under way, for close to wait for (it takes their lock); waking a waiter to try again
 * (what it was woken for may be gone: values are handed over); one lock for every operation (senders and receivers
 * would take its line from each other each time).
 *
 * Prev: chan/ring.h  Next: chan/closer.c */
#include "chan.h"

#include "../base/assert.h"
#include "../base/env.h"
#include "../base/text.h"
#include "../plat/block.h"
#include "../sched/events.h"
#include "../sched/leave.h"
#include "../sched/sched.h"
#include "ring.h"

#include <errno.h>
#include <stdlib.h>

enum { HEAP_FIRST = 16 };

/* ---- create, destroy ---- */

/* Zeroed, with its ring behind it; or NULL. */
static cc_chan *chan_alloc(size_t elem_bytes, size_t capacity) {
    size_t places = 1;
    while (places < capacity) places *= 2;
    size_t ring_bytes = capacity == 0 ? 0 : places * elem_bytes;
    cc_chan *c = cc__block_alloc(sizeof *c + ring_bytes);
    if (c == NULL) return NULL;
    memset(c, 0, sizeof *c);
    c->mask = places - 1;
    c->ring = (char *)(c + 1);
    return c;
}

static void chan_free(cc_chan *c) {
    free(c->heap.elems);
    free(c->name);
    cc__block_free(c);
}

/* Whether as many elements of that size could be in memory at all. */
static bool size_is_sane(size_t elem_bytes, const cc_chan_attr *attr) {
    size_t most = SIZE_MAX / 4;
    if (elem_bytes == 0 || elem_bytes > most) return false;
    return attr->unbounded || attr->capacity <= most / elem_bytes;
}

int cc_channel_create_with(cc_chan **out, size_t elem_bytes, const cc_chan_attr *attr) {
    static const cc_chan_attr none = {0};
    if (out == NULL) return -EINVAL;
    *out = NULL;
    if (attr == NULL) attr = &none;
    bool drops = attr->overflow != CC_OVERFLOW_BLOCK;
    if (!size_is_sane(elem_bytes, attr) || attr->overflow < 0 || attr->overflow > CC_OVERFLOW_DROP_OLDEST ||
        (drops && (attr->capacity == 0 || attr->unbounded)))
        return -EINVAL;
    cc__env_read();
    cc_chan *c = chan_alloc(elem_bytes, attr->unbounded ? 0 : attr->capacity);
    if (c == NULL) return -ENOMEM;
    c->alive = CC__CHAN_ALIVE;
    c->elem_bytes = elem_bytes;
    c->overflow = attr->overflow;
    c->unbounded = attr->unbounded != 0;
    c->capacity = c->unbounded ? SIZE_MAX : attr->capacity;
    c->always = c->unbounded || c->capacity == 0 || cc__env.chan_no_lockfree != 0 || CC__TRACING(CC__EDGES);
    if (c->always) cc__chan_freeze(c);
    if (attr->name != NULL && (c->name = strdup(attr->name)) == NULL) {
        chan_free(c);
        return -ENOMEM;
    }
    *out = c;
    return 0;
}

int cc_channel_create(cc_chan **out, size_t elem_bytes, size_t capacity) {
    return cc_channel_create_with(out, elem_bytes, &(cc_chan_attr){.capacity = capacity});
}

CC__COLD CC__NORETURN void cc__chan_is_dead(const cc_chan *c) {
    char line[120] = "a channel that was destroyed is used";
    struct cc__text text = cc__text_on(line, sizeof line - 1);
    if (c->alive == ~(uint32_t)CC__CHAN_ALIVE && c->name != NULL) {
        cc__text_str(&text, "channel \"");
        cc__text_str(&text, c->name);
        cc__text_str(&text, "\" was destroyed and is used");
    }
    line[text.len < sizeof line ? text.len : sizeof line - 1] = text.len == 0 ? line[0] : 0;
    cc__fail("misuse", line, __FILE__, __LINE__);
}

/* In dev builds the last few that were destroyed are kept, so that using one is told by its name. */
#if CCRT_ASSERT >= 1
static cc_chan *bury(cc_chan *c) {
    static cc_chan *_Atomic graves[64]; /* W: who destroys a channel, by exchange */
    static _Atomic unsigned turn;       /* W: the same */
    return cc__xchg_acq_rel(&graves[cc__add_relaxed(&turn, 1) % CC__COUNT_OF(graves)], c);
}
#else
static cc_chan *bury(cc_chan *c) {
    return c;
}
#endif

void cc_channel_destroy(cc_chan *c) {
    if (c == NULL) return;
    cc__chan_check(c);
    struct cc__keeper *k = cc__keeper_here();
    cc__keep_lock(k, &c->rx, true); /* who sent, or closed, what its owner has seen, may have yet to give it up */
    cc__keep_lock(k, &c->put.guard, true);
    cc__keep_lock(k, &c->taken.guard, true);
    CC_CHECK(c->rx.first == NULL && c->tx.first == NULL && c->ends.first == NULL,
             "a channel is destroyed while somebody waits on it");
    CC_CHECK(c->closer == NULL, "a channel is destroyed before the nursery whose end closes it");
    c->alive = ~(uint32_t)CC__CHAN_ALIVE;
    cc__keep_unlock(k, &c->taken.guard, &c->taken.habit, 1, true);
    cc__keep_unlock(k, &c->put.guard, &c->put.habit, 1, true);
    cc__keep_unlock(k, &c->rx, &c->habit, 1, true);
    c = bury(c);
    if (c != NULL) chan_free(c);
}

/* ---- the lock, and freezing ---- */

void cc__chan_freeze(cc_chan *c) {
    if (cc__load_relaxed(&c->put.frozen) != 0) return; /* and so is the other end */
    c->calm = 0;
    cc__ring_freeze_end(&c->put);
    cc__ring_freeze_end(&c->taken);
}

void cc__chan_thaw(cc_chan *c) {
    if (c->always || cc__load_relaxed(&c->put.frozen) == 0 || c->rx.first != NULL || c->tx.first != NULL ||
        c->ends.first != NULL)
        return;
    if (cc__load_relaxed(&c->closed) != 0 || ++c->calm < CC__CHAN_CALM) return;
    cc__ring_thaw_end(&c->taken);
    cc__ring_thaw_end(&c->put);
}

void cc__chan_lock(cc_chan *c) {
    cc__keep_lock(cc__keeper_here(), &c->rx, true);
    cc__chan_freeze(c);
}

void cc__chan_unlock(cc_chan *c) {
    if (!c->always) cc__chan_thaw(c);
    cc__keep_unlock(cc__keeper_here(), &c->rx, &c->habit, 1, true);
}

/* ---- lists ---- */

void cc__chan_leave(cc_chan *c, struct cc__waitlist *l, struct cc__wait *w) {
    struct cc__keeper *k = cc__keeper_here();
    cc__keep_lock(k, &c->rx, true);
    cc__chan_remove(c, l, w);
    cc__keep_unlock(k, &c->rx, &c->habit, 1, true);
}

/* The first that can still be had; its wait is claimed. */
static inline struct cc__wait *take_waiter(struct cc__waitlist *l) {
    struct cc__wait *w;
    while ((w = cc__waitlist_take_first(l)) != NULL && !cc__wait_claim(w)) {
    } /* decided otherwise: it leaves by itself */
    cc__chan_note(l);
    return w;
}

/* All of them are told this code. */
static void end_all(struct cc__claims *claims, struct cc__waitlist *l, int code) {
    for (struct cc__wait *w; (w = cc__claims_first(claims, l, CC__CLOSED)) != NULL;) w->tag = (uint32_t)code;
    cc__chan_note(l);
}

void cc__chan_meet(struct cc__meet *m, size_t elem_bytes) {
    if (m->peer != NULL) {
        if (m->to != NULL) cc__elem_copy(m->to, m->from, elem_bytes);
        cc__wake_claimed(m->peer, CC__MATCHED);
    }
    if (CC__UNLIKELY(m->ends.first != NULL)) cc__claims_wake(&m->ends);
}

/* ---- unbounded: a circle that doubles ---- */

static CC__COLD int heap_grow(cc_chan *c) {
    size_t room = c->heap.room == 0 ? HEAP_FIRST : c->heap.room * 2, bytes = c->elem_bytes;
    char *elems = room > SIZE_MAX / 2 / bytes ? NULL : malloc(room * bytes);
    if (elems == NULL) return -ENOMEM;
    size_t first = c->heap.room - c->heap.first; /* it is full: up to the end, then from the beginning */
    if (c->heap.room != 0) {
        memcpy(elems, c->heap.elems + c->heap.first * bytes, first * bytes);
        memcpy(elems + first * bytes, c->heap.elems, c->heap.first * bytes);
    }
    free(c->heap.elems);
    c->heap.elems = elems;
    c->heap.room = room;
    c->heap.first = 0;
    return 0;
}

static char *heap_at(const cc_chan *c, size_t i) {
    return c->heap.elems + (c->heap.first + i) % c->heap.room * c->elem_bytes;
}

static int heap_put(cc_chan *c, const void *elem) {
    if (c->heap.count == c->heap.room) {
        int rc = heap_grow(c);
        if (rc != 0) return rc;
    }
    cc__elem_copy(heap_at(c, c->heap.count++), elem, c->elem_bytes);
    cc__store_relaxed(&c->heap_len, c->heap.count);
    return 0;
}

static void heap_take(cc_chan *c, void *elem) {
    cc__elem_copy(elem, heap_at(c, 0), c->elem_bytes);
    c->heap.first = (c->heap.first + 1) % c->heap.room;
    if (--c->heap.count == 0 && c->heap.room > HEAP_FIRST) { /* it was long, and is over */
        free(c->heap.elems);
        c->heap.elems = NULL;
        c->heap.room = c->heap.first = 0;
    }
    cc__store_relaxed(&c->heap_len, c->heap.count);
}

/* ---- one attempt, with the lock ---- */

bool cc__chan_ended_locked(const cc_chan *c) {
    return cc__load_relaxed(&c->closed) != 0 && cc__chan_len(c) == 0;
}

/* There is no room, and nobody to take it. */
static int send_full(cc_chan *c, const void *elem) {
    if (c->overflow == CC_OVERFLOW_BLOCK) return -EAGAIN;
    cc__store_relaxed(&c->dropped, cc__load_relaxed(&c->dropped) + 1);
    if (c->overflow == CC_OVERFLOW_DROP_OLDEST) {
        cc__ring_take_frozen(c, NULL);
        cc__ring_put_frozen(c, elem);
    }
    return 0;
}

int cc__chan_send_locked(cc_chan *c, const void *elem, struct cc__meet *m) {
    *m = (struct cc__meet){0};
    if (CC__UNLIKELY(cc__load_relaxed(&c->closed) != 0)) return c->tx_code;
    if (c->rx.first != NULL && (m->peer = take_waiter(&c->rx)) != NULL) {
        m->to = m->peer->value;
        m->from = elem;
        return 0;
    }
    if (c->unbounded) return heap_put(c, elem);
    if (cc__ring_len(c) >= c->capacity) return send_full(c, elem);
    cc__ring_put_frozen(c, elem);
    return 0;
}

/* A value from what is in it; then there is room for that of a sender that waits. */
static void recv_stored(cc_chan *c, void *elem, struct cc__meet *m) {
    if (c->unbounded) {
        heap_take(c, elem);
    } else {
        cc__ring_take_frozen(c, elem);
        m->peer = take_waiter(&c->tx);
        if (m->peer != NULL) cc__ring_put_frozen(c, m->peer->value);
    }
    if (cc__chan_ended_locked(c)) end_all(&m->ends, &c->ends, 0);
}

int cc__chan_recv_locked(cc_chan *c, void *elem, struct cc__meet *m) {
    *m = (struct cc__meet){0};
    if (cc__chan_len(c) > 0) {
        recv_stored(c, elem, m);
        return 0;
    }
    if (c->tx.first != NULL && (m->peer = take_waiter(&c->tx)) != NULL) { /* without capacity: from its frame */
        m->to = elem;
        m->from = m->peer->value;
        return 0;
    }
    return cc__load_relaxed(&c->closed) != 0 ? c->rx_code : -EAGAIN;
}

/* ---- send, receive ---- */

/* For CC_CHAN_DEBUG: why a wait ended. */
static const char *notified(int rc) {
    if (rc == 0) return cc_chan_notify_name(CC_CHAN_NOTIFY_DATA);
    if (rc == CC__WAIT_AGAIN) return cc_chan_notify_name(CC_CHAN_NOTIFY_SIGNAL);
    return cc_chan_notify_name(rc == -EPIPE ? CC_CHAN_NOTIFY_CLOSE : CC_CHAN_NOTIFY_CANCEL);
}

enum direction { SEND, RECV };

/* With the lock: whether it evidently has to wait, as most have that come here; without looking at what is rare. */
static inline bool must_wait(const cc_chan *c, enum direction d) {
    if (cc__load_relaxed(&c->closed) != 0 || c->closer != NULL) return false;
    if (c->capacity != 0 && cc__chan_len(c) != (d == SEND ? c->capacity : 0)) return false;
    return d == SEND ? c->rx.first == NULL && c->overflow == CC_OVERFLOW_BLOCK : c->tx.first == NULL;
}

/* It need not wait, or must not. */
static inline int chan_through(cc_chan *c, enum direction d, int rc, struct cc__meet *m) {
    size_t bytes = c->elem_bytes;
    if (CC__TRACING(CC__LOG_CHAN_MORE))
        cc__event_chan(d == SEND ? "sends to" : "receives from", c, c->name, rc == 0 ? "at once" : "not at once");
    cc__chan_unlock(c);
    if (rc != 0) return rc;
    cc__chan_meet(m, bytes);
    cc__run_completed();
    return 0;
}

/* The slow path of both: it begins a wait, and then need not wait, perhaps. */
static inline __attribute__((always_inline)) int chan_slow(cc_chan *c, enum direction d, void *elem, bool told) {
    struct cc__task *self = cc__self_here();
    if (CC__UNLIKELY(self == NULL)) return -ENOMEM;
    for (;;) {
        struct cc__meet m;
        struct cc__wait w;
        cc__wait_begin(&w, self, CC__BY_CANCEL, c, d == SEND ? "send" : "receive");
        w.value = elem;
        w.tag = cc__has_forks(self);
        struct cc__keeper *k = cc__keeper_here();
        cc__keep_lock(k, &c->rx, told);
        cc__chan_freeze(c);
        int rc = -EAGAIN;
        if (CC__UNLIKELY(!must_wait(c, d))) {
            rc = d == SEND ? cc__chan_send_locked(c, elem, &m) : cc__chan_recv_locked(c, elem, &m);
            if (c->closer != NULL && rc == -EAGAIN && d == RECV && cc__chan_waits_for_itself(c, &w)) rc = -EDEADLK;
            if (rc != -EAGAIN) return chan_through(c, d, rc, &m);
        }
        struct cc__waitlist *list = d == SEND ? &c->tx : &c->rx;
        cc__chan_append(c, list, &w);
        cc__keep_unlock(k, &c->rx, &c->habit, 1, told);
        if (told && CC__TRACING(CC__LOG_CHAN))
            cc__event_chan(d == SEND ? "waits to send to" : "waits to receive from", c, NULL, NULL);
        rc = cc__wait_cancellable_here(&w, CC__NEVER);
        if (told && CC__TRACING(CC__LOG_CHAN))
            cc__event_chan(d == SEND ? "sends to" : "receives from", c, NULL, notified(rc));
        if (CC__LIKELY(rc == 0)) return 0;
        if (rc == -EPIPE) return (int)w.tag;
        cc__chan_leave(c, list, &w);
        if (rc != CC__WAIT_AGAIN) return rc;
    }
}

/* Meet the first of a list, whose value is in its frame: hand one over, or take it. False: there is none; it looked as
 * if there was. */
static inline __attribute__((always_inline)) bool chan_met(cc_chan *c, enum direction d, void *elem) {
    struct cc__waitlist *list = d == SEND ? &c->rx : &c->tx;
    if (cc__load_relaxed(&list->mark) == 0) return false;
    size_t bytes = c->elem_bytes;
    struct cc__keeper *k = cc__keeper_here();
    cc__keep_lock(k, &c->rx, false);
    struct cc__wait *w = list->first; /* if there is one, it is frozen, and not closed */
    bool taken = w != NULL && cc__wait_take(w);
    if (CC__UNLIKELY(!taken) && (w == NULL || !cc__wait_claim(w))) {
        cc__keep_unlock(k, &c->rx, &c->habit, 1, false);
        return false;
    }
    cc__waitlist_remove(list, w);
    cc__chan_note(list);
    if (!c->always) cc__chan_thaw(c);
    cc__keep_unlock(k, &c->rx, &c->habit, 1, false);
    cc__elem_copy(d == SEND ? w->value : elem, d == SEND ? elem : w->value, bytes);
    if (CC__LIKELY(taken)) {
        struct cc__task *t = w->task;
        cc__wait_overrule(w, CC__MATCHED);
        cc__ready_here(t);
    } else {
        cc__wake_claimed(w, CC__MATCHED);
    }
    cc__run_completed();
    return true;
}

/* What is told and logged: looked at once. */
enum { TELL = CC__TELL_WAKES | CC__LOG_CHAN | CC__LOG_CHAN_MORE };

static CC__COLD int slow_and_told(cc_chan *c, enum direction d, void *elem) {
    return chan_slow(c, d, elem, true);
}
static CC__NOINLINE int send_slow(cc_chan *c, const void *elem) {
    void *value = (void *)(uintptr_t)elem; /* it is only read */
    if (CC__TRACING(TELL)) return slow_and_told(c, SEND, value);
    return chan_met(c, SEND, value) ? 0 : chan_slow(c, SEND, value, false);
}
static CC__NOINLINE int recv_slow(cc_chan *c, void *elem) {
    if (CC__TRACING(TELL)) return slow_and_told(c, RECV, elem);
    return c->capacity == 0 && chan_met(c, RECV, elem) ? 0 : chan_slow(c, RECV, elem, false);
}
static CC__NOINLINE int try_slow(cc_chan *c, enum direction d, void *elem) {
    struct cc__meet m;
    cc__chan_lock(c);
    int rc = d == SEND ? cc__chan_send_locked(c, elem, &m) : cc__chan_recv_locked(c, elem, &m);
    return chan_through(c, d, rc, &m);
}

static CC__NOINLINE int send_ring(cc_chan *c, const void *elem) {
    if (CC__UNLIKELY(cc__ring_put(c, elem) != CC__RING_DONE)) return send_slow(c, elem);
    cc__run_completed();
    return 0;
}
static CC__NOINLINE int recv_ring(cc_chan *c, void *elem) {
    if (CC__UNLIKELY(cc__ring_take(c, elem) != CC__RING_DONE)) return recv_slow(c, elem);
    cc__run_completed();
    return 0;
}

int cc_channel_send(cc_chan *c, const void *elem) {
    if (CC__UNLIKELY(c == NULL || elem == NULL)) return -EINVAL;
    cc__chan_check(c);
    return cc__load_relaxed(&c->put.frozen) != 0 ? send_slow(c, elem) : send_ring(c, elem);
}

int cc_channel_recv(cc_chan *c, void *elem) {
    if (CC__UNLIKELY(c == NULL || elem == NULL)) return -EINVAL;
    cc__chan_check(c);
    return cc__load_relaxed(&c->taken.frozen) != 0 ? recv_slow(c, elem) : recv_ring(c, elem);
}

int cc_channel_try_send(cc_chan *c, const void *elem) {
    if (c == NULL || elem == NULL) return -EINVAL;
    cc__chan_check(c);
    enum cc__ring how = cc__ring_put(c, elem);
    if (how == CC__RING_DONE) return 0;
    if (how == CC__RING_WAIT && c->overflow == CC_OVERFLOW_BLOCK) return -EAGAIN;
    return try_slow(c, SEND, (void *)(uintptr_t)elem);
}

int cc_channel_try_recv(cc_chan *c, void *elem) {
    if (c == NULL || elem == NULL) return -EINVAL;
    cc__chan_check(c);
    enum cc__ring how = cc__ring_take(c, elem);
    if (how == CC__RING_DONE) return 0;
    return how == CC__RING_WAIT ? -EAGAIN : try_slow(c, RECV, elem);
}

/* ---- close ---- */

/* What calls return from now on. -EAGAIN would say that they wait. */
static int close_code(int code) {
    return code < 0 && code != -EAGAIN ? code : -EPIPE;
}

static void chan_close(cc_chan *c, int tx_code, int rx_code) {
    if (c == NULL) return;
    cc__chan_check(c);
    struct cc__claims claims = {0};
    if (CC__TRACING(CC__LOG_CHAN_MORE)) cc__event_chan("closes", c, c->name, NULL);
    cc__chan_lock(c);
    if (cc__load_relaxed(&c->closed) == 0) {
        c->tx_code = close_code(tx_code);
        c->rx_code = close_code(rx_code);
        cc__store_release(&c->closed, 1); /* [CH4] release: all that was accepted is counted */
        end_all(&claims, &c->tx, c->tx_code);
        end_all(&claims, &c->rx, c->rx_code); /* they wait where it is empty */
        if (cc__chan_ended_locked(c)) end_all(&claims, &c->ends, 0);
    }
    cc__chan_unlock(c);
    cc__claims_wake(&claims);
}

void cc_channel_close(cc_chan *c) {
    chan_close(c, -EPIPE, -EPIPE);
}

void cc_channel_close_error(cc_chan *c, int code) {
    chan_close(c, -EPIPE, code);
}

void cc_channel_close_recv(cc_chan *c, int code) {
    chan_close(c, code, -EPIPE);
}

/* ---- looking ---- */

size_t cc_channel_len(const cc_chan *c) {
    if (c == NULL) return 0;
    uint64_t len = cc__chan_len(c);
    return (size_t)(len > c->capacity ? c->capacity : len);
}

size_t cc_channel_cap(const cc_chan *c) {
    return c == NULL ? 0 : (size_t)c->capacity;
}

uint64_t cc_channel_dropped(const cc_chan *c) {
    return c == NULL ? 0 : cc__load_relaxed(&c->dropped);
}

int cc_channel_is_closed(const cc_chan *c) {
    return c == NULL ? 0 : cc__load_acquire(&c->closed); /* [CH4] acquire: who finds it empty then, finds it drained */
}

const char *cc_chan_notify_name(int reason) {
    static const char *const name[] = {"NONE", "DATA", "CANCEL", "CLOSE", "SIGNAL"};
    return reason >= 0 && (size_t)reason < CC__COUNT_OF(name) ? name[reason] : "?";
}
