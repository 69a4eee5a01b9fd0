/* SPDX-License-Identifier: MIT */
/* Goal: task records go round between owners without being lost or given out twice, and one whose generation would
 * wrap is not given out again.
 * Method: records taken by one cache and freed into another, and without a cache; a record made old by hand.
 */
#include "test.h"

#include "task/task.h"

enum { MANY = 5000 };
static struct cc__task *taken[MANY];

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t) * (struct cc__task *const *)a, y = (uintptr_t) * (struct cc__task *const *)b;
    return x < y ? -1 : x > y;
}

static void all_differ(void) {
    qsort(taken, MANY, sizeof *taken, by_address);
    for (int i = 1; i < MANY; i++) assert_ptr_not_equal(taken[i], taken[i - 1]);
}

static void count(struct cc__task *t, void *arg) {
    (void)t;
    ++*(int *)arg;
}

static void records_go_round(void **state) {
    (void)state;
    struct cc__task_cache a = {0}, b = {0};
    int before = 0;
    for (int round = 0; round < 4; round++) {
        struct cc__task_cache *from = round == 3 ? NULL : round % 2 == 0 ? &a : &b;
        struct cc__task_cache *to = round == 2 ? NULL : round % 2 == 0 ? &b : &a;
        for (int i = 0; i < MANY; i++) {
            taken[i] = cc__task_alloc(from);
            assert_non_null(taken[i]);
            assert_int_equal(cc__load_relaxed(&taken[i]->control) & CC__CONTROL_STATE, CC__ACTIVE);
        }
        all_differ();
        int all = 0;
        cc__task_each(count, &all);
        if (round > 0) assert_int_equal(all, before); /* no new ones were needed */
        before = all;
        for (int i = 0; i < MANY; i++) cc__task_free(to, taken[i]);
        if (to != NULL) cc__task_cache_drain(to);
        if (from != NULL) cc__task_cache_drain(from);
    }
}

static void count_if_live(struct cc__task *t, void *arg) {
    *(int *)arg += (cc__load_relaxed(&t->control) & CC__CONTROL_STATE) == CC__ACTIVE;
}

static void all_can_be_looked_at(void **state) {
    (void)state;
    int live = 0;
    for (int i = 0; i < 100; i++) taken[i] = cc__task_alloc(NULL);
    cc__task_each(count_if_live, &live);
    assert_int_equal(live, 100);
    for (int i = 0; i < 100; i++) cc__task_free(NULL, taken[i]);
    live = 0;
    cc__task_each(count_if_live, &live);
    assert_int_equal(live, 0);
}

static void generations_go_on_and_end(void **state) {
    (void)state;
    struct cc__task *t = cc__task_alloc(NULL), *again;
    uint32_t generation = cc__task_generation(cc__load_relaxed(&t->control));
    cc__task_free(NULL, t);
    again = cc__task_alloc(NULL);
    assert_ptr_equal(again, t);
    assert_int_equal(cc__task_generation(cc__load_relaxed(&t->control)), generation + 1);
    cc__store_relaxed(&t->control, (uint64_t)(UINT32_MAX - 1) << 32 | CC__ACTIVE);
    cc__task_free(NULL, t);
    assert_int_equal(cc__task_generation(cc__load_relaxed(&t->control)), UINT32_MAX);
    assert_int_equal(cc__state_unpark(t, UINT32_MAX), CC__UNPARK_GONE);
    for (int i = 0; i < MANY; i++) {
        taken[i] = cc__task_alloc(NULL);
        assert_ptr_not_equal(taken[i], t);
    }
    for (int i = 0; i < MANY; i++) cc__task_free(NULL, taken[i]);
}

TEST_MAIN(cmocka_unit_test(records_go_round), cmocka_unit_test(all_can_be_looked_at),
          cmocka_unit_test(generations_go_on_and_end))
