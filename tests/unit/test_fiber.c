/* SPDX-License-Identifier: MIT */
/* Goal: fibers begin, switch, end, are abandoned and reuse stacks as fiber.h says.
 * Method: each property by itself, through the layer's own functions.
 * Link: -lm
 */
#include "test.h"

#include "fiber/fiber.h"
#include "plat/vm.h"

#include <fenv.h>
#include <pthread.h>

static struct cc__stack_cache cache;
static struct cc__fiber *root;
static int steps;

static void attach(void) {
    assert_int_equal(cc__fiber_attach(&root), 0);
}

static void two_steps(void *arg) {
    struct cc__fiber *f = arg;
    steps = 1;
    cc__fiber_switch(f, root);
    steps = 2;
    cc__fiber_exit(f, root);
}

static void begins_switches_ends(void **state) {
    (void)state;
    attach();
    struct cc__fiber *f;
    assert_int_equal(cc__fiber_create(&f, &cache, 1, false, false), 0);
    assert_int_equal(f->bytes, CC__STACK_BYTES_MIN);
    assert_ptr_equal(cc__fiber_current(), root);
    cc__fiber_start(f, two_steps, f);
    cc__fiber_switch(root, f);
    assert_int_equal(steps, 1);
    assert_ptr_equal(cc__fiber_current(), root);
    cc__fiber_switch(root, f);
    assert_int_equal(steps, 2);
    cc__fiber_destroy(f, &cache);
}

static void attach_is_repeatable_and_per_thread(void **state) {
    (void)state;
    struct cc__fiber *again;
    attach();
    assert_int_equal(cc__fiber_attach(&again), 0);
    assert_ptr_equal(again, root);
    assert_null(root->stack);
}

static void *other_thread(void *arg) {
    struct cc__fiber **out = arg;
    assert_null(cc__fiber_current());
    assert_int_equal(cc__fiber_attach(out), 0);
    assert_ptr_equal(cc__fiber_current(), *out);
    return NULL;
}

static void each_thread_has_a_root(void **state) {
    (void)state;
    struct cc__fiber *theirs = NULL;
    pthread_t thread;
    attach();
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &theirs), 0);
    pthread_join(thread, NULL);
    assert_non_null(theirs);
    assert_ptr_not_equal(theirs, root);
}

static void never_started_and_abandoned_are_destroyed(void **state) {
    (void)state;
    attach();
    struct cc__fiber *f;
    assert_int_equal(cc__fiber_create(&f, &cache, 65536, false, false), 0);
    cc__fiber_destroy(f, &cache); /* never started */
    assert_int_equal(cc__fiber_create(&f, &cache, 65536, false, false), 0);
    cc__fiber_start(f, two_steps, f);
    cc__fiber_switch(root, f);
    cc__fiber_destroy(f, &cache); /* in the middle */
    struct cc__fiber *next;
    assert_int_equal(cc__fiber_create(&next, &cache, 65536, false, false), 0);
    assert_ptr_equal(next, f); /* the warm stack comes first */
    cc__fiber_start(next, two_steps, next);
    cc__fiber_switch(root, next);
    cc__fiber_switch(root, next);
    assert_int_equal(steps, 2);
    cc__fiber_destroy(next, &cache);
}

static size_t dive_bytes;

static __attribute__((noinline)) void dive(struct cc__fiber *f) {
    volatile char deep[200 * 1024];
    memset((char *)deep, 1, dive_bytes < sizeof deep ? dive_bytes : sizeof deep);
    /* The far end of the array is the near end of the stack: touch the low end as well. */
    deep[sizeof deep - 1] = 2;
    deep[sizeof deep - dive_bytes] = 3;
    cc__fiber_switch(f, root);
}

static void diver(void *arg) {
    struct cc__fiber *f = arg;
    cc__fiber_switch(f, root);
    dive(f);
    cc__fiber_exit(f, root);
}

static void high_water_mark_grows_and_wipes(void **state) {
    (void)state;
    attach();
    struct cc__fiber *f;
    assert_int_equal(cc__fiber_create(&f, &cache, 256 * 1024, false, true), 0);
    cc__fiber_start(f, diver, f);
    cc__fiber_switch(root, f);
    size_t shallow = cc__fiber_stack_used(f);
    assert_in_range(shallow, 64, 32 * 1024);
    dive_bytes = 200 * 1024;
    cc__fiber_switch(root, f);
    size_t deep = cc__fiber_stack_used(f);
    if (!TEST_ASAN) assert_in_range(deep, 200 * 1024, 256 * 1024); /* ASan may put the array elsewhere */
    cc__fiber_destroy(f, &cache);

    struct cc__fiber *same;
    assert_int_equal(cc__fiber_create(&same, &cache, 256 * 1024, false, true), 0);
    assert_ptr_equal(same, f);
    cc__fiber_start(same, diver, same);
    cc__fiber_switch(root, same);
    assert_in_range(cc__fiber_stack_used(same), 64, 32 * 1024); /* nothing left of the other's */
    cc__fiber_destroy(same, &cache);
}

static int seen_mode[3];

static void rounds_up(void *arg) {
    struct cc__fiber *f = arg;
    seen_mode[0] = fegetround();
    fesetround(FE_UPWARD);
    cc__fiber_switch(f, root);
    seen_mode[1] = fegetround();
    cc__fiber_exit(f, root);
}

