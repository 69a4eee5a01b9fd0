/* SPDX-License-Identifier: MIT */
/* Goal: whatever is done to channels at once, every value that a send accepted is received once, unless a policy
 * dropped it and counted that; one that was not accepted never is; what one sender sends to one channel comes to one
 * receiver in order; and everything ends (lessons 57, 60, 64, 77).
 * Method: rounds of senders, receivers and selectors on a few channels of a random mixture, each a fiber or a plain
 * thread, each doing by turns at random: plain calls, try_ calls, calls under deadlines of 0 to 2 ms, calls in
 * nurseries that are cancelled meanwhile, with and without shields; polls by futures, some given up or cancelled;
 * selects of up to 20 cases of all kinds, the same channel several times. The channels are closed at the end, or at any
 * moment, in any of the four ways, and each side must be told the code for it. Every attempt to send has a number of
 * its own, and a table says of each whether it was accepted and how often it was received. Capacities 0 to 128, no
 * bound, policies; 1, 2, 7 and 16 workers. CC_TEST_SECONDS makes it go on for so long, with other rounds. The last line
 * says how many values went through; ./dev soak adds these up.
 * Timeout: 120
 */
#include "parties.h"

enum { CHANS = 3, ACTORS = 14, THREADS = 4, CASES = 20, WORDS = 5, BATCH = 64 };
enum { ACCEPTED = 1, RECEIVED = 2 }; /* in the table: a flag, and one of a count */

static const cc_chan_attr kind[] = {
    {.capacity = 0},
    {.capacity = 1},
    {.capacity = 2},
    {.capacity = 3},
    {.capacity = 8},
    {.capacity = 128},
    {.unbounded = 1},
    {.capacity = 3, .overflow = CC_OVERFLOW_DROP_NEWEST},
    {.capacity = 4, .overflow = CC_OVERFLOW_DROP_OLDEST},
};

struct round {
    size_t bytes; /* of an element: 8, or 40 */
    cc_chan *chan[CHANS];
    uint32_t quota; /* attempts of each actor */
    cc_task witness;
    _Atomic unsigned sending; /* actors that have not done theirs */
    _Atomic uint8_t *table;   /* one for each attempt */
};

enum role { SENDER, RECEIVER, SELECTOR };

struct actor {
    struct round *r;
    enum role role;
    uint32_t id, seq; /* seq: its next attempt */
    unsigned chan;    /* SENDER, RECEIVER: which */
    bool over;        /* it found its channel closed */
    bool told;        /* it was counted out of `sending` */
    unsigned no_send, no_recv;
    struct cc__rng rng;
    int64_t last[CHANS][ACTORS]; /* what it received */
    cc_future future;            /* that acts for it, some of the time */
    uint64_t elem[WORDS];        /* what that sends, or receives into */
    bool polls;                  /* it has begun to */
    unsigned left;               /* it is to do so many */
};

static uint32_t below(struct actor *a, uint32_t n) {
    return cc__rng_below(&a->rng, n);
}

/* ---- values ---- */

static void value_make(struct actor *a, uint64_t *elem) {
    uint64_t v = (uint64_t)a->id << 32 | a->seq++;
    for (size_t i = 0; i < a->r->bytes / sizeof *elem; i++) elem[i] = v * (i + 1);
}

static _Atomic uint8_t *value_place(struct round *r, uint64_t v) {
    test_must(v >> 32 < ACTORS && (uint32_t)v < r->quota);
    return &r->table[(v >> 32) * r->quota + (uint32_t)v];
}

static void value_accepted(struct round *r, const uint64_t *elem) {
    uint8_t before = cc__add_relaxed(value_place(r, elem[0]), ACCEPTED);
    test_must((before & ACCEPTED) == 0);
}

