/* SPDX-License-Identifier: MIT */
/* Goal: programs over channels that wait for ever are reported, with what they wait for, and ended (lesson 66).
 * Method: each in a child process, in the shape of a well-known bug; it must end by abort() after the report.
 * Not with: thread valgrind cross
 * Timeout: 120
 */
#include "child.h"
#include "runtimes.h"

typedef CC_CHAN(int) int_chan;

static int_chan make(size_t capacity) {
    int_chan c;
    test_must(cc_chan_create(c, capacity) == 0);
    return c;
}

CC_TASK(sends, (int_chan, c), (int, count)) {
    for (int i = 0; i < count; i++)
        if (cc_send(c, i) != 0) return 0;
    return 0;
}
CC_TASK(receives_all, (int_chan, c)) {
    CC_EACH(int, v, c) test_must(v >= 0);
    return 0;
}

/* Nobody closes it, and who receives until it is closed waits for ever. */
static void *missing_close(void *unused) {
    int_chan c = make(1);
    CC_NURSERY(n) test_must(cc_spawn(n, sends, c, 5) == 0 && cc_spawn(n, receives_all, c) == 0);
    return unused;
}

/* Lesson 66: it is closed, but after the nursery that its receivers are in. */
static void *closed_behind_the_braces(void *unused) {
    int_chan c = make(0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, sends, c, 5) == 0);
        CC_EACH(int, v, c) test_must(v >= 0);
    }
    cc_chan_close(c);
    return unused;
}

/* The asker has left at its timeout, and the answer waits for it. */
static void *sender_is_left_behind(void *unused) {
    int_chan c = make(0);
    int v;
    CC_NURSERY(n) {
        CC_DEADLINE_MS(5)(void) cc_recv(c, &v);
        test_must(cc_spawn(n, sends, c, 1) == 0);
    }
    return unused;
}

/* A lock, as a channel of one permit, is held across a send to somebody who needs the lock first. */
CC_TASK(sends_with_the_lock, (int_chan, lock), (int_chan, c)) {
    int v;
    if (cc_recv(lock, &v) != 0 || cc_send(c, 1) != 0) return -1;
    return cc_send(lock, v);
}
CC_TASK(receives_with_the_lock, (int_chan, lock), (int_chan, c)) {
    int permit, v;
    if (cc_recv(lock, &permit) != 0 || cc_recv(c, &v) != 0) return -1;
    return cc_send(lock, permit);
}
static void *lock_around_a_send(void *unused) {
    int_chan lock = make(1), c = make(0);
    test_must(cc_send(lock, 0) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, sends_with_the_lock, lock, c) == 0);
        test_must(cc_spawn(n, receives_with_the_lock, lock, c) == 0);
    }
    return unused;
}

/* Each sends to the other before it receives. */
CC_TASK(sends_first, (int_chan, out), (int_chan, in)) {
    int v;
    return cc_send(out, 1) == 0 ? cc_recv(in, &v) : -1;
}
static void *both_send_first(void *unused) {
    int_chan a = make(0), b = make(0);
    CC_NURSERY(n) test_must(cc_spawn(n, sends_first, a, b) == 0 && cc_spawn(n, sends_first, b, a) == 0);
    return unused;
}

/* There is nobody else at all. */
static void *sends_to_itself(void *unused) {
    int_chan c = make(0);
    (void)cc_send(c, 1);
    return unused;
}

/* None of the cases can ever happen. */
static void *selects_among_none(void *unused) {
    int_chan none = {NULL};
    int v;
    (void)cc_select(CC_RECV(none, &v), CC_SEND(none, 1));
    return unused;
}

/* One of those who were to say that they are done did not. */
CC_TASK(says_done, (int_chan, done), (int, id)) {
    return id == 2 ? 0 : cc_send(done, id);
}
static void *one_is_not_done(void *unused) {
    int_chan done = make(0);
    int v;
    CC_NURSERY(n) {
        for (int i = 0; i < 4; i++) test_must(cc_spawn(n, says_done, done, i) == 0);
        for (int i = 0; i < 4; i++) (void)cc_recv(done, &v);
    }
    return unused;
}

/* A pipeline with a full ring in it. */
CC_TASK(passes_on, (int_chan, in), (int_chan, out)) {
    CC_EACH(int, v, in) if (cc_send(out, v) != 0 || cc_send(out, v) != 0) return -1;
    return 0;
}
static void *ring_fills_up(void *unused) {
    int_chan a = make(2), b = make(2);
    test_must(cc_send(a, 1) == 0);
    CC_NURSERY(n) test_must(cc_spawn(n, passes_on, a, b) == 0 && cc_spawn(n, passes_on, b, a) == 0);
    return unused;
}

static const struct {
    void *(*fn)(void *);
    const char *says; /* what one of them waits for */
} kernel[] = {
    {missing_close, "receive"},      {closed_behind_the_braces, "receive"},
    {sender_is_left_behind, "send"}, {lock_around_a_send, "send"},
    {both_send_first, "send"},       {sends_to_itself, "send"},
    {selects_among_none, "select"},  {one_is_not_done, "receive"},
    {ring_fills_up, "send"},
};

static void run(void *at) {
    cc_task_join(cc_fiber_spawn_task(kernel[*(size_t *)at].fn, NULL), NULL);
}

static void they_are_reported(void **state) {
    static struct test_child c[TEST_COUNT_OF(kernel)];
    bool good = true;
    (void)state;
    if (!test_monitored()) skip();
    for (size_t i = 0; i < TEST_COUNT_OF(c); i++) test_child_start(&c[i], run, &i);
    for (size_t i = 0; i < TEST_COUNT_OF(c); i++) {
        bool said = test_child_says(&c[i], "ccrt: deadlock", 60000) && test_child_says(&c[i], kernel[i].says, 10000);
        if (!said) kill(c[i].pid, SIGKILL);
        int status = test_child_end(&c[i]);
        if (said && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) continue;
        print_message("program %zu of the list: status %x, it said:\n%s\n", i, (unsigned)status, c[i].said);
        good = false;
    }
    assert_true(good);
}

TEST_MAIN(cmocka_unit_test(they_are_reported))
