/* SPDX-License-Identifier: MIT */
/* Goal: cc_sendfile(): to pipes and to sockets, made here and elsewhere, more than they hold; no SIGPIPE, from a plain
 * thread either; no worker waits for the disk, and each part of a large file is an operation of its own.
 * Method: the calls of the kernel that may wait are wrapped: they tell who makes them, and files can be had that are
 * not in memory.
 * Link: -Wl,--wrap=preadv2,--wrap=cc__fdio_read_now,--wrap=sendfile
 */
#include "runtimes.h"

#include "sched/sched.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { MUCH = 5000000, PART = 1 << 20 };

/* ---- the kernel ---- */

static _Atomic bool cold; /* no file is in memory */
static _Atomic int blocked, sent,
    too_much; /* reads on a worker that may wait; calls of sendfile(), and too large ones */

ssize_t __real_preadv2(int fd, const struct iovec *iov, int count, off_t at, int flags);
ssize_t __wrap_preadv2(int fd, const struct iovec *iov, int count, off_t at, int flags);
ssize_t __real_cc__fdio_read_now(int fd, const struct iovec *iov, int count, int64_t at);
ssize_t __wrap_cc__fdio_read_now(int fd, const struct iovec *iov, int count, int64_t at);
ssize_t __real_sendfile(int out, int in, off_t *at, size_t n);
ssize_t __wrap_sendfile(int out, int in, off_t *at, size_t n);

ssize_t __wrap_preadv2(int fd, const struct iovec *iov, int count, off_t at, int flags) {
    if ((flags & RWF_NOWAIT) == 0 && at >= 0 && cc__worker_current() != NULL) cc__add_relaxed(&blocked, 1);
    return __real_preadv2(fd, iov, count, at, flags);
}
ssize_t __wrap_cc__fdio_read_now(int fd, const struct iovec *iov, int count, int64_t at) {
    return at >= 0 && cc__load_relaxed(&cold) ? -EAGAIN : __real_cc__fdio_read_now(fd, iov, count, at);
}
ssize_t __wrap_sendfile(int out, int in, off_t *at, size_t n) {
    cc__add_relaxed(&sent, 1);
    if (n > PART) cc__add_relaxed(&too_much, 1);
    if (cc__load_relaxed(&cold)) cc__add_relaxed(&blocked, 1);
    return __real_sendfile(out, in, at, n);
}

/* ---- what is sent ---- */

static char *bytes;

/* A file of MUCH bytes. */
static int make_file(void) {
    char name[] = "/tmp/ccrt_test_sendfile_XXXXXX";
    int fd = mkstemp(name);
    test_must(fd >= 0 && unlink(name) == 0);
    if (bytes == NULL) bytes = malloc(MUCH);
    for (int i = 0; i < MUCH; i++) bytes[i] = (char)(i * 7 + i / 1000);
    test_must(cc_pwrite(fd, bytes, MUCH, 0) == MUCH);
    return fd;
}

/* ---- where to: two ends ---- */

static void make_pipe(int fd[2]) {
    int way[2];
    test_must(cc_pipe(way) == 0);
    fd[0] = way[1];
    fd[1] = way[0];
}
static void make_tcp(int fd[2]) {
    char addr[128];
    int ls = cc_listen("127.0.0.1:0");
    test_must(ls >= 0 && cc_local_addr(ls, addr, sizeof addr) == 0);
    fd[0] = cc_connect(addr);
    fd[1] = cc_accept(ls);
    test_must(fd[0] >= 0 && fd[1] >= 0 && cc_close(ls) == 0);
}
static void make_local(int fd[2]) {
    char addr[128];
    snprintf(addr, sizeof addr, "unix:@ccrt_test_sendfile_%d_%llu", (int)getpid(), (unsigned long long)test_random());
    int ls = cc_listen(addr);
    test_must(ls >= 0);
    fd[0] = cc_connect(addr);
    fd[1] = cc_accept(ls);
    test_must(fd[0] >= 0 && fd[1] >= 0 && cc_close(ls) == 0);
}
static void make_foreign(int fd[2]) {
    test_must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0);
}
static void make_foreign_pipe(int fd[2]) {
    int way[2];
    test_must(pipe2(way, O_CLOEXEC) == 0);
    fd[0] = way[1];
    fd[1] = way[0];
}
static void (*const kinds[])(int fd[2]) = {make_pipe, make_tcp, make_local, make_foreign, make_foreign_pipe};

/* ---- tests ---- */

