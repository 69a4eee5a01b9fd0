/* SPDX-License-Identifier: MIT */
/* Goal: forks, jobs, frames, loops, sorts and futures survive that memory, or a map, cannot be had at any call: forks,
 * loops and what was accepted give what they would, done by others or by the caller; what has a way to say so returns
 * -ENOMEM, and nothing was changed or counted then.
 * Method: one scenario of all of them on a runtime of 3 workers, and from a plain thread, run again and again with the
 * Nth call of anything that can fail made to fail, for N = 1, 2, ... until a run has no failure. Each run is a process
 * of its own. Not where the C library is linked in whole: its own calls would fail, too.
 * Link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=aligned_alloc,--wrap=mmap,--wrap=mprotect,--wrap=madvise
 * Not with: thread cross
 * Timeout: 120
 */
#include "nth.h"

#include "base/atomic.h"
#include "fiber/stack.h"

#include <ccrt.h>
#include <pthread.h>
#include <sys/mman.h>

static long fail_at = -1; /* the fail_at-th call fails */
static _Atomic long calls;
static _Atomic bool armed; /* the workers call, too */

static bool fails(void) {
    return cc__load_acquire(&armed) && cc__add_relaxed(&calls, 1) + 1 == fail_at;
}

/* The linker sends the library's calls, and ours, through these. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t n);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __real_mprotect(void *at, size_t n, int prot);
int __real_madvise(void *at, size_t n, int advice);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t n);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __wrap_mprotect(void *at, size_t n, int prot);
int __wrap_madvise(void *at, size_t n, int advice);

void *__wrap_malloc(size_t n) {
    return fails() ? test_no_memory() : __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size) {
    return fails() ? test_no_memory() : __real_calloc(n, size);
}
void *__wrap_aligned_alloc(size_t align, size_t n) {
    return fails() ? test_no_memory() : __real_aligned_alloc(align, n);
}
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset) {
    if (!fails()) return __real_mmap(at, n, prot, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}
int __wrap_mprotect(void *at, size_t n, int prot) {
    if (!fails()) return __real_mprotect(at, n, prot);
    errno = ENOMEM;
    return -1;
}
int __wrap_madvise(void *at, size_t n, int advice) {
    if (!fails()) return __real_madvise(at, n, advice);
    errno = ENOMEM;
    return -1;
}

static void check(bool ok, int code) {
    if (!ok) _exit(code);
}

/* ---- forks and loops: they do not fail ---- */

enum { INDICES = 5000, JOBS = 40, FUTURES = 100, SQUARES = 20 };

CC_ASYNC(int, fib, (int, n)) {
    if (n < 2) return n;
    CC_FORKED(fib, left);
    cc_fork(left, fib, n - 1);
    int right = fib(n - 2);
    return cc_join(left, fib) + right;
}
CC_ASYNC(int, square, (int, x)) {
    if (x % 4 == 0) cc_yield();
    return x * x;
}
CC_RANGE(count, (unsigned char *, at)) {
    for (size_t i = lo; i < hi; i++) at[i]++;
    if (lo % 3 == 0) cc_yield();
}
CC_REDUCE(long, total) {
    long sum = 0;
    for (size_t i = lo; i < hi; i++) sum += (long)i;
    return sum;
}
static long plus(long a, long b) {
    return a + b;
}

static void forks(void) {
    CC_FORK_RECORD(square) r[SQUARES] = {0};
    check(fib(12) == 144, 11);
    for (int i = 0; i < SQUARES; i++) cc_fork(r[i], square, i);
    if (cc_worker_self() != 0) cc_yield(); /* they become tasks */
    for (int i = 0; i < SQUARES; i++) check(cc_join(r[i], square) == i * i, 12);
}
static void loops(void) {
    static unsigned char mark[INDICES];
    static const size_t grains[] = {0, 50, CC_STATIC};
    memset(mark, 0, sizeof mark);
    for (size_t g = 0; g < TEST_COUNT_OF(grains); g++) {
        check(cc_parallel_for(0, INDICES, grains[g], count, mark) == 0, 13);
        for (size_t i = 0; i < INDICES; i++) check(mark[i] == g + 1, 14);
        check(cc_parallel_reduce(0, INDICES, grains[g], 0L, plus, total) == (long)INDICES * (INDICES - 1) / 2, 15);
    }
}

/* ---- what may ---- */

static int by_value(const void *a, const void *b) {
    const int *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}
