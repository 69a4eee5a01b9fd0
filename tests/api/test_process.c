/* SPDX-License-Identifier: MIT */
/* Goal: child processes (ccrt/process.h): pipes both ways, output, exit codes, signals; deadlines end a child that does
 * not; a child has no signal blocked and none of our descriptors; bad input.
 * Method: small programs that every system has, on runtimes of several sizes, and from a plain thread.
 */
#include "runtimes.h"

#include <fcntl.h>

static void *talks(void *arg) {
    cc_process p;
    int status = -1;
    char buf[100];
    const char *cat[] = {"cat", NULL};
    cc_process_attr pipes = {.in = CC_STDIO_PIPE, .out = CC_STDIO_PIPE, .err = CC_STDIO_NULL};
    test_must(cc_process_spawn(&p, cat, &pipes) == 0 && p.pid > 0 && p.err == -1);
    for (int i = 0; i < 3; i++) {
        test_must(cc_write(p.in, "hello", 5) == 5);
        test_must(cc_read_full(p.out, buf, 5) == 5 && memcmp(buf, "hello", 5) == 0);
    }
    CC_DEADLINE_MS(5) test_must(cc_process_wait(&p, &status) == -ETIMEDOUT);
    test_must(cc_process_close_in(&p) == 0 && cc_process_close_in(&p) == -EBADF);
    test_must(cc_read(p.out, buf, sizeof buf) == 0);
    test_must(cc_process_wait(&p, &status) == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    test_must(cc_process_wait(&p, &status) == -ESRCH && cc_process_kill(&p, SIGTERM) == -ESRCH && p.out == -1);
    return arg;
}
static void *outputs(void *arg) {
    char buf[100];
    int status = -1;
    const char *echo[] = {"echo", "some", "words", NULL}, *fails[] = {"sh", "-c", "echo x; exit 7", NULL};
    test_must(cc_process_output(echo, buf, sizeof buf, &status) == 11 && memcmp(buf, "some words\n", 11) == 0);
    test_must(status == 0);
    test_must(cc_process_output(echo, buf, 4, &status) == 4 && memcmp(buf, "some", 4) == 0); /* cut */
    test_must(cc_process_output(echo, buf, 0, NULL) == 0);
    test_must(cc_process_output(fails, buf, sizeof buf, &status) == 2);
    test_must(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    const char *mask[] = {"grep", "SigBlk", "/proc/self/status", NULL};
    ssize_t n = cc_process_output(mask, buf, sizeof buf, &status);
    test_must(n > 0 && memcmp(buf, "SigBlk:\t0000000000000000", 24) == 0);
    return arg;
}
static void *ends(void *arg) {
    cc_process p;
    int status = 0;
    char buf[10];
    const char *sleeps[] = {"sleep", "60", NULL};
    test_must(cc_process_spawn(&p, sleeps, NULL) == 0);
    test_must(cc_process_kill(&p, SIGTERM) == 0);
    test_must(cc_process_wait(&p, &status) == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    int64_t before = cc_now_ns();
    CC_DEADLINE_MS(20) test_must(cc_process_output(sleeps, buf, sizeof buf, &status) == -ETIMEDOUT);
    test_must(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && cc_now_ns() - before < INT64_C(30000000000));
    return arg;
}
static void all_ways(void **state) {
    (void)state;
    test_on_all(talks);
    test_on_workers(2, outputs, NULL);
    test_on_workers(2, ends, NULL);
    talks(NULL);
    outputs(NULL);
    ends(NULL);
}

/* Many at once: each waits for its own. */
CC_TASK(runs_one, (int, code)) {
    char text[20], buf[10];
    int status;
    snprintf(text, sizeof text, "exit %d", code);
    const char *argv[] = {"sh", "-c", text, NULL};
    test_must(cc_process_output(argv, buf, sizeof buf, &status) == 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == code ? 0 : -EIO;
}
static void *many(void *arg) {
    CC_NURSERY(n) {
        for (int i = 0; i < 10; i++) test_must(cc_spawn(n, runs_one, i) == 0);
        test_must(cc_nursery_wait(n) == 0);
    }
    return arg;
}
static void many_at_once(void **state) {
    (void)state;
    test_on_workers(2, many, NULL);
}

/* Some send signals to a child for as long as they may, while others wait for it: one of them gets its end. */
CC_TASK(kills, (cc_process *, p)) {
    int rc;
    while ((rc = cc_process_kill(p, SIGUSR1)) == 0) cc_yield();
    test_must(rc == -ESRCH);
    return 0;
}
CC_TASK(waits_for, (cc_process *, p), (int *, rc)) {
    int status = 0;
    *rc = cc_process_wait(p, &status);
    test_must(*rc == -ESRCH || (*rc == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1));
    return 0;
}
static void *kill_and_wait(void *arg) {
    for (size_t i = 0; i < test_rounds(100); i++) {
        cc_process p;
        int rc[2] = {1, 1};
        const char *sleeps[] = {"sleep", "600", NULL};
        test_must(cc_process_spawn(&p, sleeps, NULL) == 0);
        CC_NURSERY(n) {
            for (int k = 0; k < 2; k++) test_must(cc_spawn(n, waits_for, &p, &rc[k]) == 0);
            for (int k = 0; k < 3; k++) test_must(cc_spawn(n, kills, &p) == 0);
        }
        test_must(rc[0] + rc[1] == -ESRCH);
    }
    return arg;
}
static void killed_by_some_and_waited_for_by_others(void **state) {
    (void)state;
    test_on_workers(7, kill_and_wait, NULL);
    test_on_workers(1, kill_and_wait, NULL);
}

static void bad_input(void **state) {
    (void)state;
    cc_process p;
    const char *none[] = {"/no/such/program", NULL}, *empty[] = {NULL}, *cat[] = {"cat", NULL};
    /* An emulator makes a fork of a child that shares its parent's memory: why it could not begin is not heard. */
    if (!CCRT_TEST_EMULATED) assert_int_equal(cc_process_spawn(&p, none, NULL), -ENOENT);
    assert_int_equal(cc_process_spawn(&p, empty, NULL), -EINVAL);
    assert_int_equal(cc_process_spawn(&p, NULL, NULL), -EINVAL);
    assert_int_equal(cc_process_spawn(&p, cat, &(cc_process_attr){.in = -3, .out = CC_STDIO_PIPE}), -EINVAL);
    if (!CCRT_TEST_EMULATED) {
        assert_int_equal(cc_process_spawn(&p, cat, &(cc_process_attr){.dir = "/no/such/folder"}), -ENOENT);
        assert_int_equal(p.out, -1);
    }
    char buf[40];
    const char *env[] = {"A=b", NULL}, *prints[] = {"/usr/bin/env", NULL};
    cc_process_attr attr = {.out = CC_STDIO_PIPE, .env = env, .dir = "/"};
    assert_int_equal(cc_process_spawn(&p, prints, &attr), 0);
    assert_int_equal(cc_read_full(p.out, buf, sizeof buf), 4);
    assert_memory_equal(buf, "A=b\n", 4);
    assert_int_equal(cc_process_wait(&p, NULL), 0);
}

/* A program that has closed its own three. */
static void talks_without_stdio(void *arg) {
    (void)arg;
    cc_process p;
    char out[8] = {0}, err[8] = {0};
    int status = 1;
    const char *sh[] = {"sh", "-c", "read x; echo out $x; echo err >&2", NULL};
    cc_process_attr pipes = {.in = CC_STDIO_PIPE, .out = CC_STDIO_PIPE, .err = CC_STDIO_PIPE};
    int way[2];
    if (cc_pipe(way) != 0 || way[0] < 3 || cc_write(way[1], "1\n", 2) != 2) _exit(9);
    close(0);
    close(1);
    close(2);
    /* What its stdout is to be is opened, and gets the number of its stdin. */
    if (cc_process_spawn(&p, sh, &(cc_process_attr){.in = way[0], .out = CC_STDIO_NULL, .err = CC_STDIO_NULL}) != 0)
        _exit(10);
    if (cc_process_wait(&p, &status) != 0 || status != 0) _exit(11);
    if (cc_process_spawn(&p, sh, &pipes) != 0 || cc_write(p.in, "1\n", 2) != 2) _exit(12);
    if (cc_read_full(p.out, out, 6) != 6 || memcmp(out, "out 1\n", 6) != 0) _exit(13);
    if (cc_read_full(p.err, err, 4) != 4 || memcmp(err, "err\n", 4) != 0) _exit(14);
    if (cc_process_wait(&p, &status) != 0 || status != 0) _exit(15);
}
static void without_stdio(void **state) {
    (void)state;
    char err[1000];
    int status = test_in_child(talks_without_stdio, NULL, err, sizeof err);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A child has its three descriptors, and none of ours: neither what we made nor what the library needs for itself. */
static void *inherits(void *arg) {
    char buf[200];
    int fd[2], udp = cc_udp("127.0.0.1:0"), ls = cc_listen("127.0.0.1:0"), signals = cc_signals(SIGUSR2);
    int file = cc_open("/proc/self/exe", 0, 0), status = 1;
    const char *ls_fd[] = {"ls", "/proc/self/fd", NULL};
    test_must(cc_pipe(fd) == 0 && udp >= 0 && ls >= 0 && signals >= 0 && file >= 0);
    CC_DEADLINE_MS(0) test_must(cc_read(fd[0], buf, 1) == -ETIMEDOUT);
    cc_process other;
    const char *cat[] = {"cat", NULL};
    cc_process_attr pipes = {.in = CC_STDIO_PIPE, .out = CC_STDIO_PIPE, .err = CC_STDIO_PIPE};
    test_must(cc_process_spawn(&other, cat, &pipes) == 0);
    ssize_t n = cc_process_output(ls_fd, buf, sizeof buf - 1, &status);
    test_must(n > 0 && status == 0);
    buf[n] = 0;
    int lines = 0, wanted = 4; /* its three, and the one that it lists them by; and what nobody has closed on exec */
    for (ssize_t i = 0; i < n; i++) lines += buf[i] == '\n';
    for (int i = 3; i < 4096; i++) wanted += fcntl(i, F_GETFD) == 0;
    test_must(lines == wanted);
    test_must(cc_process_close_in(&other) == 0 && cc_process_wait(&other, &status) == 0);
    test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0 && cc_close(udp) == 0 && cc_close(ls) == 0);
    test_must(cc_close(signals) == 0 && cc_close(file) == 0);
    return arg;
}
static void none_of_our_descriptors(void **state) {
    (void)state;
    test_on_workers(2, inherits, NULL);
    inherits(NULL);
}

/* First what forks: a child has none of the parent's workers. */
TEST_MAIN(cmocka_unit_test(without_stdio), cmocka_unit_test(none_of_our_descriptors), cmocka_unit_test(all_ways),
          cmocka_unit_test(many_at_once), cmocka_unit_test(killed_by_some_and_waited_for_by_others),
          cmocka_unit_test(bad_input))
