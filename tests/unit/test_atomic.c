/* SPDX-License-Identifier: MIT */
/* Goal: every operation of base/atomic.h does what its name says, and the orders that protocols are
 * built on hold between threads.
 * Method: each operation's result and effect are compared with plain arithmetic. Then two threads per
 * guarantee: counters that lose nothing, a message published by release and read after acquire, a lock
 * made of exchanges, and the store-then-load pair that only the full fence orders. A processor that
 * reorders (all of them do, for that last pair) fails it within a few meetings without a fence. A pause of a spin
 * loop is looked for in the code that was made of it (lesson 41).
 */
#include "test.h"

#include "base/atomic.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 4, ADDS = 20000, ROUNDS = 20000, MEETINGS = 300 };

static void loads_and_stores(void **state) {
    (void)state;
    _Atomic uint64_t word;
    cc__store_relaxed(&word, UINT64_C(0x0123456789abcdef));
    assert_true(cc__load_relaxed(&word) == UINT64_C(0x0123456789abcdef));
    cc__store_release(&word, UINT64_MAX);
    assert_true(cc__load_acquire(&word) == UINT64_MAX);

    int target = 0;
    int *_Atomic pointer;
    cc__store_release(&pointer, &target);
    assert_ptr_equal(cc__load_acquire(&pointer), &target);
}

/* Each returns the value before; the word holds the value after. */
static void read_modify_write(void **state) {
    (void)state;
    _Atomic uint32_t w;
    cc__store_relaxed(&w, 10);
    assert_int_equal(cc__add_relaxed(&w, 5), 10);
    assert_int_equal(cc__add_acq_rel(&w, 7), 15);
    assert_int_equal(cc__sub_relaxed(&w, 2), 22);
    assert_int_equal(cc__sub_release(&w, 1), 20);
    assert_int_equal(cc__sub_acq_rel(&w, 20), 19);
    assert_true(cc__load_relaxed(&w) == UINT32_MAX); /* wraps, as unsigned does */

    cc__store_relaxed(&w, 0x0f);
    assert_int_equal(cc__or_relaxed(&w, 0xf0), 0x0f);
    assert_int_equal(cc__or_acq_rel(&w, 0xf00), 0xff);
    assert_int_equal(cc__and_relaxed(&w, 0xff0), 0xfff);
    assert_int_equal(cc__and_acq_rel(&w, 0x0f0), 0xff0);
    assert_int_equal(cc__load_relaxed(&w), 0x0f0);

    assert_int_equal(cc__xchg_acquire(&w, 1), 0x0f0);
    assert_int_equal(cc__xchg_release(&w, 2), 1);
    assert_int_equal(cc__xchg_acq_rel(&w, 3), 2);
    assert_int_equal(cc__load_relaxed(&w), 3);
}

/* A strong form fails only for a reason, and then says what it saw. */
#define CAS_OBEYS(cas)                                                                                                 \
    do {                                                                                                               \
        _Atomic uint32_t w;                                                                                            \
        uint32_t expected = 7;                                                                                         \
        cc__store_relaxed(&w, 7);                                                                                      \
        assert_true(cas(&w, &expected, 8));                                                                            \
        assert_int_equal(cc__load_relaxed(&w), 8);                                                                     \
        assert_int_equal(expected, 7);                                                                                 \
        assert_false(cas(&w, &expected, 9));                                                                           \
        assert_int_equal(expected, 8);                                                                                 \
        assert_int_equal(cc__load_relaxed(&w), 8);                                                                     \
    } while (0)

/* A weak form may fail for none: in a loop it is as good. */
#define CAS_WEAK_OBEYS(cas)                                                                                            \
    do {                                                                                                               \
        _Atomic uint32_t w;                                                                                            \
        uint32_t expected = 1;                                                                                         \
        cc__store_relaxed(&w, 7);                                                                                      \
        assert_false(cas(&w, &expected, 8));                                                                           \
        assert_int_equal(expected, 7);                                                                                 \
        while (!cas(&w, &expected, 8)) assert_int_equal(expected, 7);                                                  \
        assert_int_equal(cc__load_relaxed(&w), 8);                                                                     \
    } while (0)

static void compare_and_swap(void **state) {
    (void)state;
    CAS_OBEYS(cc__cas_relaxed);
    CAS_OBEYS(cc__cas_acquire);
    CAS_OBEYS(cc__cas_release);
    CAS_OBEYS(cc__cas_acq_rel);
    CAS_WEAK_OBEYS(cc__cas_weak_relaxed);
    CAS_WEAK_OBEYS(cc__cas_weak_acq_rel);
}

