/* SPDX-License-Identifier: MIT */
/* Goal: forks and joins give what calls would, whoever runs the children, and keep the eight rules of fork-join, each
 * with a test of its number (lessons 13, 15, 22).
 * Method: runtimes of 1 to 16 workers. Children say by flags that they began, and wait for others; parents yield, spin
 * and wait between fork and join, join in any order, leave scopes and frames early.
 * Timeout: 240
 */
#include "runtimes.h"

#include <ccrt.h>

enum { MS = 1000000 };

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

CC_ASYNC(long, fib, (int, n)) {
    if (n < 2) return n;
    CC_FORKED(fib, left);
    cc_fork(left, fib, n - 1);
    long right = fib(n - 2);
    return cc_join(left, fib) + right;
}
CC_ASYNC(int, none) {
    return 42;
}
CC_ASYNC(int, add, (int, a), (int, b), (int, c), (int, d), (int, e), (int, f), (int, g), (int, h)) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
CC_ASYNC(int, square, (int, x)) {
    if (x % 5 == 0) cc_yield();
    return x * x;
}
CC_ASYNC(int, marks, (_Atomic int *, begun), (int, value)) {
    cc__add_acq_rel(begun, 1);
    return value;
}
CC_TASK(fails, (int, rc)) {
    return rc;
}

static void *compute(void *arg) {
    (void)arg;
    size_t n = test_rounds(22) < 22 ? 15 : 22;
    long is = 0, was = 1;
    for (size_t i = 0; i < n; i++) {
        long next = is + was;
        was = is;
        is = next;
    }
    test_must(fib((int)n) == is);
    CC_FORKED(none, a);
    CC_FORKED(add, b);
    CC_FORKED(fails, c);
    for (int i = 0; i < 3; i++) { /* records are used again */
        cc_fork(a, none);
        cc_fork(b, add, 1, 2, 3, 4, 5, 6, 7, 8);
        cc_fork(c, fails, -EIO);
        test_must(cc_join(c, fails) == -EIO);
        test_must(cc_join(b, add) == 204);
        test_must(cc_join(a, none) == 42);
    }
    return NULL;
}
static void forks_compute(void **state) {
    (void)state;
    test_on_all(compute);
}

/* ---- 1: before every switch away unstolen children become ordinary runnables ---- */

static void *leave_with_forks(void *arg) {
    (void)arg;
    for (size_t i = 0; i < test_rounds(2000); i++) {
        _Atomic int begun = 0;
        CC_FORKED(marks, a);
        CC_FORKED(marks, b);
        cc_fork(a, marks, &begun, 1);
        cc_fork(b, marks, &begun, 2);
        while (cc__load_acquire(&begun) < 2) cc_yield(); /* also where there is nobody to steal */
        test_must(cc_join(b, marks) == 2 && cc_join(a, marks) == 1);
        test_must(cc__load_acquire(&begun) == 2);
    }
    return NULL;
}
static void rule_1_forks_are_left_to_others_at_a_switch(void **state) {
    (void)state;
    test_on_all(leave_with_forks);
}

/* ---- 2: a slot is known by its place and its record ---- */

static void *use_places_again(void *arg) {
    (void)arg;
    for (size_t i = 0; i < test_rounds(2000); i++) {
        CC_FORKED(square, a);
        CC_FORKED(square, b);
        cc_fork(a, square, 3);
        if (i % 2 == 0) cc_yield(); /* a leaves its place, which b gets */
        cc_fork(b, square, 4);
        if (i % 3 == 0) cc_yield();
        if (i % 4 < 2) {
            test_must(cc_join(a, square) == 9);
            test_must(cc_join(b, square) == 16);
        } else {
            test_must(cc_join(b, square) == 16);
            test_must(cc_join(a, square) == 9);
        }
    }
    return NULL;
}
static void *many_use_places(void *workers) {
    cc_task t[8];
    for (int i = 0; i < 8; i++) test_must(cc_task_spawn(&t[i], NULL, use_places_again, NULL) == 0);
    for (int i = 0; i < 8; i++) test_must(cc_task_join(t[i], NULL) == 0);
    return workers;
}
static void rule_2_a_place_with_another_record_is_not_taken_for_it(void **state) {
    (void)state;
    test_on_all(many_use_places);
}

/* ---- 3: joins out of order ---- */

