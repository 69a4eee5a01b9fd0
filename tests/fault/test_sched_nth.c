/* SPDX-License-Identifier: MIT */
/* Goal: out of memory, maps or keys at any call gives a negative errno: no crash, no leak, and what was
 * there goes on.
 * Method: one scenario that uses all of cc_sched, run again and again with the Nth call of anything that
 * can fail made to fail, for N = 1, 2, ... until a run has no failure. Each run is a process of its own, so
 * that what is set up once is set up, and may fail, every time. Sanitizers and valgrind look for leaks.
 * A second scenario lets everything fail from the Nth call on, until the error is seen.
 * Link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=strdup,--wrap=mmap,--wrap=mprotect
 * Link: -Wl,--wrap=madvise,--wrap=syscall,--wrap=pthread_key_create,--wrap=pthread_setspecific
 * Not with: thread
 * Timeout: 120
 */
#include "nth.h"

#include "fiber/stack.h"
#include "plat/vm.h"

#include <ccrt.h>
#include <pthread.h>
#include <sys/mman.h>

static long fail_at = -1, calls; /* the fail_at-th call fails */
static bool armed, lasting;      /* lasting: and all after it */

static bool fails(void) {
    if (!armed) return false;
    calls++;
    return lasting ? calls >= fail_at : calls == fail_at;
}

/* The linker sends the library's calls, and ours, through these. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
char *__real_strdup(const char *s);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __real_mprotect(void *at, size_t n, int prot);
int __real_madvise(void *at, size_t n, int advice);
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
int __real_pthread_key_create(pthread_key_t *key, void (*fn)(void *));
int __real_pthread_setspecific(pthread_key_t key, const void *value);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
char *__wrap_strdup(const char *s);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __wrap_mprotect(void *at, size_t n, int prot);
int __wrap_madvise(void *at, size_t n, int advice);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
int __wrap_pthread_key_create(pthread_key_t *key, void (*fn)(void *));
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

void *__wrap_malloc(size_t n) {
    return fails() ? test_no_memory() : __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size) {
    return fails() ? test_no_memory() : __real_calloc(n, size);
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
    if (!fails()) return __real_syscall(number, a, b, c, d, e, f);
    errno = ENOMEM;
    return -1;
}
int __wrap_pthread_key_create(pthread_key_t *key, void (*fn)(void *)) {
    return fails() ? EAGAIN : __real_pthread_key_create(key, fn);
}
int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
    return fails() ? ENOMEM : __real_pthread_setspecific(key, value);
}

enum { FIBERS = 100 };
static int ran;

static void *two_steps(void *arg) {
    ran++;
    cc_resched();
    ran++;
    return arg;
}
static void *nested(void *arg) {
    cc_sched *s = NULL;
    int *error = arg;
    *error = cc_sched_create(&s, NULL);
    if (*error == 0) *error = cc_sched_push(s, two_steps, NULL);
    if (*error == 0) *error = cc_sched_run(s);
    cc_sched_destroy(s);
    ran += *error != 0 ? 2 : 0;
    return NULL;
}

static void check(bool ok, int code) {
    if (!ok) _exit(code);
}
static bool is_shortage(int rc) {
    return rc == -ENOMEM || rc == -EAGAIN;
}

/* Push or spawn; a failure must be a shortage, and repeating the call must work (only one call fails). */
static int push_some(cc_sched *s, int *inner_error) {
    int failed = 0, rc;
    for (int i = 0; i < FIBERS; i++) {
        cc_sched_fiber f;
        cc_sched_fiber_attr attr = {.name = i % 2 ? "name" : NULL, .stack_bytes = i % 3 ? 0 : 65536};
        for (int again = 0; again < 2; again++) {
            if (i == 50)
                rc = cc_sched_push(s, nested, inner_error);
            else
                rc = i % 2 ? cc_sched_spawn(s, &attr, two_steps, NULL, &f) : cc_sched_push(s, two_steps, NULL);
            if (rc == 0) break;
            check(is_shortage(rc) && again == 0, 11);
            failed++;
        }
    }
    return failed;
}

static void scenario(void *arg) {
    fail_at = *(long *)arg;
    calls = 0;
    if (fail_at % 2 == 0) cc__vm_guard_force(CC__VM_GUARD_MPROTECT); /* both kinds of guards get their turn */
    cc_sched *s = NULL;
    armed = true;
    int rc = cc_sched_create(&s, NULL), failures = 0, inner_error = 0;
    if (rc != 0) {
        check(is_shortage(rc) && s == NULL, 12);
        failures++;
        check(cc_sched_create(&s, NULL) == 0, 13);
    }
    failures += push_some(s, &inner_error);
    check(cc_sched_count(s) == FIBERS, 14);
    while ((rc = cc_sched_run(s)) != 0) {
        check(is_shortage(rc) && failures == 0, 15);
        failures++;
    }
    if (inner_error != 0) {
        check(is_shortage(inner_error) && failures == 0, 16);
        failures++;
    }
    armed = false;
    check(ran == 2 * FIBERS, 17);
    check(failures <= 1, 18);
    cc_sched_destroy(s);
    check(cc__stack_stats().in_use == 0, 19);
    exit(calls < fail_at ? TEST_NTH_NOT_REACHED : 0); /* exit() looks for leaks */
}

/* Everything fails from the Nth call on: the first call that says so says a shortage; then there is memory
 * again, and all that was accepted runs. */
static void scenario_lasting(void *arg) {
    fail_at = *(long *)arg;
    lasting = armed = true;
    if (fail_at % 2 == 0) cc__vm_guard_force(CC__VM_GUARD_MPROTECT);
    cc_sched *s = NULL;
    int rc = cc_sched_create(&s, NULL), pushed = 0;
    while (rc == 0 && pushed < FIBERS) {
        rc = cc_sched_push(s, two_steps, NULL);
        if (rc == 0) pushed++;
    }
    if (rc == 0) rc = cc_sched_run(s);
    bool failed = rc != 0;
    check(!failed || is_shortage(rc), 21);
    armed = false;
    if (s == NULL) check(cc_sched_create(&s, NULL) == 0, 22);
    check(cc_sched_run(s) == 0, 23);
    check(ran == 2 * pushed, 24);
    cc_sched_destroy(s);
    check(cc__stack_stats().in_use == 0, 25);
    exit(failed ? 0 : TEST_NTH_NOT_REACHED);
}

static void one_failure_is_survived(void **state) {
    (void)state;
    long n = test_nth(scenario);
    print_message("%ld calls can fail\n", n - 1);
    assert_true(n > 20);
}

static void lasting_failure_is_an_error(void **state) {
    (void)state;
    long n = test_nth(scenario_lasting);
    print_message("%ld calls, and all after each, can fail\n", n - 1);
    assert_true(n > 10);
}

TEST_MAIN(cmocka_unit_test(one_failure_is_survived), cmocka_unit_test(lasting_failure_is_an_error))
