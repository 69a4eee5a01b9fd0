/* SPDX-License-Identifier: MIT */
/* Goal: child processes (ccrt/process.h): pipes both ways, output, exit codes, signals; deadlines end a child that does
 * not; a child has no signal blocked and none of our descriptors; bad input.
 * Method: small programs that every system has, on runtimes of several sizes, and from a plain thread.
 */
#include "runtimes.h"

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

TEST_MAIN(cmocka_unit_test(all_ways), cmocka_unit_test(many_at_once), cmocka_unit_test(bad_input))