static void *any_order(void *arg) {
    (void)arg;
    enum { N = 8 };
    for (size_t i = 0; i < test_rounds(3000); i++) {
        CC_FORK_RECORD(square) r[N] = {0};
        int left[N];
        for (int k = 0; k < N; k++) {
            cc_fork(r[k], square, k);
            left[k] = k;
            if (test_random() % 16 == 0) cc_yield();
        }
        for (int n = N; n > 0; n--) {
            int pick = (int)(test_random() % (uint64_t)n), k = left[pick];
            left[pick] = left[n - 1];
            test_must(cc_join(r[k], square) == k * k);
            if (test_random() % 16 == 0) cc_yield();
        }
    }
    return NULL;
}
static void rule_3_joins_come_in_any_order(void **state) {
    (void)state;
    test_on_all(any_order);
}

/* ---- 4: a child may block anywhere ---- */

CC_ASYNC(int, sleepy_tree, (int, depth)) {
    if (depth == 0) {
        cc_sleep_ms(1);
        return 1;
    }
    CC_FORKED(sleepy_tree, a);
    CC_FORKED(sleepy_tree, b);
    cc_fork(a, sleepy_tree, depth - 1);
    cc_fork(b, sleepy_tree, depth - 1);
    int kids = cc_join(b, sleepy_tree);
    return kids + cc_join(a, sleepy_tree) + 1;
}
static void *block_in_children(void *arg) {
    test_must(sleepy_tree(10) == 2047);
    return arg;
}
static void rule_4_children_block_and_joins_park(void **state) {
    (void)state;
    test_on_all(block_in_children);
}

/* Each leaf waits for all others: they block at the same time, or for ever; so leaves that sleep take as long as one.
 * One child is called, not forked. */
CC_ASYNC(int, meeting_tree, (cc_waitgroup *, leaves), (int, depth)) {
    if (depth == 0) {
        cc_waitgroup_done(leaves);
        cc_waitgroup_wait(leaves);
        return 1;
    }
    CC_FORKED(meeting_tree, a);
    CC_FORKED(meeting_tree, b);
    cc_fork(a, meeting_tree, leaves, depth - 1);
    cc_fork(b, meeting_tree, leaves, depth - 1);
    int kids = meeting_tree(leaves, depth - 1) + cc_join(b, meeting_tree);
    return kids + cc_join(a, meeting_tree);
}
static void *meet(void *arg) {
    (void)arg;
    for (int depth = 1; depth <= 6; depth++) {
        int leaves = 1;
        for (int i = 0; i < depth; i++) leaves *= 3;
        cc_waitgroup all = CC_WAITGROUP_INIT;
        cc_waitgroup_add(&all, leaves);
        test_must(meeting_tree(&all, depth) == leaves);
    }
    return NULL;
}
static void rule_4_all_leaves_block_at_the_same_time(void **state) {
    (void)state;
    test_on_all(meet);
}

/* ---- 5: no child is unreachable, whatever its parent does ---- */

static void *serial_stretch(void *workers) {
    if ((uintptr_t)workers == 1 && !test_monitored()) return NULL; /* nobody else is there */
    for (int round = 0; round < 3; round++) {
        _Atomic int begun = 0;
        if (round == 1) cc_sleep_ms(20); /* the others have gone to sleep */
        CC_FORKED(marks, a);
        CC_FORKED(marks, b);
        CC_FORKED(marks, c);
        cc_fork(a, marks, &begun, 1);
        cc_fork(b, marks, &begun, 2);
        cc_fork(c, marks, &begun, 3);
        int64_t until = now_ns() + INT64_C(20000) * MS;
        while (cc__load_relaxed(&begun) < 3 && now_ns() < until) { /* no call of the library */
        }
        test_must(cc__load_relaxed(&begun) == 3);
        test_must(cc_join(c, marks) + cc_join(b, marks) + cc_join(a, marks) == 6);
    }
    return NULL;
}
static void rule_5_a_serial_stretch_keeps_no_child_waiting(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) test_on_workers(test_workers[i], serial_stretch, (void *)(uintptr_t)test_workers[i]);
}

/* The same where the thread sleeps in the kernel. */
static void *blocked_thread(void *workers) {
    if (!test_monitored()) return workers;
    _Atomic int begun = 0;
    CC_FORKED(marks, a);
    CC_FORKED(marks, b);
    cc_fork(a, marks, &begun, 1);
    CC_BLOCKING {
        for (int i = 0; i < 2000 && cc__load_relaxed(&begun) < 1; i++) usleep(10000);
    }
    test_must(cc__load_relaxed(&begun) == 1);
    cc_fork(b, marks, &begun, 2);
    for (int i = 0; i < 2000 && cc__load_relaxed(&begun) < 2; i++) usleep(10000);
    test_must(cc__load_relaxed(&begun) == 2);
    test_must(cc_join(b, marks) == 2 && cc_join(a, marks) == 1);
    return NULL;
}
static void rule_5_nor_does_a_blocked_thread(void **state) {
    (void)state;
    test_on_workers(1, blocked_thread, NULL);
    test_on_workers(2, blocked_thread, NULL);
}

