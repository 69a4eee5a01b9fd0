/* SPDX-License-Identifier: MIT */
/* Goal: a select takes one of its cases and leaves no trace at the others, from fibers and from threads, with a
 * deadline and without (lessons 63 to 65).
 * Method: 50 selectors over two channels, beside plain and trying receivers, with exact counts; selects whose nodes lie
 * in frames that are left at once, and overwritten; one party on a thread, one in a task. Runtimes of 1, 2, 7 and 16
 * workers, and each test also as its timed twin: with a case for an hour from now, under a deadline of an hour.
 * Timeout: 120
 */
#include "parties.h"

enum { HOUR_MS = 3600 * 1000, SELECTORS = 50 };

typedef CC_CHAN(long) long_chan;

static void twins(void *(*fn)(void *)) {
    static bool timed[] = {false, true};
    test_seed();
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++)
        for (int i = 0; i < 2; i++) test_on_workers(test_workers[w], fn, &timed[i]);
}

/* The first value of either channel, and which one it came from; negative: as select. */
static int receive_either(long_chan a, long_chan b, long *v, bool timed) {
    int rc = 0;
    if (!timed) return cc_select(CC_RECV(a, v), CC_RECV(b, v));
    CC_DEADLINE_MS(HOUR_MS) rc = cc_select(CC_RECV(a, v), CC_RECV(b, v), CC_AFTER_MS(HOUR_MS));
    return rc;
}
static int send_either(long_chan a, long_chan b, long v, bool timed) {
    int rc = 0;
    if (!timed) return cc_select(CC_SEND(a, v), CC_SEND(b, v));
    CC_DEADLINE_MS(HOUR_MS) rc = cc_select(CC_SEND(a, v), CC_SEND(b, v), CC_AFTER_MS(HOUR_MS));
    return rc;
}

/* ---- lesson 64: exact counts, whatever else looks at the channels ---- */

struct two {
    long_chan a, b;
    bool timed;
    long count; /* to send; or received */
    long sum;
};

/* What is below the frame of a select that has just returned: a node left on a list would be read as rubbish. */
static __attribute__((noinline)) void overwrite_frames(void) {
    volatile char rubbish[4096];
    for (size_t i = 0; i < sizeof rubbish; i += 64) rubbish[i] = (char)0xAA;
    (void)rubbish[0];
}

static void *selects_until_closed(void *arg) {
    struct two *t = arg;
    long v;
    while (receive_either(t->a, t->b, &v, t->timed) >= 0) {
        t->count++;
        t->sum += v;
        overwrite_frames();
    }
    while (cc_recv(t->a, &v) == 0 || cc_recv(t->b, &v) == 0) { /* one may be closed and the other not drained */
        t->count++;
        t->sum += v;
    }
    return NULL;
}
static void *tries_until_closed(void *arg) {
    struct two *t = arg;
    long v;
    for (int rc = 0; rc != -EPIPE;) {
        rc = cc_try_recv(t->a, &v);
        if (rc == 0) {
            t->count++;
            t->sum += v;
        }
        cc_yield();
    }
    return NULL;
}
static void *selects_to_send(void *arg) {
    struct two *t = arg;
    for (long i = 1; i <= t->count; i++) {
        int rc = send_either(t->a, t->b, i, t->timed);
        test_must(rc == 0 || rc == 1);
        t->sum += i;
        overwrite_frames();
    }
    return NULL;
}

enum { SENDERS = 4 };

static void crowd(size_t capacity, bool timed) {
    static struct two rx[SELECTORS + 1], tx[SENDERS];
    static struct test_party party[SELECTORS + 1 + SENDERS];
    long count = 0, sum = 0, sent = 0;
    struct two all = {.timed = timed};
    test_must(cc_chan_create(all.a, capacity) == 0 && cc_chan_create(all.b, capacity) == 0);
    for (int i = 0; i <= SELECTORS; i++) {
        rx[i] = all;
        test_party_start(&party[i], i < 2, i < SELECTORS ? selects_until_closed : tries_until_closed, &rx[i]);
    }
    for (int i = 0; i < SENDERS; i++) {
        tx[i] = all;
        tx[i].count = (long)test_rounds(2000);
        test_party_start(&party[SELECTORS + 1 + i], i == 0, selects_to_send, &tx[i]);
    }
    for (int i = 0; i < SENDERS; i++) {
        test_party_end(&party[SELECTORS + 1 + i]);
        sent += tx[i].sum;
    }
    cc_chan_close(all.a);
    cc_chan_close(all.b);
    for (int i = 0; i <= SELECTORS; i++) {
        test_party_end(&party[i]);
        count += rx[i].count;
        sum += rx[i].sum;
    }
    test_must(count == SENDERS * tx[0].count && sum == sent);
    cc_chan_destroy(all.a);
    cc_chan_destroy(all.b);
}
static void *crowds(void *timed) {
    for (size_t capacity = 0; capacity < 4; capacity++) crowd(capacity, *(bool *)timed);
    return NULL;
}
static void lesson_64_fifty_selectors(void **state) {
    (void)state;
    twins(crowds);
}