struct reading {
    int fd;
    char *into;
};
static void *reads_all(void *arg) {
    struct reading *r = arg;
    test_must(cc_read_full(r->fd, r->into, MUCH) == MUCH - 10);
    return NULL;
}
static void *more_than_fits(void *arg) {
    int in = make_file(), fd[2];
    char *into = malloc(MUCH);
    for (size_t i = 0; i < TEST_COUNT_OF(kinds); i++) {
        pthread_t thread;
        kinds[i](fd);
        struct reading r = {fd[1], memset(into, 0, MUCH)};
        test_must(pthread_create(&thread, NULL, reads_all, &r) == 0);
        test_must(cc_sendfile(fd[0], in, 10, MUCH) == MUCH - 10); /* to its end */
        test_must(cc_close(fd[0]) == 0 && pthread_join(thread, NULL) == 0);
        test_must(memcmp(into, bytes + 10, MUCH - 10) == 0 && cc_close(fd[1]) == 0);
    }
    test_must(cc__load_relaxed(&blocked) == 0 && cc__load_relaxed(&too_much) == 0);
    test_must(cc_close(in) == 0);
    free(into);
    return arg;
}
/* Whether the system says what is in memory; qemu does not, and then all goes by a buffer. */
static bool is_told(void) {
    int fd = make_file();
    char byte;
    bool told = __real_preadv2(fd, &(struct iovec){&byte, 1}, 1, 0, RWF_NOWAIT) == 1;
    test_must(cc_close(fd) == 0);
    return told;
}
static void more_than_they_hold(void **state) {
    (void)state;
    cc__store_relaxed(&sent, 0);
    more_than_fits(NULL);
    test_on_workers(2, more_than_fits, NULL);
    assert_true(!is_told() || cc__load_relaxed(&sent) >= 2 * 3 * (MUCH / PART));
}

/* All of it goes another way, and no worker waits for it. */
static void of_a_file_that_is_not_in_memory(void **state) {
    (void)state;
    cc__store_relaxed(&cold, true);
    cc__store_relaxed(&sent, 0);
    test_on_workers(2, more_than_fits, NULL);
    cc__store_relaxed(&cold, false);
    assert_int_equal(cc__load_relaxed(&sent), 0);
    assert_int_equal(cc__load_relaxed(&blocked), 0);
}

static void *to_nobody(void *arg) {
    int in = make_file(), fd[2];
    for (size_t i = 0; i < TEST_COUNT_OF(kinds); i++) {
        int64_t rc = 0;
        kinds[i](fd);
        test_must(cc_close(fd[1]) == 0);
        for (int tries = 0; tries < 10 && rc >= 0; tries++) rc = cc_sendfile(fd[0], in, 0, MUCH);
        test_must(rc == -EPIPE || rc == -ECONNRESET);
        test_must(cc_sendfile(fd[0], in, 0, MUCH) == -EPIPE && cc_close(fd[0]) == 0);
    }
    test_must(cc_close(in) == 0);
    return arg;
}
static void raises_no_signal(void **state) {
    (void)state;
    to_nobody(NULL); /* a plain thread, which has none blocked */
    test_on_workers(2, to_nobody, NULL);
    cc__store_relaxed(&cold, true);
    to_nobody(NULL);
    cc__store_relaxed(&cold, false);
    sigset_t pending;
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGPIPE), 0);
}

static void bad_input(void **state) {
    (void)state;
    int in = make_file(), fd[2], way[2];
    make_tcp(fd);
    assert_int_equal(cc_sendfile(fd[0], in, -1, 1), -EINVAL);
    assert_int_equal(cc_sendfile(fd[0], in, 2, INT64_MAX), -EINVAL);
    assert_int_equal(cc_sendfile(fd[0], in, MUCH, 10), 0);
    assert_int_equal(cc_sendfile(fd[0], in, 0, 0), 0);
    assert_int_equal(cc_pipe(way), 0);
    assert_int_equal(cc_sendfile(fd[0], way[0], 0, 1), -ESPIPE);
    assert_int_equal(cc_sendfile(in, fd[0], 0, 1), -ESPIPE);
    assert_int_equal(cc_close(way[0]) | cc_close(way[1]) | cc_close(fd[0]) | cc_close(fd[1]) | cc_close(in), 0);
    free(bytes);
    bytes = NULL;
}

TEST_MAIN(cmocka_unit_test(more_than_they_hold), cmocka_unit_test(of_a_file_that_is_not_in_memory),
          cmocka_unit_test(raises_no_signal), cmocka_unit_test(bad_input))
