/* SPDX-License-Identifier: MIT */
/* Goal: cc_sched does what include/ccrt/sched.h says, on one thread.
 * Method: each sentence of the header as a small program; order is checked by a log of letters.
 * Link: -lm
 */
#include "test.h"

#include <ccrt.h>
#include <fenv.h>

static char log_text[256];

static void log_clear(void) {
    log_text[0] = 0;
}
static void log_add(const char *s) {
    assert_true(strlen(log_text) + strlen(s) < sizeof log_text);
    strcat(log_text, s);
}

static cc_sched *make(const cc_sched_attr *attr) {
    cc_sched *s = NULL;
    assert_int_equal(cc_sched_create(&s, attr), 0);
    assert_non_null(s);
    return s;
}

/* Logs its letter, three times, rescheduling in between; returns its argument. */
static void *thrice(void *arg) {
    for (int i = 0; i < 3; i++) {
        log_add(arg);
        if (i < 2) assert_int_equal(cc_resched(), 0);
    }
    return arg;
}
static void *once(void *arg) {
    log_add(arg);
    return arg;
}

static void fibers_take_turns_in_order(void **state) {
    (void)state;
    log_clear();
    cc_sched *s = make(NULL);
    cc_sched_push(s, thrice, "a");
    cc_sched_push(s, once, "b");
    cc_sched_push(s, thrice, "c");
    assert_int_equal(cc_sched_count(s), 3);
    assert_int_equal(cc_sched_run(s), 0);
    assert_string_equal(log_text, "abcacac");
    assert_int_equal(cc_sched_count(s), 0);
    assert_int_equal(cc_sched_run(s), 0); /* nothing left: nothing happens */
    cc_sched_destroy(s);
}

static void next_runs_one_step(void **state) {
    (void)state;
    log_clear();
    cc_sched *s = make(NULL);
    assert_int_equal(cc_sched_next(s), 0);
    cc_sched_push(s, thrice, "a");
    cc_sched_push(s, once, "b");
    assert_int_equal(cc_sched_next(s), 2);
    assert_string_equal(log_text, "a");
    assert_int_equal(cc_sched_next(s), 1);
    assert_string_equal(log_text, "ab");
    assert_int_equal(cc_sched_next(s), 1);
    assert_int_equal(cc_sched_next(s), 0);
    assert_string_equal(log_text, "abaa");
    assert_int_equal(cc_sched_next(s), 0);
    cc_sched_destroy(s);
}

static void next_and_run_mix(void **state) {
    (void)state;
    log_clear();
    cc_sched *s = make(NULL);
    cc_sched_push(s, thrice, "a");
    cc_sched_push(s, thrice, "b");
    assert_int_equal(cc_sched_next(s), 2);
    assert_int_equal(cc_sched_run(s), 0);
    assert_string_equal(log_text, "ababab");
    cc_sched_destroy(s);
}

static void results_are_taken_once(void **state) {
    (void)state;
    log_clear();
    cc_sched *s = make(NULL);
    cc_sched_fiber a, b;
    void *result = NULL;
    assert_int_equal(cc_sched_spawn(s, NULL, thrice, "a", &a), 0);
    assert_int_equal(cc_sched_spawn(s, NULL, once, "b", &b), 0);
    assert_int_equal(cc_sched_take(s, a, &result), -EAGAIN);
    assert_int_equal(cc_sched_next(s), 2);
    assert_int_equal(cc_sched_take(s, a, &result), -EAGAIN);
    assert_int_equal(cc_sched_run(s), 0);
    assert_int_equal(cc_sched_take(s, a, &result), 0);
    assert_string_equal((char *)result, "a");
    assert_int_equal(cc_sched_take(s, a, &result), -ESRCH);
    assert_int_equal(cc_sched_take(s, b, NULL), 0);
    assert_int_equal(cc_sched_take(s, b, NULL), -ESRCH);
    cc_sched_destroy(s);
}