static void value_received(struct actor *a, unsigned chan, const uint64_t *elem) {
    for (size_t i = 1; i < a->r->bytes / sizeof *elem; i++) test_must(elem[i] == elem[0] * (i + 1));
    uint8_t before = cc__add_relaxed(value_place(a->r, elem[0]), RECEIVED);
    test_must(before < RECEIVED);
    int64_t *last = &a->last[chan][elem[0] >> 32], seq = (int64_t)(uint32_t)elem[0];
    test_must(seq > *last);
    *last = seq;
}

/* ---- what actors do ---- */

/* What a call returns at a closed channel. */
enum { RX_CODE = -EIO, TX_CODE = -ENOSPC };
static bool says_closed(int rc, bool sends) {
    test_must(rc != (sends ? RX_CODE : TX_CODE));
    return rc == -EPIPE || rc == (sends ? TX_CODE : RX_CODE);
}

static int send_one(struct actor *a) {
    cc_chan *c = a->r->chan[a->chan];
    uint64_t elem[WORDS];
    value_make(a, elem);
    int rc = below(a, 8) == 0 ? cc_channel_try_send(c, elem) : cc_channel_send(c, elem);
    if (rc == 0) value_accepted(a->r, elem);
    a->over = says_closed(rc, true) || a->over;
    return rc;
}

static int recv_one(struct actor *a) {
    cc_chan *c = a->r->chan[a->chan];
    uint64_t elem[WORDS] = {~UINT64_C(0)};
    int rc = below(a, 8) == 0 ? cc_channel_try_recv(c, elem) : cc_channel_recv(c, elem);
    if (rc == 0)
        value_received(a, a->chan, elem);
    else
        test_must(elem[0] == ~UINT64_C(0));
    a->over = says_closed(rc, false) || a->over;
    return rc;
}

/* What is closed by now. */
static void look_around(struct actor *a) {
    for (unsigned i = 0; i < CHANS; i++) {
        if (cc_channel_is_closed(a->r->chan[i]) == 0) continue;
        a->no_send |= 1u << i;
        if (cc_channel_len(a->r->chan[i]) == 0) a->no_recv |= 1u << i;
    }
    a->over = a->no_recv == (1u << CHANS) - 1;
}

struct choice {
    cc_case cases[CASES];
    unsigned chan[CASES];
    uint64_t elem[CASES][WORDS];
    unsigned count;
    bool ends; /* it does not wait for what may never come while others wait for this actor */
    bool live; /* one case at least can happen */
};

static void add_case(struct actor *a, struct choice *c) {
    unsigned i = c->count, chan = below(a, CHANS), bit = 1u << chan;
    cc_case *x = &c->cases[i];
    *x = (cc_case){.chan = a->r->chan[chan], .elem = c->elem[i]};
    c->chan[i] = chan;
    switch (below(a, 16)) {
    case 0: x->op = CC_OP_CLOSED; break;
    case 1: *x = (cc_case){.op = CC_OP_DONE, .task = a->r->witness}; break;
    case 2: *x = (cc_case){.op = CC_OP_AFTER, .ns = below(a, below(a, 16) == 0 ? 2000000 : 20000)}; break;
    case 3: *x = (cc_case){.op = below(a, 4) == 0 ? CC_OP_DEFAULT : CC_OP_NONE}; break;
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
        if (a->seq < a->r->quota && (a->no_send & bit) == 0) {
            x->op = CC_OP_SEND;
            value_make(a, c->elem[i]);
            break;
        } /* fall through */
    default:
        x->op = CC_OP_RECV;
        if ((a->no_recv & bit) != 0) x->chan = NULL;
    }
    c->ends = c->ends || x->op == CC_OP_SEND || x->op == CC_OP_AFTER || x->op == CC_OP_DEFAULT;
    c->live = c->live || x->chan != NULL;
    c->count++;
}