/* ---- lesson 65: selects of threads are woken, and those of fibers block nobody else ---- */

static void *answers(void *arg) {
    struct two *t = arg;
    long v;
    int rc;
    while ((rc = receive_either(t->a, t->b, &v, t->timed)) >= 0) test_must(v == t->count++);
    test_must(rc == -EPIPE);
    return NULL;
}
static void one_each(bool on_thread, bool timed) {
    struct two t = {.timed = timed};
    struct test_party party;
    test_must(cc_chan_create(t.a, 0) == 0 && cc_chan_create(t.b, 0) == 0);
    test_party_start(&party, on_thread, answers, &t);
    long count = (long)test_rounds(1000);
    for (long i = 0; i < count; i++) {
        if (i % 4 == 0) test_jitter();
        test_must((i % 2 == 0 ? cc_send(t.a, i) : cc_send(t.b, i)) == 0);
    }
    cc_chan_close(t.a);
    cc_chan_close(t.b);
    test_party_end(&party);
    test_must(t.count == count);
    cc_chan_destroy(t.a);
    cc_chan_destroy(t.b);
}
/* A select that waits for its deadline leaves the worker, the only one perhaps, to others. */
static void *waits_long(void *arg) {
    struct two *t = arg;
    long v;
    CC_DEADLINE_MS(HOUR_MS) test_must(cc_select(CC_RECV(t->a, &v), CC_AFTER_MS(HOUR_MS)) == 0 && v == 3);
    return NULL;
}
static void waits_beside(bool on_thread) {
    struct two t;
    struct test_party party;
    test_must(cc_chan_create(t.a, 0) == 0);
    test_party_start(&party, on_thread, waits_long, &t);
    for (int i = 0; i < 20; i++) cc_yield();
    test_must(cc_sleep_ms(1) == 0 && cc_send(t.a, 3) == 0);
    test_party_end(&party);
    cc_chan_destroy(t.a);
}
/* Two that only select, with the channels in the other order, meet each other. */
static void *plays(void *arg) {
    struct two *t = arg;
    for (long i = 0; i < t->count; i++) {
        long v = 0;
        int rc = 0;
        if (t->timed)
            CC_DEADLINE_MS(HOUR_MS) rc = cc_select(CC_SEND(t->a, i), CC_RECV(t->b, &v), CC_AFTER_MS(HOUR_MS));
        else
            rc = cc_select(CC_SEND(t->a, i), CC_RECV(t->b, &v));
        test_must(rc == 0 || rc == 1);
        t->sum += rc == 0;
    }
    return NULL;
}
static void face_to_face(bool on_thread, bool timed) {
    struct two t[2] = {{.timed = timed, .count = (long)test_rounds(1000)}};
    struct test_party party[2];
    test_must(cc_chan_create(t[0].a, 0) == 0 && cc_chan_create(t[0].b, 0) == 0);
    t[1] = t[0];
    t[1].a = t[0].b;
    t[1].b = t[0].a;
    for (int i = 0; i < 2; i++) test_party_start(&party[i], on_thread && i == 0, plays, &t[i]);
    for (int i = 0; i < 2; i++) test_party_end(&party[i]);
    test_must(t[0].sum + t[1].sum == t[0].count); /* each time one sent and one received */
    cc_chan_destroy(t[0].a);
    cc_chan_destroy(t[0].b);
}
static void *selects_of_all_kinds(void *timed) {
    for (int i = 0; i < 2; i++) {
        one_each(i == 1, *(bool *)timed);
        waits_beside(i == 1);
        face_to_face(i == 1, *(bool *)timed);
    }
    return NULL;
}
static void lesson_65_from_threads_and_fibers(void **state) {
    (void)state;
    twins(selects_of_all_kinds);
}

/* ---- a task's end among the cases: however often it is waited for, it can still be joined ---- */

static void *ends_soon(void *arg) {
    test_jitter();
    return arg;
}
static void *ends_of_tasks(void *timed) {
    long_chan c;
    test_must(cc_chan_create(c, 0) == 0);
    for (size_t round = test_rounds(2000); round > 0; round--) {
        cc_task t = cc_fiber_spawn_task(ends_soon, &c);
        void *result = NULL;
        long v;
        int rc = 0;
        if (*(bool *)timed)
            CC_DEADLINE_MS(HOUR_MS) rc = cc_select(CC_DONE(t), CC_RECV(c, &v), CC_DONE(t), CC_AFTER_MS(HOUR_MS));
        else
            rc = cc_select(CC_DONE(t), CC_RECV(c, &v), CC_DONE(t));
        test_must((rc == 0 || rc == 2) && cc_task_join(t, &result) == 0 && result == &c);
        test_must(cc_select(CC_RECV(c, &v), CC_DONE(t)) == 1);
    }
    cc_chan_destroy(c);
    return NULL;
}
static void ends_are_told_and_kept(void **state) {
    (void)state;
    twins(ends_of_tasks);
}

TEST_MAIN(cmocka_unit_test(lesson_64_fifty_selectors), cmocka_unit_test(lesson_65_from_threads_and_fibers),
          cmocka_unit_test(ends_are_told_and_kept))
