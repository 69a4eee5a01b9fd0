/* SPDX-License-Identifier: MIT */
/* Goal: a deadlock is reported, with the names of those in it, and ends the program; what only looks like one is not
 * (lesson 82).
 * Method: programs in child processes. Three tasks that join each other in a circle must end by abort() after the
 * report. Some twenty that wait for longer than the library does before it looks, but for something that comes, or by
 * design, must say nothing.
 * Not with: thread valgrind cross
 * Timeout: 120
 */
#include "child.h"
#include "runtimes.h"

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/stat.h>

enum { LONG_MS = 1600 }; /* longer than it takes until the library looks */

static void nap(long ms) {
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

/* ---- a circle ---- */

static cc_task circle[3];
static _Atomic int known;

static void *joins_the_next(void *arg) {
    while (cc__load_acquire(&known) == 0) cc_yield();
    cc_task_join(*(cc_task *)arg, NULL);
    return NULL;
}
static void spawn_circle(void) {
    static const char *const name[] = {"alice", "bob", "carol"};
    for (int i = 0; i < 3; i++)
        test_must(cc_task_spawn(&circle[i], &(cc_task_attr){.name = name[i]}, joins_the_next, &circle[(i + 1) % 3]) ==
                  0);
    cc__store_release(&known, 1);
}
static void in_a_circle(void *unused) {
    (void)unused;
    spawn_circle();
    cc_task_join(circle[0], NULL);
}
static void in_a_circle_late(void *unused) {
    (void)unused;
    spawn_circle();
    nap(LONG_MS); /* it is none as long as this thread could do something */
    cc_task_join(circle[0], NULL);
}
static void in_a_circle_that_goes_on(void *unused) {
    setenv("CC_DEADLOCK_ABORT", "0", 1);
    setenv("CC_DEBUG_DEADLOCK", "1", 1);
    setenv("CC_DEBUG_DEADLOCK_RUNTIME", "1", 1);
    setenv("CC_DEBUG_INBOX_DUMP", "1", 1);
    in_a_circle(unused);
}

/* The kernel's thread that did the fsync() is there for a while, or for good. */
static void *uses_a_file(void *unused) {
    char path[] = "/tmp/ccrt_test_deadlock_XXXXXX";
    int fd = mkstemp(path);
    test_must(fd >= 0 && unlink(path) == 0 && cc_fsync(fd) == 0 && cc_close(fd) == 0);
    return unused;
}
static void in_a_circle_after_a_file(void *unused) {
    cc_task_join(cc_fiber_spawn_task(uses_a_file, NULL), NULL);
    in_a_circle(unused);
}

static void circle_is_reported(void (*fn)(void *), bool aborts) {
    static struct test_child c;
    test_child_start(&c, fn, NULL);
    bool said = test_child_says(&c, "ccrt: deadlock", 30000);
    for (const char *const *name = (const char *const[]){"alice", "bob", "carol", "join", NULL}; *name != NULL; name++)
        said = said && test_child_says(&c, *name, 10000);
    if (!aborts) {
        said = said && test_child_says(&c, "all idle", 10000) && test_child_says(&c, "inbox of ccrt-0: empty", 10000);
        assert_false(test_child_says(&c, "there is no such text", 300));
        assert_int_equal(waitpid(c.pid, NULL, WNOHANG), 0); /* it goes on */
        kill(c.pid, SIGKILL);
    }
    int status = test_child_end(&c);
    if (!said) print_message("it said:\n%s\n", c.said);
    assert_true(said);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), aborts ? SIGABRT : SIGKILL);
}
static void a_circle_of_three_is_reported(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    circle_is_reported(in_a_circle, true);
    circle_is_reported(in_a_circle_late, true);
    circle_is_reported(in_a_circle_after_a_file, true);
    circle_is_reported(in_a_circle_that_goes_on, false);
}

/* ---- what only looks like one ---- */

static _Atomic int flag;
static cc_parker sleeper;
static sem_t gate;

static void *sleeps(void *unused) {
    (void)unused;
    sleeper = cc_parker_self();
    cc__store_release(&known, 1);
    while (cc__load_acquire(&flag) == 0) cc_park_if(&flag, 0);
    return NULL;
}
static cc_task spawn_sleeper(void) {
    cc_task t = cc_fiber_spawn_task(sleeps, NULL);
    while (cc__load_acquire(&known) == 0) sched_yield();
    return t;
}
static void wake_sleeper(void) {
    cc__store_release(&flag, 1);
    cc_unpark(sleeper);
}
static void join(cc_task t) {
    test_must(cc_task_join(t, NULL) == 0);
}
static void with_thread(void *(*fn)(void *)) {
    pthread_t thread;
    cc_task t = spawn_sleeper();
    test_must(pthread_create(&thread, NULL, fn, NULL) == 0);
    join(t);
    pthread_join(thread, NULL);
}
static void *naps_and_wakes(void *unused) {
    nap(LONG_MS);
    wake_sleeper();
    return unused;
}
static void *computes_and_wakes(void *unused) {
    for (int64_t until = cc_now_ns() + LONG_MS * INT64_C(1000000); cc_now_ns() < until;) cc__cpu_relax();
    wake_sleeper();
    return unused;
}
static void *sleeps_here_and_wakes(void *unused) {
    cc_sleep_ms(LONG_MS);
    wake_sleeper();
    return unused;
}
static int naps(void *unused) {
    (void)unused;
    nap(LONG_MS);
    return 0;
}

