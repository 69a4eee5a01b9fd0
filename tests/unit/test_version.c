/* SPDX-License-Identifier: MIT */
/* Goal: the library says the version of the headers it was built from, in a form that compares.
 * Method: the number against the header's three parts; versions in order, against their numbers.
 */
#include "test.h"

#include <ccrt/version.h>

/* Usable in #if, which is what it is for. */
#if CC_VERSION < CC_VERSION_NUMBER(0, 0, 1)
#error "the version does not compare in the preprocessor"
#endif

static void library_and_headers_agree(void **state) {
    (void)state;
    assert_int_equal(cc_version(), CC_VERSION);
    assert_int_equal(cc_version(), CC_VERSION_NUMBER(CC_VERSION_MAJOR, CC_VERSION_MINOR, CC_VERSION_PATCH));
}

static void parts_can_be_told_apart(void **state) {
    (void)state;
    assert_true(CC_VERSION_MINOR >= 0 && CC_VERSION_MINOR <= 99);
    assert_true(CC_VERSION_PATCH >= 0 && CC_VERSION_PATCH <= 99);
    assert_int_equal(cc_version() / 10000, CC_VERSION_MAJOR);
    assert_int_equal(cc_version() / 100 % 100, CC_VERSION_MINOR);
    assert_int_equal(cc_version() % 100, CC_VERSION_PATCH);
}

static void numbers_keep_the_order(void **state) {
    (void)state;
    const int rising[] = {
        CC_VERSION_NUMBER(0, 0, 1),     CC_VERSION_NUMBER(0, 0, 99),  CC_VERSION_NUMBER(0, 1, 0),
        CC_VERSION_NUMBER(0, 1, 1),     CC_VERSION_NUMBER(0, 99, 99), CC_VERSION_NUMBER(1, 0, 0),
        CC_VERSION_NUMBER(1, 0 + 1, 0), CC_VERSION_NUMBER(10, 0, 0),
    };
    for (size_t i = 1; i < TEST_COUNT_OF(rising); i++) assert_true(rising[i - 1] < rising[i]);
}

TEST_MAIN(cmocka_unit_test(library_and_headers_agree), cmocka_unit_test(parts_can_be_told_apart),
          cmocka_unit_test(numbers_keep_the_order))