static int select_one(struct actor *a) {
    struct choice c = {.count = 0};
    unsigned want = below(a, 16) == 0 ? CASES - 1 : 1 + below(a, 5);
    bool hurry = a->seq < a->r->quota;
    while (c.count < want) add_case(a, &c);
    if (!c.ends && (hurry || !c.live || below(a, 4) == 0))
        c.cases[c.count++] = (cc_case){.op = CC_OP_AFTER, .ns = 1000};
    int rc = cc_select_cases(c.cases, c.count, below(a, 2) == 0 ? CC_SELECT_FAIR : CC_SELECT_IN_ORDER);
    test_must(rc < (int)c.count);
    if (rc >= 0 && c.cases[rc].op == CC_OP_RECV) value_received(a, c.chan[rc], c.elem[rc]);
    if (rc >= 0 && c.cases[rc].op == CC_OP_SEND) value_accepted(a->r, c.elem[rc]);
    bool told = rc == -EPIPE || rc == RX_CODE || rc == TX_CODE;
    if (told || (rc >= 0 && c.cases[rc].op == CC_OP_CLOSED)) look_around(a);
    test_must(rc >= 0 || told || rc == -ECANCELED || rc == -ETIMEDOUT);
    if (rc >= 0 && c.cases[rc].op == CC_OP_DONE) cc_yield();
    return told ? 0 : rc;
}

/* Whether it still has something to send. Who is the last of all closes the channels. */
static bool still_sends(struct actor *a) {
    struct round *r = a->r;
    if (a->role == RECEIVER || a->told) return false;
    if (a->seq < r->quota && !a->over) return true;
    a->told = true;
    if (cc__sub_acq_rel(&r->sending, 1) == 1)
        for (int i = 0; i < CHANS; i++) cc_channel_close(r->chan[i]);
    return false;
}

static bool finished(struct actor *a) {
    bool sends = still_sends(a);
    return a->role == SENDER ? !sends : a->over;
}

static int do_some(struct actor *a, unsigned count) {
    static int (*const one[])(struct actor *) = {[SENDER] = send_one, [RECEIVER] = recv_one, [SELECTOR] = select_one};
    int rc = 0;
    while (count-- > 0 && !finished(a)) {
        rc = one[a->role](a);
        if (rc == -EAGAIN) cc_yield();
        if (rc == -ECANCELED || rc == -ETIMEDOUT) break;
    }
    return rc;
}

CC_TASK(child, (struct actor *, a), (bool, shielded)) {
    if (!shielded) {
        do_some(a, BATCH);
    } else {
        CC_SHIELD {
            int rc = do_some(a, 4);
            test_must(rc != -ECANCELED && rc != -ETIMEDOUT);
        }
    }
    return 0;
}

static void in_a_nursery(struct actor *a) {
    bool shielded = below(a, 3) == 0;
    uint32_t how = below(a, 4);
    CC_NURSERY(n) {
        cc_spawn(n, child, a, shielded);
        if (how == 0) cc_sleep_ms(1);
        if (how == 1) cc_yield();
        test_jitter();
        cc_nursery_cancel(n);
    }
}

