/* SPDX-License-Identifier: MIT */
/* Goal: who watches sees newer and newer values, each whole, and the last one always; who sends never waits.
 * Method: each case on the plain thread of the test and in a task. Then senders, watchers that time out or are
 * cancelled, and one that closes, on runtimes of 1, 2, 7 and 16 workers and plain threads; a value has its number at
 * both ends of it.
 * Timeout: 120
 */
#include "senders.h"

struct config {
    uint64_t number, filler[13], same;
};
typedef CC_WATCH(struct config) watched;
typedef CC_WATCH(int) int_watch;

/* ---- one after the other ---- */

static void values(void) {
    int_watch w;
    int v = -1;
    uint64_t seen = 0, other = 0;
    test_must(cc_watch_create(w, 10) == 0);
    test_must(cc_watch_version(w) == 1 && cc_watch_get(w, &v) == 0 && v == 10);
    test_must(cc_watch_recv(w, &seen, &v) == 0 && v == 10 && seen == 1); /* who has seen nothing sees the first */
    v = -1;
    test_must(cc_watch_try_recv(w, &seen, &v) == -EAGAIN && v == -1 && seen == 1);
    for (int i = 11; i <= 15; i++) test_must(cc_watch_send(w, i) == 0);
    test_must(cc_watch_recv(w, &seen, &v) == 0 && v == 15 && seen == 6 && cc_watch_version(w) == 6);
    test_must(cc_watch_send(w, 15) == 0); /* the same is news, too */
    test_must(cc_watch_try_recv(w, &seen, &v) == 0 && v == 15 && seen == 7);
    test_must(cc_watch_send(w, 16) == 0);
    cc_watch_close(w);
    cc_watch_close(w);
    test_must(cc_watch_send(w, 17) == -EPIPE);
    test_must(cc_watch_recv(w, &seen, &v) == 0 && v == 16 && seen == 8); /* the last is seen */
    v = -1;
    test_must(cc_watch_recv(w, &seen, &v) == -EPIPE && cc_watch_try_recv(w, &seen, &v) == -EPIPE && v == -1);
    test_must(cc_watch_recv(w, &other, &v) == 0 && v == 16 && other == 8);
    test_must(cc_watch_get(w, &v) == 0 && v == 16);
    cc_watch_destroy(w);
}
static void wrong(void) {
    int_watch w = {NULL};
    int v;
    uint64_t seen = 0;
    cc_watch *plain = NULL;
    test_must((cc_watch_create)(NULL, 4, NULL) == -EINVAL);
    test_must((cc_watch_create)(&plain, 0, NULL) == -EINVAL && plain == NULL);
    test_must((cc_watch_create)(&plain, SIZE_MAX, NULL) == -EINVAL);
    test_must(cc_watch_send(w, 1) == -EINVAL && cc_watch_recv(w, &seen, &v) == -EINVAL);
    test_must(cc_watch_try_recv(w, &seen, &v) == -EINVAL && cc_watch_get(w, &v) == -EINVAL);
    test_must(cc_watch_version(w) == 0);
    cc_watch_close(w);
    cc_watch_destroy(w);
    test_must((cc_watch_create)(&w.ch, sizeof v, NULL) == 0 && cc_watch_get(w, &v) == 0 && v == 0);
    test_must((cc_watch_recv)(w.ch, NULL, &v) == -EINVAL);
    cc_watch_destroy(w);
}
static void one_after_the_other(void **state) {
    (void)state;
    test_on_both(values);
    test_on_both(wrong);
}

/* ---- waiting ---- */

