/* SPDX-License-Identifier: MIT */
/* Goal: spawning, joining, yielding, parking and waking, sending and receiving on one worker take no memory from the
 * system, make no system call, read no clock, ask for no variable, take no lock and write to nothing that all workers
 * share (lessons 29, 32, 39); channels of words copy them without a call (lesson 70).
 * Method: whatever the library calls goes through the linker's wraps and is counted, over 10,000 of each after a
 * warm-up. The record of the runtime, all that its workers share, is put on pages of its own and made read-only: a
 * write to it, atomic or not, faults, is counted and let pass.
 * Link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=free,--wrap=aligned_alloc,--wrap=strdup,--wrap=clock_gettime
 * Link: -Wl,--wrap=syscall,--wrap=sched_yield,--wrap=mmap,--wrap=munmap,--wrap=mprotect,--wrap=madvise,--wrap=getenv
 * Link: -Wl,--wrap=pthread_mutex_lock,--wrap=write,--wrap=read,--wrap=memcpy
 * Not with: thread
 * Timeout: 120
 */
#include "runtimes.h"

#include "fiber/current.h"
#include "sched/sched.h"

#include <sys/mman.h>

enum { MEMORY, SYSTEM, CLOCK, WALL_CLOCK, VARIABLE, LOCK, COPY, SHARED, KINDS };
static const char *const kind_name[KINDS] = {
    "calls for memory", "system calls", "readings of the clock", "readings of another clock",
    "getenv",           "locks taken",  "calls of memcpy",       "writes to what is shared",
};
static _Atomic long counted[KINDS];
static _Atomic bool armed, threads_too;
static cc_runtime *_Atomic subject; /* whose workers' calls count; NULL: all */

/* The test's own thread waits beside the worker, and workers of other runtimes may be on their way to sleep: what they
 * call does not count, but where they are the subject. */
static void count(int kind) {
    if (!cc__load_relaxed(&armed)) return;
    struct cc__worker *w = cc__worker_current();
    cc_runtime *of = cc__load_relaxed(&subject);
    bool counts = w != NULL && (of == NULL || (void *)w->runtime == (void *)of);
    if (counts || cc__load_relaxed(&threads_too)) cc__add_relaxed(&counted[kind], 1);
}

/* The runtime's record, on pages of its own. */
static struct {
    char *at;
    size_t bytes;
    bool wanted;
    _Atomic bool closed; /* read-only now */
} shared;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void __real_free(void *p);
void *__real_aligned_alloc(size_t align, size_t n);
char *__real_strdup(const char *s);
int __real_clock_gettime(clockid_t id, struct timespec *ts);
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
int __real_sched_yield(void);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t n);
int __real_mprotect(void *at, size_t n, int prot);
int __real_madvise(void *at, size_t n, int advice);
char *__real_getenv(const char *name);
int __real_pthread_mutex_lock(pthread_mutex_t *m);
ssize_t __real_write(int fd, const void *buf, size_t n);
ssize_t __real_read(int fd, void *buf, size_t n);
void *__real_memcpy(void *to, const void *from, size_t n);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void __wrap_free(void *p);
void *__wrap_aligned_alloc(size_t align, size_t n);
char *__wrap_strdup(const char *s);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
int __wrap_sched_yield(void);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t n);
int __wrap_mprotect(void *at, size_t n, int prot);
int __wrap_madvise(void *at, size_t n, int advice);
char *__wrap_getenv(const char *name);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
ssize_t __wrap_write(int fd, const void *buf, size_t n);
ssize_t __wrap_read(int fd, void *buf, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);

