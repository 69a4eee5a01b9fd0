/* SPDX-License-Identifier: MIT */
/* Goal: results come in the order of their spawns, each once, whatever is full, closed, cancelled or out of time, and
 * what could not be spawned has not run (lesson 71).
 * Method: each case on the plain thread of the test and in a task. Then spawners and receivers that give up at random,
 * and one that closes, on runtimes of 1, 2, 7 and 16 workers and plain threads: each spawner's numbers must come in
 * order, and all that were accepted have run and were received, or joined by destroy.
 * Timeout: 120
 */
#include "actors.h"

static void *echo(void *arg) {
    return arg;
}
static void *late_echo(void *arg) {
    cc_sleep_ms((intptr_t)arg * 7 % 11);
    return arg;
}

/* ---- one after the other ---- */

static void order(void) {
    cc_ordered *q = NULL;
    void *r = NULL;
    test_must(cc_ordered_create(&q, 16) == 0);
    test_must(cc_ordered_try_recv(q, &r) == -EAGAIN);
    for (intptr_t i = 1; i <= 16; i++) test_must(cc_ordered_spawn(q, late_echo, (void *)i) == 0);
    for (intptr_t i = 1; i <= 8; i++) test_must(cc_ordered_recv(q, &r) == 0 && (intptr_t)r == i);
    cc_ordered_close(q);
    cc_ordered_close(q);
    test_must(cc_ordered_spawn(q, echo, NULL) == -EPIPE);
    for (intptr_t i = 9; i <= 15; i++) test_must(cc_ordered_recv(q, &r) == 0 && (intptr_t)r == i);
    test_must(cc_ordered_recv(q, NULL) == 0); /* nobody wants it */
    r = &r;
    test_must(cc_ordered_recv(q, &r) == -EPIPE && cc_ordered_try_recv(q, &r) == -EPIPE && r == &r);
    cc_ordered_destroy(q);
}
/* Which are done makes no difference, only which is first. */
static _Atomic int gate;
static void *waits_at_gate(void *arg) {
    while (cc__load_acquire(&gate) == 0) cc_sleep_ms(1);
    return arg;
}
static void head_of_line(void) {
    cc_ordered *q = NULL;
    void *r = NULL;
    int rc = 0;
    cc__store_release(&gate, 0);
    test_must(cc_ordered_create(&q, 2) == 0);
    test_must(cc_ordered_spawn(q, waits_at_gate, &q) == 0 && cc_ordered_spawn(q, echo, NULL) == 0);
    CC_DEADLINE_MS(5) {
        rc = cc_ordered_recv(q, &r);
    }
    test_must(rc == -ETIMEDOUT && r == NULL && cc_ordered_try_recv(q, &r) == -EAGAIN);
    CC_DEADLINE_MS(5) {
        rc = cc_ordered_spawn(q, echo, NULL); /* two are unread, although one has ended */
    }
    test_must(rc == -ETIMEDOUT);
    CC_NURSERY(n) {
        cc_nursery_cancel(n);
        test_must(cc_ordered_spawn(q, echo, NULL) == -ECANCELED && cc_ordered_recv(q, &r) == -ECANCELED);
        cc__store_release(&gate, 1);
        while ((rc = cc_ordered_recv(q, &r)) == -ECANCELED) cc_yield(); /* what can succeed at once does */
        test_must(rc == 0 && r == &q);
        test_must(cc_ordered_spawn(q, echo, &gate) == 0);
    }
    test_must(cc_ordered_recv(q, &r) == 0 && r == NULL && cc_ordered_recv(q, &r) == 0 && r == &gate);
    cc_ordered_destroy(q);
}
static void wrong(void) {
    cc_ordered *q = NULL;
    test_must(cc_ordered_create(NULL, 1) == -EINVAL && cc_ordered_create(&q, 0) == -EINVAL);
    test_must(cc_ordered_create(&q, SIZE_MAX) == -EINVAL && q == NULL);
    test_must(cc_ordered_spawn(NULL, echo, NULL) == -EINVAL && (cc_ordered_spawn)(NULL, echo, NULL) == -EINVAL);
    test_must(cc_ordered_spawn_at(NULL, NULL, echo, NULL) == -EINVAL);
    test_must(cc_ordered_recv(NULL, NULL) == -EINVAL && cc_ordered_try_recv(NULL, NULL) == -EINVAL);
    cc_ordered_close(NULL);
    cc_ordered_destroy(NULL);
    test_must(cc_ordered_create(&q, 1) == 0 && cc_ordered_spawn(q, NULL, NULL) == -EINVAL);
    cc_ordered_destroy(q);
}
static void one_after_the_other(void **state) {
    (void)state;
    test_on_both(order);
    test_on_both(head_of_line);
    test_on_both(wrong);
}

