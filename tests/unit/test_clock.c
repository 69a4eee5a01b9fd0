/* SPDX-License-Identifier: MIT */
/* Goal: the clock is CLOCK_MONOTONIC in nanoseconds, the cycle counter goes forward, and its rate is
 * measured once and about right.
 * Method: readings bracketed by readings of the system's own clock, also from two threads; a pause
 * measured by both; a clock that stands in for the system's, for a counter slower than a tick a
 * microsecond and for what a second question costs.
 * Link: -Wl,--wrap=clock_gettime
 */
#include "test.h"

#include "base/atomic.h"
#include "plat/clock.h"

#include <pthread.h>

enum { READS = 20000, MS = 1000000 };

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

/* When fast_s is not 0, the monotonic clock is this many seconds further at each reading. */
static time_t fast_s, fast_now_s;
static _Atomic size_t readings;
static size_t slow_at; /* the Nth reading takes a pause after the clock was looked at; 0: none */

int __wrap_clock_gettime(clockid_t id, struct timespec *ts) {
    int rc = __real_clock_gettime(id, ts);
    if (id == CLOCK_MONOTONIC) cc__add_relaxed(&readings, 1);
    if (id == CLOCK_MONOTONIC && slow_at != 0 && cc__load_relaxed(&readings) == slow_at)
        nanosleep(&(struct timespec){.tv_nsec = 20 * MS}, NULL);
    if (id == CLOCK_MONOTONIC && fast_s != 0) {
        fast_now_s += fast_s;
        ts->tv_sec += fast_now_s;
    }
    return rc;
}

static int64_t system_ns(void) {
    struct timespec ts;
    __real_clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void now_is_monotonic_time(void **state) {
    (void)state;
    int64_t last = 0;
    for (size_t i = 0; i < test_scaled(READS); i++) {
        int64_t before = system_ns(), now = cc__now_ns(), after = system_ns();
        assert_true(before <= now && now <= after);
        assert_true(now >= last);
        last = now;
    }
}

static void now_counts_whole_seconds(void **state) {
    (void)state;
    int64_t before = cc__now_ns();
    fast_s = 5000000000; /* more than 32 bits hold */
    int64_t after = cc__now_ns();
    fast_s = fast_now_s = 0;
    assert_true(after - before >= INT64_C(5000000000) * 1000000000);
    assert_true(after - before < INT64_C(6000000000) * 1000000000);
}

static void coarse_time_is_a_little_late(void **state) {
    (void)state;
    int64_t last = 0;
    for (size_t i = 0; i < test_scaled(READS); i++) {
        int64_t now = cc__now_coarse_ns(), after = system_ns();
        assert_true(now <= after && now >= last);
        assert_true(after - now < INT64_C(10000000000)); /* of a clock that counts from another time it would be more */
        last = now;
    }
    nanosleep(&(struct timespec){.tv_nsec = 50 * MS}, NULL);
    assert_true(cc__now_coarse_ns() > last);
}

static void cycles_go_forward(void **state) {
    (void)state;
    uint64_t first = cc__cycles(), last = first;
    for (size_t i = 0; i < test_scaled(READS); i++) {
        uint64_t now = cc__cycles();
        assert_true(now >= last);
        last = now;
    }
    nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
    assert_true(cc__cycles() > first);
}

static void *ask_rate(void *arg) {
    *(uint64_t *)arg = cc__cycles_per_us();
    return NULL;
}

/* Both threads may measure; both must get a figure, and afterwards nobody measures again. */
static void rate_is_measured_once(void **state) {
    (void)state;
    pthread_t thread[2];
    uint64_t rate[2] = {0, 0};
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, ask_rate, &rate[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    assert_true(rate[0] >= 1 && rate[1] >= 1);
    uint64_t kept = cc__cycles_per_us();
    assert_true(kept == rate[0] || kept == rate[1]);
    size_t before = cc__load_relaxed(&readings);
    for (int i = 0; i < 100; i++) assert_true(cc__cycles_per_us() == kept);
    assert_int_equal(cc__load_relaxed(&readings), before);
}

/* A factor of ten either way: the measurement may have been interrupted, on a busy machine. */
static void rate_turns_cycles_into_time(void **state) {
    (void)state;
    uint64_t rate = cc__cycles_per_us();
    uint64_t c0 = cc__cycles();
    int64_t t0 = cc__now_ns();
    nanosleep(&(struct timespec){.tv_nsec = 30 * MS}, NULL);
    uint64_t cycles = cc__cycles() - c0;
    uint64_t us = (uint64_t)(cc__now_ns() - t0) / 1000;
    assert_true(us >= 30000);
    if (rate == 1) skip(); /* a counter that slow says nothing */
    assert_true(cycles / rate >= us / 10);
    assert_true(cycles / rate <= us * 10);
}

/* In a child of its own, before any other measured there: a counter of less than a tick a microsecond. */
static void measure_slow_counter(void *arg) {
    (void)arg;
    fast_s = 10000000;
    uint64_t rate = cc__cycles_per_us();
    dprintf(STDERR_FILENO, "%llu", (unsigned long long)rate);
}

static void rate_is_at_least_one(void **state) {
    (void)state;
    char err[64];
    assert_int_equal(test_in_child(measure_slow_counter, NULL, err, sizeof err), 0);
    assert_string_equal(err, "1");
}

/* In a child: a thread that is interrupted between reading the one and the other. */
static void measure_interrupted(void *arg) {
    (void)arg;
    slow_at = cc__load_relaxed(&readings) + 1;
    uint64_t rate = cc__cycles_per_us();
    uint64_t c0 = cc__cycles();
    int64_t t0 = cc__now_ns();
    nanosleep(&(struct timespec){.tv_nsec = 100 * MS}, NULL);
    double real = (double)(cc__cycles() - c0) * 1000 / (double)(cc__now_ns() - t0);
    dprintf(STDERR_FILENO, "%s", (double)rate < 3 * real && (double)rate > real / 3 ? "right" : "wrong");
}

static void interruptions_do_not_spoil_the_rate(void **state) {
    (void)state;
    char err[64];
    assert_int_equal(test_in_child(measure_interrupted, NULL, err, sizeof err), 0);
    assert_string_equal(err, "right");
}

/* The first two fork while nothing is measured yet. */
TEST_MAIN(cmocka_unit_test(rate_is_at_least_one), cmocka_unit_test(interruptions_do_not_spoil_the_rate),
          cmocka_unit_test(now_is_monotonic_time), cmocka_unit_test(now_counts_whole_seconds),
          cmocka_unit_test(coarse_time_is_a_little_late), cmocka_unit_test(cycles_go_forward),
          cmocka_unit_test(rate_is_measured_once), cmocka_unit_test(rate_turns_cycles_into_time))
