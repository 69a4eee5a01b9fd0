/* SPDX-License-Identifier: MIT */
/* Goal: a fork for which there is no task, because there is no memory, is called at its join, once, under the scope of
 * its fork; who leaves that scope finds it run.
 * Method: the linker gives us the calls that make tasks; all of them fail while forks leave their worker, or are made
 * by a plain thread. Children look whether they are cancelled, in scopes that are where those of their joins are not.
 * Link: -Wl,--wrap=cc__spawn_prepare
 */
#include "runtimes.h"

#include <ccrt.h>

struct cc__runtime;
struct cc__task;
static _Atomic bool no_memory;
static _Atomic int refused;

int __real_cc__spawn_prepare(struct cc__runtime *rt, struct cc__task **out, void *(*fn)(void *), void *arg);
int __wrap_cc__spawn_prepare(struct cc__runtime *rt, struct cc__task **out, void *(*fn)(void *), void *arg);
int __wrap_cc__spawn_prepare(struct cc__runtime *rt, struct cc__task **out, void *(*fn)(void *), void *arg) {
    if (!cc__load_relaxed(&no_memory)) return __real_cc__spawn_prepare(rt, out, fn, arg);
    cc__add_relaxed(&refused, 1);
    return -ENOMEM;
}

static int runs;

CC_ASYNC(int, looks, (int, x)) {
    runs++;
    return cc_cancelled() == 0 ? x : x + 1000;
}

/* The fork is away, and kept. */
static void leave(void) {
    if (cc_worker_self() != 0) cc_yield();
}

/* Forked in no scope, joined in one that is cancelled; and the other way. */
static void outside_in(void) {
    CC_FORKED(looks, r);
    cc_fork(r, looks, 1);
    leave();
    CC_NURSERY(n) {
        cc_nursery_cancel(n);
        test_must(cc_join(r, looks) == 1);
        test_must(cc_cancelled() == -ECANCELED);
    }
}
static void inside_out(void) {
    CC_NURSERY(n) {
        CC_FORKED(looks, r);
        cc_nursery_cancel(n);
        cc_fork(r, looks, 2);
        leave();
        CC_SHIELD {
            test_must(cc_join(r, looks) == 1002);
            test_must(cc_cancelled() == 0);
        }
    }
}
/* Its scope is left before its join, and what it returned is found there. */
static void left_behind(void) {
    CC_FORKED(looks, r);
    CC_NURSERY(n) {
        cc_nursery_cancel(n);
        cc_fork(r, looks, 3);
        leave();
    }
    test_must(runs == 1);
    test_must(cc_join(r, looks) == 1003);
}
static void all(void) {
    void (*const each[])(void) = {outside_in, inside_out, left_behind};
    for (size_t i = 0; i < TEST_COUNT_OF(each); i++) {
        runs = 0;
        cc__store_relaxed(&refused, 0);
        cc__store_relaxed(&no_memory, true);
        each[i]();
        cc__store_relaxed(&no_memory, false);
        test_must(runs == 1 && cc__load_relaxed(&refused) == 1);
    }
}

static void *in_a_task(void *arg) {
    all();
    return arg;
}
static void kept_forks_run_under_their_scope(void **state) {
    (void)state;
    test_on_attr(&(cc_runtime_attr){.workers = 1, .no_monitor = 1}, in_a_task, NULL);
    all(); /* on a plain thread */
}

TEST_MAIN(cmocka_unit_test(kept_forks_run_under_their_scope))
