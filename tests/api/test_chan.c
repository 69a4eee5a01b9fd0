/* SPDX-License-Identifier: MIT */
/* Goal: channels do what chan.h says: capacities and element sizes of all kinds, closing, policies, bad input.
 * Method: one property a test, in one thread where that is enough, else in tasks of runtimes of several sizes.
 */
#include "runtimes.h"

#include <string.h>

typedef CC_CHAN(int) int_chan;
typedef struct {
    char bytes[37];
} odd;
typedef CC_CHAN(odd) odd_chan;

static void fills_and_drains(void **state) {
    (void)state;
    static const size_t capacities[] = {1, 2, 3, 5, 8, 1000, 65537};
    for (size_t k = 0; k < TEST_COUNT_OF(capacities); k++) {
        int_chan c;
        int v = 0, n = (int)capacities[k];
        assert_int_equal(cc_chan_create(c, capacities[k]), 0);
        assert_int_equal(cc_chan_cap(c), capacities[k]);
        assert_int_equal(cc_try_recv(c, &v), -EAGAIN);
        for (int lap = 0; lap < 3; lap++) {
            for (int i = 0; i < n; i++) assert_int_equal(cc_send(c, i + lap), 0);
            assert_int_equal(cc_chan_len(c), capacities[k]);
            assert_int_equal(cc_try_send(c, 1), -EAGAIN);
            for (int i = 0; i < n; i++) {
                assert_int_equal(cc_recv(c, &v), 0);
                assert_int_equal(v, i + lap);
            }
            assert_int_equal(cc_try_recv(c, &v), -EAGAIN);
            assert_int_equal(cc_chan_len(c), 0);
        }
        cc_chan_destroy(c);
    }
}

static void elements_of_any_size(void **state) {
    (void)state;
    odd_chan c;
    odd a, b;
    memset(&a, 7, sizeof a);
    assert_int_equal(cc_chan_create(c, 3), 0);
    for (int i = 0; i < 10; i++) {
        a.bytes[i] = (char)i;
        assert_int_equal(cc_send(c, a), 0);
        assert_int_equal(cc_recv(c, &b), 0);
        assert_memory_equal(&a, &b, sizeof a);
    }
    cc_chan_destroy(c);
}

static void closes(void **state) {
    (void)state;
    int_chan c;
    int v = 5;
    assert_int_equal(cc_chan_create(c, 4), 0);
    cc_send(c, 1);
    cc_send(c, 2);
    assert_int_equal(cc_chan_is_closed(c), 0);
    cc_chan_close(c);
    cc_chan_close(c);
    assert_int_equal(cc_chan_is_closed(c), 1);
    assert_int_equal(cc_send(c, 3), -EPIPE);
    assert_int_equal(cc_try_send(c, 3), -EPIPE);
    assert_int_equal(cc_recv(c, &v), 0);
    assert_int_equal(v, 1);
    assert_int_equal(cc_try_recv(c, &v), 0);
    assert_int_equal(v, 2);
    assert_int_equal(cc_recv(c, &v), -EPIPE);
    assert_int_equal(cc_try_recv(c, &v), -EPIPE);
    assert_int_equal(v, 2);
    cc_chan_destroy(c);
}

/* Lesson 61: which side sees which code, whoever closed it and how, in calls that come later and in those that wait. */
enum how { CLOSE, CLOSE_ERROR, CLOSE_RECV };

static void close_by(int_chan c, enum how how) {
    if (how == CLOSE) cc_chan_close(c);
    if (how == CLOSE_ERROR) cc_chan_close_error(c, -EIO);
    if (how == CLOSE_RECV) cc_chan_close_recv(c, -ENOSPC);
}

CC_TASK(waits_to_send, (int_chan, c), (int *, rc)) {
    *rc = cc_send(c, 9);
    return 0;
}
CC_TASK(waits_to_recv, (int_chan, c), (int *, rc)) {
    int v = 77;
    *rc = cc_recv(c, &v);
    test_must(*rc == 0 || v == 77);
    return 0;
}

