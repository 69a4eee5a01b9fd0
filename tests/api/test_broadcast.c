/* SPDX-License-Identifier: MIT */
/* Goal: every subscriber receives all values sent after it subscribed, in order, but for those it was too slow for, and
 * these are counted: received and lost are what was sent. Senders never wait.
 * Method: each case on the plain thread of the test and in a task. Then senders, and subscribers that come and go, time
 * out, are cancelled, and one that closes, on runtimes of 1, 2, 7 and 16 workers and plain threads; values are numbers
 * in order, so that a gap must be as large as the lag that was told.
 * Timeout: 120
 */
#include "senders.h"

typedef CC_BROADCAST(uint64_t) news;
struct point {
    int x, y;
};
typedef CC_BROADCAST(struct point) points;

/* ---- one after the other ---- */

static void values(void) {
    news b;
    cc_subscriber s, t, before;
    uint64_t v = 99;
    test_must(cc_broadcast_create(b, 4) == 0);
    test_must(cc_broadcast_send(b, 1) == 0); /* nobody is there */
    test_must(cc_broadcast_subscribe(b, &s) == 0 && s.lagged == 0 && s.lost == 0);
    before = s;
    test_must(cc_broadcast_try_recv(b, &s, &v) == -EAGAIN && v == 99 && memcmp(&s, &before, sizeof s) == 0);
    for (uint64_t i = 2; i <= 3; i++) test_must(cc_broadcast_send(b, i) == 0);
    test_must(cc_broadcast_subscribe(b, &t) == 0);
    test_must(cc_broadcast_send(b, 4) == 0);
    for (uint64_t i = 2; i <= 4; i++) test_must(cc_broadcast_recv(b, &s, &v) == 0 && v == i && s.lagged == 0);
    test_must(cc_broadcast_try_recv(b, &s, &v) == -EAGAIN);
    test_must(cc_broadcast_recv(b, &t, &v) == 0 && v == 4);
    t = s; /* a copy is another subscriber */
    test_must(cc_broadcast_send(b, 5) == 0);
    test_must(cc_broadcast_recv(b, &s, &v) == 0 && v == 5);
    test_must(cc_broadcast_recv(b, &t, &v) == 0 && v == 5);
    cc_broadcast_destroy(b);
}
static void lag(void) {
    news b;
    cc_subscriber s;
    uint64_t v;
    test_must(cc_broadcast_create(b, 4) == 0 && cc_broadcast_subscribe(b, &s) == 0);
    for (uint64_t i = 1; i <= 4; i++) test_must(cc_broadcast_send(b, i) == 0);
    test_must(cc_broadcast_recv(b, &s, &v) == 0 && v == 1 && s.lagged == 0); /* exactly as many as fit */
    for (uint64_t i = 5; i <= 12; i++) test_must(cc_broadcast_send(b, i) == 0);
    test_must(cc_broadcast_recv(b, &s, &v) == 0 && v == 9 && s.lagged == 7 && s.lost == 7);
    test_must(cc_broadcast_recv(b, &s, &v) == 0 && v == 10 && s.lagged == 0 && s.lost == 7);
    for (uint64_t i = 13; i <= 15; i++) test_must(cc_broadcast_send(b, i) == 0);
    cc_broadcast_close(b);
    cc_broadcast_close(b);
    test_must(cc_broadcast_send(b, 16) == -EPIPE);
    test_must(cc_broadcast_recv(b, &s, &v) == 0 && v == 12 && s.lagged == 1 && s.lost == 8);
    for (uint64_t i = 13; i <= 15; i++) test_must(cc_broadcast_recv(b, &s, &v) == 0 && v == i); /* drained */
    test_must(cc_broadcast_recv(b, &s, &v) == -EPIPE && cc_broadcast_try_recv(b, &s, &v) == -EPIPE && v == 15);
    test_must(cc_broadcast_subscribe(b, &s) == 0 && cc_broadcast_recv(b, &s, &v) == -EPIPE); /* too late */
    cc_broadcast_destroy(b);

    points p; /* the newest alone is kept */
    struct point got;
    test_must(cc_broadcast_create(p, 1) == 0 && cc_broadcast_subscribe(p, &s) == 0);
    for (int i = 0; i < 10; i++) test_must(cc_broadcast_send(p, {i, -i}) == 0);
    test_must(cc_broadcast_recv(p, &s, &got) == 0 && got.x == 9 && got.y == -9 && s.lagged == 9);
    cc_broadcast_destroy(p);
}
static void wrong(void) {
    news b = {NULL};
    cc_subscriber s = {0};
    uint64_t v;
    cc_broadcast *plain = NULL;
    test_must((cc_broadcast_create)(NULL, 4, 4) == -EINVAL);
    test_must((cc_broadcast_create)(&plain, 0, 4) == -EINVAL && (cc_broadcast_create)(&plain, 4, 0) == -EINVAL);
    test_must((cc_broadcast_create)(&plain, SIZE_MAX / 2, 4) == -EINVAL && plain == NULL);
    test_must(cc_broadcast_subscribe(b, &s) == -EINVAL && cc_broadcast_send(b, 1) == -EINVAL);
    test_must(cc_broadcast_recv(b, &s, &v) == -EINVAL && cc_broadcast_try_recv(b, &s, &v) == -EINVAL);
    cc_broadcast_close(b);
    cc_broadcast_destroy(b);
}
static void one_after_the_other(void **state) {
    (void)state;
    test_on_both(values);
    test_on_both(lag);
    test_on_both(wrong);
}

/* ---- waiting ---- */

