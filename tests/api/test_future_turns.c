/* SPDX-License-Identifier: MIT */
/* Goal: a future whose polls never have to wait gives way to others after 128 of them, whatever it polls for.
 * Method: one worker, nobody who would start another; a future that sends and receives on a channel that is always
 * ready, or joins tasks that have ended, beside a task that only yields. Each counts the other's turns.
 */
#include "runtimes.h"

#include <ccrt.h>

typedef CC_CHAN(int) int_chan;

enum { AT_ONCE = 128, TURNS = 200 };

static _Atomic long turns; /* of the task beside the future */

static void *takes_turns(void *arg) {
    for (int i = 0; i < TURNS; i++) {
        cc__add_relaxed(&turns, 1);
        cc_yield();
    }
    return arg;
}

/* ---- channels ---- */

struct busy {
    cc_future fut;
    int_chan c;
    int v, step;
    long most, since, at; /* operations since the task's last turn, which was that */
};

static cc_poll_state never_waits(cc_future *f, cc_waker *w) {
    struct busy *b = CC_CONTAINER_OF(f, struct busy, fut);
    (void)w;
    for (;;) {
        if (cc__load_relaxed(&turns) == TURNS) return CC_READY;
        int rc = b->step == 0 ? cc_poll_recv(f, b->c, &b->v) : cc_poll_send(f, b->c, &b->v);
        if (rc == -EAGAIN) return CC_PENDING;
        test_must(rc == 0);
        b->step = !b->step;
        if (b->at != cc__load_relaxed(&turns)) b->since = 0;
        b->at = cc__load_relaxed(&turns);
        b->since++;
        if (b->since > b->most) b->most = b->since;
        test_must(b->since <= 100 * AT_ONCE); /* without an end, else */
    }
}

static void *beside_a_future(void *chan) {
    struct busy b = {.c = {.ch = chan}};
    cc_counter over = CC_COUNTER_INIT(0);
    cc__store_relaxed(&turns, 0);
    test_must(cc_send(b.c, 1) == 0 && cc_send(b.c, 2) == 0);
    cc_future_init(&b.fut, never_waits);
    test_must(cc_future_spawn(&b.fut, &over) == 0);
    test_must(cc_task_join(cc_fiber_spawn_task(takes_turns, NULL), NULL) == 0);
    cc_counter_wait(&over);
    test_must(b.most == AT_ONCE);
    return NULL;
}

static const cc_runtime_attr alone = {.workers = 1, .max_workers = 1, .no_monitor = 1};

static void channels_that_are_ready(void **state) {
    (void)state;
    int_chan c;
    assert_int_equal(cc_chan_create(c, 4), 0);
    test_on_attr(&alone, beside_a_future, c.ch);
    cc_chan_destroy(c);
    assert_int_equal(cc_chan_create_with(c, &(cc_chan_attr){.unbounded = 1}), 0);
    test_on_attr(&alone, beside_a_future, c.ch);
    cc_chan_destroy(c);
}

/* ---- joins ---- */

enum { ENDED = 5 * AT_ONCE };

struct reaper {
    cc_future fut;
    cc_task task[ENDED];
    int next, polls;
};
static cc_poll_state joins_all(cc_future *f, cc_waker *w) {
    struct reaper *r = CC_CONTAINER_OF(f, struct reaper, fut);
    (void)w;
    r->polls++;
    for (; r->next < ENDED; r->next++) {
        int rc = cc_poll_join(f, r->task[r->next], NULL);
        if (rc == -EAGAIN) return CC_PENDING;
        test_must(rc == 0);
    }
    return CC_READY;
}
static void *returns(void *arg) {
    cc__add_relaxed(&turns, 1);
    return arg;
}
static void *beside_a_reaper(void *arg) {
    static struct reaper r;
    cc_counter over = CC_COUNTER_INIT(0);
    cc__store_relaxed(&turns, 0);
    for (int i = 0; i < ENDED; i++) r.task[i] = cc_fiber_spawn_task(returns, NULL);
    while (cc__load_relaxed(&turns) < ENDED) cc_yield(); /* one worker: who has counted has ended */
    cc_future_init(&r.fut, joins_all);
    test_must(cc_future_spawn(&r.fut, &over) == 0);
    cc_counter_wait(&over);
    test_must(r.polls == ENDED / AT_ONCE);
    return arg;
}
static void tasks_that_have_ended(void **state) {
    (void)state;
    test_on_attr(&alone, beside_a_reaper, NULL);
}

TEST_MAIN(cmocka_unit_test(channels_that_are_ready), cmocka_unit_test(tasks_that_have_ended))
