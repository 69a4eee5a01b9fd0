/* SPDX-License-Identifier: MIT */
/* Goal: who waits at a channel is told the same, whatever it is and however it waits: a fiber, a plain thread, a select
 * of either, a future; to send, to receive, or for the end. One way of telling serves all (lesson 69), each side gets
 * the code that is meant for it (lesson 61), and a deadline that has not come changes nothing (lesson 63).
 * Method: waiters of all kinds are put on one channel's lists, one behind the other; once they are seen there, the
 * values come one by one, from peers of all kinds, or it is closed in one of its ways, or they are cancelled; each must
 * end, with what the table says. One that is not told hangs. Runtimes of 1, 2, 7 and 16 workers.
 * Timeout: 120
 */
#include "parties.h"

#include "chan/chan.h"

enum { HOUR_MS = 3600 * 1000, STORED = -1 };

typedef CC_CHAN(long) long_chan;

enum kind { BY_FIBER, BY_THREAD, BY_SELECT, BY_SELECT_ON_THREAD, BY_FUTURE, KINDS };
enum what { SENDS, RECEIVES, WAITS_FOR_END };

struct waiter {
    enum kind kind;
    enum what what;
    long_chan c, other; /* other: where nothing ever happens, for selects */
    bool timed;
    long v;
    int rc;
    struct cc_nursery *_Atomic nursery; /* around its wait, once there is one */
    _Atomic int cancelled;              /* 1: to be cancelled, and the nursery has to stay for that; 2: it was */
    struct test_party party;
    cc_future future;
};

/* ---- one that waits ---- */

static int select_one(struct waiter *w) {
    long x;
    int rc = -EAGAIN;
    switch (w->what) {
    case SENDS: rc = cc_select(CC_RECV(w->other, &x), CC_SEND(w->c, w->v)); break;
    case RECEIVES: rc = cc_select(CC_RECV(w->other, &x), CC_RECV(w->c, &w->v)); break;
    case WAITS_FOR_END: rc = cc_select(CC_RECV(w->other, &x), CC_CLOSED(w->c)); break;
    }
    test_must(rc == 1 || rc < 0);
    return rc == 1 ? 0 : rc;
}
static int call_one(struct waiter *w) {
    if (w->kind == BY_SELECT || w->kind == BY_SELECT_ON_THREAD) return select_one(w);
    return w->what == SENDS ? cc_send(w->c, w->v) : cc_recv(w->c, &w->v);
}
static void *wait_for_one(void *arg) {
    struct waiter *w = arg;
    CC_NURSERY(n) {
        cc__store_release(&w->nursery, n);
        if (w->timed)
            CC_DEADLINE_MS(HOUR_MS) w->rc = call_one(w);
        else
            w->rc = call_one(w);
        while (cc__load_acquire(&w->cancelled) == 1) cc_yield();
    }
    return NULL;
}
static cc_poll_state poll_one(cc_future *f, cc_waker *unused) {
    struct waiter *w = CC_CONTAINER_OF(f, struct waiter, future);
    (void)unused;
    int rc = w->what == SENDS ? cc_poll_send(f, w->c, &w->v) : cc_poll_recv(f, w->c, &w->v);
    if (rc == -EAGAIN) return CC_PENDING;
    w->rc = rc;
    return CC_READY;
}

static void begin(struct waiter *w) {
    w->rc = 1;
    if (w->kind != BY_FUTURE) {
        test_party_start(&w->party, w->kind == BY_THREAD || w->kind == BY_SELECT_ON_THREAD, wait_for_one, w);
        return;
    }
    cc_future_init(&w->future, poll_one);
    test_must(cc_future_spawn(&w->future, NULL) == 0);
}
static void end(struct waiter *w) {
    if (w->kind == BY_FUTURE)
        cc_future_await(&w->future);
    else
        test_party_end(&w->party);
}
static void cancel(struct waiter *w) {
    if (w->kind == BY_FUTURE)
        cc_future_cancel(&w->future);
    else
        cc_nursery_cancel(cc__load_acquire(&w->nursery));
    cc__store_release(&w->cancelled, 2);
}

