/* SPDX-License-Identifier: MIT */
/* Goal: a write that writes nothing, and does not say why, ends with -EIO: it is not tried for ever.
 * Method: the kernel's call is wrapped, and says that it has written nothing.
 * Link: -Wl,--wrap=pwritev2
 */
#include "runtimes.h"

#include <fcntl.h>
#include <sys/uio.h>

static _Atomic bool writes_nothing;

ssize_t __real_pwritev2(int fd, const struct iovec *iov, int count, off_t at, int flags);
ssize_t __wrap_pwritev2(int fd, const struct iovec *iov, int count, off_t at, int flags);

ssize_t __wrap_pwritev2(int fd, const struct iovec *iov, int count, off_t at, int flags) {
    return cc__load_relaxed(&writes_nothing) ? 0 : __real_pwritev2(fd, iov, count, at, flags);
}

static void *write_nothing(void *arg) {
    char name[] = "/tmp/ccrt_test_nothing_XXXXXX";
    struct iovec two[2] = {{(char[]){"a"}, 1}, {(char[]){"bc"}, 2}};
    int file = mkstemp(name), fd[2];
    test_must(file >= 0 && unlink(name) == 0 && cc_pipe(fd) == 0);
    cc__store_relaxed(&writes_nothing, true);
    test_must(cc_write(fd[1], "x", 1) == -EIO && cc_writev(fd[1], two, 2) == -EIO);
    test_must(cc_write(file, "x", 1) == -EIO && cc_pwrite(file, "x", 1, 0) == -EIO && cc_pwrite(file, "", 0, 0) == 0);
    cc__store_relaxed(&writes_nothing, false);
    test_must(cc_write(fd[1], "x", 1) == 1 && cc_pwrite(file, "x", 1, 0) == 1);
    test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0 && cc_close(file) == 0);
    return arg;
}
static void nothing_is_not_written_for_ever(void **state) {
    (void)state;
    write_nothing(NULL);
    test_on_workers(1, write_nothing, NULL);
}

TEST_MAIN(cmocka_unit_test(nothing_is_not_written_for_ever))