/* A record is reused at once; the old handle must not name the new fiber. */
static void stale_handles_are_detected(void **state) {
    (void)state;
    log_clear();
    cc_sched *s = make(NULL), *other = make(NULL);
    cc_sched_fiber old, fresh, never = {0};
    assert_int_equal(cc_sched_spawn(s, NULL, once, "x", &old), 0);
    assert_int_equal(cc_sched_run(s), 0);
    assert_int_equal(cc_sched_take(s, old, NULL), 0);
    assert_int_equal(cc_sched_spawn(s, NULL, once, "y", &fresh), 0);
    assert_ptr_equal(old.priv_record, fresh.priv_record); /* the test's point */
    assert_int_equal(cc_sched_take(s, old, NULL), -ESRCH);
    assert_int_equal(cc_sched_take(s, fresh, NULL), -EAGAIN);
    assert_int_equal(cc_sched_take(s, never, NULL), -ESRCH);
    assert_int_equal(cc_sched_take(other, fresh, NULL), -ESRCH);
    assert_null(cc_sched_fiber_name(s, old));
    size_t used;
    assert_int_equal(cc_sched_stack_used(s, old, &used), -ESRCH);
    cc_sched_destroy(other);
    cc_sched_destroy(s);
}

static void *ask_self(void *arg) {
    cc_sched_fiber self, *expected = arg;
    assert_int_equal(cc_sched_self(&self), 0);
    assert_ptr_equal(self.priv_record, expected->priv_record);
    assert_int_equal(self.priv_serial, expected->priv_serial);
    assert_int_equal(cc_sched_self(NULL), -EINVAL);
    return NULL;
}

static void names_and_self(void **state) {
    (void)state;
    cc_sched *s = make(NULL);
    cc_sched_fiber f, g;
    char name[16] = "parse";
    assert_int_equal(cc_sched_spawn(s, &(cc_sched_fiber_attr){.name = name}, ask_self, &f, &f), 0);
    memset(name, 'x', sizeof name - 1); /* it was copied */
    assert_string_equal(cc_sched_fiber_name(s, f), "parse");
    assert_int_equal(cc_sched_spawn(s, NULL, ask_self, &g, &g), 0);
    assert_null(cc_sched_fiber_name(s, g));
    assert_int_equal(cc_sched_run(s), 0);
    assert_string_equal(cc_sched_fiber_name(s, f), "parse");
    cc_sched_destroy(s);
    cc_sched_fiber self;
    assert_int_equal(cc_sched_self(&self), -EPERM);
}

static void outside_a_fiber_resched_is_refused(void **state) {
    (void)state;
    assert_int_equal(cc_resched(), -EPERM);
    cc_sched *s = make(NULL);
    assert_int_equal(cc_resched(), -EPERM);
    log_clear();
    cc_sched_push(s, thrice, "a");
    assert_int_equal(cc_sched_next(s), 1);
    assert_int_equal(cc_resched(), -EPERM);
    assert_int_equal(cc_sched_run(s), 0);
    assert_string_equal(log_text, "aaa");
    cc_sched_destroy(s);
}

static void *pusher(void *arg) {
    cc_sched *s = arg;
    assert_int_equal(cc_sched_push(s, once, "2"), 0);
    log_add("1");
    cc_resched();
    assert_int_equal(cc_sched_push(s, once, "4"), 0);
    log_add("3");
    return NULL;
}

static void a_running_fiber_may_push(void **state) {
    (void)state;
    log_clear();
    cc_sched *s = make(NULL);
    assert_int_equal(cc_sched_push(s, pusher, s), 0);
    assert_int_equal(cc_sched_run(s), 0);
    assert_string_equal(log_text, "1234");
    cc_sched_destroy(s);
}

static void *inside(void *arg) {
    cc_sched *s = arg;
    assert_int_equal(cc_sched_next(s), -EDEADLK);
    assert_int_equal(cc_sched_run(s), -EDEADLK);
    assert_int_equal(cc_sched_adopt(s), -EBUSY);
    return NULL;
}

static void stepping_from_inside_is_refused(void **state) {
    (void)state;
    cc_sched *s = make(NULL);
    cc_sched_push(s, inside, s);
    assert_int_equal(cc_sched_run(s), 0);
    cc_sched_destroy(s);
}

static void *never_ends(void *arg) {
    char *held = arg;
    for (;;) {
        held[0]++;
        cc_resched();
    }
    return NULL;
}

static void what_never_ends_is_destroyed(void **state) {
    (void)state;
    cc_sched *s = make(NULL);
    char held[3] = {0};
    cc_sched_fiber f;
    for (int i = 0; i < 2; i++) assert_int_equal(cc_sched_push(s, never_ends, &held[i]), 0);
    assert_int_equal(cc_sched_spawn(s, &(cc_sched_fiber_attr){.name = "endless"}, never_ends, &held[2], &f), 0);
    for (int i = 0; i < 9; i++) assert_int_equal(cc_sched_next(s), 3);
    for (int i = 0; i < 3; i++) assert_int_equal(held[i], 3);
    cc_sched_destroy(s);
    cc_sched_destroy(NULL);
}

