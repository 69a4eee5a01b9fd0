/* SPDX-License-Identifier: MIT */
/* Goal: no wake-up is lost, no value doubled or left behind, whoever waits at a channel and however (lessons 53 to 56,
 * 58 to 60, 63, 67, 77, 78). Lesson 57 is test_chan_conserve.c, 61 tests/api/test_chan.c and, with 69,
 * test_lessons_chan_waiters.c, 62 tests/unit/test_chan_locks.c, 64 and 65 test_lessons_select.c, 66
 * tests/unit/test_closer.c and test_chan_deadlocks.c, 70 tests/fault/test_hot_paths.c.
 * Method: each lesson's own program, on runtimes of 1, 2, 7 and 16 workers, with plain calls and as its timed twin:
 * the same calls under a deadline of an hour (lesson 63). What is lost shows as a hang, or in a sum.
 * Timeout: 120
 */
#include "parties.h"

enum { HOUR_MS = 3600 * 1000 };

typedef CC_CHAN(long) long_chan;

static int put(long_chan c, long v, bool timed) {
    int rc = 0;
    if (!timed) return cc_send(c, v);
    CC_DEADLINE_MS(HOUR_MS) rc = cc_send(c, v);
    return rc;
}
static int take(long_chan c, long *v, bool timed) {
    int rc = 0;
    if (!timed) return cc_recv(c, v);
    CC_DEADLINE_MS(HOUR_MS) rc = cc_recv(c, v);
    return rc;
}

/* The test and its timed twin, on all runtimes. fn gets whether it is the twin. */
static void twins(void *(*fn)(void *)) {
    static bool timed[] = {false, true};
    test_seed();
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++)
        for (int i = 0; i < 2; i++) test_on_workers(test_workers[w], fn, &timed[i]);
}

/* One of several that do the same. */
struct side {
    long_chan c, acks;
    long count; /* to send; or, of values received */
    long sum;   /* of those */
    bool timed;
    bool slow; /* it dawdles */
    int rc;    /* what the last call returned */
};

static void *sends_all(void *arg) {
    struct side *s = arg;
    for (long i = 1; i <= s->count; i++) {
        if (s->slow) test_jitter();
        s->rc = put(s->c, i, s->timed);
        if (s->rc != 0) break;
        s->sum += i;
    }
    return NULL;
}
static void *receives_all(void *arg) {
    struct side *s = arg;
    long v;
    while ((s->rc = take(s->c, &v, s->timed)) == 0) {
        s->count++;
        s->sum += v;
        if (s->slow) test_jitter();
    }
    return NULL;
}

/* ---- lessons 53, 54, 56: who goes to wait just as the other comes is woken ---- */

static const size_t capacities[] = {0, 1, 2, 8};

/* Each side is the slow one in turn, so that each has to wait. */
static void hammer(size_t capacity, bool timed, bool thread_sends, bool thread_receives, bool slow_sends) {
    struct side tx = {.count = (long)test_rounds(1000), .timed = timed, .slow = slow_sends};
    struct side rx = {.timed = timed, .slow = !slow_sends};
    struct test_party party[2];
    test_must(cc_chan_create(tx.c, capacity) == 0);
    rx.c = tx.c;
    test_party_start(&party[0], thread_receives, receives_all, &rx);
    test_party_start(&party[1], thread_sends, sends_all, &tx);
    test_party_end(&party[1]);
    cc_chan_close(tx.c);
    test_party_end(&party[0]);
    test_must(tx.rc == 0 && rx.rc == -EPIPE && rx.count == tx.count && rx.sum == tx.sum);
    cc_chan_destroy(tx.c);
}
static void *hammers(void *timed) {
    for (size_t k = 0; k < TEST_COUNT_OF(capacities); k++)
        for (unsigned how = 0; how < 8; how++)
            hammer(capacities[k], *(bool *)timed, (how & 1) != 0, (how & 2) != 0, (how & 4) != 0);
    return NULL;
}
static void lesson_54_no_wake_is_lost(void **state) {
    (void)state;
    twins(hammers);
}