static void *names_itself(void *arg) {
    (void)arg;
    return (void *)(uintptr_t)(strcmp(cc_task_self_name(), "names_itself") == 0);
}
static void *detaches_itself(void *arg) {
    test_must(cc_task_detach(cc_task_self()) == 0);
    cc_sleep_ms(2);
    return arg;
}
/* It is under no deadline or nursery of its spawner's, and meets cancellation only by its own. */
static void *runs_on(void *arg) {
    (void)arg;
    CC_DEADLINE_MS(1) {
        if (cc_sleep_ms(1000) != -ETIMEDOUT) return NULL;
    }
    return (void *)(uintptr_t)(cc_cancelled() == 0 && cc_sleep_ms(1) == 0);
}
static void tasks(void) {
    cc_ordered *q = NULL;
    void *r = NULL;
    test_must(cc_ordered_create(&q, 4) == 0);
    CC_DEADLINE_MS(0) {
        CC_NURSERY(n) {
            cc_nursery_cancel(n);
            test_must(cc_ordered_spawn(q, runs_on, NULL) == 0);
        }
    }
    test_must(cc_ordered_spawn(q, names_itself, NULL) == 0);
    test_must(cc_ordered_spawn(q, detaches_itself, &q) == 0);
    test_must(cc_ordered_recv(q, &r) == 0 && (uintptr_t)r == 1);
    test_must(cc_ordered_recv(q, &r) == 0 && (uintptr_t)r == 1);
    test_must(cc_ordered_recv(q, &r) == 0 && r == &q); /* its result is not lost with its handle */
    cc_ordered_destroy(q);
}
static void what_the_tasks_are(void **state) {
    (void)state;
    test_on_both(tasks);
}

/* ---- its end ---- */

static _Atomic int ended;
static void *ends_late(void *arg) {
    cc_sleep_ms(3);
    cc__add_relaxed(&ended, 1);
    return arg;
}
static void *ends_late_by_itself(void *arg) {
    return ends_late(detaches_itself(arg));
}
/* More of them, until there is no room, or it is closed. */
static void *spawns_more(void *arg) {
    int rc;
    while ((rc = cc_ordered_spawn(arg, ends_late, NULL)) == 0) cc__sub_relaxed(&ended, 1);
    test_must(rc == -EPIPE);
    return ends_late(arg);
}
static void destroy_joins(void) {
    cc_ordered *q = NULL;
    cc__store_relaxed(&ended, 0);
    test_must(cc_ordered_create(&q, 8) == 0);
    for (int i = 0; i < 6; i++) test_must(cc_ordered_spawn(q, ends_late, NULL) == 0);
    test_must(cc_ordered_spawn(q, ends_late_by_itself, NULL) == 0);
    CC_NURSERY(n) {
        cc_nursery_cancel(n);
        cc_ordered_destroy(q); /* no cancellation point */
    }
    test_must(cc__load_relaxed(&ended) == 7);

    cc__store_relaxed(&ended, 0);
    test_must(cc_ordered_create(&q, 4) == 0);
    test_must(cc_ordered_spawn(q, spawns_more, q) == 0);
    cc_sleep_ms(1);
    cc_ordered_destroy(q);
    test_must(cc__load_relaxed(&ended) == 1);
}
static void destroy_joins_what_is_left(void **state) {
    (void)state;
    test_on_both(destroy_joins);
}

