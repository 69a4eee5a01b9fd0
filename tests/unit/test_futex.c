/* SPDX-License-Identifier: MIT */
/* Goal: sleeping on a word: nobody sleeps who should not, nobody is woken who should not be, deadlines
 * are never early, and errno is left alone.
 * Method: sleepers are moved to a second word by FUTEX_CMP_REQUEUE, which says how many it moved: so
 * the test knows that they sleep without guessing by time, and the counts that a wake returns are
 * exact. Signals are sent until the sleeper has come back. Time is only bounded from below.
 */
#include "test.h"

#include "base/atomic.h"
#include "plat/clock.h"
#include "plat/futex.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

enum { SLEEPERS = 3, MS = 1000000, PING_PONGS = 5000 };

/* ---- sleepers ---- */

static _Atomic uint32_t bed, second_bed;
static _Atomic int awake; /* how many came back */
static int answer[SLEEPERS], errno_after[SLEEPERS];
static pthread_t sleeper[SLEEPERS];

static void *sleep_once(void *arg) {
    int me = (int)(intptr_t)arg;
    errno = 77;
    answer[me] = cc__futex_wait(&bed, 0, CC__NO_DEADLINE);
    errno_after[me] = errno;
    cc__add_acq_rel(&awake, 1);
    return NULL;
}

/* Start them all, and move each that sleeps from the first word to the second. */
static void put_to_sleep(void) {
    cc__store_relaxed(&bed, 0);
    cc__store_relaxed(&awake, 0);
    for (int i = 0; i < SLEEPERS; i++)
        assert_int_equal(pthread_create(&sleeper[i], NULL, sleep_once, (void *)(intptr_t)i), 0);
    for (long moved = 0; moved < SLEEPERS;) {
        long n = syscall(SYS_futex, &bed, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0, (void *)(uintptr_t)INT_MAX,
                         &second_bed, 0);
        assert_true(n >= 0);
        moved += n;
        if (n == 0) sched_yield();
    }
}

static void wait_until_awake(int n) {
    while (cc__load_acquire(&awake) < n) sched_yield();
}

static void all_woken_in_order(void) {
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_join(sleeper[i], NULL);
        assert_int_equal(answer[i], 0);
        assert_int_equal(errno_after[i], 77);
    }
}

static void wakes_as_many_as_asked(void **state) {
    (void)state;
    put_to_sleep();
    errno = 77;
    assert_int_equal(cc__futex_wake(&bed, -1), 0); /* nobody sleeps there any more */
    assert_int_equal(cc__futex_wake(&second_bed, 0), 0);
    assert_int_equal(cc__futex_wake(&second_bed, 1), 1);
    wait_until_awake(1);
    assert_int_equal(cc__load_acquire(&awake), 1);
    assert_int_equal(cc__futex_wake(&second_bed, SLEEPERS), SLEEPERS - 1);
    assert_int_equal(cc__futex_wake(&second_bed, 1), 0);
    assert_int_equal(errno, 77);
    all_woken_in_order();
}

static void wakes_all(void **state) {
    (void)state;
    put_to_sleep();
    assert_int_equal(cc__futex_wake(&second_bed, -1), SLEEPERS);
    assert_int_equal(cc__futex_wake(&second_bed, -1), 0);
    all_woken_in_order();
}

/* No word at all, no aligned word. In a child, where valgrind keeps what it thinks of it to itself. */
static void wake_no_word(void *arg) {
    errno = 77;
    int none = cc__futex_wake((_Atomic uint32_t *)(uintptr_t)4096, -1);
    int odd = cc__futex_wake((_Atomic uint32_t *)((uintptr_t)arg + 1), 1);
    dprintf(STDERR_FILENO, "%d %d %d", none, odd, errno);
}

static void waking_nobody_is_harmless(void **state) {
    (void)state;
    static _Atomic uint32_t pair[2];
    char err[64];
    errno = 77;
    assert_int_equal(cc__futex_wake(&pair[0], 1), 0);
    assert_int_equal(cc__futex_wake(&pair[0], -1), 0);
    assert_int_equal(errno, 77);
    test_in_child(wake_no_word, pair, err, sizeof err);
    assert_string_equal(err, "0 0 77");
}

/* ---- values and deadlines ---- */

static void other_value_does_not_sleep(void **state) {
    (void)state;
    _Atomic uint32_t word;
    cc__store_relaxed(&word, UINT32_MAX);
    errno = 77;
    assert_int_equal(cc__futex_wait(&word, 0, CC__NO_DEADLINE), -EAGAIN);
    assert_int_equal(cc__futex_wait(&word, UINT32_MAX - 1, cc__now_ns() + INT64_C(3600) * 1000 * MS), -EAGAIN);
    assert_int_equal(errno, 77);
}