/* As a future: one poll of what was begun, or of the next. */
static int poll_one(struct actor *a) {
    cc_chan *c = a->r->chan[a->chan];
    bool sends = a->role == SENDER;
    if (!a->polls && sends) value_make(a, a->elem);
    if (!a->polls && !sends) a->elem[0] = ~UINT64_C(0);
    a->polls = true;
    int rc = sends ? cc_channel_poll_send(&a->future, c, a->elem) : cc_channel_poll_recv(&a->future, c, a->elem);
    if (rc == -EAGAIN && below(a, 8) == 0) { /* it changes its mind: it may be too late for that, or too early */
        int was = cc_poll_cancel(&a->future);
        if (was == -ESRCH) return rc;
        rc = was;
    }
    if (rc == -EAGAIN) return rc;
    a->polls = false;
    if (rc == 0 && sends) value_accepted(a->r, a->elem);
    if (rc == 0 && !sends) value_received(a, a->chan, a->elem);
    if (rc != 0 && !sends) test_must(a->elem[0] == ~UINT64_C(0));
    a->over = says_closed(rc, sends) || a->over;
    test_must(rc == 0 || rc == -ECANCELED || a->over);
    return rc;
}
static cc_poll_state poll_some(cc_future *f, cc_waker *unused) {
    struct actor *a = CC_CONTAINER_OF(f, struct actor, future);
    (void)unused;
    while (a->left > 0 && (a->polls || !finished(a))) {
        if (poll_one(a) == -EAGAIN) return CC_PENDING;
        a->left--;
        if (cc_future_cancelled(f) != 0) break;
    }
    return CC_READY;
}
static void by_a_future(struct actor *a) {
    bool cancelled = below(a, 2) == 0;
    a->left = BATCH;
    cc_future_init(&a->future, poll_some);
    test_must(cc_future_spawn(&a->future, NULL) == 0);
    if (cancelled) {
        test_jitter();
        cc_future_cancel(&a->future);
    }
    cc_future_await(&a->future);
    test_must(!a->polls);
}

static void *act(void *arg) {
    struct actor *a = arg;
    while (!finished(a)) {
        switch (below(a, 16)) {
        case 3:
        case 4:
            if (a->role != SELECTOR) {
                by_a_future(a);
                break;
            } /* fall through */
        case 0: in_a_nursery(a); break;
        case 1: CC_DEADLINE_MS(1 + below(a, 2)) do_some(a, 16); break;
        case 2: CC_DEADLINE_MS(0) do_some(a, 4); break;
        default: do_some(a, BATCH);
        }
    }
    return NULL;
}

/* ---- a round ---- */

struct plan {
    const cc_chan_attr *attr[CHANS];
    uint32_t quota;
    uint64_t received;
};

static void *ends_some_time(void *arg) {
    cc_sleep_ms((int64_t)(uintptr_t)arg);
    return NULL;
}

static void close_by(cc_chan *c, uint32_t way) {
    switch (way % 4) {
    case 0: cc_channel_close(c); break;
    case 1: cc_channel_close_error(c, RX_CODE); break;
    case 2: cc_channel_close_recv(c, TX_CODE); break;
    default:
        CC_NURSERY(n) {
            test_must(cc_channel_close_with(c, n) == 0);
            cc_yield();
        }
    }
}

/* Closes one of them, or all, at any time, in one of the ways. */
CC_TASK(closes_early, (struct round *, r), (uint32_t, how)) {
    cc_sleep_ms(how % 3);
    for (unsigned i = 0; i < CHANS; i++)
        if (how % 5 == i || how % 5 == 4) close_by(r->chan[i], how / 5 + i);
    return 0;
}

static void round_begin(struct round *r, const struct plan *p, struct cc__rng *rng) {
    *r = (struct round){.quota = p->quota, .bytes = cc__rng_below(rng, 2) == 0 ? 8 : 8 * WORDS};
    r->table = calloc((size_t)ACTORS * p->quota, sizeof *r->table);
    test_must(r->table != NULL);
    for (int i = 0; i < CHANS; i++) test_must(cc_channel_create_with(&r->chan[i], r->bytes, p->attr[i]) == 0);
    test_must(cc_task_spawn(&r->witness, NULL, ends_some_time, (void *)(uintptr_t)cc__rng_below(rng, 20)) == 0);
}