CC_TASK(recv_is_closed, (cc_ordered *, q), (_Atomic int *, count)) {
    void *r;
    int rc = cc_ordered_recv(q, &r);
    if (rc == -EPIPE) cc__add_relaxed(count, 1);
    return 0;
}
CC_TASK(spawn_is_closed, (cc_ordered *, q), (_Atomic int *, count)) {
    if (cc_ordered_spawn(q, ends_late, NULL) == -EPIPE) cc__add_relaxed(count, 1);
    return 0;
}
static void close_wakes_all(void **state) {
    (void)state;
    cc_ordered *q = NULL;
    _Atomic int count = 0;
    assert_int_equal(cc_ordered_create(&q, 2), 0);
    CC_NURSERY(n) {
        for (int i = 0; i < 5; i++) assert_int_equal(cc_spawn(n, recv_is_closed, q, &count), 0);
        cc_sleep_ms(2);
        assert_int_equal(cc_ordered_spawn(q, late_echo, (void *)3), 0); /* for one of them */
        cc_ordered_close(q);
    }
    assert_int_equal(cc__load_relaxed(&count), 4);
    cc_ordered_destroy(q);

    cc__store_relaxed(&count, 0);
    cc__store_relaxed(&ended, 0);
    assert_int_equal(cc_ordered_create(&q, 2), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(cc_ordered_spawn(q, ends_late, NULL), 0);
    CC_NURSERY(n) {
        for (int i = 0; i < 5; i++) assert_int_equal(cc_spawn(n, spawn_is_closed, q, &count), 0);
        cc_sleep_ms(2);
        cc_ordered_close(q);
    }
    assert_int_equal(cc__load_relaxed(&count), 5);
    cc_ordered_destroy(q);
    assert_int_equal(cc__load_relaxed(&ended), 2); /* the others ran nothing */
}

/* ---- lesson 71: a window of 4, 1024 tasks, and not one of them is dropped ---- */

static void *square(void *arg) {
    uintptr_t x = (uintptr_t)arg;
    if (x % 5 == 0) cc_yield();
    if (x % 64 == 0) cc_sleep_ms(1);
    return (void *)(x * x);
}
CC_TASK(spawns_squares, (cc_ordered *, q), (uintptr_t, count)) {
    for (uintptr_t i = 0; i < count; i++) {
        int rc = cc_ordered_spawn(q, square, (void *)i);
        if (rc != 0) return rc;
    }
    cc_ordered_close(q);
    return 0;
}
static void *sums_squares(void *arg) {
    enum { TASKS = 1024 };
    cc_ordered *q = NULL;
    uintptr_t sum = 0, expected = 0, count = 0;
    void *r;
    int rc = 0;
    test_must(cc_ordered_create(&q, 4) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, spawns_squares, q, TASKS) == 0);
        while ((rc = cc_ordered_recv(q, &r)) == 0) {
            test_must((uintptr_t)r == count * count);
            sum += (uintptr_t)r;
            count++;
        }
        test_must(cc_nursery_wait(n) == 0);
    }
    for (uintptr_t i = 0; i < TASKS; i++) expected += i * i;
    test_must(rc == -EPIPE && count == TASKS && sum == expected);
    cc_ordered_destroy(q);
    return arg;
}
static void lesson_71_nothing_is_dropped_when_it_is_full(void **state) {
    (void)state;
    test_on_all(sums_squares);
    sums_squares(NULL); /* received by a plain thread */
}

/* ---- many at once ---- */

enum { SPAWNERS = 4, NUMBERS = 1 << 20 };
struct crowd {
    cc_ordered *q;
    uintptr_t each;
    bool early;                      /* it is closed while they spawn, and not all is received */
    _Atomic uintptr_t spawner, left; /* who is next, and who still spawns */
    _Atomic uint64_t accepted, ran, received;
};
struct one {
    struct crowd *c;
    void *value;
};

