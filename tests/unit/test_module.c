/* SPDX-License-Identifier: MIT */
/* Goal: addresses of code are told by module and function: static functions of the program, functions of a library; and
 * what is no code by nothing.
 * Method: functions of this program and of libc.
 */
#include "test.h"

#include "plat/module.h"

static __attribute__((noinline)) int static_function(int n) {
    return n * 3;
}

static void of_the_program(void **state) {
    (void)state;
    struct cc__module m;
    struct cc__spot s;
    uintptr_t pc = (uintptr_t)static_function;
    assert_int_equal(static_function(14), 42);
    assert_true(cc__module_of(pc, &m));
    assert_true(m.program);
    if (!CCRT_TEST_MINI) assert_non_null(m.unwind); /* static programs of other processors have none */
    cc__spot_of(pc + 1, &s);
    assert_string_equal(s.function, "static_function");
    assert_int_equal(s.offset, 1);
    assert_non_null(strstr(s.file, "test_module"));
}

static void of_a_library(void **state) {
    (void)state;
    struct cc__module m;
    struct cc__spot s;
    uintptr_t pc = (uintptr_t)qsort;
    assert_true(cc__module_of(pc, &m));
    cc__spot_of(pc, &s);
    if (m.program) return; /* a static program, or a stub of it */
    assert_non_null(strstr(s.file, "lib"));
    assert_non_null(strstr(s.function, "qsort"));
}

static void of_nothing(void **state) {
    (void)state;
    struct cc__module m;
    struct cc__spot s;
    int here;
    assert_false(cc__module_of((uintptr_t)&here, &m));
    assert_false(cc__module_of(1, &m));
    cc__spot_of(0x1234, &s);
    assert_string_equal(s.function, "");
    assert_string_equal(s.file, "");
    assert_int_equal(s.offset, 0x1234);
}

TEST_MAIN(cmocka_unit_test(of_the_program), cmocka_unit_test(of_a_library), cmocka_unit_test(of_nothing))