/* ---- 6: a full deque ---- */

static void *very_many(void *arg) {
    (void)arg;
    size_t n = TEST_TSAN || TEST_ASAN ? 20000 : test_scaled(1200000);
    CC_FORK_RECORD(marks) *r = calloc(n, sizeof *r);
    _Atomic int begun = 0;
    test_must(r != NULL);
    for (size_t i = 0; i < n; i++) cc_fork(r[i], marks, &begun, (int)i);
    for (size_t i = n; i-- > 0;) test_must(cc_join(r[i], marks) == (int)i);
    test_must(cc__load_relaxed(&begun) == (int)n);
    for (size_t i = 0; i < n / 50; i++) cc_fork(r[i], marks, &begun, (int)i);
    for (size_t i = 0; i < n / 50; i++) test_must(cc_join(r[i], marks) == (int)i); /* the first first */
    free(r);
    return NULL;
}
static void rule_6_a_full_deque_spills(void **state) {
    (void)state;
    test_on_workers(1, very_many, NULL);
    test_on_workers(2, very_many, NULL);
}

/* ---- 7: scopes ---- */

CC_ASYNC(int, sleeps, (_Atomic int *, begun), (int, ms)) {
    cc__add_acq_rel(begun, 1);
    return cc_sleep_ms(ms);
}

static void *under_scopes(void *workers) {
    bool others = (uintptr_t)workers > 1;
    for (int i = 0; i < 4; i++) {
        _Atomic int begun = 0;
        CC_FORKED(sleeps, a);
        int64_t from = now_ns();
        CC_DEADLINE_MS(5) { /* called at its join, run by another, or left at a switch: the same */
            cc_fork(a, sleeps, &begun, 60000);
            while (others && i == 1 && cc__load_acquire(&begun) == 0) {
            }
            if (i == 2) cc_yield();
            test_must(cc_join(a, sleeps) == -ETIMEDOUT);
        }
        cc_fork(a, sleeps, &begun, 1);
        CC_DEADLINE_MS(0) { /* a scope that it was not forked in */
            if (i == 2) cc_yield();
            test_must(cc_join(a, sleeps) == 0);
        }
        CC_NURSERY(n) { /* told, wherever it waits */
            cc_fork(a, sleeps, &begun, 60000);
            while (others && i % 2 == 1 && cc__load_acquire(&begun) == 2) {
            }
            if (i == 2) cc_yield();
            cc_nursery_cancel(n);
            test_must(cc_join(a, sleeps) == -ECANCELED);
        }
        test_must(now_ns() - from < INT64_C(30000) * MS);
    }
    return NULL;
}
static void rule_7_children_run_under_the_scope_of_their_fork(void **state) {
    (void)state;
    test_on_all(under_scopes);
}

static void fork_and_return(_Atomic int *begun, bool yields) {
    CC_FORKED(marks, a);
    CC_FORKED(marks, b);
    cc_fork(a, marks, begun, 1);
    cc_fork(b, marks, begun, 2);
    if (yields) cc_yield();
}

static void *left_early(void *arg) {
    (void)arg;
    for (int i = 0; i < (int)test_rounds(500); i++) {
        _Atomic int begun = 0;
        fork_and_return(&begun, i % 2 == 0);
        test_must(cc__load_relaxed(&begun) == 2);
        CC_FORKED(marks, outer);
        CC_FORKED(marks, a);
        CC_FORKED(marks, b);
        cc_fork(outer, marks, &begun, 0);
        CC_SHIELD { /* records that outlive the scope of their fork */
            cc_fork(a, marks, &begun, 3);
            if (i % 3 == 0) cc_yield();
            cc_fork(b, marks, &begun, 4);
        }
        test_must(cc__load_relaxed(&begun) >= 4);
        test_must(cc_join(a, marks) == 3 && cc_join(b, marks) == 4 && cc_join(outer, marks) == 0);
        CC_NURSERY(n) {
            cc_fork(a, marks, &begun, 5);
            if (i % 2 == 0) break;
            (void)n;
        }
        test_must(cc__load_relaxed(&begun) == 6);
        test_must(cc_join(a, marks) == 5);
    }
    return NULL;
}
static void rule_7_who_leaves_a_scope_or_frame_joins(void **state) {
    (void)state;
    test_on_all(left_early);
}

