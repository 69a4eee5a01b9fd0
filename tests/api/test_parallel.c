/* SPDX-License-Identifier: MIT */
/* Goal: loops call their bodies once for each index, whatever the grain, the range and the number of workers; errors
 * and cancellation end them; reductions give the same value each time; each worker begins with the part that is its
 * own; sorts sort (lesson 44).
 * Method: marks that are counted for ranges of all sizes, grains from 1 to more than the range, bodies that block;
 * sums of floating-point numbers, whose last bits tell the order of combination, on 1 to 16 workers; elements that
 * remember where they stood.
 * Timeout: 240
 */
#include "runtimes.h"

#include <ccrt.h>

enum { N = 100000 };

static unsigned char mark[N];
static _Atomic size_t longest;

static _Atomic size_t calls_of_body;

static size_t longest_of(size_t n) {
    cc__add_relaxed(&calls_of_body, 1);
    size_t most = cc__load_relaxed(&longest);
    while (n > most && !cc__cas_relaxed(&longest, &most, n)) {
    }
    return n;
}

CC_RANGE(count, (unsigned char *, at)) {
    longest_of(hi - lo);
    for (size_t i = lo; i < hi; i++) at[i]++;
}
CC_RANGE(count_all) {
    for (size_t i = lo; i < hi; i++) mark[i]++;
}
CC_RANGE(count_and_block, (unsigned char *, at), (unsigned, every)) {
    for (size_t i = lo; i < hi; i++) {
        if (i % every == 0) cc_yield();
        if (i % (every * 16) == 1) cc_sleep_ms(1);
        at[i]++;
    }
}
CC_RANGE(spin, (_Atomic long *, work)) {
    for (size_t i = lo; i < hi; i++)
        for (int k = 0; k < 2000; k++) cc__cpu_relax();
    cc__add_relaxed(work, (long)(hi - lo));
}

/* The first indices are as nothing beside the others. */
CC_RANGE(steep, (size_t, flat), (_Atomic long *, work)) {
    longest_of(hi - lo);
    for (size_t i = lo > flat ? lo : flat; i < hi; i++)
        for (int k = 0; k < 20; k++) cc__cpu_relax();
    cc__add_relaxed(work, (long)(hi - lo));
}

static void check(size_t lo, size_t hi) {
    for (size_t i = 0; i < N; i++) test_must(mark[i] == (i >= lo && i < hi));
    memset(mark, 0, sizeof mark);
}

static void *loop(void *workers) {
    static const size_t ranges[][2] = {{0, 0}, {5, 5},    {0, 1},     {7, 9}, {3, 8},
                                       {0, 9}, {0, 1000}, {13, 1000}, {0, N}, {N - 3, N}};
    static const size_t grains[] = {0, 1, 2, 7, 1000, N, N + 1, SIZE_MAX / 2, CC_STATIC};
    for (size_t r = 0; r < TEST_COUNT_OF(ranges); r++)
        for (size_t g = 0; g < TEST_COUNT_OF(grains); g++) {
            size_t lo = ranges[r][0], hi = ranges[r][1], grain = grains[g];
            if (grain == 1 && hi - lo == N && (TEST_TSAN || TEST_ASAN)) continue;
            cc__store_relaxed(&longest, 0);
            cc__store_relaxed(&calls_of_body, 0);
            test_must(cc_parallel_for(lo, hi, grain, count, mark) == 0);
            if (grain != 0 && grain != CC_STATIC) test_must(cc__load_relaxed(&longest) <= grain);
            if (grain == CC_STATIC && hi > lo) {
                size_t parts = (size_t)(uintptr_t)workers < hi - lo ? (size_t)(uintptr_t)workers : hi - lo;
                test_must(cc__load_relaxed(&calls_of_body) == parts);
                test_must(cc__load_relaxed(&longest) == (hi - lo - 1) / parts + 1);
            }
            check(lo, hi);
        }
    test_must(cc_parallel_for(9, 5, 0, count, mark) == 0); /* reversed: empty */
    check(0, 0);
    test_must(cc_parallel_for(0, N, 0, count_all) == 0);
    check(0, N);
    test_must(cc_parallel_for(0, 3000, 1, count_and_block, mark, 7) == 0);
    check(0, 3000);
    test_must(cc_parallel_for(0, 3000, 0, count_and_block, mark, 64) == 0);
    check(0, 3000);
    _Atomic long work = 0;
    test_must(cc_parallel_for(0, 200, 0, spin, &work) == 0); /* long enough to be split */
    test_must(cc__load_relaxed(&work) == 200);
    return NULL;
}
static void each_index_once(void **state) {
    (void)state;
    test_on_all(loop);
    assert_int_equal(cc_parallel_for(0, N, 0, count, mark), 0); /* from a plain thread */
    check(0, N);
    assert_int_equal(cc_parallel_for(0, N, CC_STATIC, count, mark), 0);
    check(0, N);
}

