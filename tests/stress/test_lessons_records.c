/* SPDX-License-Identifier: MIT */
/* Goal: a task's record serves one task at a time, carries nothing over to the next, and a task finds its own
 * whatever worker it wakes on (lessons 5, 10-15).
 * Method: on 1, 2, 7 and 16 workers, records are reused as fast as can be while old handles and parkers of theirs are
 * used at random; the pool itself is taken from and given to by 8 threads; tasks are moved between workers by a plain
 * thread that wakes them.
 * Timeout: 120
 */
#include "runtimes.h"

#include "task/task.h"

static void *echo(void *arg) {
    return arg;
}

/* ---- lessons 5 and 12: joined and used again at once; stale handles and parkers hit nobody ---- */

enum { STALE = 64 };
static struct {
    _Atomic uintptr_t record;
    _Atomic uint32_t generation;
} stale[STALE];
static _Atomic int over;

/* Both halves of a handle are atomics of their own: mixed up they name nothing that is, which must do no harm. */
static void stale_keep(cc_task t) {
    size_t i = test_random() % STALE;
    cc__store_relaxed(&stale[i].generation, t.priv_generation);
    cc__store_release(&stale[i].record, (uintptr_t)t.priv_record);
}
static void *uses_stale(void *arg) {
    while (cc__load_acquire(&over) == 0) {
        size_t i = test_random() % STALE;
        void *record = (void *)cc__load_acquire(&stale[i].record);
        uint32_t generation = cc__load_relaxed(&stale[i].generation);
        cc_unpark((cc_parker){.priv_record = record, .priv_generation = generation});
        (void)cc_task_valid((cc_task){.priv_record = record, .priv_generation = generation});
        cc_yield();
    }
    return arg;
}
static void *parks_a_little(void *arg) {
    _Atomic int never = 0;
    stale_keep(cc_task_self()); /* also while it lives: it is unparked for no reason */
    cc_unpark(cc_parker_self());
    cc_park_if(&never, 0);
    return arg;
}
static void *reuses(void *arg) {
    for (uintptr_t i = 0; i < test_rounds(5000); i++) {
        void *result = NULL;
        cc_task t = cc_fiber_spawn_task(i % 2 ? parks_a_little : echo, (void *)(i ^ (uintptr_t)arg));
        test_must(cc_task_valid(t) == 1);
        test_must(cc_task_join(t, &result) == 0 && (uintptr_t)result == (i ^ (uintptr_t)arg));
        test_must(cc_task_valid(t) == 0 && cc_task_join(t, NULL) == -ESRCH && cc_task_detach(t) == -ESRCH);
        stale_keep(t);
    }
    return NULL;
}
static void *records_are_reused(void *arg) {
    cc__store_release(&over, 0);
    cc_task user = cc_fiber_spawn_task(uses_stale, NULL), t[4];
    pthread_t thread, other;
    test_must(pthread_create(&thread, NULL, uses_stale, NULL) == 0);
    test_must(pthread_create(&other, NULL, reuses, (void *)99) == 0);
    for (uintptr_t i = 0; i < 4; i++) t[i] = cc_fiber_spawn_task(reuses, (void *)(i << 32));
    for (int i = 0; i < 4; i++) test_must(cc_task_join(t[i], NULL) == 0);
    pthread_join(other, NULL);
    cc__store_release(&over, 1);
    pthread_join(thread, NULL);
    test_must(cc_task_join(user, NULL) == 0);
    return arg;
}
static void lesson_5_and_12_reuse_at_once(void **state) {
    (void)state;
    test_on_all(records_are_reused);
}

/* ---- lesson 10: nothing of the task before is left in a record ---- */

static void *is_fresh(void *arg) {
    test_must(strcmp(cc_task_self_name(), "is_fresh") == 0);
    test_must(cc_cancelled() == 0);
    test_must(cc_sleep_until_ns(cc_now_ns() + 1000) == 0); /* no deadline, nobody cancelled it */
    return arg;
}
CC_TASK(leaves_things, (cc_nursery *, n), (_Atomic uintptr_t *, record)) {
    cc__store_relaxed(record, (uintptr_t)cc_task_self().priv_record);
    cc_nursery_cancel(n);
    cc_unpark(cc_parker_self()); /* an unpark that is still pending at its end */
    return cc_cancelled();
}
static void *wears_out_a_record(void *arg) {
    size_t same = 0, rounds = test_rounds(1000);
    cc_task t;
    for (size_t i = 0; i < rounds; i++) {
        _Atomic uintptr_t record = 0;
        cc_task_attr attr = {.name = "before", .priority = 2, .stack_bytes = 65536};
        CC_DEADLINE_MS(0) {
            CC_NURSERY(n) {
                test_must(cc_spawn(n, leaves_things, n, &record) == 0);
            }
        }
        t = cc_fiber_spawn_task(is_fresh, &t);
        same += (uintptr_t)t.priv_record == cc__load_relaxed(&record);
        test_must(cc_task_join(t, NULL) == 0);
        test_must(cc_task_spawn(&t, &attr, echo, NULL) == 0 && cc_task_join(t, NULL) == 0);
        test_must(cc_task_join(cc_fiber_spawn_task(is_fresh, &t), NULL) == 0);
    }
    test_must((uintptr_t)arg != 1 || same > 0); /* on one worker it was the same record, or this shows nothing */
    return arg;
}
static void lesson_10_records_carry_nothing_over(void **state) {
    (void)state;
    test_on_all(wears_out_a_record);
}

