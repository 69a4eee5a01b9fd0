/* SPDX-License-Identifier: MIT */
/* Goal: kinds of descriptors that others share with us or that behave in a way of their own: a terminal, also as the
 * stdin that a program was given; vectors over sockets; and descriptors that are served although tasks keep the only
 * worker busy by yielding for ever.
 * Method: a pseudo terminal; the child that has it as stdin is a fork. The monitor is off where the worker is to look
 * by itself.
 */
#include "runtimes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <termios.h>

/* ---- terminals ---- */

/* Both ends of a terminal, which hands lines on as they are, without an echo. */
static void open_terminal(int fd[2]) {
    struct termios how;
    fd[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    test_must(fd[0] >= 0 && grantpt(fd[0]) == 0 && unlockpt(fd[0]) == 0);
    fd[1] = open(ptsname(fd[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
    test_must(fd[1] >= 0 && isatty(fd[1]) && tcgetattr(fd[1], &how) == 0);
    how.c_lflag &= ~(tcflag_t)ECHO;
    how.c_oflag &= ~(tcflag_t)OPOST;
    test_must(tcsetattr(fd[1], TCSANOW, &how) == 0);
}

CC_TASK(types, (int, fd), (const char *, text)) {
    test_must(cc_sleep_ms(5) == 0);
    for (; *text != 0; text++) test_must(cc_write(fd, text, 1) == 1);
    return 0;
}
static void *over_a_terminal(void *arg) {
    int fd[2];
    char buf[32];
    open_terminal(fd);
    for (int i = 0; i < 3; i++) {
        CC_NURSERY(n) {
            test_must(cc_spawn(n, types, fd[0], "hello\n") == 0);
            test_must(cc_read(fd[1], buf, sizeof buf) == 6 && memcmp(buf, "hello\n", 6) == 0); /* a line at a time */
            test_must(cc_spawn(n, types, fd[1], "back") == 0);
            test_must(cc_read_full(fd[0], buf, 4) == 4 && memcmp(buf, "back", 4) == 0);
        }
    }
    CC_DEADLINE_MS(5) test_must(cc_read(fd[1], buf, 1) == -ETIMEDOUT && cc_wait_fd(fd[1], POLLIN) == -ETIMEDOUT);
    test_must((fcntl(fd[0], F_GETFL) & O_NONBLOCK) == 0 && (fcntl(fd[1], F_GETFL) & O_NONBLOCK) == 0);
    test_must(cc_close(fd[1]) == 0 && cc_read(fd[0], buf, 1) == -EIO); /* which is how its end is told */
    test_must(cc_close(fd[0]) == 0);
    return arg;
}
static void terminals(void **state) {
    (void)state;
    test_on_all(over_a_terminal);
    over_a_terminal(NULL);
}

/* The stdin of a program: what it is, a terminal or a pipe, its flags are the starter's. Another program reads the same
 * one later, by plain calls. */
static void *reads_lines(void *arg) {
    char room[64], *line;
    size_t len;
    cc_reader r;
    cc_reader_init(&r, STDIN_FILENO, room, 6); /* no more than that is taken */
    test_must(cc_reader_line(&r, &line, &len) == 1 && strcmp(line, "first") == 0);
    return arg;
}
static void uses_stdin(void *arg) {
    int *fd = arg;
    char c = 0;
    test_must(dup2(fd[1], STDIN_FILENO) == STDIN_FILENO);
    test_on_workers(2, reads_lines, NULL);
    test_must((fcntl(STDIN_FILENO, F_GETFL) & O_NONBLOCK) == 0);
    test_must(read(STDIN_FILENO, &c, 1) == 1 && c == 's'); /* it waits for it, as it would have */
}
static void as_stdin(void **state) {
    (void)state;
    for (int pipes = 0; pipes < 2; pipes++) {
        int fd[2], err, status;
        char said[1000];
        if (pipes) {
            assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
            int in = fd[0];
            fd[0] = fd[1];
            fd[1] = in;
        } else {
            open_terminal(fd);
        }
        pid_t pid = test_fork(uses_stdin, fd, &err);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* it waits by then, or does so later */
        assert_int_equal(write(fd[0], "first\n", 6), 6);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        assert_int_equal(write(fd[0], "s\n", 2), 2);
        ssize_t n = read(err, said, sizeof said - 1);
        said[n < 0 ? 0 : n] = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0) print_message("%s\n", said);
        assert_int_equal(status, 0);
        assert_int_equal(close(err) | close(fd[0]) | close(fd[1]), 0);
    }
}

/* ---- vectors over sockets ---- */

static void *vectors(void *arg) {
    char addr[128], a[3], b[5], rest[8];
    struct iovec in[2] = {{a, sizeof a}, {b, sizeof b}}, out[2] = {{(char[]){"abc"}, 3}, {(char[]){"defghij"}, 7}};
    for (int kind = 0; kind < 2; kind++) {
        int fd[2], ls = cc_listen("127.0.0.1:0");
        test_must(ls >= 0 && cc_local_addr(ls, addr, sizeof addr) == 0);
        if (kind == 0) {
            test_must((fd[0] = cc_connect(addr)) >= 0 && (fd[1] = cc_accept(ls)) >= 0);
        } else {
            test_must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
        }
        CC_DEADLINE_MS(0) test_must(cc_readv(fd[1], in, 2) == -ETIMEDOUT);
        test_must(cc_writev(fd[0], out, 2) == 10);
        test_must(cc_readv(fd[1], in, 2) == 8 && memcmp(a, "abc", 3) == 0 && memcmp(b, "defgh", 5) == 0);
        test_must(cc_readv(fd[1], in, 2) == 2 && memcmp(a, "ij", 2) == 0); /* what there is */
        test_must(cc_close(fd[0]) == 0 && cc_readv(fd[1], in, 2) == 0 && cc_read(fd[1], rest, 8) == 0);
        test_must(cc_close(fd[1]) == 0 && cc_close(ls) == 0);
    }
    return arg;
}
static void vectors_over_sockets(void **state) {
    (void)state;
    test_on_workers(2, vectors, NULL);
    vectors(NULL);
}

/* ---- a busy worker ---- */

static _Atomic int served;

CC_TASK(yields_on, (int, enough)) {
    while (cc__load_relaxed(&served) < enough) cc_yield();
    return 0;
}
CC_TASK(serves, (int, fd)) {
    char c;
    test_must(cc_read(fd, &c, 1) == 1);
    cc__add_relaxed(&served, 1);
    return 0;
}
static void *writes_to(void *arg) {
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    test_must(write(*(int *)arg, "xxx", 3) == 3);
    return NULL;
}
static void *busy(void *arg) {
    int fd[2];
    pthread_t writer;
    test_must(cc_pipe(fd) == 0);
    CC_NURSERY(n) {
        for (int i = 0; i < 3; i++) test_must(cc_spawn(n, serves, fd[0]) == 0);
        for (int i = 0; i < 4; i++) test_must(cc_spawn(n, yields_on, 3) == 0);
        test_must(pthread_create(&writer, NULL, writes_to, &fd[1]) == 0);
    }
    test_must(pthread_join(writer, NULL) == 0 && cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
    return arg;
}
static void served_by_a_worker_that_is_never_idle(void **state) {
    (void)state;
    cc_runtime *rt;
    cc_task t;
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1, .no_monitor = 1}), 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, busy, NULL), 0);
    assert_int_equal(cc_task_join(t, NULL), 0);
    cc_runtime_destroy(rt);
}

/* First what forks: a child has none of the parent's workers. */
TEST_MAIN(cmocka_unit_test(as_stdin), cmocka_unit_test(terminals), cmocka_unit_test(vectors_over_sockets),
          cmocka_unit_test(served_by_a_worker_that_is_never_idle))
