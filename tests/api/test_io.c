/* SPDX-License-Identifier: MIT */
/* Goal: reading and writing (ccrt/io.h) from fibers and plain threads: counts, ends, errors; that a call parks only its
 * caller; cancellation, deadlines and closing in the middle of it; descriptors made elsewhere keep their flags; numbers
 * that are used again; no SIGPIPE.
 * Method: pipes, socket pairs and files, on runtimes of several sizes; each wait is begun before what ends it, which is
 * seen by a counter of tasks that wait, or by the time that has passed.
 */
#include "runtimes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

static void pause_ms(int ms) {
    test_must(cc_sleep_ms(ms) == 0);
}

/* ---- plain transfers ---- */

CC_TASK(writes_slowly, (int, fd), (const char *, text)) {
    for (; *text != 0; text++) {
        pause_ms(2);
        test_must(cc_write(fd, text, 1) == 1);
    }
    return cc_close(fd);
}

static void *pipes(void *arg) {
    int fd[2];
    char buf[16] = {0};
    test_must(cc_pipe(fd) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, writes_slowly, fd[1], "hello") == 0);
        test_must(cc_read_full(fd[0], buf, 4) == 4 && memcmp(buf, "hell", 4) == 0);
        test_must(cc_read_full(fd[0], buf, sizeof buf) == 1 && buf[0] == 'o'); /* the end came first */
        test_must(cc_read(fd[0], buf, sizeof buf) == 0 && cc_read(fd[0], buf, sizeof buf) == 0);
    }
    test_must(cc_close(fd[0]) == 0);
    return arg;
}
static void through_pipes(void **state) {
    (void)state;
    test_on_all(pipes);
}

enum { MUCH = 1000000 };
CC_TASK(reads_much, (int, fd), (char *, into)) {
    pause_ms(5);
    ssize_t n = cc_read_full(fd, into, MUCH);
    return n == MUCH ? 0 : -EIO;
}
/* More than a socket or pipe holds: the writer waits again and again, and all arrives. */
static void move_much(int out, int in) {
    char *from = malloc(MUCH), *into = malloc(MUCH);
    for (int i = 0; i < MUCH; i++) from[i] = (char)(i * 7 + i / 1000);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, reads_much, in, into) == 0);
        test_must(cc_write(out, from, MUCH) == MUCH);
        test_must(cc_nursery_wait(n) == 0);
    }
    test_must(memcmp(from, into, MUCH) == 0);
    memset(into, 0, MUCH);
    struct iovec iov[3] = {{from, 10}, {from + 10, 0}, {from + 10, MUCH - 10}};
    CC_NURSERY(n) {
        test_must(cc_spawn(n, reads_much, in, into) == 0);
        test_must(cc_writev(out, iov, 3) == MUCH);
        test_must(cc_nursery_wait(n) == 0);
    }
    test_must(memcmp(from, into, MUCH) == 0);
    free(from);
    free(into);
}
static void *much(void *arg) {
    int fd[2];
    test_must(cc_pipe(fd) == 0);
    move_much(fd[1], fd[0]);
    test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
    test_must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0); /* they block, and stay so */
    move_much(fd[1], fd[0]);
    test_must((fcntl(fd[0], F_GETFL) & O_NONBLOCK) == 0 && (fcntl(fd[1], F_GETFL) & O_NONBLOCK) == 0);
    test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
    test_must(pipe(fd) == 0); /* the same */
    move_much(fd[1], fd[0]);
    test_must((fcntl(fd[0], F_GETFL) & O_NONBLOCK) == 0 && (fcntl(fd[1], F_GETFL) & O_NONBLOCK) == 0);
    test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
    return arg;
}
static void much_at_once(void **state) {
    (void)state;
    test_on_all(much);
}

static void *vectors(void *arg) {
    int fd[2];
    char a[3], b[5];
    struct iovec iov[2] = {{a, sizeof a}, {b, sizeof b}};
    test_must(cc_pipe(fd) == 0);
    test_must(cc_write(fd[1], "abcdef", 6) == 6);
    test_must(cc_readv(fd[0], iov, 2) == 6 && memcmp(a, "abc", 3) == 0 && memcmp(b, "def", 3) == 0);
    test_must(cc_readv(fd[0], iov, -1) == -EINVAL && cc_writev(fd[1], iov, 1025) == -EINVAL);
    test_must(cc_readv(fd[0], iov, 0) == 0 && cc_writev(fd[1], iov, 0) == 0);
    test_must(cc_close(fd[0]) == 0);
    test_must(cc_writev(fd[1], iov, 2) == -EPIPE && cc_write(fd[1], "x", 1) == -EPIPE); /* and no signal */
    test_must(cc_close(fd[1]) == 0);
    return arg;
}
static void in_vectors(void **state) {
    (void)state;
    test_on_workers(1, vectors, NULL);
    vectors(NULL); /* and from a plain thread, which has no signal blocked */
}