/* All that is left in the channels is received, all that was accepted accounted for. */
static uint64_t round_end(struct round *r, struct actor *last) {
    uint64_t elem[WORDS], lost = 0, received = 0, dropped = 0;
    test_must(cc_task_join(r->witness, NULL) == 0);
    for (unsigned i = 0; i < CHANS; i++) {
        int rc;
        cc_channel_close(r->chan[i]);
        while ((rc = cc_channel_recv(r->chan[i], elem)) == 0) value_received(last, i, elem);
        test_must(says_closed(rc, false) && cc_channel_len(r->chan[i]) == 0);
        dropped += cc_channel_dropped(r->chan[i]);
        cc_channel_destroy(r->chan[i]);
    }
    for (size_t i = 0; i < (size_t)ACTORS * r->quota; i++) {
        uint8_t is = cc__load_relaxed(&r->table[i]);
        test_must(is == 0 || is == ACCEPTED || is == (ACCEPTED | RECEIVED));
        lost += is == ACCEPTED;
        received += is == (ACCEPTED | RECEIVED);
    }
    if (lost != dropped) printf("accepted and not received: %lu, dropped: %lu\n", (long)lost, (long)dropped);
    test_must(lost == dropped);
    free((void *)r->table);
    return received;
}

static void start(struct actor *a, struct round *r, uint32_t id, struct cc__rng *rng) {
    memset(a, 0, sizeof *a);
    a->r = r;
    a->id = id;
    /* Each channel has a sender and a receiver; the others are anything. */
    a->role = id < CHANS ? SENDER : id < 2 * CHANS ? RECEIVER : (enum role)cc__rng_below(rng, 3);
    a->chan = id % CHANS;
    for (int c = 0; c < CHANS; c++)
        for (int i = 0; i < ACTORS; i++) a->last[c][i] = -1;
    cc__rng_seed(&a->rng, cc__rng_next(rng));
    if (a->role != RECEIVER) cc__add_relaxed(&r->sending, 1);
}

/* A task of the runtime that the round is for. */
static void *one_round(void *arg) {
    static struct actor actor[ACTORS];
    struct plan *p = arg;
    struct round r;
    struct cc__rng rng;
    struct test_party party[ACTORS];
    int threads = 0;
    cc__rng_seed(&rng, test_random());
    round_begin(&r, p, &rng);
    uint32_t count = 2 * CHANS + cc__rng_below(&rng, ACTORS - 2 * CHANS + 1);
    for (uint32_t i = 0; i < count; i++) start(&actor[i], &r, i, &rng);
    CC_NURSERY(n) {
        for (uint32_t i = 0; i < count; i++) {
            bool on_thread = threads < THREADS && cc__rng_below(&rng, 3) == 0;
            threads += on_thread;
            test_party_start(&party[i], on_thread, act, &actor[i]);
        }
        if (cc__rng_below(&rng, 3) == 0) cc_spawn(n, closes_early, &r, cc__rng_below(&rng, 1000));
        for (uint32_t i = 0; i < count; i++) test_party_end(&party[i]);
    }
    p->received += round_end(&r, &actor[CHANS]);
    return NULL;
}

static uint64_t all_kinds(unsigned workers, uint32_t quota) {
    struct plan p = {.quota = quota};
    for (size_t k = 0; k < TEST_COUNT_OF(kind); k++) {
        for (int i = 0; i < CHANS; i++)
            p.attr[i] = i == 0 || test_random() % 2 == 0 ? &kind[k] : &kind[test_random() % TEST_COUNT_OF(kind)];
        test_on_workers(workers, one_round, &p);
    }
    return p.received;
}

static void lesson_57_every_value_is_received_once(void **state) {
    (void)state;
    const char *given = getenv("CC_TEST_SECONDS");
    int64_t seconds = given == NULL ? 0 : strtol(given, NULL, 10), begun = cc_now_ns();
    uint64_t received = 0;
    test_seed();
    do {
        for (size_t i = 0; i < TEST_COUNT_OF(test_workers); i++)
            received += all_kinds(test_workers[i], (uint32_t)test_rounds(seconds > 0 ? 50000 : 5000));
    } while (cc_now_ns() - begun < seconds * 1000000000);
    double took = (double)(cc_now_ns() - begun) / 1e9;
    printf("total: %lu values, %.0f a second\n", (unsigned long)received, (double)received / took);
    assert_true(received > 0);
}

TEST_MAIN(cmocka_unit_test(lesson_57_every_value_is_received_once))