static size_t length(const struct cc__waitlist *l) {
    size_t n = 0;
    for (const struct cc__wait *w = l->first; w != NULL; w = cc__wait_of(w->node.next)) n++;
    return n;
}
/* Until so many wait there for that. */
static void until_waiting(long_chan c, enum what what, size_t n) {
    for (int looks = 0;; looks++) {
        cc__chan_lock(c.ch);
        bool there = length(what == SENDS ? &c.ch->tx : what == RECEIVES ? &c.ch->rx : &c.ch->ends) == n;
        cc__chan_unlock(c.ch);
        if (there) return;
        cc_yield();
        if (looks > 10) sched_yield(); /* for threads, where cpus are few */
    }
}

/* ---- all kinds of them at one channel ---- */

enum { ENDERS = 2 };

struct crowd {
    long_chan c, other;
    size_t capacity;
    struct waiter waiter[KINDS], ender[ENDERS];
};

/* The one of kind `first` is the first in the list, and so on. Those that send do so at a full channel. */
static void crowd_begin(struct crowd *g, enum what what, size_t capacity, unsigned first, bool timed) {
    memset(g, 0, sizeof *g);
    g->capacity = capacity;
    test_must(cc_chan_create(g->c, capacity) == 0 && cc_chan_create(g->other, 0) == 0);
    for (size_t i = 0; what == SENDS && i < capacity; i++) test_must(cc_send(g->c, STORED) == 0);
    for (unsigned i = 0; i < ENDERS; i++) {
        g->ender[i] = (struct waiter){.kind = i == 0 ? BY_SELECT : BY_SELECT_ON_THREAD,
                                      .what = WAITS_FOR_END,
                                      .c = g->c,
                                      .other = g->other,
                                      .timed = timed};
        begin(&g->ender[i]);
    }
    for (unsigned i = 0; i < KINDS; i++) {
        g->waiter[i] = (struct waiter){.kind = (enum kind)((first + i) % KINDS),
                                       .what = what,
                                       .c = g->c,
                                       .other = g->other,
                                       .timed = timed,
                                       .v = what == SENDS ? (long)i : STORED};
        begin(&g->waiter[i]);
        until_waiting(g->c, what, i + 1);
    }
    until_waiting(g->c, WAITS_FOR_END, ENDERS);
}

/* It is closed by now: drained, too, it has come to its end for all. */
static void crowd_end(struct crowd *g, enum what what) {
    long v;
    for (size_t i = 0; what == SENDS && i < g->capacity; i++) {
        until_waiting(g->c, WAITS_FOR_END, ENDERS);
        test_must(cc_recv(g->c, &v) == 0);
    }
    for (int i = 0; i < ENDERS; i++) {
        end(&g->ender[i]);
        test_must(g->ender[i].rc == 0);
    }
    for (enum what list = SENDS; list <= WAITS_FOR_END; list++) {
        until_waiting(g->c, list, 0);
        until_waiting(g->other, list, 0);
    }
    cc_chan_destroy(g->c);
    cc_chan_destroy(g->other);
}

/* ---- lesson 69: each value is told to the first, whatever that is, and the end to all ---- */

static void serve_one_by_one(enum what what, size_t capacity, unsigned first, enum kind peers, bool timed) {
    static struct crowd g;
    long sum = 0, sent = 0;
    crowd_begin(&g, what, capacity, first, timed);
    for (unsigned i = 0; i < KINDS; i++) {
        struct waiter peer = {.kind = peers, .what = what == SENDS ? RECEIVES : SENDS, .c = g.c, .other = g.other};
        peer.v = i;
        begin(&peer);
        end(&peer);
        end(&g.waiter[i]);
        test_must(peer.rc == 0 && g.waiter[i].rc == 0);
        until_waiting(g.c, what, KINDS - i - 1);
        sum += what == SENDS ? peer.v : g.waiter[i].v;
        sent += i;
    }
    /* In order: what was stored came first, and so many of theirs are in it now. */
    for (size_t i = 0; what == SENDS && i < capacity; i++) sent += STORED - (KINDS - 1 - (long)i);
    test_must(sum == sent);
    cc_chan_close(g.c);
    crowd_end(&g, what);
}
static void *served(void *timed) {
    for (size_t round = test_rounds(1); round > 0; round--)
        for (size_t capacity = 0; capacity < 3; capacity++)
            for (unsigned first = 0; first < KINDS; first++)
                for (enum kind peers = BY_FIBER; peers < KINDS; peers++) {
                    serve_one_by_one(RECEIVES, capacity, first, peers, *(bool *)timed);
                    serve_one_by_one(SENDS, capacity, first, peers, *(bool *)timed);
                }
    return NULL;
}
static void twins(void *(*fn)(void *)) {
    static bool timed[] = {false, true};
    test_seed();
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++)
        for (int i = 0; i < 2; i++) test_on_workers(test_workers[w], fn, &timed[i]);
}
static void lesson_69_one_way_of_telling_for_all(void **state) {
    (void)state;
    twins(served);
}

