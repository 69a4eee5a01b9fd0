/* SPDX-License-Identifier: MIT */
/* Goal: a value is received exactly once, by one, or nobody; each end may go first, and what is given up loses nothing.
 * Method: each case on the plain thread of the test and in a task. Then many at once on runtimes of 1, 2, 7 and 16
 * workers and plain threads: senders that send or drop, receivers that wait, time out, are cancelled; what was sent is
 * counted against what was received. Then ends that go in any order, with nobody who waits for both: for sanitizers.
 * Timeout: 120
 */
#include "actors.h"

typedef CC_ONESHOT(int) int_shot;
struct point {
    int x, y;
};
typedef CC_ONESHOT(struct point) point_shot;

/* ---- one after the other ---- */

static void values(void) {
    int_shot o;
    int v = -1;
    test_must(cc_oneshot_create(o) == 0);
    test_must(cc_oneshot_try_recv(o, &v) == -EAGAIN && v == -1);
    test_must(cc_oneshot_send(o, 7) == 0);
    test_must(cc_oneshot_send(o, 8) == -EPIPE); /* once */
    cc_oneshot_drop(o);                         /* too late: it was sent */
    test_must(cc_oneshot_recv(o, &v) == 0 && v == 7);
    test_must(cc_oneshot_recv(o, &v) == -EPIPE && cc_oneshot_try_recv(o, &v) == -EPIPE && v == 7);
    cc_oneshot_destroy(o);

    point_shot p;
    struct point got;
    test_must(cc_oneshot_create(p) == 0 && cc_oneshot_send(p, {3, 4}) == 0);
    test_must(cc_oneshot_try_recv(p, &got) == 0 && got.x == 3 && got.y == 4);
    cc_oneshot_destroy(p);
}
static void ends(void) {
    int_shot o;
    int v = -1;
    test_must(cc_oneshot_create(o) == 0);
    cc_oneshot_drop(o);
    test_must(cc_oneshot_recv(o, &v) == -EPIPE && cc_oneshot_send(o, 1) == -EPIPE && v == -1);
    cc_oneshot_destroy(o);

    test_must(cc_oneshot_create(o) == 0);
    cc_oneshot_destroy(o); /* the receiver goes first */
    test_must(cc_oneshot_send(o, 1) == -EPIPE);
    test_must(cc_oneshot_create(o) == 0);
    cc_oneshot_destroy(o);
    cc_oneshot_drop(o);

    test_must(cc_oneshot_create(o) == 0 && cc_oneshot_send(o, 1) == 0);
    cc_oneshot_destroy(o); /* nobody received it */
}
static void wrong(void) {
    int_shot o = {NULL};
    int v;
    cc_oneshot *plain = NULL;
    test_must((cc_oneshot_create)(NULL, 4) == -EINVAL);
    test_must((cc_oneshot_create)(&plain, 0) == -EINVAL && plain == NULL);
    test_must((cc_oneshot_create)(&plain, SIZE_MAX) == -EINVAL);
    test_must(cc_oneshot_send(o, 1) == -EINVAL && cc_oneshot_recv(o, &v) == -EINVAL);
    test_must(cc_oneshot_try_recv(o, &v) == -EINVAL);
    cc_oneshot_drop(o);
    cc_oneshot_destroy(o);
}
static void one_end_after_the_other(void **state) {
    (void)state;
    test_on_both(values);
    test_on_both(ends);
    test_on_both(wrong);
}

/* ---- waiting ---- */

