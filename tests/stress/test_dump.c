/* SPDX-License-Identifier: MIT */
/* Goal: reports never crash, hang or race, whatever the tasks they look at are doing: also while runtimes start and
 * end, stacks are unmapped and records reused, and when signals ask for more than can be written.
 * Method: a plain thread and a task write reports all the time while others spawn, park, sleep, join and end, on a few
 * sizes of runtimes; then signals in a loop while runtimes are made and ended. What is written goes nowhere, but each
 * report has to have its first line. The stacks are of two sizes, so that they come from and go to several slabs.
 * Timeout: 120
 */
#include "runtimes.h"

#include <fcntl.h>
#include <pthread.h>

static _Atomic int stop;
static _Atomic long reports;

static void one_report(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    test_must(f != NULL);
    cc_dump(f);
    fclose(f);
    test_must(size > 7 && memcmp(text, "ccrt: ", 6) == 0 && text[size - 1] == '\n');
    free(text);
    cc__add_relaxed(&reports, 1);
}

static void *reports_always(void *arg) {
    while (cc__load_acquire(&stop) == 0) one_report();
    return arg;
}

/* ---- what there is to look at ---- */

static __attribute__((noinline)) void *deep(long n) {
    char here[64];
    memset(here, (int)n, sizeof here);
    if (n == 0)
        cc_sleep_ms((int64_t)(test_random() % 3));
    else
        deep(n - 1);
    __asm__ volatile("" ::"r"(here) : "memory");
    return NULL;
}
static void *sleeps(void *arg) {
    (void)arg;
    return deep((long)(test_random() % 20));
}

struct pair {
    _Atomic int turn;
    cc_parker parker[2];
    _Atomic int known[2];
};
static void *plays(struct pair *p, int me) {
    p->parker[me] = cc_parker_self();
    cc__store_release(&p->known[me], 1);
    while (cc__load_acquire(&p->known[!me]) == 0) cc_yield();
    for (int i = 0; i < 50; i++) {
        while (cc__load_acquire(&p->turn) != me) cc_park_if(&p->turn, !me);
        cc_parker other = p->parker[!me];
        cc__store_release(&p->turn, !me);
        cc_unpark(other);
    }
    return NULL;
}
static void *plays_first(void *arg) {
    return plays(arg, 0);
}
static void *plays_second(void *arg) {
    return plays(arg, 1);
}

CC_TASK(child, (int, ms)) {
    return cc_sleep_ms(ms);
}

static void one_round(void) {
    enum { N = 20 };
    cc_task t[N], a, b;
    struct pair p = {0};
    for (int i = 0; i < N; i++) {
        cc_task_attr attr = {.name = i % 2 == 0 ? "named" : NULL, .stack_bytes = i % 4 == 0 ? 512 * 1024 : 0};
        test_must(cc_task_spawn(&t[i], &attr, sleeps, NULL) == 0);
    }
    a = cc_fiber_spawn_task(plays_first, &p);
    b = cc_fiber_spawn_task(plays_second, &p);
    CC_NURSERY(n) {
        for (int i = 0; i < 5; i++) cc_spawn(n, child, i % 3);
    }
    for (int i = 0; i < N; i++) test_must(cc_task_join(t[i], NULL) == 0);
    test_must(cc_task_join(a, NULL) == 0 && cc_task_join(b, NULL) == 0);
}

static void *works(void *rounds) {
    for (size_t i = (size_t)(uintptr_t)rounds; i > 0; i--) one_round();
    return NULL;
}

static void *works_and_reports(void *arg) {
    (void)arg;
    size_t rounds = test_rounds(100);
    cc_task r = cc_fiber_spawn_task(reports_always, NULL), w[3];
    for (int i = 0; i < 3; i++) w[i] = cc_fiber_spawn_task(works, (void *)(uintptr_t)rounds);
    for (int i = 0; i < 3; i++) test_must(cc_task_join(w[i], NULL) == 0);
    cc__store_release(&stop, 1);
    test_must(cc_task_join(r, NULL) == 0);
    return NULL;
}

static void reports_of_all_that_goes_on(void **state) {
    (void)state;
    static const unsigned workers[] = {2, 7};
    test_seed();
    for (size_t i = 0; i < TEST_COUNT_OF(workers); i++) {
        pthread_t thread;
        cc__store_release(&stop, 0);
        assert_int_equal(pthread_create(&thread, NULL, reports_always, NULL), 0);
        test_on_workers(workers[i], works_and_reports, NULL);
        pthread_join(thread, NULL);
    }
    printf("%ld reports\n", cc__load_relaxed(&reports));
}

/* One worker: a report is a task's turn, or another thread's. */
static void *works_alone(void *arg) {
    for (size_t i = test_rounds(100); i > 0; i--) {
        one_round();
        one_report();
    }
    cc__store_release(&stop, 1);
    return arg;
}

static void reports_of_one_worker(void **state) {
    (void)state;
    pthread_t thread;
    cc__store_release(&stop, 0);
    assert_int_equal(pthread_create(&thread, NULL, reports_always, NULL), 0);
    test_on_workers(1, works_alone, NULL);
    pthread_join(thread, NULL);
}

/* ---- signals ---- */

static void *signals_always(void *arg) {
    while (cc__load_acquire(&stop) == 0) {
        for (int i = 0; i < 10; i++) kill(getpid(), SIGQUIT);
        usleep(100);
    }
    return arg;
}

static void starts_and_ends(void *unused) {
    (void)unused;
    pthread_t thread;
    (void)test_seed(); /* before several ask for it */
    int fd = open("/dev/null", O_WRONLY);
    if (fd < 0 || dup2(fd, STDERR_FILENO) < 0 || cc_dump_on_signal(SIGQUIT) != 0) _exit(1);
    if (pthread_create(&thread, NULL, signals_always, NULL) != 0) _exit(2);
    for (size_t i = test_rounds(100); i > 0; i--) test_on_workers(1 + (unsigned)(i % 3), works, (void *)(uintptr_t)1);
    cc__store_release(&stop, 1);
    pthread_join(thread, NULL);
}

static void signals_at_any_time(void **state) {
    (void)state;
    char err[4096];
    cc__store_release(&stop, 0);
    int status = test_in_child(starts_and_ends, NULL, err, sizeof err);
    if (status != 0) print_message("%s\n", err);
    assert_int_equal(status, 0);
}

TEST_MAIN(cmocka_unit_test(signals_at_any_time), cmocka_unit_test(reports_of_one_worker),
          cmocka_unit_test(reports_of_all_that_goes_on))
