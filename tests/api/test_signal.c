/* SPDX-License-Identifier: MIT */
/* Goal: signals (ccrt/signal.h): who listens gets them, alone or beside other things; a nursery is cancelled by one;
 * who stops listening gives the signal its default effect back; a program's own handler is left alone.
 * Method: the process sends itself signals; what should end it is done in a child. ThreadSanitizer keeps a signal back
 * until its thread makes a call that it knows, which one that waits by a futex never does.
 * Not with: thread
 */
#include "runtimes.h"

static void send_self(int signo) {
    test_must(kill(getpid(), signo) == 0);
}

CC_TASK(sends_later, (int, signo)) {
    test_must(cc_sleep_ms(5) == 0);
    send_self(signo);
    return 0;
}

static void *listens(void *arg) {
    int a = cc_signals(SIGUSR1, SIGUSR2), b = cc_signals(SIGUSR2);
    test_must(a >= 0 && b >= 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, sends_later, SIGUSR1) == 0);
        test_must(cc_signal_next(a) == SIGUSR1);
        test_must(cc_spawn(n, sends_later, SIGUSR2) == 0);
        test_must(cc_select(CC_READABLE(a), CC_AFTER_MS(60000)) == 0);
        test_must(cc_signal_next(a) == SIGUSR2 && cc_signal_next(b) == SIGUSR2);
    }
    CC_DEADLINE_MS(5) test_must(cc_signal_next(a) == -ETIMEDOUT);
    test_must(cc_close(b) == 0);
    send_self(SIGUSR2);
    test_must(cc_signal_next(a) == SIGUSR2);
    test_must(cc_close(a) == 0 && cc_signal_next(a) == -EBADF);
    return arg;
}
static void are_heard(void **state) {
    (void)state;
    test_on_all(listens);
    listens(NULL);
}

/* Nobody reads for so long that no more fit: the last ones, of another kind, come all the same, once each. */
static void *overflows(void *arg) {
    int a = cc_signals(SIGUSR1, SIGUSR2, SIGHUP), b = cc_signals(SIGHUP), signo = 0, seen[2] = {0, 0};
    long read = 0;
    test_must(a >= 0 && b >= 0);
    CC_DEADLINE_MS(0) test_must(cc_signal_next(a) == -ETIMEDOUT); /* so that it is watched */
    for (int i = 0; i < 3000; i++) send_self(SIGUSR1);
    send_self(SIGUSR2);
    send_self(SIGHUP);
    test_must(cc_signal_next(b) == SIGHUP);
    for (; seen[0] + seen[1] < 2; read++) {
        CC_DEADLINE_MS(20000) signo = cc_signal_next(a);
        test_must(signo == SIGUSR1 || signo == SIGUSR2 || signo == SIGHUP);
        seen[0] += signo == SIGUSR2;
        seen[1] += signo == SIGHUP;
    }
    CC_DEADLINE_MS(5)
    while ((signo = cc_signal_next(a)) > 0) test_must(signo == SIGUSR1);
    test_must(signo == -ETIMEDOUT);
    if (cc_worker_self() == 0) test_must(read > 10); /* else another thread hears them, and several may be as one */
    send_self(SIGUSR2);
    test_must(cc_signal_next(a) == SIGUSR2 && cc_close(a) == 0 && cc_close(b) == 0);
    return arg;
}
static void are_not_lost(void **state) {
    (void)state;
    test_on_workers(2, overflows, NULL);
    overflows(NULL);
}

static int ended_with;
CC_TASK(sleeps_long, (int, ms)) {
    return ended_with = cc_sleep_ms(ms);
}
static void *cancels(void *arg) {
    CC_NURSERY(n) {
        test_must(cc_nursery_cancel_on(n, SIGUSR1, SIGUSR2) == 0);
        test_must(cc_spawn(n, sleeps_long, 60000) == 0);
        test_must(cc_spawn(n, sends_later, SIGUSR2) == 0);
        test_must(cc_nursery_wait(n) == -ECANCELED);
    }
    test_must(ended_with == -ECANCELED);
    CC_NURSERY(n) { /* none comes: it ends as any other */
        test_must(cc_nursery_cancel_on(n, SIGUSR1) == 0);
        test_must(cc_spawn(n, sleeps_long, 1) == 0);
        test_must(cc_nursery_wait(n) == 0);
    }
    return arg;
}
static void cancel_a_nursery(void **state) {
    (void)state;
    test_on_all(cancels);
}

static void own_handler(int signo) {
    (void)signo;
}
static void bad_input(void **state) {
    (void)state;
    assert_int_equal(cc_signals(SIGKILL), -EINVAL);
    assert_int_equal(cc_signals(0), -EINVAL);
    assert_int_equal(cc_signals(65), -EINVAL);
    assert_int_equal(cc_signal_open(NULL, 1), -EINVAL);
    assert_int_equal(cc_nursery_cancel_on_signals(NULL, (const int[]){SIGUSR1}, 1), -EINVAL);
    signal(SIGHUP, own_handler);
    assert_int_equal(cc_signals(SIGUSR1, SIGHUP), -EBUSY);
    signal(SIGHUP, SIG_DFL);
    assert_int_equal(cc_signal_next(-1), -EBADF);
    int many[65], n = 0;
    while (n < 65 && (many[n] = cc_signals(SIGUSR1)) >= 0) n++;
    assert_int_equal(n, 64);
    assert_int_equal(many[64], -ENOSPC);
    while (n-- > 0) assert_int_equal(cc_close(many[n]), 0);
    send_self(SIGUSR1 == SIGUSR2 ? 0 : SIGURG); /* nobody hears it, and its default is nothing */
}

static void stops_listening(void *arg) {
    (void)arg;
    int a = cc_signals(SIGTERM);
    send_self(SIGTERM);
    if (cc_signal_next(a) != SIGTERM) return;
    (void)cc_close(a);
    send_self(SIGTERM);
}
static void default_comes_back(void **state) {
    (void)state;
    char err[100];
    int status = test_in_child(stops_listening, NULL, err, sizeof err);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* First what forks: a child has none of the parent's workers. */
TEST_MAIN(cmocka_unit_test(default_comes_back), cmocka_unit_test(are_heard), cmocka_unit_test(are_not_lost),
          cmocka_unit_test(cancel_a_nursery), cmocka_unit_test(bad_input))