CC_TASK(sends_late, (int_shot, o), (int, value)) {
    cc_sleep_ms(2);
    return cc_oneshot_send(o, value);
}
CC_TASK(drops_late, (int_shot, o)) {
    cc_sleep_ms(2);
    cc_oneshot_drop(o);
    return 0;
}
static void waits(void) {
    int_shot o;
    int v = -1, rc = 0;
    test_must(cc_oneshot_create(o) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, sends_late, o, 9) == 0);
        rc = cc_oneshot_recv(o, &v);
        test_must(cc_nursery_wait(n) == 0);
    }
    test_must(rc == 0 && v == 9);
    cc_oneshot_destroy(o);
    test_must(cc_oneshot_create(o) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, drops_late, o) == 0);
        rc = cc_oneshot_recv(o, &v);
    }
    test_must(rc == -EPIPE && v == 9);
    cc_oneshot_destroy(o);
}
static void gives_up(void) {
    int_shot o;
    int v = -1, rc = 0;
    test_must(cc_oneshot_create(o) == 0);
    CC_DEADLINE_MS(2) {
        rc = cc_oneshot_recv(o, &v);
    }
    test_must(rc == -ETIMEDOUT && v == -1);
    CC_NURSERY(n) {
        cc_nursery_cancel(n);
        rc = cc_oneshot_recv(o, &v);
        test_must(rc == -ECANCELED && v == -1);
        test_must(cc_oneshot_send(o, 5) == 0);
        rc = cc_oneshot_recv(o, &v); /* what can succeed at once does */
    }
    test_must(rc == 0 && v == 5);
    cc_oneshot_destroy(o);
    test_must(cc_oneshot_create(o) == 0 && cc_oneshot_send(o, 6) == 0);
    CC_DEADLINE_MS(0) {
        rc = cc_oneshot_recv(o, &v);
    }
    test_must(rc == 0 && v == 6);
    cc_oneshot_destroy(o);
}
/* A cancellation outside a shield reaches nobody inside it. */
CC_TASK(shielded, (int_shot, o)) {
    int rc = -1, v = 0;
    CC_SHIELD {
        rc = cc_oneshot_recv(o, &v);
    }
    return rc == 0 && v == 3 ? 1 : -EIO;
}
static void is_shielded(void) {
    int_shot o;
    test_must(cc_oneshot_create(o) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, shielded, o) == 0);
        cc_sleep_ms(1);
        cc_nursery_cancel(n);
        cc_sleep_ms(1);
        test_must(cc_oneshot_send(o, 3) == 0);
        test_must(cc_nursery_wait(n) == -ECANCELED); /* and not -EIO */
    }
    cc_oneshot_destroy(o);
}
static void who_waits_is_woken_or_gives_up(void **state) {
    (void)state;
    test_on_both(waits);
    test_on_both(gives_up);
    test_on_both(is_shielded);
}

CC_TASK(receives, (int_shot, o), (_Atomic int *, got), (_Atomic int *, closed)) {
    int v = 0, rc = cc_oneshot_recv(o, &v);
    test_must(rc == 0 ? v == 11 : rc == -EPIPE);
    cc__add_relaxed(rc == 0 ? got : closed, 1);
    return 0;
}
static void one_of_several_gets_it(void **state) {
    (void)state;
    for (int dropped = 0; dropped < 2; dropped++) {
        int_shot o;
        _Atomic int got = 0, closed = 0;
        assert_int_equal(cc_oneshot_create(o), 0);
        CC_NURSERY(n) {
            for (int i = 0; i < 10; i++) assert_int_equal(cc_spawn(n, receives, o, &got, &closed), 0);
            cc_sleep_ms(2);
            if (dropped)
                cc_oneshot_drop(o);
            else
                assert_int_equal(cc_oneshot_send(o, 11), 0);
        }
        assert_int_equal(cc__load_relaxed(&got), !dropped);
        assert_int_equal(cc__load_relaxed(&closed), 9 + dropped);
        cc_oneshot_destroy(o);
    }
}

static void *waits_for_ever(void *arg) {
    int v;
    int_shot o = {.ch = arg};
    (void)cc_oneshot_recv(o, &v);
    return NULL;
}
static void destroys_early(void *arg) {
    (void)arg;
    int_shot o;
    test_must(cc_oneshot_create(o) == 0);
    (void)cc_fiber_spawn_task(waits_for_ever, o.ch);
    cc_sleep_ms(50);
    cc_oneshot_destroy(o);
}
static void destroyed_while_somebody_waits(void **state) {
    (void)state;
    test_aborts(destroys_early, NULL, "somebody waits on");
}

/* ---- many at once ---- */

enum { SHOTS = 100 };
struct many {
    int_shot shot[SHOTS];
    _Atomic int received[SHOTS], sent[SHOTS], dropped[SHOTS];
};

