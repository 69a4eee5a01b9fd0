/* SPDX-License-Identifier: MIT */
/* Goal: no task is given to a worker that has no time for it (lesson 27), two that exchange messages stay together
 * (lesson 38), many that contend for one ring lose nothing (lesson 41), and tasks that reschedule
 * themselves on the only worker do not keep out what comes from outside (lesson 51).
 * Method: all workers but one are held until the last of many tasks, from outside or from the free one, has run; no
 * monitor shares out what a worker has. Two tasks exchange messages while other workers are idle, and how often one
 * moves to another worker is counted. Eight send and eight receive, and all of it arrives; how long it takes is
 * printed, not judged: it depends on the machine. On one worker tasks yield or wake each other for ever and count their
 * turns, and what a plain thread spawns says at which turn it ran.
 * Timeout: 200
 */
#include "runtimes.h"

/* ---- lesson 27: none waits for a worker that is busy ---- */

struct hold {
    cc_runtime *rt;
    _Atomic long held, ran, over;
    long workers;
};
static void *holds(void *arg) {
    struct hold *h = arg;
    cc__add_acq_rel(&h->held, 1);
    test_must(test_hold_worker_until(&h->over, 1));
    return NULL;
}
static void *runs(void *arg) {
    cc__add_acq_rel(&((struct hold *)arg)->ran, 1);
    return NULL;
}
/* As many as overfill a worker's queue, in the runtime, from wherever this is called. */
static void *spawns_many(void *arg) {
    enum { MANY = 600 };
    struct hold *h = arg;
    cc_task t[MANY];
    for (int i = 0; i < MANY; i++) test_must(cc_runtime_spawn(h->rt, &t[i], NULL, runs, h) == 0);
    for (int i = 0; i < MANY; i++) test_must(cc_task_join(t[i], NULL) == 0);
    test_must(cc__load_acquire(&h->ran) == MANY);
    return NULL;
}
static void lesson_27_none_waits_for_a_busy_worker(void **state) {
    (void)state;
    const int spawn[] = {CC_SPAWN_LOCAL, CC_SPAWN_ROUNDROBIN};
    for (size_t w = 1; w < TEST_COUNT_OF(test_workers); w++) {
        for (int k = 0; k < 4; k++) {
            struct hold h = {.workers = test_workers[w]};
            cc_task t;
            cc_runtime_attr attr = {.workers = test_workers[w], .no_monitor = 1, .spawn = spawn[k / 2]};
            assert_int_equal(cc_runtime_create(&h.rt, &attr), 0);
            for (long i = 1; i < h.workers; i++) {
                assert_int_equal(cc_runtime_spawn(h.rt, &t, NULL, holds, &h), 0);
                assert_int_equal(cc_task_detach(t), 0);
            }
            assert_true(test_hold_worker_until(&h.held, h.workers - 1));
            if (k % 2 == 0) {
                spawns_many(&h);
            } else {
                assert_int_equal(cc_runtime_spawn(h.rt, &t, NULL, spawns_many, &h), 0);
                assert_int_equal(cc_task_join(t, NULL), 0);
            }
            cc__store_release(&h.over, 1);
            cc_runtime_destroy(h.rt);
        }
    }
}

/* ---- lesson 38: two that exchange messages stay on one worker ---- */

typedef CC_CHAN(int) int_chan;
enum { MESSAGES = 20000, ROOM = 128, MESSAGES_WITH_ROOM = 200000 };

CC_TASK(receives, (int_chan, in), (int, count), (long *, moves)) {
    pthread_t here = test_thread();
    int next = 0;
    CC_EACH(int, v, in) {
        test_must(v == next++);
        *moves += !pthread_equal(here, test_thread());
        here = test_thread();
    }
    return next == count ? 0 : -EIO;
}
/* How often the receiver came to another worker. */
static long moves_of_pair(size_t room, int count) {
    int_chan c;
    long moves = 0;
    test_must(cc_chan_create(c, room) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, receives, c, count, &moves) == 0);
        for (int i = 0; i < count; i++) test_must(cc_send(c, i) == 0);
        cc_chan_close(c);
        test_must(cc_nursery_wait(n) == 0);
    }
    cc_chan_destroy(c);
    return moves;
}
/* It is taken to another worker when this one is held up: by the system, which does so as it likes. Split for good, one
 * of the two would be woken from afar at each message, and taken back now and then. Where there is room, the one that
 * gives way after so many operations must not be taken for one that nobody runs. */