/* The same without a moment of rest: one value goes back and forth, so that each end waits each time. */
static void *returns_each(void *arg) {
    struct side *s = arg;
    long v;
    while (take(s->c, &v, s->timed) == 0) test_must(put(s->acks, v + 1, s->timed) == 0);
    return NULL;
}
static void back_and_forth(size_t capacity, bool timed, bool on_thread) {
    struct side s = {.timed = timed};
    struct test_party partner;
    long v = 0;
    test_must(cc_chan_create(s.c, capacity) == 0 && cc_chan_create(s.acks, capacity) == 0);
    test_party_start(&partner, on_thread, returns_each, &s);
    long count = (long)test_rounds(1000);
    for (long i = 0; i < count; i++) test_must(put(s.c, v, timed) == 0 && take(s.acks, &v, timed) == 0);
    cc_chan_close(s.c);
    test_party_end(&partner);
    test_must(v == count);
    cc_chan_destroy(s.c);
    cc_chan_destroy(s.acks);
}
static void *balls(void *timed) {
    for (size_t k = 0; k < TEST_COUNT_OF(capacities); k++)
        for (int i = 0; i < 2; i++) back_and_forth(capacities[k], *(bool *)timed, i == 1);
    return NULL;
}
static void lesson_53_and_56_going_to_wait(void **state) {
    (void)state;
    twins(balls);
}

/* ---- lesson 55: N - 1 values meet a waiter, one does not, and is not forgotten ---- */

enum { CREW = 4 };

static void *receives_and_acks(void *arg) {
    struct side *s = arg;
    long v;
    while (take(s->c, &v, s->timed) == 0) {
        test_must(put(s->acks, v, s->timed) == 0);
        if (s->slow) cc_yield();
        if (s->slow) test_jitter();
    }
    return NULL;
}
static void *bursts(void *timed) {
    struct side s[CREW];
    struct test_party party[CREW];
    long_chan c, acks;
    test_must(cc_chan_create(c, 8) == 0 && cc_chan_create(acks, 0) == 0);
    for (int i = 0; i < CREW; i++) {
        s[i] = (struct side){.c = c, .acks = acks, .timed = *(bool *)timed, .slow = i == 0};
        test_party_start(&party[i], i == 1, receives_and_acks, &s[i]);
    }
    for (size_t round = test_rounds(1000); round > 0; round--) {
        long v, sum = 0;
        for (int i = 0; i < CREW; i++) test_must(put(c, i, s[0].timed) == 0);
        for (int i = 0; i < CREW; i++) sum += take(acks, &v, s[0].timed) == 0 ? 1000 + v : 0;
        test_must(sum == CREW * 1000 + CREW * (CREW - 1) / 2);
    }
    cc_chan_close(c);
    for (int i = 0; i < CREW; i++) test_party_end(&party[i]);
    cc_chan_destroy(c);
    cc_chan_destroy(acks);
    return NULL;
}
static void lesson_55_a_burst_of_hand_offs_and_one_more(void **state) {
    (void)state;
    twins(bursts);
}

/* ---- lesson 58: who was to be woken and left meanwhile takes nobody else's wake-up along ---- */

static _Atomic int go_on;

static void *comes_and_goes(void *arg) {
    struct side *s = arg;
    long v;
    while (cc__load_relaxed(&go_on) != 0) {
        int rc = 0;
        CC_DEADLINE_MS((int64_t)(test_random() % 2)) rc = take(s->c, &v, false);
        if (rc == 0) {
            s->count++;
            s->sum += v;
        }
    }
    return NULL;
}
static void *comings_and_goings(void *timed) {
    for (size_t k = 0; k < TEST_COUNT_OF(capacities); k++) {
        struct side rx[CREW + 1], tx = {.count = (long)test_rounds(1000), .timed = *(bool *)timed, .slow = true};
        struct test_party party[CREW + 1];
        long sum = 0, count = 0;
        test_must(cc_chan_create(tx.c, capacities[k]) == 0);
        cc__store_relaxed(&go_on, 1);
        for (int i = 0; i <= CREW; i++) { /* the last one stays, and is to get what the others leave */
            rx[i] = (struct side){.c = tx.c, .timed = tx.timed};
            test_party_start(&party[i], i == 1, i < CREW ? comes_and_goes : receives_all, &rx[i]);
        }
        sends_all(&tx);
        cc__store_relaxed(&go_on, 0);
        cc_chan_close(tx.c);
        for (int i = 0; i <= CREW; i++) {
            test_party_end(&party[i]);
            count += rx[i].count;
            sum += rx[i].sum;
        }
        test_must(tx.rc == 0 && count == tx.count && sum == tx.sum);
        cc_chan_destroy(tx.c);
    }
    return NULL;
}
static void lesson_58_waiters_that_leave(void **state) {
    (void)state;
    twins(comings_and_goings);
}

