/* SPDX-License-Identifier: MIT */
/* What every test includes: cmocka (or its stand-in), a printed seed, scaling for slow builds, and
 * tests of functions that abort. */
#ifndef CCRT_TESTS_TEST_H
#define CCRT_TESTS_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if CCRT_TEST_MINI
#include "mini_cmocka.h"
#else
#include <cmocka.h>
#endif

/* Which sanitizer this is built with: gcc says so by macros, clang by features. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define TEST_ASAN 1
#else
#define TEST_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define TEST_TSAN 1
#else
#define TEST_TSAN 0
#endif

#define TEST_UNUSED __attribute__((unused))
#define TEST_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Run a group; the tests are `static void name(void **state)`. */
#define TEST_MAIN(...)                                                                                                 \
    int main(void) {                                                                                                   \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                                               \
        return cmocka_run_group_tests(tests, NULL, NULL);                                                              \
    }

/* A seed for this run, printed once: CC_TEST_SEED if set, else the clock. */
static inline TEST_UNUSED uint64_t test_seed(void) {
    static uint64_t seed;
    if (seed == 0) {
        const char *given = getenv("CC_TEST_SEED");
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
        if (seed == 0) seed = 1;
        printf("seed: CC_TEST_SEED=%llu\n", (unsigned long long)seed);
        fflush(stdout);
    }
    return seed;
}

/* A repeat count, divided where every step is slow: CC_TEST_SLOW=N is set under valgrind and qemu. */
static inline TEST_UNUSED size_t test_scaled(size_t n) {
    const char *slow = getenv("CC_TEST_SLOW");
    size_t by = slow != NULL ? strtoul(slow, NULL, 10) : 1;
    return by > 1 && n / by > 0 ? n / by : n;
}

#if CCRT_TEST_COVERAGE
/* libgcov writes its counts at exit(); what a child did counts too, although it ends by abort() or _exit(). A
 * child that another signal kills still loses its last counts. */
void __gcov_dump(void);
static inline TEST_UNUSED void test_count(int sig) {
    (void)sig;
    __gcov_dump();
}
#define TEST_AT_ABORT test_count
#define _exit(status) (__gcov_dump(), _exit(status))
#else
#define TEST_AT_ABORT SIG_DFL
#endif

/* Start a child process that runs fn(arg) and ends; *err is where its stderr can be read. */
static inline TEST_UNUSED pid_t test_fork(void (*fn)(void *), void *arg, int *err) {
    int pipe_fd[2];
    fflush(NULL);
    if (pipe(pipe_fd) != 0) abort();
    pid_t pid = fork();
    if (pid < 0) abort();
    if (pid == 0) {
        dup2(pipe_fd[1], STDERR_FILENO);
        close(pipe_fd[0]);
        close(pipe_fd[1]);
        /* cmocka's handlers would take the child back into the group of tests. */
        const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
        for (size_t i = 0; i < TEST_COUNT_OF(fatal); i++) signal(fatal[i], SIG_DFL);
        signal(SIGABRT, TEST_AT_ABORT);
        fn(arg);
        _exit(0);
    }
    close(pipe_fd[1]);
    *err = pipe_fd[0];
    return pid;
}

/* Run fn(arg) in a child process; its stderr, cut to size-1, goes to err. Returns the wait status. */
static inline TEST_UNUSED int test_in_child(void (*fn)(void *), void *arg, char *err, size_t size) {
    int fd;
    pid_t pid = test_fork(fn, arg, &fd);
    size_t at = 0;
    char rest[256];
    for (;;) {
        bool room = at + 1 < size;
        ssize_t n = read(fd, room ? err + at : rest, room ? size - 1 - at : sizeof rest);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        if (room) at += (size_t)n;
    }
    err[at] = 0;
    close(fd);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* The child must end by abort() after a line on stderr that contains `text`. */
static inline TEST_UNUSED void test_aborts(void (*fn)(void *), void *arg, const char *text) {
    char err[4096];
    int status = test_in_child(fn, arg, err, sizeof err);
    if (strstr(err, text) == NULL)
        print_message("expected \"%s\" in, with status %#x:\n%s\n", text, (unsigned)status, err);
    assert_non_null(strstr(err, text));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

#endif /* CCRT_TESTS_TEST_H */
