/* SPDX-License-Identifier: MIT */
/* For tests that run programs in several child processes at once, or look at what one says while it runs. Start all
 * from one thread: a child of fork() has no other, and must not find its locks taken. */
#ifndef CCRT_TESTS_CHILD_H
#define CCRT_TESTS_CHILD_H

#include "test.h"

#include <ccrt/time.h>
#include <poll.h>

struct test_child {
    pid_t pid;
    int err;          /* its stderr, */
    char said[16384]; /* what was read of it, */
    size_t length;    /* and how much that is */
};

static inline TEST_UNUSED void test_child_start(struct test_child *c, void (*fn)(void *), void *arg) {
    c->said[0] = 0;
    c->length = 0;
    c->pid = test_fork(fn, arg, &c->err);
}

/* Read what it says until it has said `text` (NULL: until it says no more), or for so long; whether it said it. */
static inline TEST_UNUSED bool test_child_says(struct test_child *c, const char *text, int ms) {
    int64_t until = cc_now_ns() + (int64_t)ms * 1000000;
    for (;;) {
        int64_t left = (until - cc_now_ns()) / 1000000;
        struct pollfd p = {.fd = c->err, .events = POLLIN};
        if (text != NULL && strstr(c->said, text) != NULL) return true;
        if (left <= 0 || c->length + 1 >= sizeof c->said || poll(&p, 1, (int)left) <= 0) return false;
        ssize_t n = read(c->err, c->said + c->length, sizeof c->said - 1 - c->length);
        if (n <= 0) return text == NULL && n == 0;
        c->length += (size_t)n;
        c->said[c->length] = 0;
    }
}

/* Wait for its end. Returns the wait status. */
static inline TEST_UNUSED int test_child_end(struct test_child *c) {
    int status;
    close(c->err);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    return status;
}

#endif /* CCRT_TESTS_CHILD_H */