static void a_late_thread(void *unused) {
    (void)unused;
    with_thread(naps_and_wakes);
}
static void a_thread_that_computes(void *unused) {
    (void)unused;
    with_thread(computes_and_wakes);
}
static void a_thread_that_sleeps_by_the_library(void *unused) {
    (void)unused;
    with_thread(sleeps_here_and_wakes);
}
static void *reads_and_wakes(void *fd) {
    char c;
    test_must(read(*(int *)fd, &c, 1) == 1);
    wake_sleeper();
    return NULL;
}
static void another_process(void *unused) {
    static int ends[2];
    (void)unused;
    test_must(pipe(ends) == 0);
    if (fork() == 0) {
        nap(LONG_MS);
        _exit(write(ends[1], "x", 1) != 1);
    }
    pthread_t thread;
    cc_task t = spawn_sleeper();
    test_must(pthread_create(&thread, NULL, reads_and_wakes, &ends[0]) == 0);
    join(t);
    pthread_join(thread, NULL);
}
static void *sleeps_long(void *unused) {
    cc_sleep_ms(LONG_MS);
    wake_sleeper();
    return unused;
}
static void a_timer(void *unused) {
    (void)unused;
    cc_task t = spawn_sleeper();
    join(cc_fiber_spawn_task(sleeps_long, NULL));
    join(t);
}
static void *waits_with_deadline(void *unused) {
    CC_DEADLINE_MS(LONG_MS) {
        test_must(cc_task_join_cancellable(*(cc_task *)unused, NULL) == -ETIMEDOUT);
    }
    wake_sleeper();
    return NULL;
}
static void a_deadline(void *unused) {
    (void)unused;
    cc_task t = spawn_sleeper();
    join(cc_fiber_spawn_task(waits_with_deadline, &t));
    join(t);
}
static void a_deadline_of_a_thread(void *unused) {
    (void)unused;
    cc_task t = spawn_sleeper();
    (void)waits_with_deadline(&t);
    join(t);
}
static void *calls_blocking(void *unused) {
    (void)cc_blocking(naps, NULL);
    wake_sleeper();
    return unused;
}
static void a_blocking_call(void *unused) {
    (void)unused;
    cc_task t = spawn_sleeper();
    join(cc_fiber_spawn_task(calls_blocking, NULL));
    join(t);
}
static void *opens(void *path) {
    int fd = cc_open(path, O_RDONLY, 0);
    test_must(fd >= 0 && cc_close(fd) == 0);
    wake_sleeper();
    return NULL;
}
static void a_file_that_takes_its_time(void *unused) {
    char path[64];
    (void)unused;
    snprintf(path, sizeof path, "/tmp/ccrt_test_deadlock_%d", (int)getpid());
    test_must(mkfifo(path, 0600) == 0);
    if (fork() == 0) {
        nap(LONG_MS);
        _exit(open(path, O_WRONLY) < 0);
    }
    cc_task t = spawn_sleeper();
    join(cc_fiber_spawn_task(opens, path));
    join(t);
    unlink(path);
}
static void *blocks_in_place(void *unused) {
    CC_BLOCKING {
        nap(LONG_MS);
    }
    wake_sleeper();
    return unused;
}
static void a_marked_blocking_call(void *unused) {
    (void)unused;
    cc_task t = spawn_sleeper();
    join(cc_fiber_spawn_task(blocks_in_place, NULL));
    join(t);
}
static void *blocks(void *unused) {
    nap(LONG_MS);
    wake_sleeper();
    return unused;
}
static void a_raw_blocking_call(void *unused) {
    (void)unused;
    cc_task t = spawn_sleeper();
    join(cc_fiber_spawn_task(blocks, NULL));
    join(t);
}
static void ends_the_process(int signo) {
    (void)signo;
    _exit(0);
}
static void a_signal(void *unused) {
    (void)unused;
    signal(SIGALRM, ends_the_process);
    alarm(2);
    join(spawn_sleeper());
}
static void *waits_for_a_signal(void *set) {
    int signo;
    test_must(sigwait(set, &signo) == 0);
    wake_sleeper();
    return NULL;
}
static void a_thread_that_waits_for_a_signal(void *unused) {
    static sigset_t set;
    (void)unused;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    test_must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    pthread_t thread;
    cc_task t = spawn_sleeper();
    test_must(pthread_create(&thread, NULL, waits_for_a_signal, &set) == 0);
    alarm(2);
    join(t);
    pthread_join(thread, NULL);
}
static void by_design(void *unused) {
    (void)unused;
    cc_external_wait(1);
    join(spawn_sleeper());
}
static void *sleeps_by_design(void *unused) {
    CC_EXTERNAL_WAIT {
        (void)sleeps(NULL);
    }
    return unused;
}
static void by_design_in_braces(void *unused) {
    (void)unused;
    join(cc_fiber_spawn_task(sleeps_by_design, NULL));
}
static void a_main_thread_that_naps(void *unused) {
    (void)unused;
    (void)spawn_sleeper();
    nap(LONG_MS);
}
static void *posts_late(void *unused) {
    nap(LONG_MS);
    sem_post(&gate);
    return unused;
}
static void a_main_thread_at_a_semaphore(void *unused) {
    (void)unused;
    pthread_t thread;
    sem_init(&gate, 0, 0);
    (void)spawn_sleeper();
    test_must(pthread_create(&thread, NULL, posts_late, NULL) == 0);
    while (sem_wait(&gate) != 0) {
    }
    pthread_join(thread, NULL);
}
static void no_task_at_all(void *unused) {
    (void)unused;
    static _Atomic int never;
    join(cc_fiber_spawn_task(sleeps_long, NULL));
    cc_park_if(&never, 0); /* for ever, or until it is killed */
    for (;;) cc_park_if(&never, 0);
}
static void another_runtime(void *unused) {
    (void)unused;
    cc_runtime *rt;
    cc_task t = spawn_sleeper(), other;
    test_must(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 2}) == 0);
    test_must(cc_runtime_spawn(rt, &other, NULL, sleeps_long, NULL) == 0);
    join(t);
    join(other);
    cc_runtime_destroy(rt);
}
static void a_runtime_that_is_not_watched(void *unused) {
    (void)unused;
    cc_runtime *rt;
    cc_task t;
    test_must(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 2, .no_monitor = 1}) == 0);
    test_must(cc_runtime_spawn(rt, &t, NULL, sleeps, NULL) == 0);
    join(t); /* for ever */
}
static void *beats(void *unused) {
    for (int i = 0; i < 4; i++) cc_sleep_ms(LONG_MS / 4);
    wake_sleeper();
    return unused;
}
static void a_slow_heartbeat(void *unused) {
    (void)unused;
    cc_task t = spawn_sleeper();
    join(cc_fiber_spawn_task(beats, NULL));
    join(t);
}
static void a_scheduler_of_its_own(void *unused) {
    (void)unused;
    (void)spawn_sleeper();
    cc_external_wait(1);
    cc_external_wait(-1);
    for (int64_t until = cc_now_ns() + LONG_MS * INT64_C(1000000); cc_now_ns() < until;) sched_yield();
}