/* ---- 8: plain threads ---- */

static void rule_8_plain_threads_fork(void **state) {
    (void)state;
    _Atomic int begun = 0;
    assert_int_equal(fib(10), 55);
    fork_and_return(&begun, false);
    assert_int_equal(cc__load_relaxed(&begun), 2);
    CC_FORKED(sleeps, a);
    CC_DEADLINE_MS(5) {
        cc_fork(a, sleeps, &begun, 60000);
        assert_int_equal(cc_join(a, sleeps), -ETIMEDOUT);
    }
    CC_FORKED(marks, b);
    cc__store_relaxed(&begun, 0);
    cc_fork(b, marks, &begun, 7);
    while (cc__load_acquire(&begun) == 0) usleep(100); /* it needs no join to begin */
    assert_int_equal(cc_join(b, marks), 7);
}

/* ---- misuse ---- */

static void *join_twice(void *arg) {
    CC_FORKED(none, a);
    cc_fork(a, none);
    (void)cc_join(a, none);
    (void)cc_join(a, none);
    return arg;
}
static void *join_unforked(void *arg) {
    CC_FORKED(none, a);
    (void)cc_join(a, none);
    return arg;
}
static void *forget(void *arg) {
    static CC_FORK_RECORD(none) r;
    cc_fork(r, none);
    return arg;
}
/* Its record is joined while it is in the worker's deque, by who did not fork it. */
static CC_FORK_RECORD(none) astray;
static void *joins_astray(void *arg) {
    test_must(cc_join(astray, none) == 42);
    return arg;
}
static void *joined_by_thread(void *arg) {
    pthread_t thread;
    cc_fork(astray, none);
    test_must(pthread_create(&thread, NULL, joins_astray, NULL) == 0);
    pthread_join(thread, NULL);
    return arg;
}
static void *joined_by_task(void *arg) {
    _Atomic long never = 0;
    cc_fork(astray, none);
    cc_task t = cc_fiber_spawn_task(joins_astray, NULL);
    (void)test_hold_worker_until(&never, 1);
    return cc_task_valid(t) ? arg : NULL;
}
static void on_two_workers(void *fn) {
    union {
        void *as_is;
        void *(*fn)(void *);
    } as = {fn};
    (void)cc_run(&(cc_runtime_attr){.workers = 2, .no_monitor = 1}, as.fn, NULL, NULL);
}
static void in_a_task(void *fn) {
    cc_task t;
    union {
        void *as_is;
        void *(*fn)(void *);
    } as = {fn};
    (void)cc_task_spawn(&t, NULL, as.fn, NULL);
    (void)cc_task_join(t, NULL);
}
static void misuse_is_told(void **state) {
    (void)state;
    test_aborts(in_a_task, (void *)(uintptr_t)join_twice, "joined before");
    test_aborts(in_a_task, (void *)(uintptr_t)join_unforked, "was not forked");
    test_aborts(in_a_task, (void *)(uintptr_t)forget, "did not join all");
    test_aborts(on_two_workers, (void *)(uintptr_t)joined_by_thread, "by another than who forked it");
    test_aborts(on_two_workers, (void *)(uintptr_t)joined_by_task, "by another than who forked it");
}

TEST_MAIN(cmocka_unit_test(misuse_is_told), cmocka_unit_test(forks_compute),
          cmocka_unit_test(rule_1_forks_are_left_to_others_at_a_switch),
          cmocka_unit_test(rule_2_a_place_with_another_record_is_not_taken_for_it),
          cmocka_unit_test(rule_3_joins_come_in_any_order), cmocka_unit_test(rule_4_children_block_and_joins_park),
          cmocka_unit_test(rule_4_all_leaves_block_at_the_same_time),
          cmocka_unit_test(rule_5_a_serial_stretch_keeps_no_child_waiting),
          cmocka_unit_test(rule_5_nor_does_a_blocked_thread), cmocka_unit_test(rule_6_a_full_deque_spills),
          cmocka_unit_test(rule_7_children_run_under_the_scope_of_their_fork),
          cmocka_unit_test(rule_7_who_leaves_a_scope_or_frame_joins), cmocka_unit_test(rule_8_plain_threads_fork))
