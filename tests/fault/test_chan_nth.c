/* SPDX-License-Identifier: MIT */
/* Goal: out of memory at any call of a channel or a select gives -ENOMEM: no value is lost or doubled, nobody is left
 * on a list, nothing leaks, and the same again works.
 * Method: channels of all kinds made and destroyed, one without bound filled and drained several times over, a select
 * of more cases than fit in a frame, as a list and as a block, that waits, a plain thread's first wait: run again and
 * again with the Nth allocation made to fail, for N = 1, 2, ... until a run has no failure, each a process of its own.
 * Link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=aligned_alloc,--wrap=strdup
 * Not with: thread cross
 * Timeout: 120
 */
#include "nth.h"

#include "base/atomic.h"

#include <ccrt.h>

static long fail_at = -1; /* the fail_at-th call fails */
static _Atomic long calls;
static _Atomic bool armed;

static bool fails(void) {
    if (!cc__load_acquire(&armed)) return false;
    return cc__add_relaxed(&calls, 1) + 1 == fail_at;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t n);
char *__wrap_strdup(const char *s);

void *__wrap_malloc(size_t n) {
    return fails() ? test_no_memory() : __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size) {
    return fails() ? test_no_memory() : __real_calloc(n, size);
}
void *__wrap_aligned_alloc(size_t align, size_t n) {
    return fails() ? test_no_memory() : __real_aligned_alloc(align, n);
}
char *__wrap_strdup(const char *s) {
    return fails() ? test_no_memory() : __real_strdup(s);
}

/* ---- what is done ---- */

typedef CC_CHAN(int) int_chan;

enum { MANY = 40, GROWN = 200 };

static void check(bool ok, int code) {
    if (!ok) _exit(code);
}

/* A call that may fail for want of memory is made again: it fails once. */
static int failures;
static bool again(int rc, int code) {
    if (rc != -ENOMEM) return false;
    check(failures++ == 0, code);
    return true;
}
#define RETRY(call, code)                                                                                              \
    __extension__({                                                                                                    \
        int rc_ = (call);                                                                                              \
        if (again(rc_, code)) rc_ = (call);                                                                            \
        rc_;                                                                                                           \
    })

static void makes_channels(void) {
    static const cc_chan_attr attr[] = {
        {.capacity = 0}, {.capacity = 5, .name = "five"}, {.unbounded = 1, .name = "many"}, {.capacity = 1}};
    for (size_t i = 0; i < TEST_COUNT_OF(attr); i++) {
        int_chan c = {(cc_chan *)&attr};
        int rc = cc_chan_create_with(c, &attr[i]);
        check(rc == 0 ? c.ch != NULL : c.ch == NULL, 20);
        if (again(rc, 21)) rc = cc_chan_create_with(c, &attr[i]);
        check(rc == 0, 22);
        cc_chan_destroy(c);
    }
}

/* A send that fails leaves what is in it, and its order. */
static void grows(int_chan c) {
    int next = 0, v;
    for (int i = 0; i < GROWN; i++) {
        check(RETRY(cc_send(c, i), 30) == 0, 31);
        if (i % 3 == 0) check(cc_recv(c, &v) == 0 && v == next++, 32);
    }
    check(cc_chan_len(c) == (size_t)(GROWN - next), 33);
    while (cc_try_recv(c, &v) == 0) check(v == next++, 34);
    check(next == GROWN, 35);
}

/* One that fails in a select is as if it had not been among the cases. */
static void grows_by_select(int_chan c, int_chan empty) {
    int v, next = 0;
    for (int i = 0; i < GROWN; i++) check(RETRY(cc_select(CC_RECV(empty, &v), CC_SEND(c, i)), 36) == 1, 37);
    CC_EACH(int, x, c) {
        check(x == next++, 38);
        if (next == GROWN) break;
    }
    check(cc_chan_len(c) == 0, 39);
}

CC_TASK(sends_late, (int_chan, c), (int, v)) {
    cc_yield();
    check(cc_send(c, v) == 0, 40);
    return 0;
}

