/* SPDX-License-Identifier: MIT */
/* Goal: shared bitsets of any size: what is set is found, going round; a bit is claimed by one thread
 * only, which sees what the setter wrote.
 * Method: sizes around word boundaries; random operations against an array of bools; four threads that
 * claim all bits of a full set; one that sets and others that clear, with plain data behind each bit.
 * Also the rounding of base.h, on which sizes everywhere rest.
 */
#include "test.h"

#include "base/bits.h"
#include "base/rng.h"

#include <pthread.h>
#include <sched.h>

enum { BITS_MAX = 300, WORDS_MAX = (BITS_MAX + 63) / 64, THREADS = 4, STEPS = 20000, ROUNDS = 200, MESSAGES = 20000 };

static const size_t sizes[] = {1, 2, 63, 64, 65, 127, 128, 129, 300};

struct set {
    struct cc__bits bits;
    _Atomic uint64_t word[WORDS_MAX + 1]; /* one more, that must not change */
};

static void set_init(struct set *s, size_t count) {
    for (size_t i = 0; i < TEST_COUNT_OF(s->word); i++) cc__store_relaxed(&s->word[i], UINT64_MAX);
    cc__bits_init(&s->bits, s->word, count);
}

static bool set_kept_its_place(const struct set *s) {
    return cc__load_relaxed(&s->word[cc__bits_words(cc__load_relaxed(&s->bits.count))]) == UINT64_MAX;
}

static void words_hold_all_bits(void **state) {
    (void)state;
    assert_int_equal(cc__bits_words(0), 0);
    assert_int_equal(cc__bits_words(1), 1);
    assert_int_equal(cc__bits_words(64), 1);
    assert_int_equal(cc__bits_words(65), 2);
    assert_int_equal(cc__bits_words(300), 5);
}

static void empty_set_holds_nothing(void **state) {
    (void)state;
    for (size_t k = 0; k < TEST_COUNT_OF(sizes); k++) {
        struct set s;
        set_init(&s, sizes[k]);
        assert_int_equal(cc__bits_count(&s.bits), 0);
        for (size_t i = 0; i < sizes[k]; i++) {
            assert_false(cc__bits_test(&s.bits, i));
            assert_true(cc__bits_find(&s.bits, i) == CC__BITS_NONE);
        }
        assert_true(set_kept_its_place(&s));
    }
    struct cc__bits none;
    cc__bits_init(&none, NULL, 0);
    assert_int_equal(cc__bits_count(&none), 0);
    assert_true(cc__bits_find(&none, 0) == CC__BITS_NONE);
}

/* One bit in the set: found from everywhere, also from behind it. */
static void one_bit_is_found_from_everywhere(void **state) {
    (void)state;
    for (size_t k = 0; k < TEST_COUNT_OF(sizes); k++) {
        struct set s;
        set_init(&s, sizes[k]);
        for (size_t i = 0; i < sizes[k]; i++) {
            assert_false(cc__bits_set(&s.bits, i));
            assert_true(cc__bits_set(&s.bits, i));
            assert_true(cc__bits_test(&s.bits, i));
            assert_int_equal(cc__bits_count(&s.bits), 1);
            for (size_t from = 0; from < sizes[k]; from++) assert_int_equal(cc__bits_find(&s.bits, from), i);
            assert_true(cc__bits_clear(&s.bits, i));
            assert_false(cc__bits_clear(&s.bits, i));
        }
        assert_int_equal(cc__bits_count(&s.bits), 0);
        assert_true(set_kept_its_place(&s));
    }
}

static size_t model_find(const bool *model, size_t count, size_t from) {
    for (size_t n = 0; n < count; n++)
        if (model[(from + n) % count]) return (from + n) % count;
    return CC__BITS_NONE;
}

static void against_an_array(size_t count, struct cc__rng *rng) {
    struct set s;
    bool model[BITS_MAX] = {false};
    size_t set = 0;
    set_init(&s, count);
    for (size_t step = 0; step < test_scaled(STEPS); step++) {
        size_t i = cc__rng_below(rng, (uint32_t)count);
        /* Fill for a while, then empty for a while, so that both ends are reached. */
        bool add = cc__rng_below(rng, 8) < (step / (2 * count) % 2 == 0 ? 6u : 2u);
        bool was = add ? cc__bits_set(&s.bits, i) : cc__bits_clear(&s.bits, i);
        assert_int_equal(was, model[i]);
        set = set + add - was;
        model[i] = add;
        size_t from = cc__rng_below(rng, (uint32_t)count);
        assert_int_equal(cc__bits_test(&s.bits, from), model[from]);
        assert_true(cc__bits_find(&s.bits, from) == model_find(model, count, from));
        assert_int_equal(cc__bits_count(&s.bits), set);
    }
    assert_true(set_kept_its_place(&s));
}

static void random_operations(void **state) {
    (void)state;
    struct cc__rng rng;
    cc__rng_seed(&rng, test_seed());
    for (size_t k = 0; k < TEST_COUNT_OF(sizes); k++) against_an_array(sizes[k], &rng);
}

/* ---- threads ---- */

static struct set shared;
static _Atomic int claimed[BITS_MAX];
static _Atomic size_t at_start;