static struct crowd *crowd_now;
static void *counts(void *arg) {
    uintptr_t x = (uintptr_t)arg;
    if (x % 3 == 0) cc_yield();
    if (x % 7 == 0) test_jitter();
    cc__add_relaxed(&crowd_now->ran, 1);
    return arg;
}
static int spawn_one(void *arg) {
    struct one *o = arg;
    return cc_ordered_spawn(o->c->q, counts, o->value);
}
static int recv_one(void *arg) {
    struct one *o = arg;
    return cc_ordered_recv(o->c->q, &o->value);
}
static void *spawns(void *arg) {
    struct crowd *c = arg;
    uintptr_t me = cc__add_relaxed(&c->spawner, 1);
    for (uintptr_t i = 0; i < c->each;) {
        struct one o = {c, (void *)(me * NUMBERS + i)};
        int rc = actors_call(spawn_one, &o);
        if (rc == -EPIPE) {
            test_must(c->early);
            break;
        }
        test_must(rc == 0 || actors_gave_up(rc));
        if (rc == 0) {
            cc__add_relaxed(&c->accepted, 1);
            i++; /* so what was given up and runs all the same is seen twice */
        }
    }
    if (cc__sub_acq_rel(&c->left, 1) == 1) cc_ordered_close(c->q);
    return NULL;
}
static void *receives(void *arg) {
    struct crowd *c = arg;
    uintptr_t next[SPAWNERS] = {0};
    for (;;) {
        struct one o = {c, (void *)c};
        int rc = actors_call(recv_one, &o);
        if (actors_gave_up(rc)) {
            test_must(o.value == (void *)c);
            if (c->early && test_random() % 64 == 0) break; /* destroy has some left to join */
            continue;
        }
        if (rc == -EPIPE) break;
        uintptr_t from = (uintptr_t)o.value / NUMBERS, number = (uintptr_t)o.value % NUMBERS;
        test_must(rc == 0 && from < SPAWNERS && number >= next[from]);
        next[from] = number + 1;
        cc__add_relaxed(&c->received, 1);
    }
    return NULL;
}
/* Alone: each number is the one after the last of the same spawner. */
static void *receives_all(void *arg) {
    struct crowd *c = arg;
    uintptr_t next[SPAWNERS] = {0};
    struct one o = {c, NULL};
    for (int rc; (rc = actors_call(recv_one, &o)) != -EPIPE;) {
        if (actors_gave_up(rc)) continue;
        uintptr_t from = (uintptr_t)o.value / NUMBERS, number = (uintptr_t)o.value % NUMBERS;
        test_must(rc == 0 && from < SPAWNERS && number == next[from]);
        next[from]++;
        cc__add_relaxed(&c->received, 1);
    }
    return NULL;
}
static void *closes(void *arg) {
    struct crowd *c = arg;
    for (uint64_t turns = test_random() % 500; turns > 0; turns--) cc_yield();
    cc_ordered_close(c->q);
    return NULL;
}
static void a_crowd(struct actors *a, size_t window, bool alone, bool early) {
    static struct crowd c;
    crowd_now = &c;
    c = (struct crowd){.each = test_rounds(200), .left = SPAWNERS, .early = early};
    assert_int_equal(cc_ordered_create(&c.q, window), 0);
    for (int k = 0; k < SPAWNERS - 1; k++) actors_task(a, spawns, &c);
    actors_thread(a, spawns, &c);
    if (alone) {
        actors_task(a, receives_all, &c);
    } else {
        for (int k = 0; k < 3; k++) actors_task(a, receives, &c);
        actors_thread(a, receives, &c);
    }
    if (early) actors_task(a, closes, &c);
    actors_join(a);
    uint64_t accepted = cc__load_relaxed(&c.accepted), received = cc__load_relaxed(&c.received);
    assert_true(received <= accepted);
    if (alone || !early) assert_true(received == accepted);
    if (!early) assert_true(accepted == SPAWNERS * c.each);
    cc_ordered_destroy(c.q);
    assert_int_equal(cc__load_relaxed(&c.ran), accepted);
}
static void crowds(struct actors *a) {
    static const size_t windows[] = {1, 2, 5, 64};
    for (size_t round = 0; round < test_rounds(32); round++)
        a_crowd(a, windows[round % 4], round % 8 < 4, round % 16 < 8);
}
static void each_result_once_and_in_order(void **state) {
    (void)state;
    actors_on_all(crowds);
}

TEST_MAIN(cmocka_unit_test(one_after_the_other), cmocka_unit_test(what_the_tasks_are),
          cmocka_unit_test(destroy_joins_what_is_left), cmocka_unit_test(close_wakes_all),
          cmocka_unit_test(lesson_71_nothing_is_dropped_when_it_is_full),
          cmocka_unit_test(each_result_once_and_in_order))