/* Schedulers nest to any depth; the outermost steps all of it. */
static void *nest(void *arg) {
    intptr_t depth = (intptr_t)arg;
    if (depth == 0) return (void *)1;
    cc_sched *s = make(NULL);
    cc_sched_fiber f;
    void *result;
    assert_int_equal(cc_sched_spawn(s, NULL, nest, (void *)(depth - 1), &f), 0);
    assert_int_equal(cc_sched_push(s, thrice, "."), 0);
    cc_resched(); /* the outer one's turn */
    assert_int_equal(cc_sched_run(s), 0);
    assert_int_equal(cc_sched_take(s, f, &result), 0);
    cc_sched_destroy(s);
    return (void *)((intptr_t)result + 1);
}

static void schedulers_nest(void **state) {
    (void)state;
    log_clear();
    assert_int_equal((intptr_t)nest((void *)20), 21);
    assert_int_equal(strlen(log_text), 60);
}

static cc_sched *outer_sched;
static void *inner_pushes_out(void *arg) {
    assert_int_equal(cc_sched_push(outer_sched, once, "o"), 0);
    assert_int_equal(cc_sched_count(outer_sched), 2);
    assert_int_equal(cc_sched_next(outer_sched), -EDEADLK);
    return arg;
}
static void *owner_of_inner(void *arg) {
    cc_sched *s = make(NULL);
    cc_sched_push(s, inner_pushes_out, NULL);
    cc_sched_run(s);
    cc_sched_destroy(s);
    return arg;
}

static void nested_fibers_reach_the_outer_scheduler(void **state) {
    (void)state;
    log_clear();
    outer_sched = make(NULL);
    cc_sched_push(outer_sched, owner_of_inner, NULL);
    assert_int_equal(cc_sched_run(outer_sched), 0);
    assert_string_equal(log_text, "o");
    cc_sched_destroy(outer_sched);
}

/* A scheduler owned by a fiber is not the business of its sibling. */
static cc_sched *siblings_own;
static void *makes_own(void *arg) {
    siblings_own = make(NULL);
    cc_resched();
    assert_int_equal(cc_sched_push(siblings_own, once, "m"), 0);
    assert_int_equal(cc_sched_run(siblings_own), 0);
    cc_sched_destroy(siblings_own);
    return arg;
}
static void *tries_siblings(void *arg) {
    assert_int_equal(cc_sched_push(siblings_own, once, "x"), -EPERM);
    assert_int_equal(cc_sched_next(siblings_own), -EPERM);
    assert_int_equal(cc_sched_count(siblings_own), -EPERM);
    return arg;
}

static void a_sibling_is_not_the_owner(void **state) {
    (void)state;
    log_clear();
    cc_sched *s = make(NULL);
    cc_sched_push(s, makes_own, NULL);
    cc_sched_push(s, tries_siblings, NULL);
    assert_int_equal(cc_sched_run(s), 0);
    assert_string_equal(log_text, "m");
    cc_sched_destroy(s);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    cc_sched *s = NULL;
    cc_sched_fiber f;
    size_t used;
    assert_int_equal(cc_sched_create(NULL, NULL), -EINVAL);
    assert_int_equal(cc_sched_create(&s, &(cc_sched_attr){.flags = 1u << 30}), -EINVAL);
    assert_int_equal(cc_sched_create(&s, &(cc_sched_attr){.stack_bytes = CC_STACK_BYTES_MAX + 1}), -EINVAL);
    assert_int_equal(cc_sched_create(&s, &(cc_sched_attr){.stack_bytes = SIZE_MAX}), -EINVAL);
    assert_null(s);
    s = make(&(cc_sched_attr){.stack_bytes = 1}); /* rounded up to the smallest */
    assert_int_equal(cc_sched_push(NULL, once, NULL), -EINVAL);
    assert_int_equal(cc_sched_push(s, NULL, NULL), -EINVAL);
    assert_int_equal(cc_sched_spawn(NULL, NULL, once, NULL, &f), -EINVAL);
    assert_int_equal(cc_sched_spawn(s, NULL, NULL, NULL, &f), -EINVAL);
    assert_int_equal(cc_sched_spawn(s, NULL, once, NULL, NULL), -EINVAL);
    assert_int_equal(cc_sched_spawn(s, &(cc_sched_fiber_attr){.flags = 64}, once, NULL, &f), -EINVAL);
    assert_int_equal(cc_sched_spawn(s, &(cc_sched_fiber_attr){.stack_bytes = SIZE_MAX}, once, NULL, &f), -EINVAL);
    assert_int_equal(cc_sched_next(NULL), -EINVAL);
    assert_int_equal(cc_sched_run(NULL), -EINVAL);
    assert_int_equal(cc_sched_count(NULL), -EINVAL);
    assert_int_equal(cc_sched_take(NULL, (cc_sched_fiber){0}, NULL), -EINVAL);
    assert_int_equal(cc_sched_stack_used(s, (cc_sched_fiber){0}, NULL), -EINVAL);
    assert_int_equal(cc_sched_stack_used(NULL, (cc_sched_fiber){0}, &used), -EINVAL);
    assert_null(cc_sched_fiber_name(NULL, (cc_sched_fiber){0}));
    assert_int_equal(cc_sched_adopt(NULL), -EINVAL);
    assert_int_equal(cc_sched_count(s), 0);
    log_clear();
    assert_int_equal(cc_sched_push(s, thrice, "a"), 0);
    assert_int_equal(cc_sched_run(s), 0);
    assert_string_equal(log_text, "aaa");
    cc_sched_destroy(s);
}