static void *close_table(void *arg) {
    static const int sends[] = {[CLOSE] = -EPIPE, [CLOSE_ERROR] = -EPIPE, [CLOSE_RECV] = -ENOSPC};
    static const int recvs[] = {[CLOSE] = -EPIPE, [CLOSE_ERROR] = -EIO, [CLOSE_RECV] = -EPIPE};
    for (enum how how = CLOSE; how <= CLOSE_RECV; how++) {
        for (size_t capacity = 0; capacity < 3; capacity++) {
            int_chan full, empty;
            int sent = 1, received = 1, v;
            test_must(cc_chan_create(full, capacity) == 0 && cc_chan_create(empty, capacity) == 0);
            for (size_t i = 0; i < capacity; i++) test_must(cc_send(full, (int)i) == 0);
            CC_NURSERY(n) {
                cc_spawn(n, waits_to_send, full, &sent);
                cc_spawn(n, waits_to_recv, empty, &received);
                cc_sleep_ms(2);
                close_by(full, how);
                close_by(empty, how);
            }
            test_must(sent == sends[how] && received == recvs[how]);
            test_must(cc_send(empty, 1) == sends[how]);
            for (size_t i = 0; i < capacity; i++) test_must(cc_recv(full, &v) == 0 && v == (int)i);
            test_must(cc_recv(full, &v) == recvs[how]);
            close_by(full, CLOSE); /* the first counts */
            test_must(cc_recv(full, &v) == recvs[how]);
            cc_chan_destroy(full);
            cc_chan_destroy(empty);
        }
    }
    return arg;
}
static void lesson_61_codes_of_a_close(void **state) {
    (void)state;
    test_on_all(close_table);
}

static void overflow_policies(void **state) {
    (void)state;
    int_chan c;
    int v;
    assert_int_equal(cc_chan_create_with(c, &((cc_chan_attr){.capacity = 3, .overflow = CC_OVERFLOW_DROP_NEWEST})), 0);
    for (int i = 0; i < 5; i++) assert_int_equal(cc_send(c, i), 0);
    assert_int_equal(cc_chan_dropped(c), 2);
    for (int i = 0; i < 3; i++) assert_true(cc_recv(c, &v) == 0 && v == i);
    cc_chan_destroy(c);
    assert_int_equal(cc_chan_create_with(c, &((cc_chan_attr){.capacity = 3, .overflow = CC_OVERFLOW_DROP_OLDEST})), 0);
    for (int i = 0; i < 5; i++) assert_int_equal(cc_try_send(c, i), 0);
    assert_int_equal(cc_chan_dropped(c), 2);
    for (int i = 2; i < 5; i++) assert_true(cc_recv(c, &v) == 0 && v == i);
    cc_chan_destroy(c);
}

static void unbounded(void **state) {
    (void)state;
    int_chan c;
    int v;
    assert_int_equal(cc_chan_create_with(c, &((cc_chan_attr){.unbounded = 1, .name = "log"})), 0);
    assert_true(cc_chan_cap(c) == SIZE_MAX);
    for (int lap = 0; lap < 3; lap++) {
        for (int i = 0; i < 10000; i++) {
            assert_int_equal(cc_send(c, i), 0);
            if (i % 3 == 0) assert_true(cc_recv(c, &v) == 0 && v == i / 3);
        }
        assert_int_equal(cc_chan_len(c), 6666);
        for (int i = 3334; i < 10000; i++) assert_true(cc_recv(c, &v) == 0 && v == i);
        assert_int_equal(cc_try_recv(c, &v), -EAGAIN);
    }
    cc_chan_close(c);
    assert_int_equal(cc_recv(c, &v), -EPIPE);
    cc_chan_destroy(c);
}

static void bad_input(void **state) {
    (void)state;
    cc_chan *c = (cc_chan *)&c;
    int v;
    assert_int_equal(cc_channel_create(&c, 0, 1), -EINVAL);
    assert_null(c);
    assert_int_equal(cc_channel_create(NULL, 4, 1), -EINVAL);
    assert_int_equal(cc_channel_create(&c, 8, SIZE_MAX), -EINVAL);
    assert_int_equal(cc_channel_create(&c, SIZE_MAX, 2), -EINVAL);
    if (!TEST_ASAN && !TEST_TSAN) /* which end the program rather than return NULL */
        assert_int_equal(cc_channel_create(&c, 1 << 20, (size_t)1 << 40), -ENOMEM);
    assert_null(c);
    assert_int_equal(cc_channel_create_with(&c, 4, &(cc_chan_attr){.overflow = 3, .capacity = 1}), -EINVAL);
    assert_int_equal(cc_channel_create_with(&c, 4, &(cc_chan_attr){.overflow = CC_OVERFLOW_DROP_OLDEST}), -EINVAL);
    assert_int_equal(cc_channel_create_with(&c, 4, NULL), 0);
    assert_int_equal(cc_channel_send(c, NULL), -EINVAL);
    assert_int_equal(cc_channel_recv(c, NULL), -EINVAL);
    assert_int_equal(cc_channel_try_send(c, NULL), -EINVAL);
    assert_int_equal(cc_channel_try_recv(c, NULL), -EINVAL);
    assert_int_equal(cc_select_cases(&(cc_case){.op = CC_OP_RECV, .chan = c}, 1, CC_SELECT_FAIR), -EINVAL);
    cc_channel_destroy(c);
    assert_int_equal(cc_channel_send(NULL, &v), -EINVAL);
    assert_int_equal(cc_channel_recv(NULL, &v), -EINVAL);
    assert_int_equal(cc_channel_try_send(NULL, &v), -EINVAL);
    assert_int_equal(cc_channel_try_recv(NULL, &v), -EINVAL);
    cc_channel_close(NULL);
    cc_channel_destroy(NULL);
    assert_string_equal(cc_chan_notify_name(CC_CHAN_NOTIFY_CLOSE), "CLOSE");
    assert_string_equal(cc_chan_notify_name(99), "?");
}

