/* SPDX-License-Identifier: MIT */
/* Goal: the intrusive lists keep their order through any mix of operations, and an element knows
 * whether it is on one.
 * Method: random operations on a list and on a plain array that stands for it, compared after each
 * step in both directions. Elements are found again through CC__CONTAINER_OF.
 */
#include "test.h"

#include "base/list.h"
#include "base/rng.h"

enum { ITEMS = 24, STEPS = 20000 };

struct item {
    uint64_t before; /* so that the links are not at offset 0 */
    struct cc__node node;
    int number;
    struct cc__link link;
};

/* What a list should hold, in order. */
struct model {
    struct item *at[ITEMS];
    size_t count;
};

static struct item items[ITEMS];

static void model_insert(struct model *m, size_t i, struct item *x) {
    memmove(&m->at[i + 1], &m->at[i], (m->count - i) * sizeof m->at[0]);
    m->at[i] = x;
    m->count++;
}

static struct item *model_remove(struct model *m, size_t i) {
    struct item *x = m->at[i];
    m->count--;
    memmove(&m->at[i], &m->at[i + 1], (m->count - i) * sizeof m->at[0]);
    return x;
}

static void reset_items(void) {
    memset(items, 0, sizeof items);
    for (int i = 0; i < ITEMS; i++) items[i].number = i;
}

/* Any item on the list or off it, as asked; there is one. */
static struct item *pick(struct cc__rng *rng, bool linked) {
    for (;;) {
        struct item *x = &items[cc__rng_below(rng, ITEMS)];
        if (cc__node_linked(&x->node) == linked) return x;
    }
}

/* ---- cc__list ---- */

static void list_matches(const struct cc__list *l, const struct model *m) {
    assert_int_equal(cc__list_empty(l), m->count == 0);
    const struct cc__node *n = cc__list_first(l), *back = l->head.prev;
    for (size_t i = 0; i < m->count; i++) {
        assert_non_null(n);
        assert_ptr_equal(CC__CONTAINER_OF(n, struct item, node), m->at[i]);
        assert_true(cc__node_linked(n));
        assert_ptr_equal(CC__CONTAINER_OF(back, struct item, node), m->at[m->count - 1 - i]);
        n = cc__list_next(l, n);
        back = back->prev;
    }
    assert_null(n);
    assert_ptr_equal(back, &l->head);
    size_t linked = 0;
    for (size_t i = 0; i < ITEMS; i++) linked += cc__node_linked(&items[i].node);
    assert_int_equal(linked, m->count);
}

static void list_step(struct cc__list *l, struct model *m, struct cc__rng *rng) {
    uint32_t what = cc__rng_below(rng, 6);
    if (what < 3 && m->count == ITEMS) what = 3;
    if (what >= 3 && what < 5 && m->count == 0) what = 5;
    struct item *x;
    size_t i = m->count > 0 ? cc__rng_below(rng, (uint32_t)m->count) : 0;
    switch (what) {
    case 0:
        x = pick(rng, false);
        cc__list_append(l, &x->node);
        model_insert(m, m->count, x);
        break;
    case 1:
        x = pick(rng, false);
        cc__list_prepend(l, &x->node);
        model_insert(m, 0, x);
        break;
    case 2:
        x = pick(rng, false);
        cc__list_insert_before(m->count > 0 ? &m->at[i]->node : &l->head, &x->node);
        model_insert(m, i, x);
        break;
    case 3:
    case 4:
        x = model_remove(m, i);
        cc__list_remove(&x->node);
        assert_false(cc__node_linked(&x->node));
        assert_null(x->node.prev);
        break;
    default: {
        struct cc__node *n = cc__list_take_first(l);
        if (m->count == 0) {
            assert_null(n);
        } else {
            assert_ptr_equal(n, &model_remove(m, 0)->node);
            assert_false(cc__node_linked(n));
        }
    }
    }
}

static void list_against_an_array(void **state) {
    (void)state;
    struct cc__rng rng;
    struct cc__list l;
    struct model m = {.count = 0};
    cc__rng_seed(&rng, test_seed());
    reset_items();
    cc__list_init(&l);
    list_matches(&l, &m);
    for (size_t i = 0; i < test_scaled(STEPS); i++) {
        list_step(&l, &m, &rng);
        list_matches(&l, &m);
    }
    while (m.count > 0) assert_ptr_equal(cc__list_take_first(&l), &model_remove(&m, 0)->node);
    list_matches(&l, &m);
}

static void append_linked_twice(void *arg) {
    struct cc__list l;
    (void)arg;
    cc__list_init(&l);
    cc__list_append(&l, &items[0].node);
    cc__list_append(&l, &items[0].node);
}
static void remove_unlinked(void *arg) {
    (void)arg;
    cc__list_remove(&items[0].node);
}

static void wrong_use_is_seen(void **state) {
    (void)state;
#if CCRT_ASSERT >= 1
    reset_items();
    test_aborts(append_linked_twice, NULL, "assertion: !cc__node_linked(n) (list.h:");
    test_aborts(remove_unlinked, NULL, "assertion: cc__node_linked(n) (list.h:");
#else
    (void)append_linked_twice, (void)remove_unlinked;
    skip();
#endif
}

/* ---- cc__fifo ---- */

static void fifo_matches(const struct cc__fifo *q, const struct model *m) {
    assert_int_equal(cc__fifo_empty(q), m->count == 0);
    struct cc__link *const *hook = &q->first;
    for (size_t i = 0; i < m->count; i++) {
        assert_non_null(*hook);
        assert_ptr_equal(CC__CONTAINER_OF(*hook, struct item, link), m->at[i]);
        hook = &(*hook)->next;
    }
    assert_null(*hook);
    assert_ptr_equal(q->last, hook);
}

static void fifo_step(struct cc__fifo *q, struct model *m, struct cc__rng *rng, bool *on) {
    uint32_t what = cc__rng_below(rng, 4);
    uint32_t i = cc__rng_below(rng, ITEMS);
    if (what < 2 && !on[i]) {
        if (what == 0)
            cc__fifo_append(q, &items[i].link);
        else
            cc__fifo_prepend(q, &items[i].link);
        model_insert(m, what == 0 ? m->count : 0, &items[i]);
        on[i] = true;
        return;
    }
    struct cc__link *n = cc__fifo_take_first(q);
    if (m->count == 0) {
        assert_null(n);
        return;
    }
    struct item *x = model_remove(m, 0);
    assert_ptr_equal(n, &x->link);
    assert_null(n->next);
    on[x->number] = false;
}

static void fifo_against_an_array(void **state) {
    (void)state;
    struct cc__rng rng;
    struct cc__fifo q;
    struct model m = {.count = 0};
    bool on[ITEMS] = {false};
    cc__rng_seed(&rng, test_seed() + 1);
    reset_items();
    cc__fifo_init(&q);
    fifo_matches(&q, &m);
    for (size_t i = 0; i < test_scaled(STEPS); i++) {
        fifo_step(&q, &m, &rng, on);
        fifo_matches(&q, &m);
    }
    while (m.count > 0) assert_ptr_equal(cc__fifo_take_first(&q), &model_remove(&m, 0)->link);
    assert_null(cc__fifo_take_first(&q));
}

TEST_MAIN(cmocka_unit_test(list_against_an_array), cmocka_unit_test(wrong_use_is_seen),
          cmocka_unit_test(fifo_against_an_array))
