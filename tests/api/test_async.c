/* SPDX-License-Identifier: MIT */
/* Goal: typed functions give their results, in whatever order they are asked for (lessons 8, 20).
 * Method: 0 to 8 parameters, structs, several who await one result, and results of spawns that failed.
 */
#include "test.h"

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

TEST_MAIN(cmocka_unit_test(results_in_any_order), cmocka_unit_test(many_await_one),
          cmocka_unit_test(a_spawn_that_failed_is_a_result))
