/* SPDX-License-Identifier: MIT */
/* Goal: a task that has yielded runs while its worker is held up by the one it yielded to, and there are workers that
 * are idle (lessons 21, 26, 30): it does not wait for somebody to come by.
 * Method: on 2, 7 and 16 workers, all but one asleep. One task wakes another and yields to it, and that one holds the
 * worker until the first has gone on; it gives up after a while, which only a task that nobody runs takes.
 * Timeout: 200
 */
#include "runtimes.h"

static const int64_t patience_ns = INT64_C(10) * 1000000000;

static bool hold_worker_until(_Atomic int *at, int n) {
    int64_t give_up = cc_now_ns() + patience_ns;
    while (cc__load_acquire(at) < n) {
        if (cc_now_ns() > give_up) return false;
        sched_yield();
    }
    return true;
}
/* Hold this worker while the others look for work in vain and fall asleep. */
static void let_others_fall_asleep(void) {
    struct timespec ms = {.tv_nsec = 5000000};
    nanosleep(&ms, NULL);
}

struct pair {
    _Atomic int known, woken, ran, going;
    cc_parker sleeper;
};
static void *sleeps_till_woken(void *arg) {
    struct pair *p = arg;
    p->sleeper = cc_parker_self();
    cc__store_release(&p->known, 1);
    while (cc__load_acquire(&p->woken) == 0) cc_park_if(&p->woken, 0);
    cc__store_release(&p->ran, 1);
    bool good = hold_worker_until(&p->going, 1);
    return (void *)(intptr_t)good;
}
static void *wakes_and_yields(void *arg) {
    struct pair p = {0};
    void *good = NULL;
    cc_task t = cc_fiber_spawn_task(sleeps_till_woken, &p);
    while (cc__load_acquire(&p.known) == 0) cc_yield();
    let_others_fall_asleep();
    cc__store_release(&p.woken, 1);
    cc_unpark(p.sleeper);
    while (cc__load_acquire(&p.ran) == 0) cc_yield(); /* the woken one runs here, this one waits in the queue */
    cc__store_release(&p.going, 1);
    test_must(cc_task_join(t, &good) == 0);
    return good != NULL ? NULL : arg;
}

static void on_several(void *(*fn)(void *)) {
    test_seed();
    for (size_t w = 1; w < TEST_COUNT_OF(test_workers); w++)
        for (int i = 0; i < 5; i++) assert_null(test_on_workers(test_workers[w], fn, (void *)&patience_ns));
}
static void lesson_26_who_yields_runs_beside_who_holds(void **state) {
    (void)state;
    on_several(wakes_and_yields);
}

TEST_MAIN(cmocka_unit_test(lesson_26_who_yields_runs_beside_who_holds))