static void sorts(void) {
    static int v[3 * INDICES];
    enum { N = 3 * INDICES };
    for (int i = 0; i < N; i++) v[i] = N - i;
    int rc = cc_parallel_sort(v, N, sizeof v[0], by_value);
    check(rc == 0 || rc == -ENOMEM, 16);
    for (int i = 0; i < N; i++) check(v[i] == (rc == 0 ? i + 1 : N - i), 17);
}

static _Atomic int ran;

static void job(void *arg) {
    unsigned char *at = cc_frame_alloc(20000);
    if (at != NULL) memset(at, 1, 20000);
    cc_yield();
    check(at == NULL || (at[0] == 1 && at[19999] == 1), 18);
    cc__add_relaxed(&ran, *(int *)arg);
}
static void jobs(void) {
    static int one = 1;
    cc_job *batch = calloc(JOBS, sizeof *batch);
    cc_counter all = CC_COUNTER_INIT(0);
    int accepted = 0, rc;
    cc__store_relaxed(&ran, 0);
    for (int i = 0; i < JOBS; i++) {
        rc = cc_job_spawn(job, &one, i % 3, &all);
        check(rc == 0 || rc == -ENOMEM, 19);
        accepted += rc == 0;
    }
    for (int i = 0; batch != NULL && i < JOBS; i++) batch[i] = (cc_job){.fn = job, .arg = &one};
    rc = batch == NULL ? -ENOMEM : cc_job_spawn_many(batch, JOBS, CC_PRIORITY_NORMAL, &all);
    check(rc == 0 || rc == -ENOMEM, 20);
    accepted += rc == 0 ? JOBS : 0;
    cc_counter_wait(&all);
    check(cc__load_relaxed(&ran) == accepted && accepted >= 2 * JOBS - (rc == 0 ? 1 : JOBS), 21);
    free(batch);
}

struct sleeper {
    cc_future fut;
    int step;
};
static cc_poll_state sleep_twice(cc_future *f, cc_waker *w) {
    struct sleeper *s = CC_CONTAINER_OF(f, struct sleeper, fut);
    (void)w;
    for (; s->step < 2; s->step++) {
        int rc = cc_poll_sleep_ms(f, 1);
        if (rc == -EAGAIN) return CC_PENDING;
        check(rc == 0, 22);
    }
    return CC_READY;
}
static void futures(void) {
    static struct sleeper s[FUTURES];
    cc_counter all = CC_COUNTER_INIT(0);
    for (int i = 0; i < FUTURES; i++) {
        s[i].step = 0;
        cc_future_init(&s[i].fut, sleep_twice);
        check(cc_future_spawn(&s[i].fut, &all) == 0, 23); /* needs no memory */
    }
    cc_counter_wait(&all);
    for (int i = 0; i < FUTURES; i++) check(s[i].step == 2, 24);
}

/* ---- all of it ---- */

static void *in_a_task(void *arg) {
    forks();
    loops();
    sorts();
    jobs();
    futures();
    return arg;
}
static void *echo(void *arg) {
    return arg;
}
static void *on_a_thread(void *arg) {
    forks();
    loops();
    sorts();
    return arg;
}

static void everything(void) {
    cc_runtime *rt = NULL;
    cc_task t;
    pthread_t thread;
    bool arm = fail_at > 0;
    check(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 3}) == 0, 30);
    check(cc_task_join(cc_fiber_spawn_task(echo, NULL), NULL) == 0,
          31); /* the default one has started, this thread waits */
    cc__store_release(&armed, arm);
    int rc = cc_runtime_spawn(rt, &t, NULL, in_a_task, &t);
    check(rc == 0 || rc == -ENOMEM, 32);
    if (rc == 0) check(cc_task_join(t, NULL) == 0, 33);
    check(pthread_create(&thread, NULL, on_a_thread, NULL) == 0, 34);
    check(pthread_join(thread, NULL) == 0, 35);
    cc_runtime_destroy(rt);
    cc__store_release(&armed, false);
}

static void scenario(void *arg) {
    fail_at = *(long *)arg;
    alarm(60); /* a hang is a failure that says which call it was */
    everything();
    bool reached = cc__load_relaxed(&calls) >= fail_at;
    fail_at = -1;
    everything();                             /* the same again works */
    exit(reached ? 0 : TEST_NTH_NOT_REACHED); /* exit() looks for leaks */
}

static void one_failure_is_survived(void **state) {
    (void)state;
    long n = test_nth(scenario);
    print_message("%ld calls can fail\n", n - 1);
    assert_true(n > 10);
}

TEST_MAIN(cmocka_unit_test(one_failure_is_survived))