static void past_deadline_returns(void **state) {
    (void)state;
    _Atomic uint32_t word;
    cc__store_relaxed(&word, 7);
    const int64_t past[] = {INT64_MIN, -1000000001, -1, 0, 1, 999999999, cc__now_ns() - 1, cc__now_ns()};
    errno = 77;
    for (size_t i = 0; i < TEST_COUNT_OF(past); i++) assert_int_equal(cc__futex_wait(&word, 7, past[i]), -ETIMEDOUT);
    assert_int_equal(errno, 77);
}

static void deadline_is_not_early(void **state) {
    (void)state;
    _Atomic uint32_t word;
    cc__store_relaxed(&word, 7);
    const int64_t delays_ns[] = {1000, MS, 20 * MS};
    for (size_t i = 0; i < TEST_COUNT_OF(delays_ns); i++) {
        int64_t deadline_ns = cc__now_ns() + delays_ns[i];
        int rc;
        while ((rc = cc__futex_wait(&word, 7, deadline_ns)) == 0) {
        } /* for no reason */
        assert_int_equal(rc, -ETIMEDOUT);
        assert_true(cc__now_ns() >= deadline_ns);
    }
}

static void *wake_until_done(void *arg) {
    while (cc__load_acquire(&awake) == 0) {
        cc__futex_wake(arg, 1);
        sched_yield();
    }
    return NULL;
}

/* The largest deadline that is one: the arithmetic must hold, and a wake must end it. */
static void far_deadline_waits(void **state) {
    (void)state;
    _Atomic uint32_t word;
    pthread_t waker;
    cc__store_relaxed(&word, 7);
    cc__store_relaxed(&awake, 0);
    assert_int_equal(pthread_create(&waker, NULL, wake_until_done, &word), 0);
    int rc = cc__futex_wait(&word, 7, CC__NO_DEADLINE - 1);
    cc__store_release(&awake, 1);
    pthread_join(waker, NULL);
    assert_int_equal(rc, 0);
}

/* ---- signals ---- */

static void nothing(int sig) {
    (void)sig;
}

static void a_signal_ends_the_wait(void **state) {
    (void)state;
    struct sigaction ours, before;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = nothing;
    assert_int_equal(sigaction(SIGUSR1, &ours, &before), 0);
    cc__store_relaxed(&bed, 0);
    cc__store_relaxed(&awake, 0);
    assert_int_equal(pthread_create(&sleeper[0], NULL, sleep_once, NULL), 0);
    while (cc__load_acquire(&awake) == 0) {
        pthread_kill(sleeper[0], SIGUSR1);
        nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
    }
    pthread_join(sleeper[0], NULL);
    assert_int_equal(answer[0], 0);
    assert_int_equal(errno_after[0], 77);
    assert_int_equal(cc__load_relaxed(&bed), 0);
    sigaction(SIGUSR1, &before, NULL);
}

/* ---- two threads ---- */

static _Atomic uint32_t turn;
static size_t rounds, wrong, in_turn;

static void *ping_pong(void *arg) {
    uint32_t me = (uint32_t)(uintptr_t)arg;
    for (size_t i = 0; i < rounds; i++) {
        while (cc__load_acquire(&turn) != me) {
            int rc = cc__futex_wait(&turn, !me, CC__NO_DEADLINE);
            if (rc != 0 && rc != -EAGAIN) wrong++;
        }
        in_turn++; /* plain: only who has the turn touches it */
        cc__store_release(&turn, !me);
        cc__futex_wake(&turn, 1);
    }
    return NULL;
}

static void no_wake_up_is_lost(void **state) {
    (void)state;
    pthread_t thread[2];
    rounds = test_scaled(PING_PONGS);
    for (uintptr_t i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, ping_pong, (void *)i), 0);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    assert_int_equal(wrong, 0);
    assert_int_equal(in_turn, 2 * rounds);
}

TEST_MAIN(cmocka_unit_test(wakes_as_many_as_asked), cmocka_unit_test(wakes_all),
          cmocka_unit_test(waking_nobody_is_harmless), cmocka_unit_test(other_value_does_not_sleep),
          cmocka_unit_test(past_deadline_returns), cmocka_unit_test(deadline_is_not_early),
          cmocka_unit_test(far_deadline_waits), cmocka_unit_test(a_signal_ends_the_wait),
          cmocka_unit_test(no_wake_up_is_lost))
