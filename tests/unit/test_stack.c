/* SPDX-License-Identifier: MIT */
/* Goal: stacks are guarded, reused warm, given back when idle, and run out with an error (lessons 83-85).
 * Method: the pool's own counts, the kernel's (mincore, faults in child processes), and a process whose
 * guards need maps.
 * Timeout: 120
 */
#include "test.h"

#include "base/rng.h"
#include "fiber/stack.h"
#include "plat/vm.h"

#include <pthread.h>
#include <sys/mman.h>

static const size_t default_bytes = 196608;

static struct cc__stack *get(struct cc__stack_cache *cache, size_t bytes) {
    struct cc__stack *s;
    assert_int_equal(cc__stack_get(cache, cc__stack_class(bytes), &s), 0);
    assert_true(cc__stack_bytes(s) >= bytes);
    return s;
}

static bool resident(const void *page) {
    return cc__vm_lowest_resident((void *)(uintptr_t)page, cc__vm_page_bytes()) != NULL;
}

static char *top_page(const struct cc__stack *s) {
    return s->lo + cc__stack_bytes(s) - cc__vm_page_bytes();
}

static void use(struct cc__stack *s) {
    *top_page(s) = 1;
    s->warm = true;
}

static void classes_cover_all_sizes(void **state) {
    (void)state;
    assert_int_equal(cc__stack_class(0), 0);
    assert_int_equal(cc__stack_class(1), 0);
    assert_int_equal(cc__stack_class(CC__STACK_BYTES_MIN), 0);
    assert_int_equal(cc__stack_class(CC__STACK_BYTES_MIN + 1), 1);
    assert_int_equal(cc__stack_class_bytes(cc__stack_class(default_bytes)), default_bytes);
    assert_int_equal(cc__stack_class(CC__STACK_BYTES_MAX), CC__STACK_CLASSES - 1);
    assert_int_equal(CC__STACK_BYTES_MAX, (size_t)1 << 30);
}

static void all_classes_are_usable_to_both_ends(void **state) {
    (void)state;
    struct cc__stack_cache cache = {0};
    for (unsigned cls = 0; cls < CC__STACK_CLASSES; cls++) {
        struct cc__stack *s = get(&cache, cc__stack_class_bytes(cls));
        s->lo[0] = 1;
        s->lo[cc__stack_bytes(s) - 1] = 1;
        s->warm = true;
        cc__stack_put(&cache, s);
    }
    cc__stack_cache_shrink(&cache, 0);
    assert_int_equal(cc__stack_stats().in_use, 0);
    cc__stack_trim();
    assert_int_equal(cc__stack_stats().idle_warm, 0);
}

static void last_used_is_first_reused(void **state) {
    (void)state;
    struct cc__stack_cache cache = {0};
    struct cc__stack *a = get(&cache, default_bytes), *b = get(&cache, default_bytes);
    assert_ptr_not_equal(a, b);
    cc__stack_put(&cache, a);
    cc__stack_put(&cache, b);
    assert_ptr_equal(get(&cache, default_bytes), b);
    assert_ptr_equal(get(&cache, default_bytes), a);
    cc__stack_put(&cache, a);
    cc__stack_put(&cache, b);
    cc__stack_cache_shrink(&cache, 0);
}

/* One small owner takes one stack, not a batch: thousands of schedulers stay small. */
static void a_small_owner_takes_little(void **state) {
    (void)state;
    struct cc__stack_cache cache = {0};
    size_t before = cc__stack_stats().in_use;
    struct cc__stack *s = get(&cache, default_bytes);
    assert_int_equal(cc__stack_stats().in_use - before, 1);
    cc__stack_put(&cache, s);
    cc__stack_cache_shrink(&cache, 0);
    assert_int_equal(cc__stack_stats().in_use, before);
}

