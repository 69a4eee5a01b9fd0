/* SPDX-License-Identifier: MIT */
/* Goal: out of memory, maps, keys or threads at any call gives a negative errno: no crash, no hang, no leak; what was
 * accepted runs once, and the same again works.
 * Method: one scenario of a runtime of 3 workers, tasks, names, a nursery with arguments on the heap, sleeps and
 * joins, run again and again with the Nth call of anything that can fail made to fail, for N = 1, 2, ... until a run
 * has no failure. Each run is a process of its own. A second scenario lets everything fail from the Nth call on, until
 * all that could be spawned is. Sanitizers and valgrind look for leaks. Not where the C
 * library is linked in whole: its own calls would fail, too.
 * Link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=aligned_alloc,--wrap=strdup,--wrap=mmap,--wrap=mprotect
 * Link: -Wl,--wrap=madvise,--wrap=syscall,--wrap=pthread_create,--wrap=pthread_key_create,--wrap=pthread_setspecific
 * Not with: thread cross
 * Timeout: 120
 */
#include "nth.h"

#include "base/atomic.h"
#include "fiber/stack.h"
#include "plat/vm.h"

#include <ccrt.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static long fail_at = -1; /* the fail_at-th call fails */
static bool lasting;      /* and all after it */
static _Atomic long calls;
static _Atomic bool armed; /* the workers call, too */

static bool fails(void) {
    if (!cc__load_acquire(&armed)) return false;
    long n = cc__add_relaxed(&calls, 1) + 1;
    return lasting ? n >= fail_at : n == fail_at;
}

/* The linker sends the library's calls, and ours, through these. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t n);
char *__real_strdup(const char *s);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __real_mprotect(void *at, size_t n, int prot);
int __real_madvise(void *at, size_t n, int advice);
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
int __real_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __real_pthread_key_create(pthread_key_t *key, void (*fn)(void *));
int __real_pthread_setspecific(pthread_key_t key, const void *value);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t n);
char *__wrap_strdup(const char *s);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __wrap_mprotect(void *at, size_t n, int prot);
int __wrap_madvise(void *at, size_t n, int advice);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_key_create(pthread_key_t *key, void (*fn)(void *));
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

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
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (number == SYS_futex || !fails()) return __real_syscall(number, a, b, c, d, e, f); /* a futex needs no memory */
    errno = ENOMEM;
    return -1;
}
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) {
    return fails() ? EAGAIN : __real_pthread_create(out, attr, fn, arg);
}
/* ASan, linked into the test, has keys of its own and no way to do without. */
int __wrap_pthread_key_create(pthread_key_t *key, void (*fn)(void *)) {
    return !TEST_ASAN && fails() ? EAGAIN : __real_pthread_key_create(key, fn);
}
int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
    return !TEST_ASAN && fails() ? ENOMEM : __real_pthread_setspecific(key, value);
}

/* ---- what is done ---- */

enum { TASKS = 10, CHILDREN = 6 };

static void check(bool ok, int code) {
    if (!ok) _exit(code);
}
static bool is_shortage(int rc) {
    return rc == -ENOMEM || rc == -EAGAIN;
}

/* Do it, and if it fails for a shortage once more: only one call fails. */
static _Atomic int failures;
#define TWICE(call, code)                                                                                              \
    do {                                                                                                               \
        int rc_ = (call);                                                                                              \
        if (rc_ == 0) break;                                                                                           \
        check(is_shortage(rc_) && cc__add_relaxed(&failures, 1) == 0, (code));                                         \
        check((call) == 0, (code) + 1);                                                                                \
    } while (0)

static _Atomic int ran[TASKS], children_ran;

typedef struct long_argument {
    char text[100];
} long_argument;
CC_TASK(child, (long_argument, l)) {
    check(l.text[0] == 'a' && l.text[99] == 'z', 11);
    cc__add_relaxed(&children_ran, 1);
    return cc_sleep_ms(1);
}

static void *opens_a_nursery(void) {
    long_argument l = {.text = {'a'}};
    l.text[99] = 'z';
    int rc = 1;
    CC_NURSERY(n) {
        for (int i = 0; i < CHILDREN; i++) TWICE(cc_spawn(n, child, l), 12);
        rc = cc_nursery_wait(n);
    }
    check(rc == 0, 14);
    return NULL;
}
static void *runs(void *arg) {
    intptr_t i = (intptr_t)arg;
    check(cc__add_relaxed(&ran[i], 1) == 0, 15);
    if (i == 0) opens_a_nursery();
    if (i == 1) check(cc_sleep_ms(2) == 0, 16);
    if (i == 2) cc_yield();
    return arg;
}

