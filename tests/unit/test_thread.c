/* SPDX-License-Identifier: MIT */
/* Goal: threads start with signals blocked, carry their name, are seen for what they do, and run
 * what was armed for their end.
 * Method: real threads that look at themselves; the states a test cannot bring about (dead, in
 * uninterruptible sleep) by a stand-in for the file in /proc; a stopped one by ptrace() of a child's
 * thread. What only the system can refuse is refused by a wrapped function, or by using it all up.
 * Link: -Wl,--wrap=pthread_setspecific,--wrap=cc__file_read
 */
#include "test.h"

#include "base/atomic.h"
#include "plat/file.h"
#include "plat/futex.h"
#include "plat/thread.h"

#include <limits.h>
#include <sched.h>
#include <sys/ptrace.h>

enum { LOCK_THREADS = 4, LOCK_ROUNDS = 5000 };

/* For what a sanitizer's own runtime calls before it is ready for instrumented code. */
#ifndef __has_attribute
#define __has_attribute(x) 0
#endif
#if __has_attribute(disable_sanitizer_instrumentation)
#define UNINSTRUMENTED __attribute__((disable_sanitizer_instrumentation))
#else
#define UNINSTRUMENTED __attribute__((no_sanitize("thread"), no_sanitize("address")))
#endif

/* ---- stand-ins ---- */

int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __real_cc__file_read(const char *path, char *buf, size_t size);
int __wrap_cc__file_read(const char *path, char *buf, size_t size);

static int setspecific_error; /* 0: do the real thing */
static const char *stat_text; /* NULL: the real one */

UNINSTRUMENTED int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
    return setspecific_error != 0 ? setspecific_error : __real_pthread_setspecific(key, value);
}

int __wrap_cc__file_read(const char *path, char *buf, size_t size) {
    if (stat_text == NULL) return __real_cc__file_read(path, buf, size);
    return snprintf(buf, size, "%s", stat_text);
}

/* ---- start and join ---- */

static void *keep_mask(void *arg) {
    pthread_sigmask(SIG_SETMASK, NULL, arg);
    return NULL;
}

static void signals_are_blocked_in_the_thread_only(void **state) {
    (void)state;
    sigset_t inside, mine, before, all, after;
    cc__thread t;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &all); /* all that can be: some are the C library's, or qemu's */
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &mine, NULL);
    sigemptyset(&inside);
    assert_int_equal(cc__thread_start(&t, keep_mask, &inside), 0);
    cc__thread_join(&t);
    pthread_sigmask(SIG_SETMASK, &before, &after);
    for (int sig = 1; sig <= SIGRTMAX; sig++) {
        bool fault = sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP ||
                     sig == SIGABRT || sig == SIGSYS; /* the thread's own */
        assert_int_equal(sigismember(&inside, sig), !fault && sigismember(&all, sig));
        assert_int_equal(sigismember(&after, sig), sig == SIGUSR2);
    }
    const int usual[] = {SIGINT, SIGTERM, SIGCHLD, SIGALRM, SIGUSR1, SIGPROF, SIGRTMIN};
    for (size_t i = 0; i < TEST_COUNT_OF(usual); i++) assert_int_equal(sigismember(&inside, usual[i]), 1);
}

static void *add_one(void *arg) {
    ++*(int *)arg;
    return NULL;
}

static void join_waits_for_the_end(void **state) {
    (void)state;
    int n = 0;
    for (int i = 1; i <= 20; i++) {
        cc__thread t;
        assert_int_equal(cc__thread_start(&t, add_one, &n), 0);
        cc__thread_join(&t);
        assert_int_equal(n, i);
    }
}

/* No room for one more: its stack would take more than there are addresses. */
static void start_says_when_there_is_no_room(void **state) {
    (void)state;
    cc__thread t;
    sigset_t before, after;
    pthread_attr_t usual, huge;
    int n = 0;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_getattr_default_np(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, SIZE_MAX / 4), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    int rc = cc__thread_start(&t, add_one, &n);
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    assert_true(rc == -EAGAIN || rc == -ENOMEM || rc == -EINVAL); /* the last: valgrind's mmap() */
    assert_int_equal(n, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int sig = 1; sig < 32; sig++) assert_int_equal(sigismember(&after, sig), sigismember(&before, sig));
    assert_int_equal(cc__thread_start(&t, add_one, &n), 0);
    cc__thread_join(&t);
    assert_int_equal(n, 1);
}

static void join_itself(void *arg) {
    (void)arg;
    cc__thread self = {.handle = pthread_self()};
    cc__thread_join(&self);
}