/* However quick the first indices are, no call of a body gets the better part of a loop. */
static void *begins_quickly(void *workers) {
    for (size_t flat = N / 64; flat < N; flat *= 2) {
        _Atomic long work = 0;
        cc__store_relaxed(&longest, 0);
        test_must(cc_parallel_for(0, N, 0, steep, flat, &work) == 0);
        test_must(cc__load_relaxed(&work) == N && cc__load_relaxed(&longest) <= N / 8);
    }
    return workers;
}
static void the_first_do_not_speak_for_all(void **state) {
    (void)state;
    test_on_all(begins_quickly);
}

/* Ranges up to the greatest index, and of almost all of them. */
CC_RANGE(adds, (_Atomic size_t *, indices)) {
    test_must(lo < hi);
    cc__add_relaxed(indices, hi - lo);
}
CC_REDUCE(size_t, lengths) {
    test_must(lo < hi);
    return hi - lo;
}
static size_t sum_of(size_t a, size_t b) {
    return a + b;
}
static void *at_the_end(void *workers) {
    static const size_t ranges[][2] = {{SIZE_MAX - 1, SIZE_MAX}, {SIZE_MAX - 1000, SIZE_MAX}};
    static const size_t grains[] = {0, 1, 7, 1000, SIZE_MAX - 1, CC_STATIC};
    for (size_t r = 0; r < TEST_COUNT_OF(ranges); r++)
        for (size_t g = 0; g < TEST_COUNT_OF(grains); g++) {
            _Atomic size_t indices = 0;
            size_t lo = ranges[r][0], hi = ranges[r][1];
            test_must(cc_parallel_for(lo, hi, grains[g], adds, &indices) == 0);
            test_must(cc__load_relaxed(&indices) == hi - lo);
            test_must(cc_parallel_reduce(lo, hi, grains[g], (size_t)0, sum_of, lengths) == hi - lo);
        }
    static const size_t coarse[] = {SIZE_MAX / 3, SIZE_MAX / 2 + 1, SIZE_MAX - 1, CC_STATIC};
    for (size_t g = 0; g < TEST_COUNT_OF(coarse); g++) {
        _Atomic size_t indices = 0;
        test_must(cc_parallel_for(0, SIZE_MAX, coarse[g], adds, &indices) == 0);
        test_must(cc__load_relaxed(&indices) == SIZE_MAX);
        test_must(cc_parallel_reduce(0, SIZE_MAX, coarse[g], (size_t)0, sum_of, lengths) == SIZE_MAX);
    }
    _Atomic size_t indices = 0;
    test_must(cc_parallel_for(0, SIZE_MAX, 0, adds, &indices) == 0); /* quick, however many there are */
    test_must(cc__load_relaxed(&indices) == SIZE_MAX);
    test_must(cc_parallel_reduce(0, SIZE_MAX, 0, (size_t)0, sum_of, lengths) == SIZE_MAX);
    return workers;
}
static void the_last_indices_there_are(void **state) {
    (void)state;
    test_on_all(at_the_end);
}

/* ---- the end before the end ---- */

