/* SPDX-License-Identifier: MIT */
/* Goal: select does what select.h says, in both forms, from tasks and threads.
 * Method: one property a test.
 */
#include "runtimes.h"

typedef CC_CHAN(int) int_chan;

static void *ready_cases(void *arg) {
    int_chan a, b, none = {NULL};
    int v = 0, seen[2] = {0, 0};
    test_must(cc_chan_create(a, 4) == 0 && cc_chan_create(b, 4) == 0);
    test_must(cc_select(CC_RECV(a, &v), CC_DEFAULT) == 1);
    test_must(cc_select(CC_RECV(none, &v), CC_SEND(none, 1), CC_CLOSED(none), CC_AFTER_MS(1)) == 3);
    test_must(cc_select(CC_RECV(a, &v), CC_SEND(b, 8)) == 1);
    test_must(cc_select(CC_RECV(a, &v), CC_RECV(b, &v)) == 1 && v == 8);
    for (int i = 0; i < 1000; i++) { /* both can happen: each does */
        test_must(cc_send(a, 1) == 0 && cc_send(b, 2) == 0);
        int which = cc_select(CC_RECV(a, &v), CC_RECV(b, &v));
        test_must(which >= 0 && v == which + 1);
        seen[which]++;
        test_must(cc_select_ordered(CC_RECV(a, &v), CC_RECV(b, &v)) == 1 - which);
    }
    test_must(seen[0] > 250 && seen[1] > 250);
    test_must(cc_send(a, 1) == 0 && cc_send(b, 2) == 0);
    test_must(cc_select_ordered(CC_RECV(b, &v), CC_RECV(a, &v)) == 0 && v == 2);
    cc_chan_close(a);
    test_must(cc_select_ordered(CC_RECV(b, &v), CC_RECV(a, &v)) == 1 && v == 1); /* what is in it comes first */
    test_must(cc_select(CC_RECV(b, &v), CC_RECV(a, &v)) == -EPIPE);
    test_must(cc_select(CC_RECV(b, &v), CC_RECV(a, &v), CC_CLOSED(a)) == 2);
    test_must(cc_select(CC_RECV(b, &v), CC_SEND(a, 3)) == -EPIPE);
    cc_chan_destroy(a);
    cc_chan_destroy(b);
    return arg;
}
static void cases_that_can_happen(void **state) {
    (void)state;
    test_on_all(ready_cases);
    assert_null(ready_cases(NULL));
}

static void nothing_to_select(void **state) {
    (void)state;
    cc_case unknown = {.op = 77};
    assert_int_equal(cc_select_cases(NULL, 0, CC_SELECT_FAIR), -EINVAL);
    assert_int_equal(cc_select_cases(&unknown, 0, CC_SELECT_FAIR), -EINVAL);
    assert_int_equal(cc_select_cases(&unknown, 1, CC_SELECT_FAIR), -EINVAL);
    assert_int_equal(cc_select(CC_AFTER_MS(-5)), 0);
    assert_int_equal(cc_select(CC_AFTER_MS(INT64_MAX), CC_AFTER_MS(INT64_MIN)), 1);
    CC_DEADLINE_MS(1) assert_int_equal(cc_select(CC_AFTER_MS(INT64_MAX)), -ETIMEDOUT);
    assert_int_equal(cc_select(CC_AFTER_MS(50), CC_AFTER_MS(1)), 1);
}

CC_TASK(sends, (int_chan, c), (int, v)) {
    cc_sleep_ms(2);
    return cc_send(c, v);
}
CC_TASK(receives, (int_chan, c), (int *, v)) {
    cc_sleep_ms(2);
    return cc_recv(c, v);
}
CC_TASK(closes, (int_chan, c)) {
    cc_sleep_ms(2);
    cc_chan_close(c);
    return 0;
}
static void *just_ends(void *arg) {
    cc_sleep_ms(2);
    return arg;
}

static void *waiting_cases(void *arg) {
    int_chan a, b;
    int v = 0, got = 0, rc = 0;
    test_must(cc_chan_create(a, 0) == 0 && cc_chan_create(b, 0) == 0);
    CC_NURSERY(n) {
        cc_spawn(n, sends, b, 5);
        test_must(cc_select(CC_RECV(a, &v), CC_RECV(b, &v), CC_AFTER_MS(10000)) == 1 && v == 5);
        cc_spawn(n, receives, a, &got);
        test_must(cc_select(CC_RECV(b, &v), CC_SEND(a, 6)) == 1);
    }
    test_must(got == 6);
    cc_task t = cc_fiber_spawn_task(just_ends, NULL);
    test_must(cc_select(CC_RECV(a, &v), CC_DONE(t)) == 1);
    test_must(cc_select(CC_RECV(a, &v), CC_DONE(t)) == 1);
    test_must(cc_task_join(t, NULL) == 0);
    test_must(cc_select(CC_RECV(a, &v), CC_DONE(t)) == 1); /* stale: it has ended */
    CC_NURSERY(n) {
        cc_spawn(n, closes, b);
        test_must(cc_select(CC_RECV(a, &v), CC_CLOSED(b)) == 1);
        test_must(cc_select(CC_RECV(a, &v), CC_AFTER_MS(2)) == 1);
        cc_spawn(n, closes, a);
        CC_SELECT {
            CC_ON_RECV(a, &v) {
                test_must(0);
            }
            CC_ON_ERROR(rc) {
                test_must(rc == -EPIPE);
            }
        }
        test_must(rc == -EPIPE);
    }
    CC_DEADLINE_MS(2) test_must(cc_select(CC_AFTER_MS(100000)) == -ETIMEDOUT);
    cc_chan_destroy(a);
    cc_chan_destroy(b);
    return arg;
}
static void cases_that_wait(void **state) {
    (void)state;
    test_on_all(waiting_cases);
    assert_null(waiting_cases(NULL));
}