static void *sends(void *arg) {
    int count = (int)test_rounds(MESSAGES), with_room = (int)test_rounds(MESSAGES_WITH_ROOM);
    test_must(moves_of_pair(0, count) <= count / 20);
    test_must(moves_of_pair(ROOM, with_room) <= with_room / 2000);
    return arg;
}
static void lesson_38_a_pair_stays_together(void **state) {
    (void)state;
    test_on_all(sends);
}

/* ---- lesson 41: eight senders and eight receivers at one ring ---- */

enum { SIDE = 8, EACH = 5000 };
CC_TASK(sends_its_share, (int_chan, out)) {
    for (int i = 1; i <= (int)test_rounds(EACH); i++) test_must(cc_send(out, i) == 0);
    return 0;
}
CC_TASK(receives_some, (int_chan, in), (_Atomic long *, sum)) {
    CC_EACH(int, v, in) cc__add_relaxed(sum, v);
    return 0;
}
static void *contend(void *arg) {
    int64_t least = INT64_MAX, most = 0;
    for (int turn = 0; turn < 10; turn++) {
        int_chan c;
        _Atomic long sum = 0;
        long each = (long)test_rounds(EACH);
        int64_t begin = cc_now_ns();
        test_must(cc_chan_create(c, SIDE) == 0);
        CC_NURSERY(all) {
            for (int i = 0; i < SIDE; i++) test_must(cc_spawn(all, receives_some, c, &sum) == 0);
            CC_NURSERY(n) {
                for (int i = 0; i < SIDE; i++) test_must(cc_spawn(n, sends_its_share, c) == 0);
            }
            cc_chan_close(c);
        }
        cc_chan_destroy(c);
        test_must(cc__load_relaxed(&sum) == SIDE * each * (each + 1) / 2);
        int64_t took = cc_now_ns() - begin;
        least = took < least ? took : least;
        most = took > most ? took : most;
    }
    printf("%u workers, 8x8: %.1f to %.1f ms\n", (unsigned)(uintptr_t)arg, (double)least / 1e6, (double)most / 1e6);
    return arg;
}
static void lesson_41_a_contended_ring(void **state) {
    (void)state;
    test_on_all(contend);
}

/* ---- lesson 51: what comes from outside has its turn ---- */

struct busy {
    _Atomic long turns, over;
};
static void *yields_for_ever(void *arg) {
    struct busy *b = arg;
    while (cc__load_relaxed(&b->over) == 0) {
        cc__add_relaxed(&b->turns, 1);
        cc_yield();
    }
    return NULL;
}
static void *notes_the_turn(void *arg) {
    return (void *)(intptr_t)cc__load_relaxed(&((struct busy *)arg)->turns);
}
static void lesson_51_yields_keep_nothing_out(void **state) {
    (void)state;
    enum { CROWD_MAX = 3, TURNS_MAX = 200 }; /* it looks outside at each 61st */
    for (int crowd = 1; crowd <= CROWD_MAX; crowd++) {
        struct busy b = {0};
        cc_runtime *rt;
        cc_task t, of[CROWD_MAX];
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1, .no_monitor = 1}), 0);
        for (int i = 0; i < crowd; i++) assert_int_equal(cc_runtime_spawn(rt, &of[i], NULL, yields_for_ever, &b), 0);
        for (size_t i = test_rounds(1000); i > 0; i--) {
            void *at = NULL;
            assert_int_equal(cc_runtime_spawn(rt, &t, NULL, notes_the_turn, &b), 0);
            long outside = cc__load_relaxed(&b.turns); /* it is in the queue by now */
            assert_int_equal(cc_task_join(t, &at), 0);
            assert_true((long)(intptr_t)at - outside <= TURNS_MAX);
        }
        cc__store_relaxed(&b.over, 1);
        for (int i = 0; i < crowd; i++) assert_int_equal(cc_task_join(of[i], NULL), 0);
        cc_runtime_destroy(rt);
    }
}

TEST_MAIN(cmocka_unit_test(lesson_27_none_waits_for_a_busy_worker), cmocka_unit_test(lesson_38_a_pair_stays_together),
          cmocka_unit_test(lesson_41_a_contended_ring), cmocka_unit_test(lesson_51_yields_keep_nothing_out))