static void shrinking_keeps_the_warmest(void **state) {
    (void)state;
    struct cc__stack_cache cache = {0};
    struct cc__stack *s[20];
    for (int i = 0; i < 20; i++) s[i] = get(&cache, default_bytes);
    for (int i = 0; i < 20; i++) cc__stack_put(&cache, s[i]);
    cc__stack_cache_shrink(&cache, 2);
    assert_int_equal(cc__stack_stats().in_use, 2);
    assert_ptr_equal(get(&cache, default_bytes), s[19]);
    assert_ptr_equal(get(&cache, default_bytes), s[18]);
    cc__stack_put(&cache, s[18]);
    cc__stack_put(&cache, s[19]);
    cc__stack_cache_shrink(&cache, 2);
    assert_int_equal(cc__stack_stats().in_use, 2);
    cc__stack_cache_shrink(&cache, 0);
    assert_int_equal(cc__stack_stats().in_use, 0);
}

/* One that ends far away goes back to where it was made, and is found there. */
static void stacks_go_home(void **state) {
    (void)state;
    struct cc__stack_cache near = {.home = cc__stack_home(1, false)}, far = {.home = cc__stack_home(2, false)};
    assert_int_equal(cc__stack_home(0, false), 0);
    for (unsigned node = 0; node < 100; node++) {
        assert_in_range(cc__stack_home(node, false), node == 0 ? 0 : 1, CC__STACK_NODES - 1);
        assert_in_range(cc__stack_home(node, true), CC__STACK_NODES, CC__STACK_HOMES - 1);
    }
    struct cc__stack *a = get(&near, default_bytes), *b = get(&far, default_bytes);
    assert_true(cc__stack_lives(a, &near) && cc__stack_lives(b, &far));
    assert_false(cc__stack_lives(a, &far) || cc__stack_lives(b, &near));
    use(a);
    cc__stack_put(&far, a);
    struct cc__stack *c = get(&far, default_bytes);
    assert_ptr_not_equal(c, a);                                                      /* it is not there */
    struct cc__stack *d = get(&near, default_bytes), *e = get(&near, default_bytes); /* it came with another */
    assert_true(d == a || e == a);
    cc__stack_put(&near, d);
    cc__stack_put(&near, e);
    cc__stack_put(&near, b);
    cc__stack_put(&far, c);
    cc__stack_cache_shrink(&near, 0);
    cc__stack_cache_shrink(&far, 0);
    assert_int_equal(cc__stack_stats().in_use, 0);
}

struct touch {
    char *at;
};
static void touch(void *arg) {
    *(volatile char *)((struct touch *)arg)->at = 1;
}

static void faults(char *at) {
    char err[4096];
    struct touch t = {at};
    int status = test_in_child(touch, &t, err, sizeof err);
    /* A sanitizer turns the fault into a report and an exit of its own. */
    assert_true(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0));
}

static void guard_is_below_every_stack(void **state) {
    (void)state;
    struct cc__stack_cache cache = {0};
    enum { COUNT = 40 };
    struct cc__stack *s[COUNT];
    for (int i = 0; i < COUNT; i++) s[i] = get(&cache, 16384);
    for (int i = 0; i < COUNT; i += 13) {
        faults(s[i]->lo - 1);
        faults(s[i]->lo - CC__STACK_GUARD_BYTES);
        s[i]->lo[0] = 1;
    }
    for (int i = 0; i < COUNT; i++) cc__stack_put(&cache, s[i]);
    cc__stack_cache_shrink(&cache, 0);
}

/* In huge pages: small ones lie side by side without guards; large ones are on boundaries, with guards. All of either
 * is usable and goes back. */