/* ---- lesson 59: the end of a stream goes through a pipeline ---- */

enum { STAGES = 4, ITEMS = 100 };

static void *passes_on(void *arg) {
    struct side *s = arg;
    long v;
    while (take(s->c, &v, s->timed) == 0) test_must(put(s->acks, v, s->timed) == 0);
    cc_chan_close(s->acks);
    return NULL;
}
static void *pipelines(void *timed) {
    for (size_t round = test_rounds(500); round > 0; round--) {
        struct side stage[STAGES], tx = {.count = ITEMS, .timed = *(bool *)timed};
        struct test_party party[STAGES];
        long_chan c[STAGES + 1];
        long v, next = 1;
        for (int i = 0; i <= STAGES; i++) test_must(cc_chan_create(c[i], 8) == 0);
        for (int i = 0; i < STAGES; i++) {
            stage[i] = (struct side){.c = c[i], .acks = c[i + 1], .timed = tx.timed};
            test_party_start(&party[i], round % 16 == 0 && i == 1, passes_on, &stage[i]);
        }
        struct test_party source;
        tx.c = c[0];
        test_party_start(&source, false, sends_all, &tx);
        while (next <= ITEMS && take(c[STAGES], &v, tx.timed) == 0) test_must(v == next++);
        test_must(next == ITEMS + 1);
        cc_chan_close(c[0]);
        test_must(take(c[STAGES], &v, tx.timed) == -EPIPE);
        test_party_end(&source);
        for (int i = 0; i < STAGES; i++) test_party_end(&party[i]);
        for (int i = 0; i <= STAGES; i++) cc_chan_destroy(c[i]);
    }
    return NULL;
}
static void lesson_59_the_tail_of_a_stream(void **state) {
    (void)state;
    twins(pipelines);
}

/* ---- lesson 60: what was accepted before a close is received ---- */

enum { SENDERS = 8 };

static void *closes_in_between(void *timed) {
    static const size_t capacity[] = {0, 1, 3, 8, 128};
    for (size_t round = test_rounds(300); round > 0; round--) {
        struct side tx[SENDERS], rx = {.timed = *(bool *)timed};
        struct test_party party[SENDERS + 1];
        long accepted = 0;
        test_must(cc_chan_create(rx.c, capacity[round % TEST_COUNT_OF(capacity)]) == 0);
        test_party_start(&party[SENDERS], round % 16 == 0, receives_all, &rx);
        for (int i = 0; i < SENDERS; i++) {
            tx[i] = (struct side){.c = rx.c, .count = 1000000, .timed = rx.timed};
            test_party_start(&party[i], round % 16 == 0 && i < 2, sends_all, &tx[i]);
        }
        for (uint64_t i = test_random() % 8; i > 0; i--) cc_yield();
        test_jitter();
        cc_chan_close(rx.c);
        for (int i = 0; i <= SENDERS; i++) test_party_end(&party[i]);
        for (int i = 0; i < SENDERS; i++) {
            test_must(tx[i].rc == -EPIPE);
            accepted += tx[i].sum;
        }
        test_must(rx.rc == -EPIPE && accepted == rx.sum);
        cc_chan_destroy(rx.c);
    }
    return NULL;
}
static void lesson_60_accepted_is_received(void **state) {
    (void)state;
    twins(closes_in_between);
}

/* ---- lesson 63: who waits with a deadline waits in the same queue, once, and is released by the same ---- */

enum { WAITS_TO_SEND, WAITS_TO_RECEIVE, WAITS_IN_A_SELECT, WAYS };

