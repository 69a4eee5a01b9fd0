/* SPDX-License-Identifier: MIT */
/* Goal: aligned blocks (src/plat/block.c) are aligned, hold what they are asked for, and are freed, under tools, too.
 * Method: blocks of many sizes, filled to the last byte, several at once. Sanitizers and valgrind see a byte too many
 * and a block that is lost.
 */
#include "test.h"

#include "base/base.h"
#include "plat/block.h"

static void are_aligned_and_large_enough(void **state) {
    (void)state;
    enum { AT_ONCE = 8 };
    for (size_t bytes = 1; bytes < 5000; bytes = bytes * 3 / 2 + 1) {
        unsigned char *b[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            b[i] = cc__block_alloc(bytes);
            assert_non_null(b[i]);
            assert_int_equal((uintptr_t)b[i] % CC__FALSE_SHARING, 0);
            memset(b[i], i + 1, bytes);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            assert_int_equal(b[i][0], i + 1);
            assert_int_equal(b[i][bytes - 1], i + 1);
            cc__block_free(b[i]);
        }
    }
}

static void too_large(void **state) {
    (void)state;
    assert_null(cc__block_alloc(SIZE_MAX));
    cc__block_free(NULL);
}

TEST_MAIN(cmocka_unit_test(are_aligned_and_large_enough), cmocka_unit_test(too_large))