CC_RANGE_TRY(fail_at, (size_t, bad), (_Atomic long *, calls)) {
    cc__add_relaxed(calls, 1);
    return lo <= bad && bad < hi ? -EIO : 0;
}
CC_RANGE_TRY(wait_for_cancel, (_Atomic long *, calls)) {
    (void)lo, (void)hi;
    cc__add_relaxed(calls, 1);
    return cc_sleep_ms(60000);
}
/* It does not look, and never returns before it is told otherwise: the loop waits for it. */
CC_RANGE(stubborn, (_Atomic int *, until), (_Atomic long *, calls)) {
    (void)lo, (void)hi;
    cc__add_relaxed(calls, 1);
    while (cc__load_acquire(until) == 0) cc_yield();
}
CC_TASK(release_later, (_Atomic int *, until)) {
    CC_SHIELD {
        cc_sleep_ms(20);
    }
    cc__store_release(until, 1);
    return 0;
}

static void *ends(void *workers) {
    _Atomic long calls = 0;
    test_must(cc_parallel_for(0, 1000, 1, fail_at, 0, &calls) == -EIO);
    test_must(cc__load_relaxed(&calls) < 1000);
    cc__store_relaxed(&calls, 0);
    test_must(cc_parallel_for(0, 1000, 1, fail_at, 2000, &calls) == 0 && cc__load_relaxed(&calls) == 1000);
    cc__store_relaxed(&calls, 0);
    CC_DEADLINE_MS(5) {
        test_must(cc_parallel_for(0, 1000, 1, wait_for_cancel, &calls) == -ETIMEDOUT);
    }
    test_must(cc__load_relaxed(&calls) < 1000);
    cc__store_relaxed(&calls, 0);
    CC_NURSERY(n) {
        cc_nursery_cancel(n);
        test_must(cc_parallel_for(0, 1000, 1, fail_at, 2000, &calls) == -ECANCELED);
        test_must(cc__load_relaxed(&calls) == 0);
    }
    _Atomic int until = 0;
    CC_NURSERY(n) {
        cc_spawn(n, release_later, &until);
        CC_DEADLINE_MS(1) {
            test_must(cc_parallel_for(0, 100, 1, stubborn, &until, &calls) == -ETIMEDOUT);
        }
        test_must(cc__load_relaxed(&until) == 1 && cc__load_relaxed(&calls) < 100);
    }
    return workers;
}
static void errors_and_cancellation_end_loops(void **state) {
    (void)state;
    test_on_all(ends);
}

/* ---- reductions ---- */

static float value[N];

CC_REDUCE(double, total, (const float *, a)) {
    double s = 0;
    for (size_t i = lo; i < hi; i++) s += (double)a[i];
    return s;
}
CC_REDUCE(float, rough, (const float *, a)) {
    float s = 0;
    for (size_t i = lo; i < hi; i++) s += a[i];
    return s;
}
CC_REDUCE(size_t, widths) {
    if ((lo & 1) != 0) cc_yield();
    return hi - lo;
}
/* How many parts there were, and how long the longest. */
struct parts {
    size_t count, longest, sum;
};
CC_REDUCE(struct parts, one_part) {
    return (struct parts){1, hi - lo, hi - lo};
}
static struct parts both(struct parts a, struct parts b) {
    return (struct parts){a.count + b.count, a.longest > b.longest ? a.longest : b.longest, a.sum + b.sum};
}
static double plus(double a, double b) {
    return a + b;
}
static float plus_rough(float a, float b) {
    return a + b;
}
static size_t add_up(size_t a, size_t b) {
    return a + b;
}