static void everything(void) {
    cc_runtime *rt = NULL;
    cc_task t[TASKS];
    cc__store_relaxed(&children_ran, 0);
    for (int i = 0; i < TASKS; i++) cc__store_relaxed(&ran[i], 0);
    TWICE(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 3}), 20);
    check(rt != NULL, 22);
    for (int i = 0; i < TASKS; i++) {
        cc_task_attr attr = {.name = i % 2 ? "named" : NULL, .stack_bytes = i % 3 ? 0 : 65536};
        TWICE(cc_runtime_spawn(rt, &t[i], &attr, runs, (void *)(intptr_t)i), 23);
    }
    TWICE(cc_sleep_ms(1), 25);
    for (int i = 0; i < TASKS; i++) {
        void *result = NULL;
        TWICE(cc_task_join(t[i], &result), 27);
        check((intptr_t)result == i, 29);
    }
    cc_runtime_destroy(rt);
    for (int i = 0; i < TASKS; i++) check(cc__load_relaxed(&ran[i]) == 1, 30);
    check(cc__load_relaxed(&children_ran) == CHILDREN, 31);
    check(cc__stack_stats().in_use == 0, 32);
}

static void scenario(void *arg) {
    fail_at = *(long *)arg;
    alarm(60); /* a hang is a failure that says which call it was */
    if (fail_at % 2 == 0) cc__vm_guard_force(CC__VM_GUARD_MPROTECT); /* both kinds of guards get their turn */
    cc__store_release(&armed, true);
    everything();
    cc__store_release(&armed, false);
    bool reached = cc__load_relaxed(&calls) >= fail_at;
    everything();                             /* the same again works */
    exit(reached ? 0 : TEST_NTH_NOT_REACHED); /* exit() looks for leaks */
}

/* Everything fails from the Nth call on, until all is spawned that could be; what was accepted then runs. */
static void scenario_lasting(void *arg) {
    cc_runtime *rt = NULL;
    cc_task t[TASKS];
    int accepted = 0, rc;
    fail_at = *(long *)arg;
    lasting = true;
    alarm(60);
    if (fail_at % 2 == 0) cc__vm_guard_force(CC__VM_GUARD_MPROTECT);
    cc__store_release(&armed, true);
    rc = cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 3});
    check(rc == 0 ? rt != NULL : is_shortage(rc) && rt == NULL, 41);
    for (int i = 1; rc == 0 && i < TASKS; i++) { /* the first needs memory of its own */
        cc_task_attr attr = {.name = i % 2 ? "named" : NULL, .stack_bytes = i % 3 ? 0 : 65536};
        int spawned = cc_runtime_spawn(rt, &t[accepted], &attr, runs, (void *)(intptr_t)i);
        check(spawned == 0 || is_shortage(spawned), 42);
        accepted += spawned == 0;
    }
    bool failed = rc != 0 || accepted < TASKS - 1;
    if (rt != NULL && failed) sched_yield(); /* the workers meet the shortage, too */
    cc__store_release(&armed, false);
    for (int i = 0; i < accepted; i++) check(cc_task_join(t[i], NULL) == 0, 43);
    cc_runtime_destroy(rt);
    int sum = 0;
    for (int i = 0; i < TASKS; i++) sum += cc__load_relaxed(&ran[i]);
    check(sum == accepted, 44);
    check(cc__stack_stats().in_use == 0, 45);
    cc__store_relaxed(&failures, 0);
    everything();
    exit(failed ? 0 : TEST_NTH_NOT_REACHED);
}

static void one_failure_is_survived(void **state) {
    (void)state;
    long n = test_nth(scenario);
    print_message("%ld calls can fail\n", n - 1);
    assert_true(n > 30);
}

static void lasting_failure_is_an_error(void **state) {
    (void)state;
    long n = test_nth(scenario_lasting);
    print_message("%ld calls, and all after each, can fail\n", n - 1);
    assert_true(n > 10);
}

TEST_MAIN(cmocka_unit_test(one_failure_is_survived), cmocka_unit_test(lasting_failure_is_an_error))