static void joining_itself_is_misuse(void **state) {
    (void)state;
    if (TEST_TSAN) skip(); /* stops at the call, as it knows the thread for one that cannot be joined */
    test_aborts(join_itself, NULL, "ccrt: misuse: a thread was joined twice, or by itself (thread.c:");
}

/* ---- name, cpu, number ---- */

struct named {
    const char *name;
    char back[32];
};

static void *name_and_read_back(void *arg) {
    struct named *n = arg;
    cc__thread_set_name(n->name);
    pthread_getname_np(pthread_self(), n->back, sizeof n->back);
    return NULL;
}

static void names_are_cut_to_fit(void **state) {
    (void)state;
    const char *given[] = {"w", "exactly15 bytes", "16 bytes are cut", "far too long a name for the kernel", ""};
    for (size_t i = 0; i < TEST_COUNT_OF(given); i++) {
        struct named n = {.name = given[i]};
        cc__thread t;
        char want[16];
        snprintf(want, sizeof want, "%.15s", given[i]);
        assert_int_equal(cc__thread_start(&t, name_and_read_back, &n), 0);
        cc__thread_join(&t);
        assert_string_equal(n.back, want);
    }
}

static void *keep_id(void *arg) {
    *(int *)arg = cc__thread_id();
    return NULL;
}

static void ids_are_the_kernels(void **state) {
    (void)state;
    int other = 0;
    cc__thread t;
    assert_int_equal(cc__thread_id(), getpid());
    assert_int_equal(cc__thread_start(&t, keep_id, &other), 0);
    cc__thread_join(&t);
    assert_true(other > 0);
    assert_int_not_equal(other, getpid());
}

/* ---- states ---- */

struct subject {
    const char *name;
    _Atomic int id;
    _Atomic uint32_t stop;
    bool spins;
};

static void *be_watched(void *arg) {
    struct subject *s = arg;
    if (s->name != NULL) cc__thread_set_name(s->name);
    cc__store_release(&s->id, cc__thread_id());
    while (cc__load_acquire(&s->stop) == 0)
        if (!s->spins) cc__futex_wait(&s->stop, 0, CC__NO_DEADLINE);
    return NULL;
}

static int subject_start(struct subject *s, cc__thread *t) {
    assert_int_equal(cc__thread_start(t, be_watched, s), 0);
    int id;
    while ((id = cc__load_acquire(&s->id)) == 0) sched_yield();
    return id;
}

/* It gets there at some time: before that, other states are seen rightly. */
static void wait_for_state(int id, enum cc__thread_state wanted) {
    while (cc__thread_state(id) != wanted) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void subject_stop(struct subject *s, cc__thread *t, int id) {
    cc__store_release(&s->stop, 1);
    cc__futex_wake(&s->stop, -1);
    cc__thread_join(t);
    wait_for_state(id, CC__THREAD_GONE); /* the kernel forgets it a moment later */
}

static void sleeping_whatever_the_name(void **state) {
    (void)state;
    const char *names[] = {NULL, "plain", "a) R (b", ") R 1 2 3", "((((", "))) T", " ", "two\nlines) Z"};
    for (size_t i = 0; i < TEST_COUNT_OF(names); i++) {
        struct subject s = {.name = names[i]};
        cc__thread t;
        int id = subject_start(&s, &t);
        wait_for_state(id, CC__THREAD_SLEEPING);
        subject_stop(&s, &t, id);
    }
}

static void running(void **state) {
    (void)state;
    assert_int_equal(cc__thread_state(cc__thread_id()), CC__THREAD_RUNNING);
    struct subject s = {.spins = true};
    cc__thread t;
    int id = subject_start(&s, &t);
    wait_for_state(id, CC__THREAD_RUNNING);
    subject_stop(&s, &t, id);
}

static void strangers_are_gone(void **state) {
    (void)state;
    const int ids[] = {0, -1, INT_MIN, INT_MAX, getppid()};
    for (size_t i = 0; i < TEST_COUNT_OF(ids); i++) assert_int_equal(cc__thread_state(ids[i]), CC__THREAD_GONE);
}

static void state_letters(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum cc__thread_state is;
    } cases[] = {
        {"1 (x) R 1 1", CC__THREAD_RUNNING},   {"1 (x) S 1 1", CC__THREAD_SLEEPING},
        {"1 (x) D 1 1", CC__THREAD_SLEEPING},  {"1 (x) T 1 1", CC__THREAD_STOPPED},
        {"1 (x) t 1 1", CC__THREAD_STOPPED},   {"1 (x) Z 1 1", CC__THREAD_GONE},
        {"1 (x) X 1 1", CC__THREAD_GONE},      {"1 () S) S (R) T 1 1", CC__THREAD_STOPPED},
        {"1 (x) ", CC__THREAD_GONE},           {"1 (x)", CC__THREAD_GONE},
        {"1 (x)R 1", CC__THREAD_GONE},         {"1 (x).R 1", CC__THREAD_GONE},
        {"no parenthesis R", CC__THREAD_GONE}, {"", CC__THREAD_GONE},
    };
    for (size_t i = 0; i < TEST_COUNT_OF(cases); i++) {
        stat_text = cases[i].text;
        enum cc__thread_state is = cc__thread_state(1);
        stat_text = NULL;
        if (is != cases[i].is) print_message("\"%s\"\n", cases[i].text);
        assert_int_equal(is, cases[i].is);
    }
}