/* ---- lesson 11: a record that one has, nobody else gets ---- */

enum { HELD = 300 };
static void *takes_and_gives(void *arg) {
    struct cc__task_cache cache = {0};
    static _Atomic long taken;
    struct cc__task *held[HELD];
    size_t n = 0;
    for (size_t i = 0; i < test_rounds(200000); i++) {
        if (n < HELD && (n == 0 || test_random() % 2 == 0)) {
            struct cc__task *t = cc__task_alloc(&cache);
            test_must(t != NULL && t->value == NULL && t->body == NULL);
            t->value = arg;
            t->older = (struct cc__task *)(void *)&held[n]; /* whose it is, in two fields far apart; body stays clear */
            held[n++] = t;
            cc__add_relaxed(&taken, 1);
        } else {
            struct cc__task *t = held[--n];
            test_must(t->value == arg && (void *)t->older == &held[n]);
            cc__task_free(&cache, t);
        }
        if (i % 1000 == 0) cc__task_cache_drain(&cache); /* to the pool, for the others */
    }
    while (n > 0) cc__task_free(&cache, held[--n]);
    cc__task_cache_drain(&cache);
    return NULL;
}
static void lesson_11_records_have_one_owner(void **state) {
    (void)state;
    pthread_t thread[8];
    test_seed();
    for (uintptr_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, takes_and_gives, (void *)(i + 1)), 0);
    for (int i = 0; i < 8; i++) pthread_join(thread[i], NULL);
}

/* ---- lessons 13, 14 and 15: a task that moves finds itself, its scopes, and its worker's queues ---- */

enum { MOVERS = 24 };
struct mover {
    _Atomic int turn;
    _Atomic int known, done;
    cc_parker parker;
    unsigned moves;
    pthread_t last;
};
static void moves_once(struct mover *m) {
    cc__store_release(&m->turn, 0);
    while (cc__load_acquire(&m->turn) == 0) cc_park_if(&m->turn, 0);
    pthread_t now = test_thread();
    m->moves += !pthread_equal(now, m->last);
    m->last = now;
}
static void *moves_about(void *arg) {
    struct mover *m = arg;
    cc_task self = cc_task_self();
    int64_t far = 3600 * 1000;
    m->parker = cc_parker_self();
    m->last = test_thread();
    cc__store_release(&m->known, 1);
    for (size_t i = test_rounds(200); i > 0; i--) {
        void *result = NULL;
        moves_once(m);
        CC_DEADLINE_MS(far) {
            CC_DEADLINE_MS(0) {
                moves_once(m);
                test_must(cc_cancelled() == -ETIMEDOUT); /* lesson 14 */
                CC_SHIELD {
                    moves_once(m);
                    test_must(cc_cancelled() == 0);
                }
            }
            moves_once(m);
            test_must(cc_cancelled() == 0);
        }
        CC_NURSERY(n) {
            cc_nursery_cancel(n);
            moves_once(m);
            test_must(cc_cancelled() == -ECANCELED);
        }
        cc_task now = cc_task_self(); /* lesson 13 */
        test_must(now.priv_record == self.priv_record && now.priv_generation == self.priv_generation);
        test_must(strcmp(cc_task_self_name(), "mover") == 0);
        test_must(cc_task_join(cc_fiber_spawn_task(echo, m), &result) == 0 && result == m); /* lesson 15 */
    }
    cc__store_release(&m->done, 1);
    return NULL;
}
/* On a plain thread: what it wakes goes to any worker. */
static void *moves_them(void *arg) {
    struct mover *m = arg;
    for (int left = MOVERS; left > 0; sched_yield()) {
        left = 0;
        for (int i = 0; i < MOVERS; i++) {
            struct mover *one = &m[(i + (int)(test_random() % MOVERS)) % MOVERS];
            left += cc__load_acquire(&m[i].done) == 0;
            if (cc__load_acquire(&one->known) == 0 || cc__load_acquire(&one->turn) != 0) continue;
            cc__store_release(&one->turn, 1);
            cc_unpark(one->parker);
        }
    }
    return NULL;
}
static void *many_move(void *arg) {
    static struct mover m[MOVERS];
    cc_task t[MOVERS];
    pthread_t thread;
    unsigned moves = 0;
    memset(m, 0, sizeof m);
    for (int i = 0; i < MOVERS; i++) {
        cc__store_relaxed(&m[i].turn, 1);
        test_must(cc_task_spawn(&t[i], &(cc_task_attr){.name = "mover"}, moves_about, &m[i]) == 0);
    }
    test_must(pthread_create(&thread, NULL, moves_them, m) == 0);
    for (int i = 0; i < MOVERS; i++) {
        test_must(cc_task_join(t[i], NULL) == 0);
        moves += m[i].moves;
    }
    pthread_join(thread, NULL);
    printf("%u workers: %u moves\n", (unsigned)(uintptr_t)arg, moves);
    test_must((uintptr_t)arg == 1 || moves > 0); /* the one may be stuck, and made up for by others */
    return arg;
}
static void lesson_13_to_15_tasks_that_move(void **state) {
    (void)state;
    test_on_all(many_move);
}

TEST_MAIN(cmocka_unit_test(lesson_5_and_12_reuse_at_once), cmocka_unit_test(lesson_10_records_carry_nothing_over),
          cmocka_unit_test(lesson_11_records_have_one_owner), cmocka_unit_test(lesson_13_to_15_tasks_that_move))