CC_TASK(sends_late, (int_watch, w), (int, count)) {
    for (int i = 1; i <= count; i++) {
        cc_sleep_ms(1);
        if (cc_watch_send(w, i) != 0) return -EIO;
    }
    cc_sleep_ms(1);
    cc_watch_close(w);
    return 0;
}
static void waits(void) {
    int_watch w;
    uint64_t seen = 0;
    int v = -1, last = -1, rc = 0;
    test_must(cc_watch_create(w, 0) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, sends_late, w, 5) == 0);
        while ((rc = cc_watch_recv(w, &seen, &v)) == 0) {
            test_must(v > last && seen == (uint64_t)v + 1);
            last = v;
        }
        test_must(cc_nursery_wait(n) == 0);
    }
    test_must(rc == -EPIPE && last == 5);
    cc_watch_destroy(w);
}
static void gives_up(void) {
    int_watch w;
    uint64_t seen = 1;
    int v = 0, rc = 0;
    test_must(cc_watch_create(w, 0) == 0);
    CC_DEADLINE_MS(2) {
        rc = cc_watch_recv(w, &seen, &v);
    }
    test_must(rc == -ETIMEDOUT && seen == 1);
    CC_NURSERY(n) {
        cc_nursery_cancel(n);
        rc = cc_watch_recv(w, &seen, &v);
        test_must(rc == -ECANCELED && cc_watch_send(w, 5) == 0);
        rc = cc_watch_recv(w, &seen, &v); /* what can succeed at once does */
    }
    test_must(rc == 0 && v == 5 && cc_watch_send(w, 6) == 0);
    CC_DEADLINE_MS(0) {
        rc = cc_watch_recv(w, &seen, &v);
    }
    test_must(rc == 0 && v == 6);
    cc_watch_destroy(w);
}
static void who_waits_is_woken_or_gives_up(void **state) {
    (void)state;
    test_on_both(waits);
    test_on_both(gives_up);
}

static void *waits_for_ever(void *arg) {
    int_watch w = {.ch = arg};
    uint64_t seen = 1;
    int v;
    (void)cc_watch_recv(w, &seen, &v);
    return NULL;
}
static void destroys_early(void *arg) {
    (void)arg;
    int_watch w;
    test_must(cc_watch_create(w, 0) == 0);
    (void)cc_fiber_spawn_task(waits_for_ever, w.ch);
    cc_sleep_ms(50);
    cc_watch_destroy(w);
}
static void destroyed_while_somebody_waits(void **state) {
    (void)state;
    test_aborts(destroys_early, NULL, "somebody waits on");
}

/* ---- many at once ---- */

struct crowd {
    watched w;
    struct senders senders; /* a version is its number */
};

static int send_number(void *to, uint64_t number) {
    struct crowd *c = to;
    return cc_watch_send(c->w, {.number = number, .same = number});
}
static void close_it(void *to) {
    struct crowd *c = to;
    cc_watch_close(c->w);
}
struct one {
    watched w;
    uint64_t seen;
    struct config value;
};
static int recv_one(void *arg) {
    struct one *o = arg;
    return cc_watch_recv(o->w, &o->seen, &o->value);
}
static void *watches(void *arg) {
    struct crowd *c = arg;
    struct one o = {.w = c->w};
    for (;;) {
        uint64_t before = o.seen;
        int rc = actors_call(recv_one, &o);
        test_must(rc == 0 ? o.seen > before : o.seen == before);
        test_must(o.value.number == o.seen && o.value.same == o.seen);
        if (rc == -EPIPE) break;
        test_must(rc == 0 || actors_gave_up(rc));
        struct config now;
        test_must(cc_watch_get(c->w, &now) == 0 && now.number == now.same && now.number >= o.seen);
    }
    test_must(o.seen == senders_last(&c->senders));
    return NULL;
}
static void crowds(struct actors *a) {
    for (size_t round = test_rounds(20); round > 0; round--) {
        struct crowd c = {.senders = {send_number, close_it, &c, .last = 1, .each = test_rounds(300), .turns = 300}};
        assert_int_equal(cc_watch_create(c.w, {.number = 1, .same = 1}), 0);
        for (int k = 0; k < 4; k++) actors_task(a, watches, &c);
        actors_thread(a, watches, &c);
        senders_begin(&c.senders, a);
        actors_thread(a, watches, &c);
        actors_join(a);
        uint64_t last = senders_last(&c.senders), most = SENDERS * c.senders.each + 1;
        assert_true(c.senders.early ? last <= most : last == most);
        cc_watch_destroy(c.w);
    }
}
static void versions_grow_and_the_last_is_seen(void **state) {
    (void)state;
    actors_on_all(crowds);
}

/* What aborts comes first: a child process has none of the workers its parent had started. */
TEST_MAIN(cmocka_unit_test(destroyed_while_somebody_waits), cmocka_unit_test(one_after_the_other),
          cmocka_unit_test(who_waits_is_woken_or_gives_up), cmocka_unit_test(versions_grow_and_the_last_is_seen))
