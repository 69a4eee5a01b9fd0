/* SPDX-License-Identifier: MIT */
/* Goal: a path that was noted is seen for about a second, and not after; one that was not is never; thousands fit; the
 * table may be used by several threads at once.
 * Method: times that the test makes up, which go on from test to test, as the table does.
 */
#include "test.h"

#include "plat/seen.h"

#include <pthread.h>

static const int64_t MS = 1000000;
static int64_t now_ns = INT64_C(1) << 40;

static uint64_t key_of(int folder, int i) {
    char path[64];
    snprintf(path, sizeof path, "/some/folder_%d/file_%d", folder, i);
    return cc__seen_key(path);
}

static void for_about_a_second(void **state) {
    (void)state;
    uint64_t key = key_of(0, 0);
    assert_false(cc__seen(key, now_ns));
    cc__seen_note(key, now_ns);
    assert_true(cc__seen(key, now_ns) && cc__seen(key, now_ns + 700 * MS));
    assert_false(cc__seen(key, now_ns + 1200 * MS));
    assert_false(cc__seen(key_of(0, 1), now_ns));
    cc__seen_note(key, now_ns + 1200 * MS);
    assert_true(cc__seen(key, now_ns + 1900 * MS));
    assert_false(cc__seen(key, now_ns + 3600 * 1000 * MS));
    now_ns += 5000 * MS;
}

static void paths_differ(void **state) {
    (void)state;
    const char *paths[] = {"", "a", "b", "ab", "ba", "/a", "a/", "/a/b", "/b/a", "/a/\xff", "/a/\x7f"};
    enum { PATHS = sizeof paths / sizeof *paths };
    for (int i = 0; i < PATHS; i++)
        for (int j = 0; j < i; j++) assert_true(cc__seen_key(paths[i]) != cc__seen_key(paths[j]));
}

/* Those of one folder are alike, and still spread over the table. */
static void a_thousand_fit(void **state) {
    (void)state;
    enum { FILES = 1000 };
    int found = 0;
    for (int i = 0; i < FILES; i++) cc__seen_note(key_of(1, i), now_ns);
    for (int i = 0; i < FILES; i++) {
        found += cc__seen(key_of(1, i), now_ns + 100 * MS);
        assert_false(cc__seen(key_of(2, i), now_ns));
    }
    assert_in_range(found, FILES * 99 / 100, FILES);
    now_ns += 5000 * MS;
}

/* What is noted last is found, however many there are. */
static void the_newest_stays(void **state) {
    (void)state;
    for (int i = 0; i < 100000; i++) {
        cc__seen_note(key_of(3, i), now_ns);
        assert_true(cc__seen(key_of(3, i), now_ns));
    }
    now_ns += 5000 * MS;
}

static void *notes(void *arg) {
    for (int i = 0; i < 20000; i++) {
        cc__seen_note(key_of(4, i % 500), now_ns);
        if (cc__seen(key_of(5, i % 500), now_ns)) return NULL;
    }
    return arg;
}
static void from_several_threads(void **state) {
    (void)state;
    pthread_t t[3];
    void *end;
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&t[i], NULL, notes, &now_ns), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(t[i], &end), 0);
        assert_ptr_equal(end, &now_ns);
    }
    for (int i = 0; i < 500; i++) assert_true(cc__seen(key_of(4, i), now_ns));
}

TEST_MAIN(cmocka_unit_test(for_about_a_second), cmocka_unit_test(paths_differ), cmocka_unit_test(a_thousand_fit),
          cmocka_unit_test(the_newest_stays), cmocka_unit_test(from_several_threads))
