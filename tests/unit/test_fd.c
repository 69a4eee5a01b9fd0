/* SPDX-License-Identifier: MIT */
/* Goal: a descriptor that is closed while a call uses it keeps its number until that call is done, so that the call
 * never gets at another file; who comes after is told that it is closed, and the number is free in the end.
 * Method: a call in the middle is a hold (R1 of src/driver/fd.c). Whether a number is free is seen by what the kernel
 * gives the next that asks.
 */
#include "test.h"

#include "io/io.h"

#include <ccrt/io.h>

#include <fcntl.h>
#include <unistd.h>

static bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

static void closed_by_the_last_user(void **state) {
    (void)state;
    int fd[2];
    char c;
    assert_int_equal(cc_pipe(fd), 0);
    struct cc__fd *e = cc__fd_known(fd[0]);
    uint32_t generation;
    assert_int_equal(cc__fd_which(e, &generation), 0);
    assert_true(cc__fd_hold(e, generation));
    assert_true(cc__fd_hold(e, generation));

    assert_int_equal(cc_close(fd[0]), 0);
    assert_true(is_open(fd[0]));
    int next = dup(fd[1]);
    assert_int_not_equal(next, fd[0]);
    assert_false(cc__fd_hold(e, generation));
    assert_int_equal(cc_read(fd[0], &c, 1), -EBADF);
    assert_int_equal(cc_wait_fd(fd[0], 1), -EBADF);
    assert_int_equal(cc_close(fd[0]), -EBADF);

    cc__fd_release(e, fd[0]);
    assert_true(is_open(fd[0]));
    cc__fd_release(e, fd[0]);
    assert_false(is_open(fd[0]));
    assert_int_equal(cc_read(fd[0], &c, 1), -EBADF);
    assert_int_equal(cc_close(next), 0);
    assert_int_equal(cc_close(fd[1]), 0);
}

/* The number is that of another file, made here or elsewhere, as soon as it is free. */
static void the_next_of_the_number(void **state) {
    (void)state;
    for (int ours = 0; ours < 2; ours++) {
        int fd[2], other[2];
        char c = 0;
        assert_int_equal(cc_pipe(fd), 0);
        struct cc__fd *e = cc__fd_known(fd[0]);
        uint32_t before, after;
        assert_int_equal(cc__fd_which(e, &before), 0);
        assert_int_equal(cc_close(fd[0]), 0);
        assert_int_equal(ours ? cc_pipe(other) : pipe(other), 0);
        assert_int_equal(other[0], fd[0]);
        assert_int_equal(cc__fd_which(e, &after), 0);
        assert_int_not_equal(before, after);
        assert_false(cc__fd_hold(e, before));
        assert_int_equal(cc_write(other[1], "x", 1), 1);
        assert_int_equal(cc_read(other[0], &c, 1), 1);
        assert_int_equal(c, 'x');
        assert_int_equal(cc_close(fd[1]), 0);
        assert_int_equal(cc_close(other[0]), 0);
        assert_int_equal(cc_close(other[1]), 0);
    }
}

TEST_MAIN(cmocka_unit_test(closed_by_the_last_user), cmocka_unit_test(the_next_of_the_number))