CC_TASK(sends_late, (news, b), (int, count)) {
    for (int i = 1; i <= count; i++) {
        cc_sleep_ms(1);
        if (cc_broadcast_send(b, (uint64_t)i) != 0) return -EIO;
    }
    cc_broadcast_close(b);
    return 0;
}
static void waits(void) {
    news b;
    cc_subscriber s;
    uint64_t v = 0, next = 1;
    int rc = 0;
    test_must(cc_broadcast_create(b, 8) == 0 && cc_broadcast_subscribe(b, &s) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, sends_late, b, 5) == 0);
        while ((rc = cc_broadcast_recv(b, &s, &v)) == 0) {
            test_must(v == next + s.lagged);
            next = v + 1;
        }
        test_must(cc_nursery_wait(n) == 0);
    }
    test_must(rc == -EPIPE && next == 6);
    cc_broadcast_destroy(b);
}
static void gives_up(void) {
    news b;
    cc_subscriber s;
    uint64_t v = 0;
    int rc = 0;
    test_must(cc_broadcast_create(b, 8) == 0 && cc_broadcast_subscribe(b, &s) == 0);
    CC_DEADLINE_MS(2) {
        rc = cc_broadcast_recv(b, &s, &v);
    }
    test_must(rc == -ETIMEDOUT);
    CC_NURSERY(n) {
        cc_nursery_cancel(n);
        rc = cc_broadcast_recv(b, &s, &v);
        test_must(rc == -ECANCELED && cc_broadcast_send(b, 5) == 0);
        rc = cc_broadcast_recv(b, &s, &v); /* what can succeed at once does */
    }
    test_must(rc == 0 && v == 5 && cc_broadcast_send(b, 6) == 0);
    CC_DEADLINE_MS(0) {
        rc = cc_broadcast_recv(b, &s, &v);
    }
    test_must(rc == 0 && v == 6);
    cc_broadcast_destroy(b);
}
static void who_waits_is_woken_or_gives_up(void **state) {
    (void)state;
    test_on_both(waits);
    test_on_both(gives_up);
}

static void *waits_for_ever(void *arg) {
    news b = {.ch = arg};
    cc_subscriber s;
    uint64_t v;
    (void)cc_broadcast_subscribe(b, &s);
    (void)cc_broadcast_recv(b, &s, &v);
    return NULL;
}
static void destroys_early(void *arg) {
    (void)arg;
    news b;
    test_must(cc_broadcast_create(b, 1) == 0);
    (void)cc_fiber_spawn_task(waits_for_ever, b.ch);
    cc_sleep_ms(50);
    cc_broadcast_destroy(b);
}
static void destroyed_while_somebody_waits(void **state) {
    (void)state;
    test_aborts(destroys_early, NULL, "somebody waits on");
}

/* ---- many at once ---- */

struct crowd {
    news b;
    struct senders senders;
};

static int send_number(void *to, uint64_t number) {
    struct crowd *c = to;
    return cc_broadcast_send(c->b, number);
}
static void close_it(void *to) {
    struct crowd *c = to;
    cc_broadcast_close(c->b);
}
struct one {
    news b;
    cc_subscriber s;
    uint64_t value;
};
static int recv_one(void *arg) {
    struct one *o = arg;
    return cc_broadcast_recv(o->b, &o->s, &o->value);
}
static void *listens(void *arg) {
    struct crowd *c = arg;
    uint64_t first = cc__load_acquire(&c->senders.last), last = 0, got = 0;
    struct one o = {.b = c->b};
    test_must(cc_broadcast_subscribe(c->b, &o.s) == 0);
    uint64_t after = cc__load_acquire(&c->senders.last);
    for (;;) {
        cc_subscriber before = o.s;
        int rc = actors_call(recv_one, &o);
        if (actors_gave_up(rc)) {
            test_must(memcmp(&before, &o.s, sizeof before) == 0);
            continue;
        }
        if (rc != 0) {
            test_must(rc == -EPIPE);
            break;
        }
        if (last == 0) { /* not what was sent before it subscribed, and all that was sent after, or counted */
            test_must(o.value - o.s.lagged > first && o.value - o.s.lagged <= after + 2);
            first = o.value - o.s.lagged - 1;
        } else {
            test_must(o.value == last + 1 + o.s.lagged);
        }
        last = o.value;
        got++;
        if (test_random() % 4 == 0) cc_yield();
    }
    test_must(last == 0 || last == senders_last(&c->senders)); /* the newest is never lost */
    test_must(last == 0 || got + o.s.lost == last - first);
    return NULL;
}
static void crowds(struct actors *a) {
    for (size_t round = test_rounds(20), capacity = 1; round > 0; round--, capacity = capacity * 8 % 511) {
        struct crowd c = {.senders = {send_number, close_it, &c, .each = test_rounds(1000), .turns = 1000}};
        assert_int_equal(cc_broadcast_create(c.b, capacity), 0);
        for (int k = 0; k < 3; k++) actors_task(a, listens, &c);
        actors_thread(a, listens, &c);
        senders_begin(&c.senders, a);
        for (int k = 0; k < 3; k++) actors_task(a, listens, &c);
        actors_thread(a, listens, &c);
        actors_join(a);
        uint64_t sent = senders_last(&c.senders), most = SENDERS * c.senders.each;
        assert_true(c.senders.early ? sent <= most : sent == most);
        cc_broadcast_destroy(c.b);
    }
}
static void received_and_lost_are_what_was_sent(void **state) {
    (void)state;
    actors_on_all(crowds);
}

/* What aborts comes first: a child process has none of the workers its parent had started. */
TEST_MAIN(cmocka_unit_test(destroyed_while_somebody_waits), cmocka_unit_test(one_after_the_other),
          cmocka_unit_test(who_waits_is_woken_or_gives_up), cmocka_unit_test(received_and_lost_are_what_was_sent))