static __attribute__((noinline)) void touch_stack(size_t bytes) {
    volatile char *p = __builtin_alloca(bytes);
    for (size_t i = 0; i < bytes; i += 1024) p[i] = 1;
}
static void *uses_stack(void *arg) {
    touch_stack((size_t)(uintptr_t)arg);
    cc_resched();
    return NULL;
}

static void stack_sizes_and_their_use(void **state) {
    (void)state;
    cc_sched *s = make(&(cc_sched_attr){.flags = CC_FIBER_MEASURE_STACK});
    cc_sched_fiber big, small;
    size_t used = 1;
    cc_sched_fiber_attr large = {.stack_bytes = 8 << 20};
    assert_int_equal(cc_sched_spawn(s, &large, uses_stack, (void *)(7 << 20), &big), 0);
    assert_int_equal(cc_sched_stack_used(s, big, &used), 0);
    assert_int_equal(used, 0); /* has not run */
    assert_int_equal(cc_sched_next(s), 1);
    assert_int_equal(cc_sched_stack_used(s, big, &used), 0);
    assert_in_range(used, 7 << 20, 8 << 20);
    assert_int_equal(cc_sched_run(s), 0);
    assert_int_equal(cc_sched_stack_used(s, big, &used), 0);
    assert_in_range(used, 7 << 20, 8 << 20); /* kept for the handle */
    /* The same stack again, by a fiber that uses little of it. */
    assert_int_equal(cc_sched_spawn(s, &large, uses_stack, (void *)1024, &small), 0);
    assert_int_equal(cc_sched_run(s), 0);
    assert_int_equal(cc_sched_stack_used(s, small, &used), 0);
    assert_in_range(used, 1024, 64 * 1024);
    cc_sched_destroy(s);
}

static void *own_rounding(void *arg) {
    if (!CCRT_SWITCH_UCONTEXT) assert_int_equal(fegetround(), FE_TONEAREST); /* as around the scheduler */
    fesetround(arg == NULL ? FE_UPWARD : FE_DOWNWARD);
    for (int i = 0; i < 3; i++) {
        cc_resched();
        assert_int_equal(fegetround(), arg == NULL ? FE_UPWARD : FE_DOWNWARD);
    }
    return NULL;
}

static void rounding_modes_are_own_on_request(void **state) {
    (void)state;
    cc_sched *s = make(&(cc_sched_attr){.flags = CC_FIBER_OWN_FPU});
    cc_sched_fiber f;
    assert_int_equal(cc_sched_spawn(s, &(cc_sched_fiber_attr){.flags = CC_FIBER_OWN_FPU}, own_rounding, NULL, &f), 0);
    assert_int_equal(cc_sched_push(s, own_rounding, s), 0);
    assert_int_equal(cc_sched_run(s), 0);
    assert_int_equal(fegetround(), FE_TONEAREST);
    cc_sched_destroy(s);
}

static void destroy_own(void *arg);
static void *destroys(void *arg) {
    cc_sched_destroy(arg);
    return NULL;
}
static void destroy_own(void *arg) {
    (void)arg;
    cc_sched *s = make(NULL);
    cc_sched_fiber f;
    cc_sched_spawn(s, &(cc_sched_fiber_attr){.name = "suicide"}, destroys, s, &f);
    cc_sched_run(s);
}