static void bad_input(void **state) {
    (void)state;
    char c;
    int dir = open("/", O_RDONLY | O_DIRECTORY), closed = dup(dir);
    close(closed);
    assert_int_equal(cc_read(-1, &c, 1), -EBADF);
    assert_int_equal(cc_write(-1, &c, 1), -EBADF);
    assert_int_equal(cc_close(-1), -EBADF);
    assert_int_equal(cc_close(closed), -EBADF);
    assert_int_equal(cc_read(closed, &c, 1), -EBADF);
    assert_int_equal(cc_write(closed, &c, 1), -EBADF);
    assert_int_equal(cc_read(closed, &c, 0), -EBADF);
    assert_int_equal(cc_read(1000000, &c, 1), -EBADF);
    assert_int_equal(cc_read(INT32_MAX, &c, 1), -EBADF);
    assert_int_equal(cc_read(dir, &c, 1), -EISDIR);
    assert_int_equal(cc_wait_fd(-1, POLLIN), -EBADF);
    assert_int_equal(cc_wait_fd(closed, POLLIN), -EBADF);
    assert_int_equal(cc_wait_fd(dir, 0), -EINVAL);
    assert_int_equal(cc_wait_fd(dir, POLLPRI), -EINVAL);
    assert_int_equal(cc_wait_fd(dir, POLLRDHUP | POLLIN), -EINVAL);
    assert_int_equal(cc_wait_fd(dir, -1), -EINVAL);
    assert_int_equal(cc_sendfile(-1, dir, 0, 1), -EBADF);
    assert_int_equal(cc_sendfile(dir, -1, 0, 1), -EBADF);
    assert_int_equal(cc_sendfile(dir, dir, -1, 1), -EINVAL);
    assert_int_equal(cc_close(dir), 0);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC), null = open("/dev/null", O_WRONLY | O_CLOEXEC), fd[2];
    assert_int_equal(cc_write(full, "x", 1), -ENOSPC);
    assert_int_equal(cc_read(null, &c, 1), -EBADF); /* not for that */
    assert_int_equal(cc_close(full) | cc_close(null), 0);
    assert_int_equal(cc_pipe(fd), 0);
    assert_int_equal(cc_read(fd[1], &c, 1), -EBADF);
    assert_int_equal(cc_write(fd[0], &c, 1), -EBADF);
    assert_int_equal(cc_write(fd[1], (void *)1, 1), -EFAULT);
    assert_int_equal(cc_write(fd[1], "x", 1), 1);
    assert_int_equal(cc_read(fd[0], (void *)1, 1), -EFAULT);
    assert_int_equal(cc_write(fd[1], &c, 0), 0);
    struct iovec too_much[2] = {{&c, SIZE_MAX / 2}, {&c, SIZE_MAX / 2}};
    assert_int_equal(cc_writev(fd[1], too_much, 2), -EINVAL);
    assert_int_equal(cc_close(fd[0]) | cc_close(fd[1]), 0);
}

/* ---- files ---- */

static void *files(void *arg) {
    char name[] = "/tmp/ccrt_test_io_XXXXXX", buf[32] = {0};
    int fd = mkstemp(name), pair[2];
    test_must(fd >= 0 && unlink(name) == 0);
    test_must(cc_write(fd, "some text", 9) == 9);
    test_must(lseek(fd, 0, SEEK_SET) == 0);
    test_must(cc_read(fd, buf, sizeof buf) == 9 && memcmp(buf, "some text", 9) == 0);
    test_must(cc_read(fd, buf, sizeof buf) == 0);
    test_must(cc_wait_fd(fd, POLLIN) == POLLIN); /* always */
    test_must(cc_pipe(pair) == 0);
    test_must(cc_sendfile(pair[1], fd, 5, 100) == 4); /* to its end */
    test_must(cc_read(pair[0], buf, sizeof buf) == 4 && memcmp(buf, "text", 4) == 0);
    test_must(cc_close(pair[0]) == 0 && cc_close(pair[1]) == 0);
    test_must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    test_must(cc_sendfile(pair[1], fd, 0, 4) == 4);
    test_must(cc_read(pair[0], buf, sizeof buf) == 4 && memcmp(buf, "some", 4) == 0);
    test_must(cc_close(pair[0]) == 0 && cc_close(pair[1]) == 0 && cc_close(fd) == 0);
    return arg;
}
static void files_too(void **state) {
    (void)state;
    test_on_workers(2, files, NULL);
    files(NULL);
}

/* ---- what ends a wait ---- */

static _Atomic int waiting;
static int rc_of[4];