static void stacks_in_huge_pages(void **state) {
    (void)state;
    size_t huge = cc__vm_huge_bytes();
    if (huge == 0) skip();
    struct cc__stack_cache cache = {.home = cc__stack_home(0, true)};
    assert_true(cc__stack_guarded(0, 0));
    assert_false(cc__stack_guarded(cache.home, cc__stack_class(huge - 1) - 1));
    assert_true(cc__stack_guarded(cache.home, cc__stack_class(huge)));
    enum { COUNT = 50 };
    struct cc__stack *s[COUNT];
    for (int i = 0; i < COUNT; i++) {
        s[i] = get(&cache, default_bytes);
        s[i]->lo[0] = (char)i;
        use(s[i]);
    }
    bool side_by_side = false;
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(s[i]->lo[0], (char)i);
        for (int j = 0; j < COUNT; j++) side_by_side |= s[i]->lo + default_bytes == s[j]->lo;
        cc__stack_put(&cache, s[i]);
    }
    assert_true(side_by_side);
    struct cc__stack *large = get(&cache, huge);
    assert_int_equal((uintptr_t)large->lo % huge, 0);
    faults(large->lo - 1);
    faults(large->lo - CC__STACK_GUARD_BYTES);
    large->lo[0] = large->lo[cc__stack_bytes(large) - 1] = 1;
    cc__stack_put(&cache, large);
    cc__stack_cache_shrink(&cache, 0);
    cc__stack_trim();
    assert_int_equal(cc__stack_stats().in_use, 0);
    assert_int_equal(cc__stack_stats().idle_warm, 0);
}

/* After use by very many, memory and page tables go back; what a few still use stays. */
static void idle_memory_goes_back(void **state) {
    (void)state;
    enum { COUNT = 20000, SURVIVORS_EACH = 100 };
    struct cc__stack_cache cache = {0};
    static struct cc__stack *s[COUNT];
    size_t count = test_scaled(COUNT);
    for (size_t i = 0; i < count; i++) use(s[i] = get(&cache, default_bytes));
    size_t slabs = cc__stack_stats().slabs;
    assert_true(cc__stack_stats().slots >= count);
    for (size_t i = 0; i < count; i++)
        if (i % SURVIVORS_EACH != 0) cc__stack_put(&cache, s[i]);
    cc__stack_cache_shrink(&cache, 0);
    struct cc__stack_stats st = cc__stack_stats();
    size_t survivors = (count + SURVIVORS_EACH - 1) / SURVIVORS_EACH;
    assert_int_equal(st.in_use, survivors);
    nanosleep(&(struct timespec){.tv_nsec = 250000000}, NULL); /* untouched for a while: the next few puts trim */
    for (int i = 0; i < 100; i++) {
        cc__stack_put(&cache, get(&cache, default_bytes));
        cc__stack_cache_shrink(&cache, 0);
    }
    assert_true(cc__stack_stats().idle_warm <= 256 + 2048 + 4 * survivors); /* WARM_MAX, a slab or two, 4 times */
    for (size_t i = 0; i < count; i += SURVIVORS_EACH) assert_true(resident(top_page(s[i])));
    cc__stack_trim();
    assert_int_equal(cc__stack_stats().idle_warm, 0);
    for (size_t i = 0; i < count; i += SURVIVORS_EACH) assert_int_equal(*top_page(s[i]), 1);
    for (size_t i = 0; i < count; i += SURVIVORS_EACH) cc__stack_put(&cache, s[i]);
    cc__stack_cache_shrink(&cache, 0);
    st = cc__stack_stats();
    assert_int_equal(st.in_use, 0);
    if (slabs > 3) assert_true(st.slabs < slabs); /* unmapped, except for a spare of each class */
}

static void ended_in_order_needs_no_trimming(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    struct cc__stack_cache cache = {0};
    static struct cc__stack *s[COUNT];
    size_t count = test_scaled(COUNT);
    for (size_t i = 0; i < count; i++) use(s[i] = get(&cache, 32768));
    for (size_t i = 0; i < count; i++) cc__stack_put(&cache, s[i]);
    assert_true(cc__stack_stats().idle_warm <= 2048);
    cc__stack_cache_shrink(&cache, 0);
    cc__stack_trim();
}

