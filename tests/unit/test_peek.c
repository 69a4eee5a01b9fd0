/* SPDX-License-Identifier: MIT */
/* Goal: memory is copied where it is there, refused where it is not, and nothing faults; strings are cut to what there
 * is room for and what can be printed.
 * Method: a page with an unmapped one behind it, read up to its end and past it.
 */
#include "test.h"

#include "plat/peek.h"

#include <sys/mman.h>

static char *page_before_nothing(size_t *bytes) {
    *bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, 2 * *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    assert_int_equal(munmap(at + *bytes, *bytes), 0);
    return at;
}

static void copies_or_refuses(void **state) {
    (void)state;
    size_t bytes;
    char *at = page_before_nothing(&bytes), got[16];
    memset(at, 'x', bytes);
    errno = 42;
    assert_true(cc__peek(got, at + bytes - 16, 16));
    assert_memory_equal(got, "xxxxxxxxxxxxxxxx", 16);
    assert_false(cc__peek(got, at + bytes - 15, 16));
    assert_false(cc__peek(got, at + bytes, 1));
    assert_false(cc__peek(got, NULL, 1));
    assert_false(cc__peek(got, (const void *)UINTPTR_MAX, 1));
    assert_int_equal(errno, 42);
    munmap(at, bytes);
}

static void strings(void **state) {
    (void)state;
    size_t bytes;
    char *at = page_before_nothing(&bytes), got[32];
    strcpy(at + bytes - 6, "hello"); /* its end is the page's */
    assert_true(cc__peek_text(got, sizeof got, at + bytes - 6));
    assert_string_equal(got, "hello");
    assert_true(cc__peek_text(got, 4, at + bytes - 6));
    assert_string_equal(got, "hel");
    at[bytes - 1] = '!'; /* no end */
    assert_false(cc__peek_text(got, sizeof got, at + bytes - 6));
    assert_string_equal(got, "");
    assert_true(cc__peek_text(got, sizeof got, "a\nb\x7f\x01"));
    assert_string_equal(got, "a?b??");
    assert_true(cc__peek_text(got, sizeof got, "a string that is longer than the room for it"));
    assert_string_equal(got, "a string that is longer than th");
    munmap(at, bytes);
}

TEST_MAIN(cmocka_unit_test(copies_or_refuses), cmocka_unit_test(strings))
