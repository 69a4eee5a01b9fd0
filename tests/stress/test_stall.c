/* SPDX-License-Identifier: MIT */
/* Goal: a task that keeps its worker for five seconds is named on stderr, once, with its spawn and where it computes;
 * one that blocks in the kernel too, without that; one that said so is not.
 * Method: programs in child processes, whose stderr is read.
 * Not with: thread valgrind cross
 * Timeout: 120
 */
#include "child.h"
#include "runtimes.h"

#include <signal.h>

enum { KEEP_MS = 6000 };

__attribute__((noinline)) static void spins_in_here(int64_t until) {
    while (cc_now_ns() < until) cc__cpu_relax();
    __asm__ volatile("");
}
static void *computes(void *arg) {
    spins_in_here(cc_now_ns() + KEEP_MS * INT64_C(1000000));
    return arg;
}
static void nap(void) {
    struct timespec left = {.tv_sec = KEEP_MS / 1000};
    while (nanosleep(&left, &left) != 0) {
    }
}
static void *blocks(void *arg) {
    nap();
    return arg;
}
static void *blocks_and_says_so(void *arg) {
    CC_BLOCKING {
        nap();
    }
    return arg;
}

struct program {
    const char *name;
    void *(*fn)(void *);
    const char *said[5];
};
static void run(void *arg) {
    const struct program *p = arg;
    cc_task t;
    if (strcmp(p->name, "unheard") == 0) setenv("CC_DEBUG_STALL", "0", 1);
    signal(SIGSYS, SIG_DFL); /* cmocka has taken it */
    test_must(cc_task_spawn(&t, &(cc_task_attr){.name = p->name}, p->fn, NULL) == 0);
    test_must(cc_task_join(t, NULL) == 0);
}

static unsigned count(const char *text, const char *what) {
    unsigned n = 0;
    for (; (text = strstr(text, what)) != NULL; text++) n++;
    return n;
}

static bool child_is_good(struct test_child *c, const struct program *p) {
    bool ended = test_child_says(c, NULL, 60000);
    if (!ended) kill(c->pid, SIGKILL);
    int status = test_child_end(c);
    bool good = ended && status == 0 && count(c->said, "ccrt: stall: ") == (p->said[0] != NULL);
    for (size_t i = 0; p->said[i] != NULL; i++) good = good && strstr(c->said, p->said[i]) != NULL;
    if (!good) print_message("%s: status %x, it said:\n%s\n", p->name, (unsigned)status, c->said);
    return good;
}

static void those_that_keep_their_worker_are_named(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    static const struct program programs[] = {
        {"hog", computes, {"\"hog\"", "test_stall.c:", "it computes", "spins_in_here"}},
        {"napper", blocks, {"\"napper\"", "it sleeps in the kernel", NULL}},
        {"polite", blocks_and_says_so, {NULL}},
        {"unheard", computes, {NULL}},
    };
    static struct test_child c[TEST_COUNT_OF(programs)];
    bool good = true;
    for (size_t i = 0; i < TEST_COUNT_OF(programs); i++) test_child_start(&c[i], run, (void *)(uintptr_t)&programs[i]);
    for (size_t i = 0; i < TEST_COUNT_OF(programs); i++) good = child_is_good(&c[i], &programs[i]) && good;
    assert_true(good);
}

TEST_MAIN(cmocka_unit_test(those_that_keep_their_worker_are_named))