static void own_fpu_words_stay_own(void **state) {
    (void)state;
    attach();
    struct cc__fiber *a, *b;
    assert_int_equal(cc__fiber_create(&a, &cache, 65536, true, false), 0);
    cc__fiber_start(a, rounds_up, a);
    fesetround(FE_DOWNWARD);
    cc__fiber_switch(root, a);
    assert_int_equal(fegetround(), FE_DOWNWARD); /* ours came back */
    fesetround(FE_TONEAREST);
    cc__fiber_switch(root, a);
    assert_int_equal(seen_mode[1], FE_UPWARD); /* and its own went with it */
    assert_int_equal(fegetround(), FE_TONEAREST);
    cc__fiber_destroy(a, &cache);

    if (CCRT_SWITCH_UCONTEXT) return; /* there, every fiber has its own */
    assert_int_equal(cc__fiber_create(&b, &cache, 65536, false, false), 0);
    cc__fiber_start(b, rounds_up, b);
    cc__fiber_switch(root, b);
    assert_int_equal(seen_mode[0], FE_TONEAREST);
    assert_int_equal(fegetround(), FE_UPWARD); /* without asking, the words are the thread's */
    fesetround(FE_TONEAREST);
    cc__fiber_switch(root, b);
    assert_int_equal(seen_mode[1], FE_TONEAREST);
    cc__fiber_destroy(b, &cache);
}

static struct cc__fiber *pair[2];

static void down_then_partner(void *arg) {
    (void)arg;
    fesetround(FE_DOWNWARD);
    cc__fiber_switch(pair[0], pair[1]);
    seen_mode[0] = fegetround();
    cc__fiber_exit(pair[0], root);
}

static void up_then_partner(void *arg) {
    (void)arg;
    seen_mode[1] = fegetround();
    fesetround(FE_UPWARD);
    cc__fiber_switch(pair[1], pair[0]);
}

static void own_fpu_words_pass_from_fiber_to_fiber(void **state) {
    (void)state;
    attach();
    fesetround(FE_TONEAREST);
    for (int i = 0; i < 2; i++) assert_int_equal(cc__fiber_create(&pair[i], &cache, 65536, true, false), 0);
    cc__fiber_start(pair[0], down_then_partner, NULL);
    cc__fiber_start(pair[1], up_then_partner, NULL);
    fesetround(FE_TOWARDZERO);
    cc__fiber_switch(root, pair[0]);
    if (!CCRT_SWITCH_UCONTEXT) assert_int_equal(seen_mode[1], FE_TOWARDZERO); /* as around the two of them */
    assert_int_equal(seen_mode[0], FE_DOWNWARD);
    assert_int_equal(fegetround(), FE_TOWARDZERO); /* passed through both, back to us */
    fesetround(FE_TONEAREST);
    for (int i = 0; i < 2; i++) cc__fiber_destroy(pair[i], &cache);
}

static void returns(void *arg) {
    (void)arg;
}

static void return_from_function(void *arg) {
    (void)arg;
    struct cc__fiber *f;
    attach();
    if (cc__fiber_create(&f, &cache, 65536, false, false) != 0) _exit(1);
    cc__fiber_describe(f, 7, "parse");
    cc__fiber_start(f, returns, NULL);
    cc__fiber_switch(root, f);
}

static void function_that_returns_is_misuse(void **state) {
    (void)state;
    test_aborts(return_from_function, NULL, "ccrt: misuse: fiber 7 \"parse\": a fiber's function returned");
}

static void out_of_memory_is_an_error(void **state) {
    (void)state;
    attach();
    struct cc__fiber *f[16];
    int n = 0, rc = 0;
    cc__vm_guard_kind(); /* probed before memory runs out */
    /* 1 GiB stacks are more than the address space before long on any machine with a limit; without
     * one, sixteen are simply given. */
    while (n < 16 && (rc = cc__fiber_create(&f[n], &cache, CC__STACK_BYTES_MAX, false, false)) == 0) n++;
    assert_true(rc == 0 || rc == -ENOMEM);
    while (n > 0) cc__fiber_destroy(f[--n], &cache);
    cc__stack_cache_shrink(&cache, 0);
    assert_int_equal(cc__stack_stats().in_use, 0);
}

static void attaches_in_a_child_of_fork(void *arg) {
    struct cc__fiber *f;
    (void)arg;
    cc__fiber_forbid();
    (void)cc__fiber_attach(&f);
}
static void a_child_of_fork_has_no_fibers(void **state) {
    (void)state;
    test_aborts(attaches_in_a_child_of_fork, NULL, "after fork() a child may only call exec or _exit");
}

TEST_MAIN(cmocka_unit_test(begins_switches_ends), cmocka_unit_test(attach_is_repeatable_and_per_thread),
          cmocka_unit_test(each_thread_has_a_root), cmocka_unit_test(never_started_and_abandoned_are_destroyed),
          cmocka_unit_test(high_water_mark_grows_and_wipes), cmocka_unit_test(own_fpu_words_stay_own),
          cmocka_unit_test(own_fpu_words_pass_from_fiber_to_fiber), cmocka_unit_test(function_that_returns_is_misuse),
          cmocka_unit_test(out_of_memory_is_an_error), cmocka_unit_test(a_child_of_fork_has_no_fibers))