void *__wrap_malloc(size_t n) {
    count(MEMORY);
    return __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size) {
    count(MEMORY);
    return __real_calloc(n, size);
}
void __wrap_free(void *p) {
    if (p != NULL) count(MEMORY); /* free(NULL) is an empty call */
    if (p == NULL || p != (void *)shared.at) {
        __real_free(p);
    } else {
        __real_munmap(shared.at, shared.bytes);
        shared.at = NULL;
    }
}
void *__wrap_aligned_alloc(size_t align, size_t n) {
    count(MEMORY);
    if (!shared.wanted) return __real_aligned_alloc(align, n);
    shared.wanted = false; /* the first is the runtime */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    shared.bytes = (n + page - 1) / page * page;
    void *at = __real_mmap(NULL, shared.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    shared.at = at == MAP_FAILED ? NULL : at;
    return shared.at;
}
char *__wrap_strdup(const char *s) {
    count(MEMORY);
    return __real_strdup(s);
}
int __wrap_clock_gettime(clockid_t id, struct timespec *ts) {
    count(CLOCK);
    if (id >= 0 && id != CLOCK_MONOTONIC) count(WALL_CLOCK); /* below 0 are threads' own, which the monitor asks */
    return __real_clock_gettime(id, ts);
}
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    count(SYSTEM);
    return __real_syscall(number, a, b, c, d, e, f);
}
int __wrap_sched_yield(void) {
    count(SYSTEM);
    return __real_sched_yield();
}
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset) {
    count(SYSTEM);
    return __real_mmap(at, n, prot, flags, fd, offset);
}
int __wrap_munmap(void *at, size_t n) {
    count(SYSTEM);
    return __real_munmap(at, n);
}
int __wrap_mprotect(void *at, size_t n, int prot) {
    count(SYSTEM);
    return __real_mprotect(at, n, prot);
}
int __wrap_madvise(void *at, size_t n, int advice) {
    count(SYSTEM);
    return __real_madvise(at, n, advice);
}
char *__wrap_getenv(const char *name) {
    count(VARIABLE);
    return __real_getenv(name);
}
int __wrap_pthread_mutex_lock(pthread_mutex_t *m) {
    count(LOCK);
    return __real_pthread_mutex_lock(m);
}
ssize_t __wrap_write(int fd, const void *buf, size_t n) {
    count(SYSTEM);
    return __real_write(fd, buf, n);
}
ssize_t __wrap_read(int fd, void *buf, size_t n) {
    count(SYSTEM);
    return __real_read(fd, buf, n);
}
void *__wrap_memcpy(void *to, const void *from, size_t n) {
    count(COPY);
    return __real_memcpy(to, from, n);
}

/* The thread that spawned the measured task may still be on its way out of that call and fault beside the worker: both
 * open the record, and it counts once. */
static void on_fault(int sig, siginfo_t *info, void *context) {
    (void)context;
    char *at = info->si_addr;
    if (shared.at == NULL || at < shared.at || at >= shared.at + shared.bytes) {
        signal(sig, SIG_DFL); /* a fault like any other: it comes again */
        return;
    }
    __real_mprotect(shared.at, shared.bytes, PROT_READ | PROT_WRITE);
    if (cc__xchg_acq_rel(&shared.closed, false)) count(SHARED);
}
static void shared_close(void) {
    if (cc__load_relaxed(&shared.closed)) return;
    cc__store_relaxed(&shared.closed, true);
    __real_mprotect(shared.at, shared.bytes, PROT_READ);
}
static void shared_open(void) {
    __real_mprotect(shared.at, shared.bytes, PROT_READ | PROT_WRITE);
    cc__store_relaxed(&shared.closed, false);
}

/* ---- what is done ---- */

#if TEST_ASAN
enum { OPS = 1000, WARM_UP = 1000 };
#else
enum { OPS = 10000, WARM_UP = 3000 };
#endif

static void *echo(void *arg) {
    return arg;
}
static _Atomic long detached;
static void *counts(void *arg) {
    cc__add_relaxed(&detached, 1);
    return arg;
}
static void spawn_and_join(void) {
    test_must(cc_task_join(cc_fiber_spawn_task(echo, NULL), NULL) == 0);
}
static void spawn_many_and_join(void) { /* more than a few at once: caches are filled and emptied */
    cc_task t[32];
    for (int i = 0; i < 32; i++) t[i] = cc_fiber_spawn_task(echo, NULL);
    for (int i = 0; i < 32; i++) test_must(cc_task_join(t[i], NULL) == 0);
}
static void spawn_and_detach(void) {
    long before = cc__load_relaxed(&detached);
    test_must(cc_task_detach(cc_fiber_spawn_task(counts, NULL)) == 0);
    while (cc__load_relaxed(&detached) == before) cc_yield();
}
CC_TASK(child, (_Atomic long *, at)) {
    cc__add_relaxed(at, 1);
    return 0;
}
CC_ASYNC(long, square, (long, x)) {
    return x * x;
}
static void open_nursery(void) {
    _Atomic long ran = 0;
    CC_RESULT(long) f;
    CC_NURSERY(n) {
        for (int i = 0; i < 3; i++) test_must(cc_spawn(n, child, &ran) == 0);
        test_must(cc_async(n, f, square, 9) == 0);
        test_must(cc_await(f) == 81);
    }
    test_must(cc__load_relaxed(&ran) == 3);
}