CC_TASK(waits_to_read, (int, fd), (int, i)) {
    char c;
    cc__add_relaxed(&waiting, 1);
    rc_of[i] = (int)cc_read(fd, &c, 1);
    return 0;
}
CC_TASK(waits_to_write, (int, fd), (int, i)) {
    static char much_of_it[MUCH];
    cc__add_relaxed(&waiting, 1);
    rc_of[i] = (int)cc_write(fd, much_of_it, sizeof much_of_it);
    return 0;
}
static void await_waiting(int count) {
    while (cc__load_relaxed(&waiting) < count) pause_ms(1);
    pause_ms(5);
}

static void *closes(void *arg) {
    int fd[2];
    test_must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    cc__store_relaxed(&waiting, 0);
    CC_NURSERY(n) {
        for (int i = 0; i < 3; i++) test_must(cc_spawn(n, waits_to_read, fd[0], i) == 0);
        test_must(cc_spawn(n, waits_to_write, fd[0], 3) == 0);
        await_waiting(4);
        test_must(cc_close(fd[0]) == 0);
    }
    for (int i = 0; i < 4; i++) test_must(rc_of[i] == -EBADF);
    test_must(cc_close(fd[1]) == 0);
    return arg;
}
static void closed_meanwhile(void **state) {
    (void)state;
    test_on_all(closes);
}

static void *cancels(void *arg) {
    int fd[2];
    char c;
    test_must(cc_pipe(fd) == 0);
    cc__store_relaxed(&waiting, 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, waits_to_read, fd[0], 0) == 0);
        test_must(cc_spawn(n, waits_to_write, fd[1], 1) == 0);
        await_waiting(1);
        cc_nursery_cancel(n);
    }
    test_must(rc_of[0] > 0 || rc_of[0] == -ECANCELED);
    test_must(rc_of[1] == -ECANCELED);
    CC_DEADLINE_MS(0) {
        test_must(cc_read(fd[0], &c, 1) == 1); /* what can be done at once is done */
    }
    char *rest = malloc(MUCH);
    CC_DEADLINE_MS(10) {
        test_must(cc_read_full(fd[0], rest, MUCH) == -ETIMEDOUT);
        test_must(cc_read(fd[0], rest, 1) == -ETIMEDOUT);
        test_must(cc_wait_fd(fd[0], POLLIN) == -ETIMEDOUT);
    }
    int64_t before = cc_now_ns();
    CC_DEADLINE_MS(20) {
        test_must(cc_write(fd[1], rest, MUCH) == -ETIMEDOUT);
        test_must(cc_wait_fd(fd[1], POLLOUT) == -ETIMEDOUT);
    }
    test_must(cc_now_ns() - before >= 20000000);
    free(rest);
    test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
    return arg;
}
static void cancelled_or_late(void **state) {
    (void)state;
    test_on_all(cancels);
    CC_DEADLINE_MS(10) { /* a plain thread */
        int fd[2];
        char c;
        assert_int_equal(cc_pipe(fd), 0);
        assert_int_equal(cc_read(fd[0], &c, 1), -ETIMEDOUT);
        assert_int_equal(cc_close(fd[0]) | cc_close(fd[1]), 0);
    }
}

/* Data that arrived but of which no event was looked at yet is read, although the deadline has passed. */
static void *reads_late(void *arg) {
    int fd[2];
    char c;
    test_must(cc_pipe(fd) == 0);
    for (int i = 0; i < 100; i++) {
        CC_DEADLINE_MS(0) test_must(cc_read(fd[0], &c, 1) == -ETIMEDOUT); /* drained, and watched */
        test_must(write(fd[1], "x", 1) == 1);
        CC_DEADLINE_MS(0) test_must(cc_read(fd[0], &c, 1) == 1);
    }
    test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
    return arg;
}
static void a_deadline_does_not_fail_what_can_be_done(void **state) {
    (void)state;
    test_on_all(reads_late);
}

/* ---- others ---- */

static void *pthread_writes(void *arg) {
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(cc_write(*(int *)arg, "x", 1), 1);
    return NULL;
}
static void plain_threads(void **state) {
    (void)state;
    int fd[2];
    char c;
    pthread_t t;
    assert_int_equal(cc_pipe(fd), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&t, NULL, pthread_writes, &fd[1]), 0);
        if (i == 0) assert_int_equal(cc_wait_fd(fd[0], POLLIN), POLLIN);
        assert_int_equal(cc_read(fd[0], &c, 1), 1);
        pthread_join(t, NULL);
    }
    assert_int_equal(cc_close(fd[0]) | cc_close(fd[1]), 0);
}

