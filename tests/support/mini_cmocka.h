/* SPDX-License-Identifier: MIT */
/* The part of cmocka's interface that the tests use, for targets Debian has no cmocka for (riscv64). A
 * failed assertion ends the program. */
#ifndef CCRT_TESTS_MINI_CMOCKA_H
#define CCRT_TESTS_MINI_CMOCKA_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    int (*setup_func)(void **state); /* or NULL */
};

#define cmocka_unit_test_setup(f, setup)                                                                               \
    { #f, f, setup }
#define cmocka_unit_test(f) cmocka_unit_test_setup(f, NULL)

static int mini_skipped;

static inline int mini_run(const struct CMUnitTest *tests, size_t count) {
    int skipped = 0;
    for (size_t i = 0; i < count; i++) {
        void *state = NULL;
        printf("[ RUN      ] %s\n", tests[i].name);
        fflush(stdout);
        mini_skipped = 0;
        if (tests[i].setup_func != NULL && tests[i].setup_func(&state) != 0) exit(1);
        tests[i].test_func(&state);
        skipped += mini_skipped;
        printf("[ %s ] %s\n", mini_skipped ? " SKIPPED" : "      OK", tests[i].name);
    }
    printf("[  PASSED  ] %zu test(s), %d skipped.\n", count - (size_t)skipped, skipped);
    return 0;
}
#define cmocka_run_group_tests(tests, setup, teardown) mini_run((tests), sizeof(tests) / sizeof((tests)[0]))

#define mini_check(cond, ...)                                                                                          \
    ((cond) ? (void)0                                                                                                  \
            : (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), putchar('\n'), fflush(stdout), exit(1)))

#define print_message(...) printf(__VA_ARGS__)
#define fail_msg(...) mini_check(0, __VA_ARGS__)
#define skip()                                                                                                         \
    do {                                                                                                               \
        mini_skipped = 1;                                                                                              \
        return;                                                                                                        \
    } while (0)

#define assert_true(x) mini_check((x), "%s", #x)
#define assert_false(x) mini_check(!(x), "not: %s", #x)
#define assert_non_null(p) mini_check((p) != NULL, "%s is NULL", #p)
#define assert_null(p) mini_check((p) == NULL, "%s is not NULL", #p)
#define assert_int_equal(a, b)                                                                                         \
    mini_check((intmax_t)(a) == (intmax_t)(b), "%s is %jd, not %s, %jd", #a, (intmax_t)(a), #b, (intmax_t)(b))
#define assert_int_not_equal(a, b) mini_check((intmax_t)(a) != (intmax_t)(b), "%s is %s, %jd", #a, #b, (intmax_t)(b))
#define assert_ptr_equal(a, b) mini_check((const void *)(a) == (const void *)(b), "%s is not %s", #a, #b)
#define assert_ptr_not_equal(a, b) mini_check((const void *)(a) != (const void *)(b), "%s is %s", #a, #b)
#define assert_string_equal(a, b)                                                                                      \
    mini_check(strcmp((a), (b)) == 0, "%s is \"%s\", not \"%s\"", #a, (const char *)(a), (const char *)(b))
#define assert_memory_equal(a, b, n) mini_check(memcmp((a), (b), (n)) == 0, "%s differs from %s", #a, #b)
#define assert_in_range(v, lo, hi)                                                                                     \
    mini_check((uintmax_t)(v) >= (uintmax_t)(lo) && (uintmax_t)(v) <= (uintmax_t)(hi), "%s is %ju", #v, (uintmax_t)(v))

#endif /* CCRT_TESTS_MINI_CMOCKA_H */
