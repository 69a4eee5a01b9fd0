/* SPDX-License-Identifier: MIT */
/* Goal: each job runs once and is counted once, with its own counter, a shared one or none; counters are waited for
 * while more is counted in; priorities hold; frame memory lasts as long as its job (lessons 16, 17, 43, 44, 45).
 * Method: trees and fans of jobs on runtimes of 1 to 16 workers, from tasks and from plain threads; counters in frames
 * that are left at once; a tree that is wide, whose live fibers are counted; memory asked for in all sizes.
 * Timeout: 240
 */
#include "runtimes.h"

#include <ccrt.h>

static _Atomic long sum;

static void add(void *p) {
    cc__add_relaxed(&sum, *(int *)p);
}

/* ---- counters ---- */

static void parent(void *p) {
    static int one = 1;
    cc_counter kids = CC_COUNTER_INIT(0);
    for (int i = 0; i < 10; i++) test_must(cc_job_spawn(add, &one, CC_PRIORITY_NORMAL, &kids) == 0);
    cc_counter_wait(&kids); /* and its frame goes */
    test_must(cc_job_spawn(add, &one, CC_PRIORITY_HIGH, p) == 0);
}

static void *count(void *arg) {
    for (size_t i = 0; i < test_rounds(200); i++) {
        cc_counter all = CC_COUNTER_INIT(0);
        cc__store_relaxed(&sum, 0);
        for (int k = 0; k < 10; k++) test_must(cc_job_spawn(parent, &all, k % 3, &all) == 0);
        cc_counter_wait(&all);
        test_must(cc__load_relaxed(&sum) == 110);
    }
    return arg;
}
static void jobs_are_counted(void **state) {
    (void)state;
    test_on_all(count);
}

static void *many(void *arg) {
    enum { N = 3000 };
    static int k[N];
    cc_job *batch = calloc(N, sizeof *batch);
    for (int i = 0; i < N; i++) {
        k[i] = i;
        batch[i] = (cc_job){.fn = add, .arg = &k[i]};
    }
    for (int priority = 0; priority < 3; priority++) {
        cc_counter all = CC_COUNTER_INIT(0);
        cc__store_relaxed(&sum, 0);
        test_must(cc_job_spawn_many(batch, N, priority, &all) == 0);
        test_must(cc_job_spawn_many(batch, 0, priority, &all) == 0);
        cc_counter_wait(&all);
        test_must(cc__load_relaxed(&sum) == (long)N * (N - 1) / 2);
    }
    free(batch);
    return arg;
}
static void batches_are_counted(void **state) {
    (void)state;
    test_on_all(many);
    many(NULL); /* and from a plain thread */
}

static void no_counter(void **state) {
    (void)state;
    static int one = 1;
    cc__store_relaxed(&sum, 0);
    assert_int_equal(cc_job_spawn(add, &one, CC_PRIORITY_NORMAL, NULL), 0);
    while (cc__load_relaxed(&sum) == 0) usleep(100);
    assert_int_equal(cc_job_spawn(NULL, NULL, CC_PRIORITY_NORMAL, NULL), -EINVAL);
    assert_int_equal(cc_job_spawn(add, &one, 3, NULL), -EINVAL);
    assert_int_equal(cc_job_spawn(add, &one, -1, NULL), -EINVAL);
    assert_int_equal(cc_job_spawn_many(NULL, 1, CC_PRIORITY_NORMAL, NULL), -EINVAL);
}

static void by_hand(void **state) {
    (void)state;
    cc_counter c = CC_COUNTER_INIT(2);
    cc_counter_add(&c, 1);
    for (int i = 0; i < 3; i++) {
        int rc = 0;
        CC_DEADLINE_MS(1) {
            rc = cc_counter_wait_cancellable(&c);
        }
        assert_int_equal(rc, -ETIMEDOUT);
        cc_counter_done(&c);
    }
    cc_counter_wait(&c);
    assert_int_equal(cc_counter_wait_cancellable(&c), 0);
    assert_int_equal((uintptr_t)&c % 128, 0);
}
static void below_zero(void *arg) {
    (void)arg;
    cc_counter c = CC_COUNTER_INIT(0);
    cc_counter_done(&c);
}
static void underflow_aborts(void **state) {
    (void)state;
    test_aborts(below_zero, NULL, "below zero");
}