/* A closed channel with values in it ends, for who waits for that, when the last was taken. */
CC_TASK(drains, (int_chan, c)) {
    int v;
    cc_sleep_ms(2);
    while (cc_recv(c, &v) == 0) {
    }
    return 0;
}
static void *drained(void *arg) {
    int_chan c;
    test_must(cc_chan_create(c, 4) == 0);
    for (int i = 0; i < 3; i++) cc_send(c, i);
    cc_chan_close(c);
    CC_NURSERY(n) {
        cc_spawn(n, drains, c);
        test_must(cc_select(CC_CLOSED(c), CC_DEFAULT) == 1);
        test_must(cc_select(CC_CLOSED(c)) == 0);
        test_must(cc_chan_len(c) == 0);
    }
    cc_chan_destroy(c);
    return arg;
}
static void closed_means_drained(void **state) {
    (void)state;
    test_on_all(drained);
}

/* More cases than a frame has room for; and the same channel in several, in both directions. */
enum { MANY = 100 };

static void many_in_a_list(int_chan *c) {
    cc_case cases[MANY + 3];
    int v = 0;
    for (int i = 0; i < MANY; i++) cases[i] = CC_RECV(c[i], &v);
    cases[MANY] = CC_RECV(c[3], &v);
    cases[MANY + 1] = (cc_case){.op = CC_OP_SEND, .chan = c[2].ch, .elem = &v};
    cases[MANY + 2] = CC_AFTER_MS(5);
    test_must(cc_select_cases(cases, MANY + 3, CC_SELECT_FAIR) == MANY + 2); /* it does not meet itself */
    CC_NURSERY(n) {
        cc_spawn(n, sends, c[60], 1234);
        test_must(cc_select_cases(cases, MANY, CC_SELECT_FAIR) == 60 && v == 1234);
    }
}

#define FOUR(i)                                                                                                        \
    CC_ON_RECV(c[i], &v) {                                                                                             \
        test_must(0);                                                                                                  \
    }                                                                                                                  \
    CC_ON_RECV(c[i + 1], &v) {                                                                                         \
        test_must(0);                                                                                                  \
    }                                                                                                                  \
    CC_ON_RECV(c[i + 2], &v) {                                                                                         \
        test_must(0);                                                                                                  \
    }                                                                                                                  \
    CC_ON_RECV(c[i + 3], &v) {                                                                                         \
        test_must(0);                                                                                                  \
    }

static void many_in_a_block(int_chan *c) {
    int v = 0, hit = 0;
    CC_NURSERY(n) {
        cc_spawn(n, sends, c[60], 7);
        CC_SELECT {
            FOUR(0) FOUR(4) FOUR(8) FOUR(12) FOUR(16) FOUR(20) FOUR(24) FOUR(28) FOUR(32) CC_ON_RECV(c[60], &v) {
                hit++;
                break;
            }
        }
    }
    test_must(hit == 1 && v == 7);
}

static void *many_cases(void *arg) {
    int_chan c[MANY];
    for (int i = 0; i < MANY; i++) test_must(cc_chan_create(c[i], (size_t)(i % 2)) == 0);
    many_in_a_list(c);
    many_in_a_block(c);
    for (int i = 0; i < MANY; i++) cc_chan_destroy(c[i]);
    return arg;
}
static void any_number_of_cases(void **state) {
    (void)state;
    test_on_all(many_cases);
}

/* All kinds of cases, as a block. */
static void *block_cases(void *arg) {
    int_chan a;
    int v = 3, hits = 0;
    cc_task t = cc_fiber_spawn_task(just_ends, NULL);
    test_must(cc_chan_create(a, 1) == 0);
    CC_SELECT_ORDERED {
        CC_ON_RECV(a, &v) {
            test_must(0);
        }
        CC_ON_SEND(a, &v) {
            hits++;
        }
        CC_ON_DEFAULT {
            test_must(0);
        }
    }
    CC_SELECT {
        CC_ON_SEND(a, &v) {
            test_must(0);
        }
        CC_ON_AFTER_MS(1) {
            hits++;
        }
    }
    CC_SELECT {
        CC_ON_SEND(a, &v) {
            test_must(0);
        }
        CC_ON_DONE(t) {
            hits++;
        }
    }
    cc_chan_close(a);
    CC_EACH(int, x, a) test_must(x == 3 && hits++ == 3);
    CC_SELECT {
        CC_ON_RECV(a, &v) {
            test_must(0);
        }
        CC_ON_CLOSED(a) {
            hits++;
        }
    }
    test_must(hits == 5 && cc_task_join(t, NULL) == 0);
    cc_chan_destroy(a);
    return arg;
}
static void as_a_block(void **state) {
    (void)state;
    test_on_all(block_cases);
}

TEST_MAIN(cmocka_unit_test(cases_that_can_happen), cmocka_unit_test(nothing_to_select),
          cmocka_unit_test(cases_that_wait), cmocka_unit_test(closed_means_drained),
          cmocka_unit_test(any_number_of_cases), cmocka_unit_test(as_a_block))