static void start_all(pthread_t *thread, int n, void *(*fn)(void *)) {
    for (int i = 0; i < n; i++) assert_int_equal(pthread_create(&thread[i], NULL, fn, (void *)(intptr_t)i), 0);
}
static void join_all(pthread_t *thread, int n) {
    for (int i = 0; i < n; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
}

/* Spin, but let others run where there are more threads than cpus. */
static void turn(unsigned *spins) {
    cc__cpu_relax();
    if (++*spins % 64 == 0) sched_yield();
}

static _Atomic uint64_t counter;
static _Atomic uint64_t bits;
static size_t adds;

static void *count(void *arg) {
    uint64_t mine = UINT64_C(1) << (intptr_t)arg;
    for (size_t i = 0; i < adds; i++) {
        if (i % 2 == 0) {
            cc__add_relaxed(&counter, 3);
        } else {
            uint64_t seen = cc__load_relaxed(&counter);
            while (!cc__cas_weak_relaxed(&counter, &seen, seen + 3)) {
            }
        }
        cc__sub_relaxed(&counter, 1);
        if (i % 3 == 0) cc__or_relaxed(&bits, mine);
        if (i % 3 == 1) cc__and_relaxed(&bits, ~mine);
    }
    cc__or_relaxed(&bits, mine);
    return NULL;
}

static void concurrent_changes_are_not_lost(void **state) {
    (void)state;
    pthread_t thread[THREADS];
    adds = test_scaled(ADDS);
    start_all(thread, THREADS, count);
    join_all(thread, THREADS);
    assert_true(cc__load_relaxed(&counter) == 2 * THREADS * adds);
    assert_int_equal(cc__load_relaxed(&bits), (1 << THREADS) - 1);
}

/* A one-place mailbox: `letter` is plain memory, so ThreadSanitizer looks too. */
static struct { uint64_t a, b; } letter;
static _Atomic uint32_t full;
static size_t rounds;
static size_t torn;

static void *mail(void *arg) {
    bool reader = arg != NULL;
    unsigned spins = 0;
    for (uint64_t i = 1; i <= rounds; i++) {
        while ((cc__load_acquire(&full) != 0) != reader) turn(&spins);
        if (reader && (letter.a != i || letter.b != ~i)) torn++;
        if (!reader) letter.a = i, letter.b = ~i;
        cc__store_release(&full, !reader);
    }
    return NULL;
}

static void release_publishes_to_acquire(void **state) {
    (void)state;
    pthread_t thread[2];
    rounds = test_scaled(ROUNDS);
    start_all(thread, 2, mail);
    join_all(thread, 2);
    assert_int_equal(torn, 0);
}

static _Atomic uint32_t lock;
static uint64_t guarded;

static void *lock_and_add(void *arg) {
    unsigned spins = 0;
    for (size_t i = 0; i < rounds; i++) {
        uint32_t unlocked = 0;
        if (i % 2 == 0) {
            while (cc__xchg_acquire(&lock, 1) != 0) turn(&spins);
        } else {
            while (!cc__cas_acquire(&lock, &unlocked, 1)) unlocked = 0, turn(&spins);
        }
        guarded++;
        if (i % 3 == 0)
            cc__store_release(&lock, 0);
        else
            cc__xchg_release(&lock, 0);
    }
    return arg;
}

static void exchanges_make_a_lock(void **state) {
    (void)state;
    pthread_t thread[2];
    rounds = test_scaled(ROUNDS);
    start_all(thread, 2, lock_and_add);
    join_all(thread, 2);
    assert_true(guarded == 2 * rounds);
}

/* Each thread raises its flag, then looks at the other's. With a full fence between, at least one of
 * the two sees the other's, every time. Many flags in a row after each meeting, a cache line apart: the
 * two threads run side by side for long enough to catch a store that is still in a buffer. */
enum { FLAGS = 128 };
static struct { _Alignas(CC__FALSE_SHARING) _Atomic uint32_t raised; } flag[2][FLAGS];
static unsigned char saw[2][FLAGS];
static _Atomic size_t arrived;
static size_t both_missed;

static void meet(size_t meeting) {
    unsigned spins = 0;
    cc__add_acq_rel(&arrived, 1);
    while (cc__load_acquire(&arrived) < 2 * meeting) turn(&spins);
}

/* The two on cpus of their own, where there are two: on one, nothing is ever out of order. */
static void go_to_cpu(int nth) {
    cpu_set_t all, one;
    CPU_ZERO(&all);
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE && nth >= 0; cpu++)
        if (CPU_ISSET(cpu, &all) && nth-- == 0) CPU_SET(cpu, &one);
    if (CPU_COUNT(&one) == 1) pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void *raise_and_look(void *arg) {
    int me = (int)(intptr_t)arg;
    go_to_cpu(me);
    for (size_t i = 0; i < rounds; i++) {
        meet(3 * i + 1);
        for (size_t j = 0; j < FLAGS; j++) {
            cc__store_relaxed(&flag[me][j].raised, 1);
            cc__fence_full();
            saw[me][j] = cc__load_relaxed(&flag[!me][j].raised) != 0;
        }
        meet(3 * i + 2);
        for (size_t j = 0; j < FLAGS; j++) {
            if (me == 0 && !saw[0][j] && !saw[1][j]) both_missed++;
            cc__store_relaxed(&flag[me][j].raised, 0);
        }
        meet(3 * i + 3);
    }
    return NULL;
}

static void full_fence_orders_store_then_load(void **state) {
    (void)state;
    pthread_t thread[2];
    rounds = test_scaled(MEETINGS);
    start_all(thread, 2, raise_and_look);
    join_all(thread, 2);
    assert_int_equal(both_missed, 0);
}

/* Message passing by fences around relaxed accesses; only atomics, for tools that do not know fences. */
static _Atomic uint64_t payload[ROUNDS];
static _Atomic size_t published;

static void *fenced_mail(void *arg) {
    if (arg == NULL) {
        for (size_t i = 0; i < rounds; i++) {
            cc__store_relaxed(&payload[i], i + 1);
            cc__fence_release();
            cc__store_relaxed(&published, i + 1);
        }
        return NULL;
    }
    unsigned spins = 0;
    for (size_t seen = 0; seen < rounds;) {
        size_t now = cc__load_relaxed(&published);
        cc__fence_acquire();
        for (; seen < now; seen++) torn += cc__load_relaxed(&payload[seen]) != seen + 1;
        turn(&spins);
    }
    return NULL;
}

static void fences_order_relaxed_accesses(void **state) {
    (void)state;
    pthread_t thread[2];
    rounds = test_scaled(ROUNDS);
    torn = 0;
    start_all(thread, 2, fenced_mail);
    join_all(thread, 2);
    assert_int_equal(torn, 0);
}

/* Lesson 41: where the usual hint does nothing, who spins keeps the line from who has to write it. */
static __attribute__((noinline)) void pause_once(void) {
    cc__cpu_relax();
}
static void lesson_41_a_pause_takes_time(void **state) {
    (void)state;
#if defined(__x86_64__)
    static const unsigned char pause[] = {0xf3, 0x90};
#elif defined(__aarch64__)
    static const unsigned char pause[] = {0xdf, 0x3f, 0x03, 0xd5}; /* isb; yield, which is nothing, is 3f 20 03 d5 */
#else
    static const unsigned char pause[] = {0};
    skip();
#endif
    void (*fn)(void) = pause_once;
    const unsigned char *code;
    memcpy(&code, &fn, sizeof code);
    assert_non_null(memmem(code, 64, pause, sizeof pause));
    fn();
}

static int shown, handler_saw;
static volatile sig_atomic_t ready;

static void look(int sig) {
    (void)sig;
    cc__fence_signal();
    if (ready) handler_saw = shown;
}

static void signal_fence_orders_for_a_handler(void **state) {
    (void)state;
    struct sigaction ours, before;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = look;
    assert_int_equal(sigaction(SIGUSR1, &ours, &before), 0);
    shown = 42;
    cc__fence_signal();
    ready = 1;
    raise(SIGUSR1);
    cc__fence_signal();
    assert_int_equal(handler_saw, 42);
    sigaction(SIGUSR1, &before, NULL);
}

TEST_MAIN(cmocka_unit_test(loads_and_stores), cmocka_unit_test(read_modify_write), cmocka_unit_test(compare_and_swap),
          cmocka_unit_test(concurrent_changes_are_not_lost), cmocka_unit_test(release_publishes_to_acquire),
          cmocka_unit_test(exchanges_make_a_lock), cmocka_unit_test(full_fence_orders_store_then_load),
          cmocka_unit_test(fences_order_relaxed_accesses), cmocka_unit_test(lesson_41_a_pause_takes_time),
          cmocka_unit_test(signal_fence_orders_for_a_handler))