static void what_looks_like_one_is_not_reported(void **state) {
    static const struct {
        void (*fn)(void *);
        bool for_ever;
    } look_alike[] = {
        {a_late_thread, false},
        {a_thread_that_computes, false},
        {another_process, false},
        {a_thread_that_sleeps_by_the_library, false},
        {a_timer, false},
        {a_deadline, false},
        {a_blocking_call, false},
        {a_file_that_takes_its_time, false},
        {a_deadline_of_a_thread, false},
        {a_raw_blocking_call, false},
        {a_marked_blocking_call, false},
        {a_signal, false},
        {a_thread_that_waits_for_a_signal, false},
        {by_design, true},
        {by_design_in_braces, true},
        {a_main_thread_that_naps, false},
        {a_main_thread_at_a_semaphore, false},
        {no_task_at_all, true},
        {another_runtime, false},
        {a_slow_heartbeat, false},
        {a_runtime_that_is_not_watched, true},
        {a_scheduler_of_its_own, false},
    };
    (void)state;
    if (!test_monitored()) skip();
    static struct test_child c[TEST_COUNT_OF(look_alike)];
    bool good = true;
    for (size_t i = 0; i < TEST_COUNT_OF(c); i++) test_child_start(&c[i], look_alike[i].fn, NULL);
    for (size_t i = 0; i < TEST_COUNT_OF(c); i++) {
        bool said = test_child_says(&c[i], "deadlock", look_alike[i].for_ever ? 2 * LONG_MS : 60000);
        if (look_alike[i].for_ever) kill(c[i].pid, SIGKILL);
        int status = test_child_end(&c[i]);
        bool ended = look_alike[i].for_ever ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : status == 0;
        if (!said && ended) continue;
        print_message("program %zu of the list: status %x, it said:\n%s\n", i, (unsigned)status, c[i].said);
        good = false;
    }
    assert_true(good);
}

TEST_MAIN(cmocka_unit_test(a_circle_of_three_is_reported), cmocka_unit_test(what_looks_like_one_is_not_reported))