static void selects_many(int_chan *c) {
    cc_case cases[MANY];
    int v = 0;
    for (int i = 0; i < MANY; i++) cases[i] = CC_RECV(c[i], &v);
    CC_NURSERY(n) {
        check(RETRY(cc_spawn(n, sends_late, c[33], 5), 41) == 0, 42);
        check(RETRY(cc_select_cases(cases, MANY, CC_SELECT_FAIR), 43) == 33 && v == 5, 44);
    }
    for (int i = 0; i < MANY; i++) check(cc_try_send(c[i], 1) == -EAGAIN, 45); /* nobody waits any more */
}

#define FOUR(i)                                                                                                        \
    CC_ON_RECV(c[i], &v) {                                                                                             \
        check(false, 50);                                                                                              \
    }                                                                                                                  \
    CC_ON_RECV(c[i + 1], &v) {                                                                                         \
        check(false, 50);                                                                                              \
    }                                                                                                                  \
    CC_ON_RECV(c[i + 2], &v) {                                                                                         \
        check(false, 50);                                                                                              \
    }                                                                                                                  \
    CC_ON_RECV(c[i + 3], &v) {                                                                                         \
        check(false, 50);                                                                                              \
    }

static int block(int_chan *c, int *value) {
    int v = 0, rc = 1;
    CC_SELECT{FOUR(0) FOUR(4) FOUR(8) FOUR(12) FOUR(16) FOUR(20) FOUR(24) FOUR(28) FOUR(32)
                  CC_ON_RECV(c[36], &v){rc = 0;
}
CC_ON_ERROR(rc) {
    check(rc == -ENOMEM, 51);
}
}
*value = v;
return rc;
}
static void selects_in_a_block(int_chan *c) {
    int v = 0;
    CC_NURSERY(n) {
        check(RETRY(cc_spawn(n, sends_late, c[36], 6), 52) == 0, 53);
        check(RETRY(block(c, &v), 54) == 0 && v == 6, 55);
    }
}

static void *everything(void *arg) {
    int_chan *c = arg;
    makes_channels();
    grows(c[MANY]);
    grows_by_select(c[MANY], c[0]);
    selects_many(c);
    selects_in_a_block(c);
    return NULL;
}

/* A thread that never waited before, in one call or the other. */
static void *sends_later(void *arg) {
    cc_yield();
    check(cc_send(*(int_chan *)arg, 9) == 0, 60);
    return NULL;
}
static void waits_here(cc_runtime *rt, int_chan *c) {
    int v = 0;
    cc_task t;
    if (fail_at % 2 == 0) check(RETRY(cc_select(CC_RECV(c[0], &v), CC_AFTER_MS(1)), 61) == 1, 62);
    check(RETRY(cc_runtime_spawn(rt, &t, NULL, sends_later, &c[0]), 63) == 0, 64);
    check(RETRY(cc_recv(c[0], &v), 65) == 0 && v == 9, 66);
    check(RETRY(cc_task_join(t, NULL), 67) == 0, 68);
    check(cc_try_send(c[0], 1) == -EAGAIN, 69);
}

static void scenario(void *arg) {
    int_chan c[MANY + 1];
    cc_runtime *rt = NULL;
    fail_at = *(long *)arg;
    alarm(60);
    check(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1}) == 0, 10);
    for (int i = 0; i < MANY; i++) check(cc_chan_create(c[i], 0) == 0, 11);
    check(cc_chan_create_with(c[MANY], &((cc_chan_attr){.unbounded = 1})) == 0, 12);
    bool reached = false;
    for (int lap = 0; lap < 2; lap++) { /* the second time nothing fails */
        cc_task t;
        cc__store_release(&armed, lap == 0);
        waits_here(rt, c);
        int rc = cc_runtime_spawn(rt, &t, NULL, everything, c);
        if (again(rc, 13)) rc = cc_runtime_spawn(rt, &t, NULL, everything, c);
        check(rc == 0 && cc_task_join(t, NULL) == 0, 14);
        cc__store_release(&armed, false);
        if (lap == 0) reached = cc__load_relaxed(&calls) >= fail_at;
    }
    for (int i = 0; i <= MANY; i++) cc_chan_destroy(c[i]);
    cc_runtime_destroy(rt);
    exit(reached ? 0 : TEST_NTH_NOT_REACHED); /* exit() looks for leaks */
}

static void one_failure_is_survived(void **state) {
    (void)state;
    long n = test_nth(scenario);
    print_message("%ld allocations can fail\n", n - 1);
    assert_true(n > 20);
}

TEST_MAIN(cmocka_unit_test(one_failure_is_survived))