/* ---- lesson 61: who is told which code ---- */

enum how { CLOSE, CLOSE_ERROR, CLOSE_RECV, CLOSE_WITH, CANCEL };

static const struct {
    int waiting_send, waiting_recv; /* those that wait when it happens */
    int later_send, later_recv;     /* at a channel that is drained */
} table[] = {
    [CLOSE] = {-EPIPE, -EPIPE, -EPIPE, -EPIPE},          [CLOSE_ERROR] = {-EPIPE, -EIO, -EPIPE, -EIO},
    [CLOSE_RECV] = {-ENOSPC, -EPIPE, -ENOSPC, -EPIPE},   [CLOSE_WITH] = {-EPIPE, -EPIPE, -EPIPE, -EPIPE},
    [CANCEL] = {-ECANCELED, -ECANCELED, -EPIPE, -EPIPE}, /* and closed after that */
};

static void close_by(struct crowd *g, enum how how) {
    switch (how) {
    case CLOSE: cc_chan_close(g->c); break;
    case CLOSE_ERROR: cc_chan_close_error(g->c, -EIO); break;
    case CLOSE_RECV: cc_chan_close_recv(g->c, -ENOSPC); break;
    case CLOSE_WITH: CC_NURSERY(n) test_must(cc_chan_close_with(g->c, n) == 0); break;
    case CANCEL:
        for (int i = 0; i < KINDS; i++) cc__store_relaxed(&g->waiter[i].cancelled, 1);
        for (int i = 0; i < KINDS; i++) cancel(&g->waiter[i]);
    }
}

/* What comes later: each kind in turn. Values from before are delivered first, whichever way it was closed. */
static void later(struct crowd *g, enum what what, int code) {
    for (enum kind kind = BY_FIBER; kind < KINDS; kind++) {
        struct waiter w = {.kind = kind, .what = what, .c = g->c, .other = g->other, .v = STORED};
        begin(&w);
        end(&w);
        test_must(w.rc == code && w.v == STORED);
    }
}

static void told(enum what what, size_t capacity, unsigned first, enum how how, bool timed) {
    static struct crowd g;
    crowd_begin(&g, what, capacity, first, timed);
    close_by(&g, how);
    for (unsigned i = 0; i < KINDS; i++) {
        end(&g.waiter[i]);
        test_must(g.waiter[i].rc == (what == SENDS ? table[how].waiting_send : table[how].waiting_recv));
        test_must(g.waiter[i].v == (what == SENDS ? (long)i : STORED));
    }
    test_must(cc_chan_len(g.c) == (what == SENDS ? capacity : 0)); /* nothing of theirs is in it */
    if (how == CANCEL) {
        test_must(cc_chan_is_closed(g.c) == 0);
        cc_chan_close(g.c);
    }
    later(&g, SENDS, table[how].later_send);
    if (capacity == 0 || what == RECEIVES) later(&g, RECEIVES, table[how].later_recv);
    crowd_end(&g, what);
}
static void *whole_table(void *timed) {
    for (size_t round = test_rounds(1); round > 0; round--)
        for (enum how how = CLOSE; how <= CANCEL; how++)
            for (size_t capacity = 0; capacity < 3; capacity++)
                for (unsigned first = 0; first < KINDS; first++) {
                    told(RECEIVES, capacity, first, how, *(bool *)timed);
                    told(SENDS, capacity, first, how, *(bool *)timed);
                }
    return NULL;
}
static void lesson_61_the_whole_table_of_codes(void **state) {
    (void)state;
    twins(whole_table);
}

TEST_MAIN(cmocka_unit_test(lesson_69_one_way_of_telling_for_all), cmocka_unit_test(lesson_61_the_whole_table_of_codes))