/* Several try each; the first sends or drops. */
static void *all_send(void *arg) {
    struct many *m = arg;
    for (int i = 0; i < SHOTS; i++) {
        if (test_random() % 4 == 0) {
            cc_oneshot_drop(m->shot[i]);
            cc__store_relaxed(&m->dropped[i], 1);
        } else if (cc_oneshot_send(m->shot[i], i + 1000) == 0) {
            cc__add_relaxed(&m->sent[i], 1);
        }
        test_jitter();
    }
    return NULL;
}
struct one {
    int_shot shot;
    int value;
};
static int recv_one(void *arg) {
    struct one *o = arg;
    return cc_oneshot_recv(o->shot, &o->value);
}
static void *all_receive(void *arg) {
    struct many *m = arg;
    for (int i = 0; i < SHOTS; i++) {
        struct one o = {m->shot[i], -1};
        int rc;
        do rc = actors_call(recv_one, &o);
        while (actors_gave_up(rc) && test_random() % 2 == 0);
        if (rc == 0) {
            test_must(o.value == i + 1000);
            cc__add_relaxed(&m->received[i], 1);
        } else {
            test_must(o.value == -1 && (rc == -EPIPE || actors_gave_up(rc)));
        }
    }
    return NULL;
}
static void many_at_once(struct actors *a) {
    for (size_t round = test_rounds(300); round > 0; round--) {
        static struct many m;
        memset(&m, 0, sizeof m);
        for (int k = 0; k < SHOTS; k++) assert_int_equal(cc_oneshot_create(m.shot[k]), 0);
        for (int k = 0; k < 3; k++) actors_task(a, all_receive, &m);
        actors_thread(a, all_receive, &m);
        actors_task(a, all_send, &m);
        actors_thread(a, all_send, &m);
        actors_join(a);
        for (int k = 0; k < SHOTS; k++) {
            int v = 0, left = cc_oneshot_try_recv(m.shot[k], &v) == 0; /* all who came had given up */
            assert_true(!left || v == k + 1000);
            int sent = cc__load_relaxed(&m.sent[k]), received = cc__load_relaxed(&m.received[k]);
            assert_true(sent <= 1 && received + left == sent);
            assert_true(sent == 1 || cc__load_relaxed(&m.dropped[k]) == 1);
            cc_oneshot_destroy(m.shot[k]);
        }
    }
}
static void each_is_received_once(void **state) {
    (void)state;
    actors_on_all(many_at_once);
}

/* A question each: who answers does not know whether anybody still listens. */
static void *answers(void *arg) {
    int_shot o = {.ch = arg};
    test_jitter();
    if (test_random() % 4 == 0)
        cc_oneshot_drop(o);
    else
        (void)cc_oneshot_send(o, 77);
    return NULL;
}
static void *asks(void *arg) {
    for (size_t i = test_rounds(10000); i > 0; i--) {
        struct one o = {.value = -1};
        test_must(cc_oneshot_create(o.shot) == 0);
        cc_task t;
        test_must(cc_task_spawn(&t, NULL, answers, o.shot.ch) == 0 && cc_task_detach(t) == 0);
        int rc = actors_call(recv_one, &o);
        test_must(rc == 0 ? o.value == 77 : rc == -EPIPE || actors_gave_up(rc));
        cc_oneshot_destroy(o.shot);
    }
    return arg;
}
static void all_ask(struct actors *a) {
    for (int k = 0; k < 3; k++) actors_task(a, asks, NULL);
    actors_thread(a, asks, NULL);
}
static void ends_go_in_any_order(void **state) {
    (void)state;
    actors_on_all(all_ask);
}

/* What aborts comes first: a child process has none of the workers its parent had started. */
TEST_MAIN(cmocka_unit_test(destroyed_while_somebody_waits), cmocka_unit_test(one_end_after_the_other),
          cmocka_unit_test(who_waits_is_woken_or_gives_up), cmocka_unit_test(one_of_several_gets_it),
          cmocka_unit_test(each_is_received_once), cmocka_unit_test(ends_go_in_any_order))