/* Numbers that are used again, closed by cc_close() and, of foreign ones, by close(). */
static void *reuses(void *arg) {
    char c;
    for (size_t i = 0; i < test_rounds(1000); i++) {
        int fd[2];
        bool foreign = i % 2 == 0;
        test_must((foreign ? pipe(fd) : cc_pipe(fd)) == 0);
        cc__store_relaxed(&waiting, 0);
        CC_NURSERY(n) {
            test_must(cc_spawn(n, waits_to_read, fd[0], 0) == 0);
            if (i % 3 == 0) cc_yield();
            test_must(cc_write(fd[1], "x", 1) == 1);
        }
        test_must(rc_of[0] == 1);
        if (foreign)
            test_must(close(fd[0]) == 0 && close(fd[1]) == 0);
        else
            test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
        test_must(cc_read(fd[0], &c, 1) == -EBADF);
    }
    return arg;
}
static void numbers_are_used_again(void **state) {
    (void)state;
    test_on_all(reuses);
}

static void *waits_for_both(void *arg) {
    int fd[2];
    static char filler[MUCH];
    test_must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
    test_must(cc_wait_fd(fd[0], POLLIN | POLLOUT) == POLLOUT);
    while (write(fd[0], filler, sizeof filler) > 0) {
    }
    CC_NURSERY(n) {
        test_must(cc_spawn(n, writes_slowly, dup(fd[1]), "x") == 0);
        test_must(cc_wait_fd(fd[0], POLLIN | POLLOUT) == POLLIN);
    }
    test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
    return arg;
}
static void both_ways(void **state) {
    (void)state;
    test_on_all(waits_for_both);
}

/* A descriptor as a case of a select, beside a channel and a time. */
static void *selects(void *arg) {
    int fd[2], x;
    CC_CHAN(int) c;
    test_must(cc_pipe(fd) == 0 && cc_chan_create(c, 1) == 0);
    test_must(cc_select(CC_READABLE(fd[0]), CC_RECV(c, &x), CC_AFTER_MS(5)) == 2);
    test_must(cc_select(CC_READABLE(fd[0]), CC_WRITABLE(fd[1])) == 1);
    test_must(cc_select(CC_READABLE(fd[0]), CC_DEFAULT) == 1);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, writes_slowly, dup(fd[1]), "x") == 0);
        test_must(cc_select(CC_READABLE(fd[0]), CC_RECV(c, &x), CC_AFTER_MS(60000)) == 0);
    }
    char b;
    test_must(cc_read(fd[0], &b, 1) == 1);
    int which = 0;
    test_must(cc_send(c, 5) == 0);
    CC_SELECT {
        CC_ON_READABLE(fd[0]) which = 1;
        CC_ON_RECV(c, &x) which = 2;
    }
    test_must(which == 2 && x == 5);
    CC_SELECT {
        CC_ON_WRITABLE(fd[1]) which = 3;
    }
    test_must(which == 3 && cc_select(CC_READABLE(-1)) == -EBADF);
    test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0 && cc_select(CC_READABLE(fd[0])) == -EBADF);
    cc_chan_destroy(c);
    return arg;
}
CC_TASK(selects_until_closed, (int, fd)) {
    cc__add_relaxed(&waiting, 1);
    rc_of[0] = cc_select(CC_READABLE(fd), CC_AFTER_MS(60000));
    return 0;
}
static void *select_closed(void *arg) {
    int fd[2];
    test_must(cc_pipe(fd) == 0);
    cc__store_relaxed(&waiting, 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, selects_until_closed, fd[0]) == 0);
        await_waiting(1);
        test_must(cc_close(fd[0]) == 0);
    }
    test_must(rc_of[0] == -EBADF && cc_close(fd[1]) == 0);
    return arg;
}
static void in_a_select(void **state) {
    (void)state;
    test_on_all(selects);
    test_on_all(select_closed);
    selects(NULL);
}

static void closes_by_itself(void **state) {
    (void)state;
    int fd[2], kept;
    assert_int_equal(cc_pipe(fd), 0);
    {
        cc_autoclose int a = fd[0];
        cc_autoclose int none = -1;
        kept = a + none + 1;
    }
    assert_int_equal(fcntl(kept, F_GETFD), -1);
    assert_int_equal(cc_close(fd[1]), 0);
}

TEST_MAIN(cmocka_unit_test(through_pipes), cmocka_unit_test(much_at_once), cmocka_unit_test(in_vectors),
          cmocka_unit_test(bad_input), cmocka_unit_test(files_too), cmocka_unit_test(closed_meanwhile),
          cmocka_unit_test(cancelled_or_late), cmocka_unit_test(a_deadline_does_not_fail_what_can_be_done),
          cmocka_unit_test(plain_threads), cmocka_unit_test(numbers_are_used_again), cmocka_unit_test(both_ways),
          cmocka_unit_test(in_a_select), cmocka_unit_test(closes_by_itself))
