/* SPDX-License-Identifier: MIT */
/* Goal: a failed check says kind, who, why and where, and aborts; each tier of assertions is on and off
 * as CCRT_ASSERT says.
 * Method: children that fail on purpose; their whole stderr is compared. The header is included once
 * more for each level, and the same four functions are made from it each time.
 */
#include "test.h"

#include "base/assert.h"

/* ---- the levels ---- */

/* A condition that counts how often it is evaluated. */
static int evaluated;
static bool holds(int yes) {
    evaluated++;
    return yes != 0;
}

struct level {
    int expected; /* CCRT_ASSERT's value */
    int actual;
    int first_line;
    void (*check)(void *yes);
    void (*assertion)(void *yes);
    void (*slow)(void *yes);
};

/* What the header says now, at level n; all on one line, whose number is kept. */
#define LEVEL_FUNCTIONS(n)                                                                                             \
    static void check_##n(void *yes) {                                                                                 \
        CC_CHECK(holds(*(int *)yes), "the caller's fault");                                                            \
    }                                                                                                                  \
    static void assert_##n(void *yes) {                                                                                \
        CC_ASSERT(holds(*(int *)yes));                                                                                 \
    }                                                                                                                  \
    static void slow_##n(void *yes) {                                                                                  \
        CC_ASSERT_SLOW(holds(*(int *)yes));                                                                            \
    }                                                                                                                  \
    enum { level_##n = CCRT_ASSERT, line_##n = __LINE__ };

#undef CC__BASE_ASSERT_H
#undef CCRT_ASSERT
#undef CC_ASSERT
#undef CC_ASSERT_SLOW
#include "base/assert.h"
LEVEL_FUNCTIONS(not_given)

#undef CC__BASE_ASSERT_H
#undef CCRT_ASSERT
#undef CC_ASSERT
#undef CC_ASSERT_SLOW
#define CCRT_ASSERT 0
#include "base/assert.h"
LEVEL_FUNCTIONS(none)

#undef CC__BASE_ASSERT_H
#undef CCRT_ASSERT
#undef CC_ASSERT
#undef CC_ASSERT_SLOW
#define CCRT_ASSERT 1
#include "base/assert.h"
LEVEL_FUNCTIONS(one)

#undef CC__BASE_ASSERT_H
#undef CCRT_ASSERT
#undef CC_ASSERT
#undef CC_ASSERT_SLOW
#define CCRT_ASSERT 2
#include "base/assert.h"
LEVEL_FUNCTIONS(two)

static const struct level levels[] = {
    {0, level_not_given, line_not_given, check_not_given, assert_not_given, slow_not_given},
    {0, level_none, line_none, check_none, assert_none, slow_none},
    {1, level_one, line_one, check_one, assert_one, slow_one},
    {2, level_two, line_two, check_two, assert_two, slow_two},
};

/* fn must pass in silence where the condition holds, and fail or not as told where it does not. */
static void tier_obeys(void (*fn)(void *), bool on, const char *text) {
    int yes = 1, no = 0;
    evaluated = 0;
    fn(&yes);
    assert_int_equal(evaluated, on); /* once, or not at all */
    if (on) {
        test_aborts(fn, &no, text);
    } else {
        fn(&no);
        assert_int_equal(evaluated, 0);
    }
}

static void tiers_obey_the_level(void **state) {
    (void)state;
    for (size_t i = 0; i < TEST_COUNT_OF(levels); i++) {
        const struct level *l = &levels[i];
        char text[160];
        assert_int_equal(l->actual, l->expected);
        snprintf(text, sizeof text, "ccrt: misuse: the caller's fault (test_assert.c:%d)\n", l->first_line);
        tier_obeys(l->check, true, text);
        snprintf(text, sizeof text, "ccrt: assertion: holds(*(int *)yes) (test_assert.c:%d)\n", l->first_line);
        tier_obeys(l->assertion, l->expected >= 1, text);
        tier_obeys(l->slow, l->expected >= 2, text);
    }
}

/* ---- the line that is printed ---- */

struct failure {
    const char *reason, *file;
    int line;
    cc__fail_context_fn *context;
};

static void fail_with(void *arg) {
    const struct failure *f = arg;
    cc__fail_set_context(f->context);
    cc__fail("kind", f->reason, f->file, f->line);
}

/* The child's stderr must be `text`, no more and no less, but for what an emulator says of the end. */
static void fails_saying(struct failure f, const char *text) {
    char err[4096];
    int status = test_in_child(fail_with, &f, err, sizeof err);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    char *emulator = strstr(err, "qemu: ");
    if (emulator != NULL) *emulator = 0;
    assert_string_equal(err, text);
}

static size_t who(char *buf, size_t size) {
    const char *text = "fiber 7 \"parse\": ";
    size_t n = strlen(text) < size ? strlen(text) : size;
    memcpy(buf, text, n);
    return n;
}

static size_t nobody(char *buf, size_t size) {
    (void)buf, (void)size;
    return 0;
}

static void line_says_all(void **state) {
    (void)state;
    fails_saying((struct failure){"why", "/a/b/c.c", 12, NULL}, "ccrt: kind: why (c.c:12)\n");
    fails_saying((struct failure){"why", "bare.c", 2147483647, NULL}, "ccrt: kind: why (bare.c:2147483647)\n");
    fails_saying((struct failure){"", "x/", 0, NULL}, "ccrt: kind:  (:0)\n");
}

static void context_names_who(void **state) {
    (void)state;
    fails_saying((struct failure){"why", "c.c", 1, who}, "ccrt: kind: fiber 7 \"parse\": why (c.c:1)\n");
    fails_saying((struct failure){"why", "c.c", 1, nobody}, "ccrt: kind: why (c.c:1)\n");
}

/* Takes all the room there is. */
static size_t talker(char *buf, size_t size) {
    memset(buf, 'x', size);
    return size;
}

static void overlong_text_is_cut(void **state) {
    (void)state;
    char reason[2000], err[4096];
    memset(reason, 'r', sizeof reason);
    reason[sizeof reason - 1] = 0;
    struct failure f[] = {{reason, "c.c", 1, NULL}, {"why", "c.c", 1, talker}};
    for (size_t i = 0; i < TEST_COUNT_OF(f); i++) {
        int status = test_in_child(fail_with, &f[i], err, sizeof err);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
        assert_int_equal(strncmp(err, "ccrt: kind: ", 12), 0);
        assert_in_range(strlen(err), 100, 1024);
        assert_non_null(strchr(err, '\n'));
        if (f[i].context != NULL) assert_non_null(strstr(err, "xwhy (c.c:1)\n"));
    }
}

TEST_MAIN(cmocka_unit_test(tiers_obey_the_level), cmocka_unit_test(line_says_all), cmocka_unit_test(context_names_who),
          cmocka_unit_test(overlong_text_is_cut))