static int wait_so(int way, long_chan c, bool timed) {
    long v;
    if (way == WAITS_TO_SEND) return put(c, 1, timed);
    if (way == WAITS_TO_RECEIVE) return take(c, &v, timed);
    return cc_select(CC_RECV(c, &v), CC_CLOSED(c));
}

CC_TASK(waits_timed, (int, way), (long_chan, c), (long *, begun), (long *, released)) {
    int rc = 1;
    ++*begun;
    CC_DEADLINE_MS(HOUR_MS) rc = wait_so(way, c, false);
    *released += rc == 0;
    return 0;
}
static uint64_t waits_so_far(const cc_runtime *rt) {
    cc_runtime_stats stats;
    cc_runtime_stats_get(rt, &stats);
    return stats.parked;
}
/* On one worker, where nothing moves but what this task lets run. */
static void *releases_all(void *rt) {
    for (int way = 0; way < WAYS; way++) {
        long begun = 0, released = 0, count = (long)test_rounds(5000), v;
        long_chan c;
        test_must(cc_chan_create(c, 0) == 0);
        CC_NURSERY(n) {
            uint64_t before = waits_so_far(rt);
            for (long i = 0; i < count; i++) test_must(cc_spawn(n, waits_timed, way, c, &begun, &released) == 0);
            while (begun < count) cc_yield();
            for (int i = 0; i < 100; i++) cc_yield();
            test_must(waits_so_far(rt) - before == (uint64_t)count); /* each once: they do not come back to look */
            for (long i = 0; i < count; i++) test_must((way == WAITS_TO_SEND ? cc_recv(c, &v) : cc_send(c, 1)) == 0);
        }
        test_must(released == count);
        cc_chan_destroy(c);
    }
    return NULL;
}
static void lesson_63_all_that_wait_with_a_deadline(void **state) {
    (void)state;
    cc_runtime *rt;
    cc_task t;
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1, .no_monitor = 1}), 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, releases_all, rt), 0);
    assert_int_equal(cc_task_join(t, NULL), 0);
    cc_runtime_destroy(rt);
}

/* ---- lesson 67: all who receive get their share ---- */

/* Whether each of them got its share, more or less. */
static bool shared_out(size_t capacity, bool last) {
    struct side rx[CREW], tx = {.count = (long)test_rounds(40000)};
    struct test_party party[CREW];
    bool fair = true;
    test_must(cc_chan_create(tx.c, capacity) == 0);
    for (int i = 0; i < CREW; i++) {
        rx[i] = (struct side){.c = tx.c};
        test_party_start(&party[i], false, receives_all, &rx[i]);
    }
    sends_all(&tx);
    cc_chan_close(tx.c);
    long share = tx.count / CREW;
    for (int i = 0; i < CREW; i++) test_party_end(&party[i]);
    for (int i = 0; i < CREW; i++) {
        fair = fair && rx[i].count > share / 2 && rx[i].count < share * 3 / 2;
        if (!fair && last) printf("capacity %zu: %ld of %ld\n", capacity, rx[i].count, tx.count);
    }
    cc_chan_destroy(tx.c);
    return fair;
}

/* On one worker it is the library alone that shares out: always. On more the system does, too, and lets one worker
 * stand still for as long as it likes: so once in so many times. */
static void *shares(void *workers) {
    int times = (uintptr_t)workers == 1 ? 1 : 50;
    for (size_t k = 0; k < TEST_COUNT_OF(capacities); k++) {
        int i = 1;
        while (i <= times && !shared_out(capacities[k], i == times)) i++;
        test_must(i <= times);
    }
    return NULL;
}
static void lesson_67_receivers_get_their_share(void **state) {
    (void)state;
    test_on_all(shares);
}

/* ---- lesson 77: a rendezvous has one outcome, for both ---- */