/* A partner that yields as often, or that hands a ball back. */
static struct {
    _Atomic int turn, over;
    cc_parker player[2];
} table;
static void *yields(void *arg) {
    while (cc__load_acquire(&table.over) == 0) cc_yield();
    return arg;
}
static void *returns_the_ball(void *arg) {
    table.player[1] = cc_parker_self();
    for (;;) {
        while (cc__load_acquire(&table.turn) == 0) cc_park_if(&table.turn, 0);
        if (cc__load_acquire(&table.over) != 0) return arg;
        cc__store_release(&table.turn, 0);
        cc_unpark(table.player[0]);
    }
}
static void *sleeps(void *arg) {
    while (cc__load_acquire(&table.over) == 0) cc_sleep_ms(20);
    return arg;
}
static void *yields_beside_a_sleeper(void *arg) {
    cc_task t = cc_fiber_spawn_task(sleeps, NULL);
    yields(NULL);
    test_must(cc_task_join(t, NULL) == 0);
    return arg;
}
static void play(void) {
    cc__store_release(&table.turn, 1);
    cc_unpark(table.player[1]);
    while (cc__load_acquire(&table.turn) == 1) cc_park_if(&table.turn, 1);
}

/* Words, of the sizes that are most common, and what is no word. */
static CC_CHAN(long) longs, meeting;
static CC_CHAN(int) ints;
typedef struct odd {
    char bytes[37];
} odd;
static CC_CHAN(odd) odds;

static void send_and_receive(void) {
    long v = 0;
    int i = 0;
    test_must(cc_send(longs, 5) == 0 && cc_send(longs, 6) == 0 && cc_send(ints, 7) == 0);
    test_must(cc_recv(longs, &v) == 0 && v == 5 && cc_try_recv(longs, &v) == 0 && v == 6);
    test_must(cc_try_recv(longs, &v) == -EAGAIN && cc_recv(ints, &i) == 0 && i == 7);
}
static void send_and_receive_odd(void) {
    odd v = {.bytes = {1}};
    test_must(cc_channel_send(odds.ch, &v) == 0 && cc_recv(odds, &v) == 0);
}
static void send_to_partner(void) {
    test_must(cc_send(meeting, 5) == 0);
}
static void *receives_each(void *arg) {
    long v;
    while (cc_recv(meeting, &v) == 0 && v != 0) test_must(v == 5);
    return arg;
}
static void end_of_meeting(void) {
    test_must(cc_send(meeting, 0) == 0);
}
static void select_ready(void) {
    long v = 0;
    test_must(cc_select(CC_RECV(longs, &v), CC_SEND(longs, 8), CC_RECV(meeting, &v)) == 1);
    test_must(cc_select(CC_RECV(longs, &v), CC_RECV(meeting, &v)) == 0 && v == 8);
    test_must(cc_select(CC_RECV(longs, &v), CC_DEFAULT) == 1);
}
static void select_partner(void) {
    long v = 0;
    test_must(cc_select(CC_RECV(longs, &v), CC_SEND(meeting, 5)) == 1);
}

struct path {
    const char *name;
    void (*op)(void);
    void (*end)(void); /* tells the partner */
    void *(*partner)(void *);
    long most[KINDS]; /* allowed over OPS */
};

/* On the worker: warm up, then count. */
static void *measure(void *arg) {
    const struct path *p = arg;
    cc_task partner = {0};
    sigset_t fault;
    sigemptyset(&fault);
    sigaddset(&fault, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &fault, NULL); /* of the one worker's thread */
    cc__store_release(&table.over, 0);
    cc__store_release(&table.turn, 0);
    table.player[0] = cc_parker_self();
    if (p->partner != NULL) partner = cc_fiber_spawn_task(p->partner, NULL);
    for (int i = 0; i < WARM_UP; i++) p->op();
    for (int k = 0; k < KINDS; k++) cc__store_relaxed(&counted[k], 0);
    cc__store_relaxed(&armed, true);
    for (int i = 0; i < OPS; i++) {
        shared_close();
        p->op();
    }
    cc__store_relaxed(&armed, false);
    shared_open();
    cc__store_release(&table.over, 1);
    if (p->partner != NULL) {
        cc__store_release(&table.turn, 1);
        if (p->end != NULL)
            p->end();
        else
            cc_unpark(table.player[1]);
        test_must(cc_task_join(partner, NULL) == 0);
    }
    return NULL;
}

static void check_path(const struct path *p) {
    cc_runtime *rt = NULL;
    cc_task t;
    long excess = 0;
    shared.wanted = true;
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1, .no_monitor = 1}), 0);
    assert_ptr_equal(rt, shared.at); /* or nothing is watched */
    cc__store_relaxed(&subject, rt);
    struct sigaction before, fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    assert_int_equal(sigaction(SIGSEGV, &fault, &before), 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, measure, (void *)(uintptr_t)p), 0);
    assert_int_equal(cc_task_join(t, NULL), 0);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    cc_runtime_destroy(rt);
    assert_null(shared.at);
    for (int k = 0; k < KINDS; k++) {
        long n = cc__load_relaxed(&counted[k]);
        if (n > p->most[k]) print_message("%s, %d times: %ld %s\n", p->name, OPS, n, kind_name[k]);
        excess += n > p->most[k];
    }
    assert_int_equal(excess, 0);
}

