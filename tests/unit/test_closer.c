/* SPDX-License-Identifier: MIT */
/* Goal: a channel that a nursery's end closes: who receives there until the close, and can only be ended by it, is told
 * so (lesson 66); nobody else is.
 * Method: inside and outside of the nursery, its owner and its children, with and without capacity; then each way in
 * which one that waits could still send, or somebody for it: the value arrives.
 */
#include "runtimes.h"

#include <ccrt.h>

typedef CC_CHAN(int) int_chan;

CC_TASK(feeds, (int_chan, c), (int, count)) {
    for (int i = 0; i < count; i++) {
        int rc = cc_send(c, 1);
        if (rc != 0) return rc;
    }
    return 0;
}
CC_TASK(waits_and_feeds, (int_chan, c)) {
    cc_sleep_ms(2);
    return cc_send(c, 2);
}
/* Receives what those send that run under it: it may wait. */
CC_TASK(eats_what_it_feeds, (int_chan, c)) {
    int v;
    CC_NURSERY(inner) {
        cc_spawn(inner, waits_and_feeds, c);
        test_must(cc_recv(c, &v) == 0 && v == 2);
    }
    return 0;
}
CC_TASK(eats, (int_chan, c), (_Atomic int *, sum), (int, end)) {
    int rc = 0;
    CC_EACH(int, v, c, rc) cc__add_relaxed(sum, v);
    test_must(rc == end);
    return 0;
}

static void *closed_by_a_nursery(void *arg) {
    for (size_t capacity = 0; capacity < 3; capacity++) {
        int_chan c, other;
        _Atomic int sum = 0;
        int rc = 0;
        test_must(cc_chan_create(c, capacity) == 0 && cc_chan_create(other, capacity) == 0);
        CC_NURSERY(eaters) { /* outside of it: they are told by the close */
            for (int i = 0; i < 3; i++) cc_spawn(eaters, eats, c, &sum, -EPIPE);
            CC_NURSERY(n) {
                test_must(cc_chan_close_with(c, n) == 0 && cc_chan_close_with(c, n) == -EBUSY);
                for (int i = 0; i < 3; i++) cc_spawn(n, feeds, c, 50);
            }
            test_must(cc_send(c, 1) == -EPIPE);
        }
        test_must(cc__load_relaxed(&sum) == 150);
        CC_NURSERY(n) { /* inside: its owner, and children */
            test_must(cc_chan_close_with(other, n) == 0);
            cc_spawn(n, feeds, other, 30);
            cc_spawn(n, eats, other, &sum, -EDEADLK);
            cc_spawn(n, feeds, other, 30);
            CC_EACH(int, v, other, rc) cc__add_relaxed(&sum, v);
            test_must(rc == -EDEADLK);
            test_must(cc_recv(other, &rc) == -EDEADLK); /* and again */
        }
        test_must(cc__load_relaxed(&sum) == 210 && cc_chan_is_closed(other));
        cc_chan_destroy(other);
        test_must(cc_chan_create(other, capacity) == 0);
        CC_NURSERY(n) {
            test_must(cc_chan_close_with(other, n) == 0);
            cc_spawn(n, eats_what_it_feeds, other);
        }
        test_must(cc_chan_is_closed(other));
        cc_chan_destroy(other);
        cc_chan_destroy(c);
    }
    return arg;
}
static void lesson_66_receive_that_waits_for_itself(void **state) {
    (void)state;
    test_on_all(closed_by_a_nursery);
    assert_null(closed_by_a_nursery(NULL));
    assert_int_equal(cc_channel_close_with(NULL, NULL), -EINVAL);
}

/* ---- who could still send ---- */

CC_TASK(selects_then_sends, (int_chan, c)) {
    int v;
    test_must(cc_select(CC_RECV(c, &v), CC_AFTER_MS(5)) == 1);
    return cc_send(c, 3);
}
CC_TASK(waits_then_sends, (int_chan, c)) {
    int v;
    CC_DEADLINE_MS(5) test_must(cc_recv(c, &v) == -ETIMEDOUT);
    return cc_send(c, 3);
}
CC_TASK(selects_twice, (int_chan, c)) {
    int v = 0, rc = cc_select(CC_RECV(c, &v), CC_RECV(c, &v));
    test_must((rc == 0 || rc == 1) && v == 2);
    return 0;
}
CC_TASK(pokes, (int_chan, wake)) {
    cc_sleep_ms(5);
    return cc_send(wake, 4);
}
CC_TASK(is_poked, (int_chan, c), (int_chan, wake)) {
    int v;
    test_must(cc_select(CC_RECV(c, &v), CC_CLOSED(c), CC_RECV(wake, &v)) == 2 && v == 4);
    return 0;
}
CC_ASYNC(int, eats_one, (int_chan, c)) {
    int v = 0;
    return cc_recv(c, &v) == 0 ? v : -1;
}
CC_TASK(forks_a_receiver, (int_chan, c)) {
    CC_FORKED(eats_one, r);
    cc_fork(r, eats_one, c);
    cc_sleep_ms(5); /* it waits meanwhile, and is not counted */
    test_must(cc_send(c, 2) == 0);
    return cc_join(r, eats_one) == 2 ? 0 : -EIO;
}

static void open(int_chan *c, size_t capacity, cc_nursery *n) {
    test_must(cc_chan_create(*c, capacity) == 0 && cc_chan_close_with(*c, n) == 0);
}

static void *could_still(void *arg) {
    for (size_t capacity = 0; capacity < 2; capacity++) {
        int_chan c[6], wake;
        int v = 0;
        CC_NURSERY(n) {
            open(&c[0], capacity, n);
            cc_spawn(n, selects_then_sends, c[0]);
            test_must(cc_recv(c[0], &v) == 0 && v == 3);
        }
        CC_NURSERY(n) {
            open(&c[1], capacity, n);
            cc_spawn(n, waits_then_sends, c[1]);
            test_must(cc_recv(c[1], &v) == 0 && v == 3);
        }
        CC_NURSERY(n) {
            open(&c[2], capacity, n);
            cc_spawn(n, selects_twice, c[2]);
            cc_spawn(n, waits_and_feeds, c[2]);
        }
        test_must(cc_chan_create(wake, 0) == 0);
        CC_NURSERY(around) {
            cc_spawn(around, pokes, wake);
            CC_NURSERY(n) {
                open(&c[3], capacity, n);
                cc_spawn(n, is_poked, c[3], wake);
            }
        }
        CC_NURSERY(n) {
            open(&c[4], capacity, n);
            cc_spawn(n, forks_a_receiver, c[4]);
        }
        CC_NURSERY(n) { /* its owner has forked who sends */
            open(&c[5], capacity, n);
            CC_FORKED(waits_and_feeds, f);
            cc_fork(f, waits_and_feeds, c[5]);
            test_must(cc_recv(c[5], &v) == 0 && v == 2);
            test_must(cc_join(f, waits_and_feeds) == 0);
            test_must(cc_select(CC_RECV(c[5], &v)) == -EDEADLK); /* as a receive */
        }
        for (size_t i = 0; i < TEST_COUNT_OF(c); i++) cc_chan_destroy(c[i]);
        cc_chan_destroy(wake);
    }
    return arg;
}
static void who_could_still_send(void **state) {
    (void)state;
    test_on_all(could_still);
    assert_null(could_still(NULL)); /* a plain thread as its owner */
}

TEST_MAIN(cmocka_unit_test(lesson_66_receive_that_waits_for_itself), cmocka_unit_test(who_could_still_send))