/* The child: one thread to be stopped, and the main one, which is told when and says what it sees. */
static void stopped_child(int from_parent, int to_parent) {
    static struct subject s;
    cc__thread t;
    char byte;
    if (cc__thread_start(&t, be_watched, &s) != 0) _exit(1);
    int id;
    while ((id = cc__load_acquire(&s.id)) == 0) sched_yield();
    if (write(to_parent, &id, sizeof id) != sizeof id || read(from_parent, &byte, 1) != 1) _exit(2);
    int is = (int)cc__thread_state(id);
    if (write(to_parent, &is, sizeof is) != sizeof is || read(from_parent, &byte, 1) != 1) _exit(3);
    _exit(0);
}

static bool stop_thread(int id) {
    int status;
    if (ptrace(PTRACE_SEIZE, id, 0, 0) != 0) return false;
    if (ptrace(PTRACE_INTERRUPT, id, 0, 0) != 0) return false;
    return waitpid(id, &status, __WALL) == id && WIFSTOPPED(status);
}

static void stopped_by_a_debugger(void **state) {
    (void)state;
    int down[2], up[2], id = 0, is = -1;
    assert_int_equal(pipe(down), 0);
    assert_int_equal(pipe(up), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) stopped_child(down[0], up[1]);
    assert_int_equal(read(up[0], &id, sizeof id), sizeof id);
    bool stopped = stop_thread(id);
    assert_int_equal(write(down[1], "x", 1), 1);
    assert_int_equal(read(up[0], &is, sizeof is), sizeof is);
    if (stopped) ptrace(PTRACE_DETACH, id, 0, 0);
    assert_int_equal(write(down[1], "x", 1), 1);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    for (int i = 0; i < 2; i++) close(down[i]), close(up[i]);
    if (!stopped) skip(); /* no ptrace() here */
    assert_int_equal(is, CC__THREAD_STOPPED);
}

/* ---- lock ---- */

static cc__lock lock = CC__LOCK_INIT;
static size_t guarded, lock_rounds;

static void *lock_and_add(void *arg) {
    for (size_t i = 0; i < lock_rounds; i++) {
        cc__lock_take(&lock);
        size_t n = guarded;
        if (i % 64 == 0) sched_yield();
        guarded = n + 1;
        cc__lock_drop(&lock);
    }
    return arg;
}

static void lock_excludes(void **state) {
    (void)state;
    cc__thread t[LOCK_THREADS];
    lock_rounds = test_scaled(LOCK_ROUNDS);
    for (int i = 0; i < LOCK_THREADS; i++) assert_int_equal(cc__thread_start(&t[i], lock_and_add, NULL), 0);
    for (int i = 0; i < LOCK_THREADS; i++) cc__thread_join(&t[i]);
    assert_int_equal(guarded, LOCK_THREADS * lock_rounds);
}

/* A mutex that knows its owner, for the two wrong uses. */
static void checking_lock(cc__lock *l) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(l, &attr);
}
static void take_twice(void *arg) {
    (void)arg;
    cc__lock l;
    checking_lock(&l);
    cc__lock_take(&l);
    cc__lock_take(&l);
}
static void drop_untaken(void *arg) {
    (void)arg;
    cc__lock l;
    checking_lock(&l);
    cc__lock_drop(&l);
}

static void wrong_use_of_a_lock_is_seen(void **state) {
    (void)state;
#if CCRT_ASSERT >= 1
    if (TEST_TSAN) skip(); /* reports it first */
    test_aborts(take_twice, NULL, "ccrt: assertion: err == 0 (thread.c:");
    test_aborts(drop_untaken, NULL, "ccrt: assertion: err == 0 (thread.c:");
#else
    (void)take_twice, (void)drop_untaken;
    skip();
#endif
}

/* ---- at the end ---- */