/* Below the macros are functions, for other languages. */
static void plain_functions(void **state) {
    (void)state;
    cc_chan *c;
    int v = 1, sum = 0, rc = 0;
    assert_int_equal(cc_channel_create(&c, sizeof v, 2), 0);
    assert_int_equal(cc_channel_send(c, &v), 0);
    assert_int_equal(cc_channel_len(c), 1);
    assert_int_equal(cc_channel_cap(c), 2);
    assert_int_equal(cc_channel_dropped(c), 0);
    assert_int_equal(cc_channel_is_closed(c), 0);
    cc_channel_close_error(c, -EIO);
    cc_channel_close_recv(c, -EIO);
    int_chan typed = {c};
    CC_EACH(int, x, typed, rc) sum += x;
    assert_true(sum == 1 && rc == -EIO);
    cc_channel_destroy(c);
}

/* Codes that mean something else here, too: nobody is left waiting, nor a case that was made for a close. */
static void *closed_with(void *arg) {
    static const int codes[] = {-EAGAIN, -ENOMEM, -EDEADLK, -ECANCELED, 0, 5};
    for (size_t i = 0; i < TEST_COUNT_OF(codes); i++) {
        int_chan c, other;
        int code = codes[i] < 0 && codes[i] != -EAGAIN ? codes[i] : -EPIPE, rc = 1, v;
        test_must(cc_chan_create(c, i % 2) == 0 && cc_chan_create(other, 1) == 0);
        CC_NURSERY(n) {
            cc_spawn(n, waits_to_recv, c, &rc);
            cc_sleep_ms(1);
            cc_chan_close_error(c, codes[i]);
        }
        test_must(rc == code && cc_recv(c, &v) == code && cc_try_recv(c, &v) == code);
        test_must(cc_select(CC_RECV(other, &v), CC_RECV(c, &v)) == code);
        test_must(cc_select(CC_RECV(other, &v), CC_RECV(c, &v), CC_CLOSED(c)) == 2);
        cc_chan_destroy(other);
        cc_chan_destroy(c);
    }
    return arg;
}
static void closed_with_codes_of_our_own(void **state) {
    (void)state;
    test_on_all(closed_with);
}

static void use_destroyed(void *arg) {
    int_chan c;
    (void)arg;
    if (cc_chan_create_with(c, &((cc_chan_attr){.capacity = 1, .name = "orders"})) != 0) return;
    cc_chan_destroy(c);
    cc_send(c, 1);
}
static void destroyed_is_named(void **state) {
    (void)state;
    if (CCRT_ASSERT >= 1) test_aborts(use_destroyed, NULL, "channel \"orders\" was destroyed and is used");
}

/* Cancellation and deadlines reach who waits, and a call that can succeed at once does. */
static void *scopes(void *arg) {
    int_chan c;
    int rc = 1, v = 0;
    test_must(cc_chan_create(c, 1) == 0);
    CC_DEADLINE_MS(5) test_must(cc_recv(c, &v) == -ETIMEDOUT);
    CC_DEADLINE_MS(0) test_must(cc_send(c, 4) == 0);
    CC_DEADLINE_MS(5) test_must(cc_send(c, 5) == -ETIMEDOUT);
    CC_DEADLINE_MS(0) test_must(cc_recv(c, &v) == 0 && v == 4);
    CC_NURSERY(n) {
        cc_spawn(n, waits_to_recv, c, &rc);
        cc_sleep_ms(2);
        cc_nursery_cancel(n);
    }
    test_must(rc == -ECANCELED);
    test_must(cc_send(c, 6) == 0 && cc_chan_len(c) == 1); /* nobody is left on its lists */
    cc_chan_destroy(c);
    return arg;
}
static void cancelled_and_late(void **state) {
    (void)state;
    test_on_all(scopes);
    assert_null(scopes(NULL)); /* a plain thread */
}

TEST_MAIN(cmocka_unit_test(fills_and_drains), cmocka_unit_test(elements_of_any_size), cmocka_unit_test(closes),
          cmocka_unit_test(lesson_61_codes_of_a_close), cmocka_unit_test(overflow_policies),
          cmocka_unit_test(unbounded), cmocka_unit_test(bad_input), cmocka_unit_test(plain_functions),
          cmocka_unit_test(closed_with_codes_of_our_own), cmocka_unit_test(destroyed_is_named),
          cmocka_unit_test(cancelled_and_late))