static void *churn(void *arg) {
    struct cc__rng rng;
    cc__rng_seed(&rng, (uint64_t)(uintptr_t)arg);
    struct cc__stack_cache cache = {0};
    enum { HELD = 150 };
    struct cc__stack *held[HELD] = {0};
    for (size_t i = 0; i < test_scaled(30000); i++) {
        unsigned k = cc__rng_below(&rng, HELD);
        if (held[k] == NULL) {
            if (cc__stack_get(&cache, cc__rng_below(&rng, 3), &held[k]) != 0) abort();
            *(volatile uintptr_t *)(void *)(held[k]->lo + 64) = (uintptr_t)&cache; /* nobody else has it */
            held[k]->warm = true;
        } else {
            if (*(volatile uintptr_t *)(void *)(held[k]->lo + 64) != (uintptr_t)&cache) abort();
            cc__stack_put(&cache, held[k]);
            held[k] = NULL;
        }
        if (cc__rng_below(&rng, 3000) == 0) cc__stack_trim();
    }
    for (int k = 0; k < HELD; k++)
        if (held[k] != NULL) cc__stack_put(&cache, held[k]);
    cc__stack_cache_shrink(&cache, 0);
    return NULL;
}

static void threads_share_the_pool(void **state) {
    (void)state;
    pthread_t thread[4];
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)(seed + i)), 0);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    assert_int_equal(cc__stack_stats().in_use, 0);
}

/* Guards made by mprotect() need maps, and those run out: an error with a reason, and once. */
static void exhaust_maps(void *arg) {
    (void)arg;
    cc__vm_guard_force(CC__VM_GUARD_MPROTECT);
    struct cc__stack_cache cache = {0};
    struct cc__stack *s, *list = NULL;
    size_t n = 0;
    int rc;
    while ((rc = cc__stack_get(&cache, 0, &s)) == 0 && n < 70000) {
        s->next = list;
        list = s;
        n++;
    }
    if (rc != -ENOMEM || n < 1000) _exit(2);
    if (cc__stack_get(&cache, 0, &s) != -ENOMEM) _exit(3);
    for (; list != NULL; list = s) {
        s = list->next;
        cc__stack_put(&cache, list);
    }
    if (cc__stack_get(&cache, 0, &s) != 0) _exit(4); /* and it goes on when some are back */
    cc__stack_put(&cache, s);
    cc__stack_cache_shrink(&cache, 0);
    _exit(0);
}

static void out_of_maps_is_a_clear_error(void **state) {
    (void)state;
    FILE *f = fopen("/proc/sys/vm/max_map_count", "r");
    long limit = 0;
    if (f == NULL || fscanf(f, "%ld", &limit) != 1) limit = 0;
    if (f != NULL) fclose(f);
    if (limit == 0 || limit > 100000 || TEST_ASAN || TEST_TSAN || getenv("CC_TEST_SLOW") != NULL) skip();
    char err[4096];
    int status = test_in_child(exhaust_maps, NULL, err, sizeof err);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    char *first = strstr(err, "ccrt: out of memory maps for stack guards");
    assert_non_null(first);
    assert_non_null(strstr(first, "vm.max_map_count"));
    assert_null(strstr(first + 1, "ccrt: out of memory maps"));
}

TEST_MAIN(cmocka_unit_test(classes_cover_all_sizes), cmocka_unit_test(all_classes_are_usable_to_both_ends),
          cmocka_unit_test(last_used_is_first_reused), cmocka_unit_test(a_small_owner_takes_little),
          cmocka_unit_test(shrinking_keeps_the_warmest), cmocka_unit_test(guard_is_below_every_stack),
          cmocka_unit_test(stacks_go_home), cmocka_unit_test(stacks_in_huge_pages),
          cmocka_unit_test(idle_memory_goes_back), cmocka_unit_test(ended_in_order_needs_no_trimming),
          cmocka_unit_test(threads_share_the_pool), cmocka_unit_test(out_of_maps_is_a_clear_error))