/* Search, then claim what was found, until nothing is left. */
static void *claim_all(void *arg) {
    size_t from = (size_t)(uintptr_t)arg;
    cc__add_acq_rel(&at_start, 1);
    for (unsigned spins = 1; cc__load_acquire(&at_start) < THREADS; spins++)
        if (spins % 64 == 0) sched_yield();
    for (;;) {
        size_t i = cc__bits_find(&shared.bits, from);
        if (i == CC__BITS_NONE) return NULL;
        if (cc__bits_clear(&shared.bits, i)) cc__add_relaxed(&claimed[i], 1);
    }
}

static void every_bit_is_claimed_once(void **state) {
    (void)state;
    struct cc__rng rng;
    cc__rng_seed(&rng, test_seed());
    set_init(&shared, BITS_MAX);
    for (size_t round = 0; round < test_scaled(ROUNDS); round++) {
        pthread_t thread[THREADS];
        cc__store_relaxed(&at_start, 0);
        for (size_t i = 0; i < BITS_MAX; i++) {
            cc__store_relaxed(&claimed[i], 0);
            assert_false(cc__bits_set(&shared.bits, i));
        }
        assert_int_equal(cc__bits_count(&shared.bits), BITS_MAX);
        /* Half the rounds all begin at the same bit, to meet more often. */
        size_t same = cc__rng_below(&rng, BITS_MAX);
        for (size_t i = 0; i < THREADS; i++) {
            size_t from = round % 2 == 0 ? same : cc__rng_below(&rng, BITS_MAX);
            assert_int_equal(pthread_create(&thread[i], NULL, claim_all, (void *)from), 0);
        }
        for (size_t i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
        for (size_t i = 0; i < BITS_MAX; i++) assert_int_equal(cc__load_relaxed(&claimed[i]), 1);
    }
}

enum { SLOTS = 65 };
static uint64_t message[SLOTS]; /* plain: ThreadSanitizer looks too */
static _Atomic uint64_t sum_taken;
static _Atomic size_t taken;
static size_t messages;

/* Two sets over the same slots: those that hold a message, and those that are free. */
static struct set free_slots;

static void *take_and_free(void *arg) {
    uint64_t sum = 0;
    while (cc__load_relaxed(&taken) < messages) {
        size_t i = cc__bits_find(&shared.bits, (size_t)(uintptr_t)arg);
        if (i == CC__BITS_NONE) {
            sched_yield();
        } else if (cc__bits_clear(&shared.bits, i)) {
            sum += message[i];
            message[i] = 0;
            cc__add_relaxed(&taken, 1);
            cc__bits_set(&free_slots.bits, i);
        }
    }
    cc__add_relaxed(&sum_taken, sum);
    return NULL;
}

static void setting_publishes_to_clearing(void **state) {
    (void)state;
    pthread_t thread[2];
    uint64_t sum_sent = 0;
    messages = test_scaled(MESSAGES);
    set_init(&shared, SLOTS);
    set_init(&free_slots, SLOTS);
    for (size_t i = 0; i < SLOTS; i++) cc__bits_set(&free_slots.bits, i);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_and_free, (void *)(uintptr_t)(i * 40)), 0);
    for (size_t sent = 0; sent < messages;) {
        size_t i = cc__bits_find(&free_slots.bits, sent % SLOTS);
        if (i == CC__BITS_NONE || !cc__bits_clear(&free_slots.bits, i)) {
            sched_yield();
            continue;
        }
        assert_true(message[i] == 0); /* the taker emptied it before it set the bit */
        message[i] = ++sent;
        sum_sent += sent;
        assert_false(cc__bits_set(&shared.bits, i));
    }
    for (size_t i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    assert_true(cc__load_relaxed(&sum_taken) == sum_sent);
}

/* ---- misuse, and base.h ---- */

static void set_outside(void *arg) {
    cc__bits_set(arg, 65);
}
static void clear_outside(void *arg) {
    cc__bits_clear(arg, 65);
}
static void test_outside(void *arg) {
    (void)cc__bits_test(arg, 65);
}
static void find_outside(void *arg) {
    (void)cc__bits_find(arg, 65);
}

static void outside_is_seen(void **state) {
    (void)state;
#if CCRT_ASSERT >= 1
    struct set s;
    set_init(&s, 65);
    test_aborts(set_outside, &s.bits, "assertion: i < count_of(b) (bits.c:");
    test_aborts(clear_outside, &s.bits, "assertion: i < count_of(b) (bits.c:");
    test_aborts(test_outside, &s.bits, "assertion: i < count_of(b) (bits.c:");
    test_aborts(find_outside, &s.bits, "assertion: from < count_of(b) (bits.c:");
#else
    (void)set_outside, (void)clear_outside, (void)test_outside, (void)find_outside;
    skip();
#endif
}

static void rounding(void **state) {
    (void)state;
    for (size_t to = 1; to <= 4096; to *= 2) {
        for (size_t n = 0; n<3 * to + 2; n += to> 64 ? 31 : 1) {
            size_t up = cc__align_up(n, to), down = cc__align_down(n, to);
            assert_int_equal(up, (n + to - 1) / to * to);
            assert_int_equal(down, n / to * to);
        }
    }
    int array[7];
    assert_int_equal(CC__COUNT_OF(array), 7);
}

TEST_MAIN(cmocka_unit_test(words_hold_all_bits), cmocka_unit_test(empty_set_holds_nothing),
          cmocka_unit_test(one_bit_is_found_from_everywhere), cmocka_unit_test(random_operations),
          cmocka_unit_test(every_bit_is_claimed_once), cmocka_unit_test(setting_publishes_to_clearing),
          cmocka_unit_test(outside_is_seen), cmocka_unit_test(rounding))