static void destroying_from_inside_aborts(void **state) {
    (void)state;
    test_aborts(destroy_own, NULL, "ccrt: misuse: fiber 1 \"suicide\": a cc_sched was destroyed while it runs (");
}

static __attribute__((noinline)) int recurse(int n) {
    volatile char frame[256];
    frame[0] = (char)n;
    return n < 0 ? 0 : recurse(n + 1) + frame[0];
}
static void *overflows(void *arg) {
    recurse(0);
    return arg;
}
static void overflow_in_sched(void *arg) {
    (void)arg;
    cc_sched *s = make(NULL);
    cc_sched_fiber f;
    for (int i = 0; i < 6; i++) cc_sched_push(s, once, "");
    cc_sched_spawn(s, &(cc_sched_fiber_attr){.name = "parse"}, overflows, s, &f);
    cc_sched_run(s);
}

static void overflow_names_fiber_and_size(void **state) {
    (void)state;
    test_aborts(overflow_in_sched, NULL, "ccrt: fiber 7 \"parse\" overflowed its 196608-byte stack (");
}

static void *count_up(void *arg) {
    ++*(size_t *)arg;
    return NULL;
}
static void *count_twice(void *arg) {
    ++*(size_t *)arg;
    cc_resched();
    ++*(size_t *)arg;
    return NULL;
}

static void thousands_of_schedulers(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    static cc_sched *s[COUNT];
    size_t count = test_scaled(COUNT), steps = 0;
    for (size_t i = 0; i < count; i++) {
        s[i] = make(NULL);
        assert_int_equal(cc_sched_push(s[i], count_twice, &steps), 0);
        assert_int_equal(cc_sched_next(s[i]), 1);
    }
    assert_int_equal(steps, count);
    for (size_t i = 0; i < count; i++) assert_int_equal(cc_sched_run(s[i]), 0);
    assert_int_equal(steps, 2 * count);
    for (size_t i = 0; i < count; i++) cc_sched_destroy(s[i]);
}

/* Many short fibers share a stack; many waiting ones have one each. */
static void very_many_fibers(void **state) {
    (void)state;
    size_t count = test_scaled(200000), steps = 0;
    if (TEST_TSAN && count > 2000) count = 2000; /* the sanitizer has 8,128 contexts */
    if (TEST_ASAN && count > 5000) count = 5000;
    cc_sched *s = make(NULL);
    for (size_t i = 0; i < count; i++) assert_int_equal(cc_sched_push(s, count_up, &steps), 0);
    assert_int_equal(cc_sched_run(s), 0);
    assert_int_equal(steps, count);
    steps = 0;
    for (size_t i = 0; i < count; i++) assert_int_equal(cc_sched_push(s, count_twice, &steps), 0);
    for (size_t i = 0; i < count; i++) assert_int_equal(cc_sched_next(s), (int)count);
    assert_int_equal(steps, count);
    assert_int_equal(cc_sched_run(s), 0);
    assert_int_equal(steps, 2 * count);
    cc_sched_destroy(s);
}

/* The overflow comes first: cmocka puts handlers of its own over ours for every test after the first. */
TEST_MAIN(cmocka_unit_test(overflow_names_fiber_and_size), cmocka_unit_test(fibers_take_turns_in_order),
          cmocka_unit_test(next_runs_one_step), cmocka_unit_test(next_and_run_mix),
          cmocka_unit_test(results_are_taken_once), cmocka_unit_test(stale_handles_are_detected),
          cmocka_unit_test(names_and_self), cmocka_unit_test(outside_a_fiber_resched_is_refused),
          cmocka_unit_test(a_running_fiber_may_push), cmocka_unit_test(stepping_from_inside_is_refused),
          cmocka_unit_test(what_never_ends_is_destroyed), cmocka_unit_test(schedulers_nest),
          cmocka_unit_test(nested_fibers_reach_the_outer_scheduler), cmocka_unit_test(a_sibling_is_not_the_owner),
          cmocka_unit_test(bad_arguments_are_refused), cmocka_unit_test(stack_sizes_and_their_use),
          cmocka_unit_test(rounding_modes_are_own_on_request), cmocka_unit_test(destroying_from_inside_aborts),
          cmocka_unit_test(thousands_of_schedulers), cmocka_unit_test(very_many_fibers))