/* A job that yields or sleeps is not done before it has returned. */
static void naps(void *p) {
    cc_yield();
    cc_sleep_ms(1);
    cc__add_relaxed(&sum, *(int *)p);
}
static void *wait_for_naps(void *arg) {
    static int one = 1;
    cc_counter all = CC_COUNTER_INIT(0);
    cc__store_relaxed(&sum, 0);
    for (int i = 0; i < 100; i++) test_must(cc_job_spawn(naps, &one, i % 3, &all) == 0);
    cc_counter_wait(&all);
    test_must(cc__load_relaxed(&sum) == 100);
    return arg;
}
static void jobs_block(void **state) {
    (void)state;
    test_on_all(wait_for_naps);
}

/* ---- order ---- */

struct node {
    int depth;
    _Atomic long *live, *most;
};
static void tree(void *p) {
    struct node *n = p, kid = {n->depth - 1, n->live, n->most};
    long live = cc__add_relaxed(n->live, 1) + 1, most = cc__load_relaxed(n->most);
    while (live > most && !cc__cas_relaxed(n->most, &most, live)) {
    }
    cc_counter kids = CC_COUNTER_INIT(0);
    for (int i = 0; i < 4 && n->depth > 0; i++) test_must(cc_job_spawn(tree, &kid, CC_PRIORITY_NORMAL, &kids) == 0);
    cc_counter_wait(&kids);
    cc__sub_relaxed(n->live, 1);
}
static void *wide(void *workers) {
    _Atomic long live = 0, most = 0;
    cc_counter all = CC_COUNTER_INIT(0);
    enum { DEPTH = 7 };
    struct node root = {DEPTH - 1, &live, &most}; /* 5461 jobs */
    test_must(cc_job_spawn(tree, &root, CC_PRIORITY_NORMAL, &all) == 0);
    cc_counter_wait(&all);
    /* Each worker has a path of its own, and begins some more where it robs another, or takes its oldest. By the width
     * there would be thousands. */
    test_must(cc__load_relaxed(&most) <= 8 * DEPTH * (long)(uintptr_t)workers);
    return workers;
}
static void a_wide_tree_has_few_live_jobs(void **state) {
    (void)state;
    for (size_t i = 0; i < TEST_COUNT_OF(test_workers); i++) /* no monitor, which gives all what a stuck worker has */
        test_on_attr(&(cc_runtime_attr){.workers = test_workers[i], .no_monitor = 1}, wide,
                     (void *)(uintptr_t)test_workers[i]);
}

/* With one worker: high before normal before low, but none is kept out for ever. */
static char order[4];
static _Atomic int place;
static void note(void *p) {
    order[cc__add_relaxed(&place, 1)] = *(const char *)p;
}
static void *priorities(void *arg) {
    static char low = 'l', normal = 'n', high = 'h';
    cc_counter all = CC_COUNTER_INIT(0);
    cc_job_spawn(note, &low, CC_PRIORITY_LOW, &all);
    cc_job_spawn(note, &normal, CC_PRIORITY_NORMAL, &all);
    cc_job_spawn(note, &high, CC_PRIORITY_HIGH, &all);
    cc_counter_wait(&all);
    test_must(order[2] == 'l');
    return arg;
}
static void low_priority_goes_last(void **state) {
    (void)state;
    test_on_workers(1, priorities, NULL);
}

/* A task that yields all the while does not keep jobs of its worker out. */
static void *yield_for_a_job(void *arg) {
    static int one = 1;
    cc__store_relaxed(&sum, 0);
    for (int i = 0; i < 50; i++) test_must(cc_job_spawn(add, &one, CC_PRIORITY_NORMAL, NULL) == 0);
    while (cc__load_relaxed(&sum) < 50) cc_yield();
    return arg;
}
static void yielding_starves_no_job(void **state) {
    (void)state;
    test_on_workers(1, yield_for_a_job, NULL);
}