static _Atomic int ended[3];

static void end_counts(void *arg) {
    cc__add_relaxed((_Atomic int *)arg, 1);
}

static struct cc__at_end first_purpose = {.fn = end_counts}, second_purpose = {.fn = end_counts};

static void *arm_both(void *arg) {
    int *rc = arg;
    rc[0] = cc__at_end_arm(&first_purpose, &ended[2]);
    rc[1] = cc__at_end_arm(&first_purpose, &ended[0]); /* replaces it */
    rc[2] = cc__at_end_arm(&second_purpose, &ended[1]);
    rc[3] = cc__load_relaxed(&ended[0]) + cc__load_relaxed(&ended[1]);
    return NULL;
}

static void at_end_runs_once_a_thread_and_purpose(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++) {
        int rc[4] = {1, 1, 1, 0};
        cc__thread t;
        assert_int_equal(cc__thread_start(&t, arm_both, rc), 0);
        cc__thread_join(&t);
        for (int j = 0; j < 3; j++) assert_int_equal(rc[j], 0);
        assert_int_equal(rc[3], 2 * (i - 1)); /* not before the end */
        assert_int_equal(cc__load_relaxed(&ended[0]), i);
        assert_int_equal(cc__load_relaxed(&ended[1]), i);
        assert_int_equal(cc__load_relaxed(&ended[2]), 0);
    }
}

static void at_end_says_when_keys_run_out(void **state) {
    (void)state;
    static struct cc__at_end purpose = {.fn = end_counts};
    static pthread_key_t key[4096];
    size_t n = 0;
    int err = 0;
    while (n < TEST_COUNT_OF(key) && (err = pthread_key_create(&key[n], NULL)) == 0) n++;
    int rc = cc__at_end_arm(&purpose, &ended[2]);
    bool made = purpose.made;
    while (n > 0) pthread_key_delete(key[--n]);
    assert_int_equal(err, EAGAIN);
    assert_int_equal(rc, -EAGAIN);
    assert_false(made);
    /* With a key free again, it works, and goes on working. */
    assert_int_equal(cc__at_end_arm(&purpose, &ended[2]), 0);
    assert_true(purpose.made);
    assert_int_equal(cc__at_end_arm(&purpose, NULL), 0);
}

static void at_end_says_when_memory_runs_out(void **state) {
    (void)state;
    static struct cc__at_end purpose = {.fn = end_counts};
    setspecific_error = ENOMEM;
    int rc = cc__at_end_arm(&purpose, &ended[2]);
    setspecific_error = 0;
    assert_int_equal(rc, -ENOMEM);
    assert_int_equal(cc__at_end_arm(&purpose, NULL), 0);
}

static _Atomic int may_end; /* W: the test.  R: its thread */
static _Atomic int burner;  /* W: the thread.  R: the test */
static void *burns(void *arg) {
    cc__store_release(&burner, cc__thread_id());
    while (cc__load_acquire(&may_end) == 0) cc__cpu_relax();
    return arg;
}

static void cpu_time_passes(void **state) {
    (void)state;
    cc__thread t;
    assert_int_equal(cc__thread_start(&t, burns, NULL), 0);
    int id;
    while ((id = cc__load_acquire(&burner)) == 0) cc__thread_yield();
    int64_t first = cc__thread_cpu_ns(id);
    while (cc__thread_cpu_ns(id) < first + 1000000) cc__thread_yield();
    cc__store_release(&may_end, 1);
    cc__thread_join(&t);
    assert_int_equal(cc__thread_cpu_ns((1 << 22) - 1), 0); /* there is no such thread */
}

TEST_MAIN(cmocka_unit_test(cpu_time_passes), cmocka_unit_test(signals_are_blocked_in_the_thread_only),
          cmocka_unit_test(join_waits_for_the_end), cmocka_unit_test(start_says_when_there_is_no_room),
          cmocka_unit_test(joining_itself_is_misuse), cmocka_unit_test(names_are_cut_to_fit),
          cmocka_unit_test(ids_are_the_kernels), cmocka_unit_test(sleeping_whatever_the_name),
          cmocka_unit_test(running), cmocka_unit_test(strangers_are_gone), cmocka_unit_test(state_letters),
          cmocka_unit_test(stopped_by_a_debugger), cmocka_unit_test(lock_excludes),
          cmocka_unit_test(wrong_use_of_a_lock_is_seen), cmocka_unit_test(at_end_runs_once_a_thread_and_purpose),
          cmocka_unit_test(at_end_says_when_keys_run_out), cmocka_unit_test(at_end_says_when_memory_runs_out))