static float rough_sum;
static void *reduce(void *workers) {
    test_must(cc_parallel_reduce(0, N, 0, 0.0, plus, total, value) == (double)N * (N - 1) / 2);
    test_must(cc_parallel_reduce(3, 3, 0, 17.0, plus, total, value) == 17.0);
    test_must(cc_parallel_reduce(5, 3, 0, 17.0, plus, total, value) == 17.0);
    for (size_t grain = 0; grain < 50; grain += 7)
        test_must(cc_parallel_reduce(0, 1000, grain, (size_t)5, add_up, widths) == 1005);
    static const struct parts none;
    size_t many = workers == NULL ? 1 : (size_t)(uintptr_t)workers;
    for (size_t n = 1; n < 3000; n = n * 2 + 1) {
        struct parts p = cc_parallel_reduce(7, 7 + n, CC_STATIC, none, both, one_part);
        if (workers != NULL) test_must(p.count == (n < many ? n : many));
        test_must(p.sum == n && p.longest == (n - 1) / p.count + 1);
        for (size_t grain = 0; grain < 9; grain++) {
            p = cc_parallel_reduce(0, n, grain, none, both, one_part);
            test_must(p.sum == n && (grain == 0 ? p.count <= 1024 : p.count == (n - 1) / grain + 1));
            test_must(p.longest == (n - 1) / p.count + 1); /* equal but for one */
        }
    }
    test_must(cc_parallel_reduce(0, 10, 1000, (size_t)0, add_up, widths) == 10);
    for (int i = 0; i < 10; i++) {
        float now = cc_parallel_reduce(0, N, 0, 0.0f, plus_rough, rough, value);
        if (rough_sum == 0) rough_sum = now;
        test_must(memcmp(&now, &rough_sum, sizeof now) == 0); /* to the last bit */
    }
    return workers;
}
static void reductions_are_the_same_each_time(void **state) {
    (void)state;
    for (size_t i = 0; i < N; i++) value[i] = (float)i;
    test_on_all(reduce);
    reduce(NULL); /* and from a plain thread */
}

/* ---- whose part is whose ---- */

static unsigned by[N];      /* worker that called the body for this index */
static size_t first_of[64]; /* by worker: where its first part of a loop began, if it has begun one */
static bool has_begun[64];

static size_t note_whose(size_t lo, size_t hi) {
    unsigned me = cc_worker_self();
    if (me < TEST_COUNT_OF(has_begun) && !has_begun[me]) { /* else it was started in addition */
        has_begun[me] = true;
        first_of[me] = lo;
    }
    for (size_t i = lo; i < hi; i++) by[i] = me;
    return hi - lo;
}
CC_RANGE(whose) {
    (void)note_whose(lo, hi);
}
CC_REDUCE(size_t, whose_sum) {
    return note_whose(lo, hi);
}

static void *begins_with_its_own(void *workers) {
    unsigned n = (unsigned)(uintptr_t)workers, me = cc_worker_self(), upper = (n + 1) / 2 + 1;
    size_t half = me >= upper ? N / 2 : 0;
    test_must(cc_parallel_for(0, N, CC_STATIC, whose) == 0);
    for (size_t i = (size_t)(me - 1) * (N / n) + N % n; i < me * (N / n); i++) test_must(by[i] == me);
    memset(has_begun, 0, sizeof has_begun);
    test_must(cc_parallel_for(0, N, 100, whose) == 0);
    /* Its half, from the beginning; or a part of that, if the other half was taken before the first step. */
    test_must(first_of[me] >= half && first_of[me] < half + N / 2);
    for (unsigned i = 0; i < 3; i++) { /* the same parts whoever asks for them: its value does not change either */
        memset(has_begun, 0, sizeof has_begun);
        test_must(cc_parallel_reduce(0, N, 0, (size_t)0, add_up, whose_sum) == N);
        test_must(first_of[me] >= half && first_of[me] < half + N / 2);
        float now = cc_parallel_reduce(0, N, 0, 0.0f, plus_rough, rough, value);
        test_must(memcmp(&now, &rough_sum, sizeof now) == 0);
    }
    return NULL;
}
static void each_worker_begins_with_its_own_part(void **state) {
    (void)state;
    for (size_t i = 0; i < TEST_COUNT_OF(test_workers); i++) {
        cc_runtime *rt = NULL;
        unsigned n = test_workers[i];
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = n}), 0);
        for (unsigned w = 1; w <= n; w++) {
            cc_task t;
            const cc_task_attr attr = {.worker = w};
            assert_int_equal(cc_runtime_spawn(rt, &t, &attr, begins_with_its_own, (void *)(uintptr_t)n), 0);
            assert_int_equal(cc_task_join(t, NULL), 0);
        }
        cc_runtime_destroy(rt);
    }
}

/* ---- sorting ---- */

struct element {
    uint32_t key, was;
};
static int by_key(const void *a, const void *b) {
    const struct element *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}
