/* SPDX-License-Identifier: MIT */
/* Goal: jobs that are spawned together are published together: workers are told of them once, whatever their priority
 * and wherever they come from.
 * Method: the linker gives us the calls that tell workers; those of this thread are counted while it spawns.
 * Link: -Wl,--wrap=cc__idle_notify,--wrap=cc__idle_notify_many,--wrap=cc__idle_notify_worker
 */
#include "runtimes.h"

#include <ccrt.h>

struct cc__runtime;
struct cc__worker;
static _Thread_local int *told; /* NULL: nobody counts here */

static void count(void) {
    if (told != NULL) (*told)++;
}
/* A function of its own: who asks has been on another thread since it asked last. */
static __attribute__((noinline)) void count_into(int *calls) {
    told = calls;
    __asm__ volatile("" ::: "memory");
}

void __real_cc__idle_notify(struct cc__runtime *rt);
void __real_cc__idle_notify_many(struct cc__runtime *rt, size_t count);
void __real_cc__idle_notify_worker(struct cc__worker *w);
void __wrap_cc__idle_notify(struct cc__runtime *rt);
void __wrap_cc__idle_notify_many(struct cc__runtime *rt, size_t n);
void __wrap_cc__idle_notify_worker(struct cc__worker *w);
void __wrap_cc__idle_notify(struct cc__runtime *rt) {
    count();
    __real_cc__idle_notify(rt);
}
void __wrap_cc__idle_notify_many(struct cc__runtime *rt, size_t n) {
    count();
    __real_cc__idle_notify_many(rt, n);
}
void __wrap_cc__idle_notify_worker(struct cc__worker *w) {
    count();
    __real_cc__idle_notify_worker(w);
}

static _Atomic int ran;
static void job(void *arg) {
    cc__add_relaxed(&ran, *(int *)arg);
}

enum { MOST = 2000 };

static void *spawns(void *arg) {
    static const size_t counts[] = {1, 2, 300, MOST};
    static cc_job batch[MOST];
    static int one = 1;
    for (int i = 0; i < MOST; i++) batch[i] = (cc_job){.fn = job, .arg = &one};
    for (int priority = 0; priority < 3; priority++)
        for (size_t k = 0; k < TEST_COUNT_OF(counts); k++) {
            cc_counter all = CC_COUNTER_INIT(0);
            int calls = 0;
            cc__store_relaxed(&ran, 0);
            count_into(&calls); /* it does not leave its thread before the wait */
            test_must(cc_job_spawn_many(batch, counts[k], priority, &all) == 0);
            count_into(NULL);
            cc_counter_wait(&all);
            test_must(calls == 1 && cc__load_relaxed(&ran) == (int)counts[k]);
        }
    return arg;
}
static void workers_are_told_once(void **state) {
    (void)state;
    test_on_workers(2, spawns, NULL);
    test_on_workers(7, spawns, NULL);
    cc_task t;
    assert_int_equal(cc_task_spawn(&t, NULL, spawns, NULL), 0);
    assert_int_equal(cc_task_join(t, NULL), 0);
    spawns(NULL); /* and by a plain thread */
}

TEST_MAIN(cmocka_unit_test(workers_are_told_once))
