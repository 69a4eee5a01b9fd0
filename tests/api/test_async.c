/* SPDX-License-Identifier: MIT */
/* Goal: typed functions give their results, in whatever order they are asked for (lessons 8, 20).
 * Method: 0 to 8 parameters, structs, several who await one result, and results of spawns that failed.
 */
#include "test.h"

#include "base/atomic.h"

#include <ccrt.h>

typedef struct point {
    double x, y, z, u, v, w;
} point;

CC_ASYNC(int, none) {
    return 42;
}
CC_ASYNC(long, square, (int, x)) {
    cc_sleep_ms(x % 3);
    return (long)x * x;
}
CC_ASYNC(int, eight, (int, a), (int, b), (int, c), (int, d), (int, e), (int, f), (int, g), (int, h)) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
CC_ASYNC(point, moved, (point, p), (double, by)) {
    p.x += by;
    p.w += by;
    return p;
}

static void results_in_any_order(void **state) {
    (void)state;
    CC_RESULT(long) f[20];
    CC_RESULT(int) g;
    CC_RESULT(int) h;
    CC_RESULT(point) p;
    CC_NURSERY(n) {
        for (int i = 0; i < 20; i++) assert_int_equal(cc_async(n, f[i], square, i), 0);
        cc_async(n, g, none);
        cc_async(n, h, eight, 1, 2, 3, 4, 5, 6, 7, 8);
        cc_async(n, p, moved, ((point){1, 2, 3, 4, 5, 6}), 10.0);
        for (int i = 19; i >= 0; i--) assert_int_equal(cc_await(f[i]), (long)i * i);
        assert_int_equal(cc_await(f[3]), 9); /* again */
        assert_int_equal(cc_await(g), 42);
        assert_int_equal(cc_await(h), 204);
        point q = cc_await(p);
        assert_true(q.x == 11 && q.y == 2 && q.w == 16);
        assert_int_equal(cc_result_status(p), 0);
    }
    assert_int_equal(square(5), 25); /* an ordinary function, too */
}

typedef CC_RESULT(long) shared_result;

CC_TASK(awaits, (shared_result *, f)) {
    return cc_await(*f) == 49 ? 0 : -EIO;
}

static void many_await_one(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(100) + 1; i++) {
        shared_result f;
        int rc = 1;
        CC_NURSERY(n) {
            cc_async(n, f, square, 7);
            for (int k = 0; k < 10; k++) cc_spawn(n, awaits, &f);
            rc = cc_nursery_wait(n);
        }
        assert_int_equal(rc, 0);
    }
}

/* A result may be used again as soon as it was awaited, while the child that gave it is still ending. */
static void a_result_is_used_again(void **state) {
    (void)state;
    CC_RESULT(int) f;
    long sum = 0;
    CC_NURSERY(n) {
        for (size_t i = 0; i < test_scaled(5000) + 1; i++) {
            assert_int_equal(cc_async(n, f, none), 0);
            for (size_t k = 0; k < i % 4; k++) cc_yield();
            sum += cc_await(f) - 42 + cc_result_status(f);
        }
    }
    assert_int_equal(sum, 0);
}

static void a_spawn_that_failed_is_a_result(void **state) {
    (void)state;
    CC_RESULT(long) f;
    CC_NURSERY(n) {
        cc_nursery_cancel(n);
        assert_int_equal(cc_async(n, f, square, 7), -ECANCELED);
        assert_int_equal(cc_await(f), 0);
        assert_int_equal(cc_result_status(f), -ECANCELED);
    }
}

/* Awaited until cancelled or out of time; the result comes later all the same. */
CC_ASYNC(long, when_told, (_Atomic int *, go)) {
    CC_SHIELD {
        while (cc__load_acquire(go) == 0) cc_sleep_ms(1);
    }
    return 49;
}
CC_TASK(awaits_a_while, (shared_result *, f), (_Atomic int *, begun), (_Atomic int *, cancelled)) {
    long value = 1;
    cc__add_acq_rel(begun, 1);
    int rc = cc_await_cancellable(*f, &value);
    if (rc == -ECANCELED && value == 1) cc__add_acq_rel(cancelled, 1);
    return rc == 0 && value != 49 ? -EIO : rc;
}
static void awaiting_can_be_cancelled(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(50) + 1; i++) {
        shared_result f;
        _Atomic int go = 0, begun = 0, cancelled = 0;
        long value = 0;
        CC_NURSERY(n) {
            cc_async(n, f, when_told, &go);
            CC_DEADLINE_MS(1) {
                assert_int_equal(cc_await_cancellable(f, &value), -ETIMEDOUT);
                assert_int_equal(cc_await_cancellable(f, &value), -ETIMEDOUT);
            }
            CC_NURSERY(waiters) {
                for (int k = 0; k < 5; k++) cc_spawn(waiters, awaits_a_while, &f, &begun, &cancelled);
                while (cc__load_acquire(&begun) < 5) cc_yield();
                cc_nursery_cancel(waiters);
            }
            assert_int_equal(cc__load_relaxed(&cancelled), 5);
            assert_int_equal(value, 0);
            cc__store_release(&go, 1);
            assert_int_equal(cc_await_cancellable(f, &value), 0);
            CC_DEADLINE_MS(0) {
                assert_int_equal(cc_await_cancellable(f, &value), 0); /* what is there is given */
            }
        }
        assert_int_equal(value, 49);
    }
}

/* The result comes while those who wait for it are cancelled: each gets one of the two. */
static void results_and_cancellation_meet(void **state) {
    (void)state;
    for (size_t i = 0; i < test_scaled(2000) + 1; i++) {
        shared_result f;
        _Atomic int go = 0, begun = 0, cancelled = 0;
        int rc = 1;
        CC_NURSERY(n) {
            cc_async(n, f, when_told, &go);
            CC_NURSERY(waiters) {
                for (int k = 0; k < 6; k++) cc_spawn(waiters, awaits_a_while, &f, &begun, &cancelled);
                for (int k = 0; k < 3; k++) cc_spawn(waiters, awaits, &f);
                cc__store_release(&go, 1);
                if (i % 2 == 0) cc_yield();
                if (i % 3 == 0) cc_nursery_cancel(waiters);
                rc = cc_nursery_wait(waiters);
            }
        }
        assert_true(rc == 0 || (i % 3 == 0 && rc == -ECANCELED));
    }
}

TEST_MAIN(cmocka_unit_test(results_in_any_order), cmocka_unit_test(many_await_one),
          cmocka_unit_test(a_result_is_used_again), cmocka_unit_test(a_spawn_that_failed_is_a_result),
          cmocka_unit_test(awaiting_can_be_cancelled), cmocka_unit_test(results_and_cancellation_meet))