/* Numbers for reports are taken from the runtime by the thousand. */
static void lesson_29_and_39_spawning(void **state) {
    (void)state;
    check_path(&(struct path){.name = "spawn and join", .op = spawn_and_join, .most = {[SHARED] = OPS / 1000 + 1}});
    check_path(&(struct path){
        .name = "32 spawns and joins", .op = spawn_many_and_join, .most = {[SHARED] = 32 * (OPS / 1000 + 1)}});
    check_path(&(struct path){.name = "spawn and detach", .op = spawn_and_detach, .most = {[SHARED] = OPS / 1000 + 1}});
}
static void lesson_29_and_39_nurseries(void **state) {
    (void)state;
    check_path(&(struct path){
        .name = "nursery of 4", .op = open_nursery, .most = {[SHARED] = 4 * (OPS / 1000 + 1), [COPY] = 4 * OPS}});
}
static void lesson_29_and_39_yielding(void **state) {
    (void)state;
    check_path(&(struct path){.name = "yield", .op = cc_yield, .partner = yields});
    check_path(&(struct path){.name = "yield alone", .op = cc_yield});
}
static void lesson_29_and_39_parking_and_waking(void **state) {
    (void)state;
    check_path(&(struct path){.name = "park and unpark", .op = play, .partner = returns_the_ball});
}

/* What waits and is woken here goes by the lists and their lock, with nothing taken from the system either. */
static void lesson_70_channels(void **state) {
    (void)state;
    assert_int_equal(cc_chan_create(longs, 4), 0);
    assert_int_equal(cc_chan_create(ints, 3), 0);
    assert_int_equal(cc_chan_create(odds, 2), 0);
    assert_int_equal(cc_chan_create(meeting, 0), 0);
    check_path(&(struct path){.name = "send and receive", .op = send_and_receive});
    check_path(&(struct path){.name = "odd sizes", .op = send_and_receive_odd, .most = {[COPY] = 2 * OPS}});
    if (!TEST_ASAN) assert_true(cc__load_relaxed(&counted[COPY]) > 0); /* which calls its own */
    check_path(
        &(struct path){.name = "hand over", .op = send_to_partner, .partner = receives_each, .end = end_of_meeting});
    check_path(&(struct path){.name = "select", .op = select_ready});
    check_path(&(struct path){
        .name = "select and hand over", .op = select_partner, .partner = receives_each, .end = end_of_meeting});
    cc_chan_destroy(longs);
    cc_chan_destroy(ints);
    cc_chan_destroy(odds);
    cc_chan_destroy(meeting);
}

/* With a timer set and others to run the clock is read now and then, and that the monotonic one; if a millisecond has
 * passed, all are told. What the sleeper does itself is counted too, every 20 ms. */
static void lesson_32_and_39_with_a_timer_set(void **state) {
    (void)state;
    struct path p = {.name = "yield beside a sleeper", .op = cc_yield, .partner = yields_beside_a_sleeper};
    p.most[CLOCK] = p.most[SHARED] = 2 * OPS / 30 + 100;
    p.most[LOCK] = 100;
    check_path(&p);
}

/* Every wrap is there: what is known to need them does count. */
static void the_counters_count(void **state) {
    (void)state;
    cc_task t;
    for (int k = 0; k < KINDS; k++) cc__store_relaxed(&counted[k], 0);
    cc__store_relaxed(&threads_too, true);
    cc__store_relaxed(&armed, true);
    int rc = cc_task_spawn(&t, &(cc_task_attr){.name = "named"}, echo, NULL);
    if (rc == 0) rc = cc_task_join(t, NULL);
    if (rc == 0) rc = cc_sleep_ms(1);
    cc__store_relaxed(&armed, false);
    cc__store_relaxed(&threads_too, false);
    assert_int_equal(rc, 0);
    for (int k = 0; k < KINDS; k++)
        if (k != SHARED && k != WALL_CLOCK && k != COPY) assert_true(cc__load_relaxed(&counted[k]) > 0);
    assert_int_equal(cc__load_relaxed(&counted[WALL_CLOCK]), 0); /* lesson 32: setting the time of day moves no timer */
}

TEST_MAIN(cmocka_unit_test(the_counters_count), cmocka_unit_test(lesson_29_and_39_spawning),
          cmocka_unit_test(lesson_29_and_39_nurseries), cmocka_unit_test(lesson_29_and_39_yielding),
          cmocka_unit_test(lesson_29_and_39_parking_and_waking), cmocka_unit_test(lesson_70_channels),
          cmocka_unit_test(lesson_32_and_39_with_a_timer_set))
