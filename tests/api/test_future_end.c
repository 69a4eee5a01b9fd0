/* SPDX-License-Identifier: MIT */
/* Goal: a runtime that is shut down ends its futures that sleep, however they come to it; those that wait for others
 * are counted in what it says, and end when their owner cancels them.
 * Method: futures that sleep for an hour, or begin to just then, in runtimes that are shut down at once and for ever;
 * a future that receives from a channel nobody sends to, in a child whose stderr is looked at.
 */
#include "runtimes.h"

#include <ccrt.h>

typedef CC_CHAN(int) int_chan;

/* ---- sleepers ---- */

struct sleeper {
    cc_future fut;
    int naps; /* before the long one */
    int rc;
};

static cc_poll_state sleeps_long(cc_future *f, cc_waker *w) {
    struct sleeper *s = CC_CONTAINER_OF(f, struct sleeper, fut);
    (void)w;
    for (;; s->naps--) {
        s->rc = cc_poll_sleep_ms(f, s->naps > 0 ? 0 : 3600000);
        if (s->rc == -EAGAIN) return CC_PENDING;
        if (s->rc != 0 || s->naps == 0) return CC_READY;
    }
}

struct crowd {
    struct sleeper *all;
    size_t n;
    cc_counter over;
};
static void *puts_to_sleep(void *arg) {
    struct crowd *c = arg;
    for (size_t i = 0; i < c->n; i++) {
        c->all[i].naps = (int)(i % 4 == 0 ? 0 : i % 50);
        cc_future_init(&c->all[i].fut, sleeps_long);
        test_must(cc_future_spawn(&c->all[i].fut, &c->over) == 0);
    }
    return NULL;
}
static void *sleeps_too(void *arg) { /* its timer is among theirs */
    test_must(cc_sleep_ms(3600000) == -ECANCELED);
    return arg;
}
static void *sleeps_shielded(void *arg) {
    int64_t begun = cc_now_ns();
    CC_SHIELD {
        test_must(cc_sleep_ms(30) == 0);
    }
    test_must(cc_now_ns() - begun >= 30 * INT64_C(1000000)); /* not cut short */
    return arg;
}

static void sleepers_are_cancelled(void **state) {
    (void)state;
    for (size_t i = 0; i < 4 * TEST_COUNT_OF(test_workers); i++) {
        struct crowd c = {.n = test_rounds(5000), .over = CC_COUNTER_INIT(0)};
        c.all = calloc(c.n, sizeof *c.all);
        cc_runtime *rt;
        cc_task t, other, shielded;
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = test_workers[i / 4]}), 0);
        assert_int_equal(cc_runtime_spawn(rt, &other, NULL, sleeps_too, NULL), 0);
        assert_int_equal(cc_runtime_spawn(rt, &shielded, NULL, sleeps_shielded, NULL), 0);
        assert_int_equal(cc_runtime_spawn(rt, &t, NULL, puts_to_sleep, &c), 0);
        assert_int_equal(cc_task_join(t, NULL), 0);
        assert_int_equal(cc_task_detach(other), 0);
        assert_int_equal(cc_task_detach(shielded), 0);
        assert_int_equal(cc_runtime_shutdown(rt, (int64_t)(i % 4), -1), 0);
        cc_counter_wait(&c.over);
        for (size_t k = 0; k < c.n; k++) assert_int_equal(c.all[k].rc, -ECANCELED);
        free(c.all);
    }
}

/* ---- those that wait for others ---- */

struct waiter {
    cc_future fut;
    int_chan c;
    int v, rc;
    _Atomic int waits; /* 1: it found nothing */
};
static cc_poll_state receives(cc_future *f, cc_waker *w) {
    struct waiter *s = CC_CONTAINER_OF(f, struct waiter, fut);
    (void)w;
    s->rc = cc_poll_recv(f, s->c, &s->v);
    if (s->rc == -EAGAIN) cc__store_release(&s->waits, 1);
    return s->rc == -EAGAIN ? CC_PENDING : CC_READY;
}
static void *spawns_waiters(void *arg) {
    struct waiter *s = arg;
    for (int i = 0; i < 3; i++) test_must(cc_future_spawn(&s[i].fut, NULL) == 0);
    return NULL;
}
static void shuts_down(void *unused) {
    struct waiter s[3] = {0};
    cc_runtime *rt;
    cc_task t;
    (void)unused;
    test_must(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 2}) == 0);
    test_must(cc_chan_create(s[0].c, 0) == 0);
    for (int i = 0; i < 3; i++) {
        s[i].c = s[0].c;
        cc_future_init(&s[i].fut, receives);
    }
    test_must(cc_runtime_spawn(rt, &t, NULL, spawns_waiters, s) == 0 && cc_task_join(t, NULL) == 0);
    for (int i = 0; i < 3; i++) { /* who came late would be cancelled */
        while (!cc__load_acquire(&s[i].waits)) {
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        }
    }
    test_must(cc_runtime_shutdown(rt, 1, 1) == -ETIMEDOUT);
    for (int i = 0; i < 3; i++) cc_future_cancel(&s[i].fut);
    test_must(cc_runtime_shutdown(rt, 0, -1) == 0);
    for (int i = 0; i < 3; i++) test_must(s[i].rc == -ECANCELED);
    abort(); /* so that what it said is looked at */
}
static void others_are_counted(void **state) {
    (void)state;
    test_aborts(shuts_down, NULL, "futures that did not end: 3; cancel them");
}

TEST_MAIN(cmocka_unit_test(others_are_counted), cmocka_unit_test(sleepers_are_cancelled))