CC_TASK(sends_one, (long_chan, c), (bool, timed), (int *, rc)) {
    *rc = put(c, 5, timed);
    return 0;
}
CC_TASK(receives_one, (long_chan, c), (bool, timed), (int *, rc)) {
    long v = 0;
    *rc = take(c, &v, timed);
    test_must(v == (*rc == 0 ? 5 : 0));
    return 0;
}
CC_TASK(selects_to_send, (long_chan, c), (long_chan, never), (int *, rc)) {
    long v;
    *rc = cc_select(CC_SEND(c, 5), CC_RECV(never, &v), CC_SEND(c, 5));
    if (*rc == 2) *rc = 0;
    return 0;
}
CC_TASK(selects_to_receive, (long_chan, c), (long_chan, never), (int *, rc)) {
    long v[2] = {0, 0};
    *rc = cc_select(CC_RECV(c, &v[0]), CC_RECV(c, &v[1]), CC_RECV(never, &v[0]));
    test_must(v[0] + v[1] == (*rc >= 0 ? 5 : 0));
    if (*rc == 1) *rc = 0;
    return 0;
}

static void *meets_and_cancels(void *timed) {
    bool late = *(bool *)timed;
    long rounds = (long)test_rounds(5000);
    long_chan c, never;
    test_must(cc_chan_create(c, 0) == 0 && cc_chan_create(never, 0) == 0);
    for (long round = 0; round < rounds; round++) {
        int sent = 1, received = 1;
        uint64_t how = test_random();
        CC_NURSERY(tx) {
            CC_NURSERY(rx) {
                test_must((how & 1 ? cc_spawn(tx, sends_one, c, late, &sent)
                                   : cc_spawn(tx, selects_to_send, c, never, &sent)) == 0);
                if (how & 2) cc_yield();
                test_must((how & 4 ? cc_spawn(rx, receives_one, c, late, &received)
                                   : cc_spawn(rx, selects_to_receive, c, never, &received)) == 0);
                if (how & 8) cc_yield();
                test_jitter();
                cc_nursery_cancel(how & 16 ? tx : rx);
                test_jitter();
                cc_nursery_cancel(how & 16 ? rx : tx);
            }
        }
        test_must((sent == 0 && received == 0) || (sent == -ECANCELED && received == -ECANCELED));
        test_must(cc_chan_len(c) == 0);
    }
    cc_chan_destroy(c);
    cc_chan_destroy(never);
    return NULL;
}
static void lesson_77_one_outcome_for_both(void **state) {
    (void)state;
    twins(meets_and_cancels);
}

/* ---- lesson 78: who waits is cancelled; who is shielded waits on, and gets what it waits for ---- */

CC_TASK(waits, (int, way), (long_chan, c), (bool, timed), (int *, plain), (int *, shielded)) {
    CC_SHIELD *shielded = wait_so(way, c, timed);
    *plain = wait_so(way, c, timed);
    return 0;
}
static void *cancels_and_serves(void *timed) {
    for (size_t round = 0; round < test_rounds(2000); round++) {
        int way = (int)(round % WAYS), plain = 1, shielded = 1;
        long_chan c;
        long v;
        test_must(cc_chan_create(c, 0) == 0);
        CC_NURSERY(n) {
            test_must(cc_spawn(n, waits, way, c, *(bool *)timed, &plain, &shielded) == 0);
            if (round % 2 == 0) cc_yield();
            test_jitter();
            cc_nursery_cancel(n);
            if (round % 4 < 2) cc_yield();
            CC_SHIELD test_must((way == WAITS_TO_SEND ? take(c, &v, *(bool *)timed) : put(c, 1, *(bool *)timed)) == 0);
        }
        test_must(shielded == 0 && plain == -ECANCELED);
        cc_chan_destroy(c);
    }
    return NULL;
}
static void lesson_78_cancelled_and_shielded(void **state) {
    (void)state;
    twins(cancels_and_serves);
}

TEST_MAIN(cmocka_unit_test(lesson_54_no_wake_is_lost), cmocka_unit_test(lesson_53_and_56_going_to_wait),
          cmocka_unit_test(lesson_55_a_burst_of_hand_offs_and_one_more), cmocka_unit_test(lesson_58_waiters_that_leave),
          cmocka_unit_test(lesson_59_the_tail_of_a_stream), cmocka_unit_test(lesson_60_accepted_is_received),
          cmocka_unit_test(lesson_63_all_that_wait_with_a_deadline),
          cmocka_unit_test(lesson_67_receivers_get_their_share), cmocka_unit_test(lesson_77_one_outcome_for_both),
          cmocka_unit_test(lesson_78_cancelled_and_shielded))