/* Nor does a chain of jobs, each of which spawns the next, keep out one that was there before. */
static void link_of_chain(void *p) {
    if (cc__load_relaxed(&sum) == 0) test_must(cc_job_spawn(link_of_chain, p, CC_PRIORITY_NORMAL, p) == 0);
}
static void *chain(void *arg) {
    static int one = 1;
    cc_counter all = CC_COUNTER_INIT(0);
    cc__store_relaxed(&sum, 0);
    test_must(cc_job_spawn(add, &one, CC_PRIORITY_NORMAL, &all) == 0);
    test_must(cc_job_spawn(link_of_chain, &all, CC_PRIORITY_NORMAL, &all) == 0);
    cc_counter_wait(&all);
    return arg;
}
static void a_chain_starves_no_job(void **state) {
    (void)state;
    test_on_attr(&(cc_runtime_attr){.workers = 1, .no_monitor = 1}, chain, NULL);
}

/* ---- frame memory ---- */

static void uses_frame(void *p) {
    unsigned char *piece[64];
    size_t bytes[64];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 64; i++) {
            bytes[i] = i == 63 ? 3 << 20 : (size_t)(test_random() % 3000);
            piece[i] = cc_frame_alloc(bytes[i]);
            test_must(piece[i] != NULL && (uintptr_t)piece[i] % _Alignof(max_align_t) == 0);
            memset(piece[i], i, bytes[i]);
        }
        cc_yield();
        for (int i = 0; i < 64; i++)
            for (size_t k = 0; k < bytes[i]; k += 97) test_must(piece[i][k] == i);
        if (round == 0) cc_frame_begin();
    }
    test_must(cc_frame_alloc(SIZE_MAX) == NULL);
    cc__add_relaxed(&sum, *(int *)p);
}
static void *frames(void *arg) {
    static int one = 1;
    cc_counter all = CC_COUNTER_INIT(0);
    cc__store_relaxed(&sum, 0);
    for (int i = 0; i < 10; i++) test_must(cc_job_spawn(uses_frame, &one, CC_PRIORITY_NORMAL, &all) == 0);
    cc_counter_wait(&all);
    test_must(cc__load_relaxed(&sum) == 10);
    test_must(cc_frame_alloc(1) != NULL); /* any task has it */
    return arg;
}
static void frame_memory_lasts_as_long_as_its_job(void **state) {
    (void)state;
    test_on_all(frames);
    assert_null(cc_frame_alloc(1)); /* a plain thread has none */
    cc_frame_begin();
}
static void beyond(void *p) {
    char *a = cc_frame_alloc(20), *b = cc_frame_alloc(20);
    a[*(int *)p] = b[0] = 1;
}
static void in_a_job(void *arg) {
    static int at = 20;
    (void)arg;
    cc_counter all = CC_COUNTER_INIT(0);
    cc_job_spawn(beyond, &at, CC_PRIORITY_NORMAL, &all);
    cc_counter_wait(&all);
}
static void a_touch_beyond_is_found(void **state) {
    (void)state;
    char err[8192];
    if (!TEST_ASAN) skip();
    (void)test_in_child(in_a_job, NULL, err, sizeof err);
    assert_non_null(strstr(err, "use-after-poison"));
}

TEST_MAIN(cmocka_unit_test(a_touch_beyond_is_found), cmocka_unit_test(underflow_aborts),
          cmocka_unit_test(jobs_are_counted), cmocka_unit_test(batches_are_counted), cmocka_unit_test(no_counter),
          cmocka_unit_test(by_hand), cmocka_unit_test(jobs_block), cmocka_unit_test(a_wide_tree_has_few_live_jobs),
          cmocka_unit_test(low_priority_goes_last), cmocka_unit_test(yielding_starves_no_job),
          cmocka_unit_test(a_chain_starves_no_job), cmocka_unit_test(frame_memory_lasts_as_long_as_its_job))