static void *sorts(void *workers) {
    static const size_t sizes[] = {0, 1, 2, 3, 17, 1000, 5000, N};
    for (size_t s = 0; s < TEST_COUNT_OF(sizes); s++)
        for (int keys = 0; keys < 4; keys++) {
            size_t n = sizes[s];
            struct element *e = malloc(n * sizeof *e + 1);
            struct cc__rng r;
            cc__rng_seed(&r, test_seed() + s);
            for (size_t i = 0; i < n; i++) {
                uint32_t any = (uint32_t)cc__rng_next(&r);
                e[i].key = keys == 0 ? any : keys == 1 ? any % 10 : keys == 2 ? (uint32_t)i : (uint32_t)(n - i);
                e[i].was = (uint32_t)i;
            }
            test_must(cc_parallel_sort(e, n, sizeof *e, by_key) == 0);
            for (size_t i = 1; i < n; i++)
                test_must(e[i - 1].key < e[i].key || (e[i - 1].key == e[i].key && e[i - 1].was < e[i].was));
            free(e);
        }
    struct element one = {0};
    test_must(cc_parallel_sort(&one, 1, 0, by_key) == -EINVAL && cc_parallel_sort(&one, 1, 8, NULL) == -EINVAL);
    test_must(cc_parallel_sort(NULL, 1, 8, by_key) == -EINVAL);
    test_must(cc_parallel_sort(&one, SIZE_MAX / 2, 8, by_key) == -ENOMEM);
    return workers;
}
/* Elements of other sizes: the key is the first byte, or two; the rest says where it stood, as far as there is room. */
static size_t key_bytes, align_of_element;
static int by_bytes(const void *a, const void *b) {
    test_must((uintptr_t)a % align_of_element == 0 && (uintptr_t)b % align_of_element == 0);
    return memcmp(a, b, key_bytes);
}
static void *sorts_sizes(void *workers) {
    static const size_t kinds[][2] = {{1, 1},   {3, 1},    {24, 8},   {300, 4},
                                      {64, 64}, {192, 64}, {512, 256}}; /* and align */
    for (size_t s = 0; s < TEST_COUNT_OF(kinds); s++) {
        size_t size = kinds[s][0], n = 20001;
        unsigned char *e = aligned_alloc(4096, (n * size + 4095) / 4096 * 4096);
        size_t count[256] = {0};
        align_of_element = kinds[s][1];
        key_bytes = 1;
        for (size_t i = 0; i < n; i++) {
            memset(e + i * size, (int)(i % 251), size);
            e[i * size] = (unsigned char)test_random();
            count[e[i * size]]++;
            if (size >= 4) memcpy(e + (i + 1) * size - 3, &(uint32_t){(uint32_t)i}, 3);
        }
        test_must(cc_parallel_sort(e, n, size, by_bytes) == 0);
        for (size_t i = 0, was = 0, before = 0; i < n; i++, before = was) {
            unsigned char *at = e + i * size;
            if (i > 0) test_must(at[-(ptrdiff_t)size] <= at[0]);
            count[at[0]]--;
            if (size >= 4) memcpy(&was, at + size - 3, 3);
            if (size >= 4 && i > 0 && at[-(ptrdiff_t)size] == at[0]) test_must(before < was);
            if (size >= 8) test_must(at[1] == was % 251 && at[size - 4] == was % 251); /* it came as a whole */
        }
        for (size_t i = 0; i < 256; i++) test_must(count[i] == 0);
        free(e);
    }
    return workers;
}
static void elements_of_any_size(void **state) {
    (void)state;
    test_on_workers(1, sorts_sizes, NULL);
    test_on_workers(7, sorts_sizes, NULL);
}
static void elements_are_sorted_and_equal_ones_stay(void **state) {
    (void)state;
    test_on_all(sorts);
    sorts(NULL);
}

TEST_MAIN(cmocka_unit_test(each_index_once), cmocka_unit_test(the_first_do_not_speak_for_all),
          cmocka_unit_test(errors_and_cancellation_end_loops), cmocka_unit_test(reductions_are_the_same_each_time),
          cmocka_unit_test(each_worker_begins_with_its_own_part),
          cmocka_unit_test(elements_are_sorted_and_equal_ones_stay), cmocka_unit_test(elements_of_any_size),
          cmocka_unit_test(the_last_indices_there_are))
