/* SPDX-License-Identifier: MIT */
/* Goal: work that is there is run by whoever is free: nobody sleeps beside it, sleepers wake on time, and nothing
 * depends on the luck of an awake worker (lessons 21-24, 26, 28, 30-32, 40, 42).
 * Method: on runtimes of 1, 2, 7 and 16 workers, what must run at once is made to wait for each other on the cpu, so
 * that it ends only if it does; work is given to workers at the moment they fall asleep. Who waits for another gives
 * up after a minute, which only a lost wake-up takes. Wakes, timed sleeps and stacks are counted by the linker's wraps.
 * Link: -Wl,--wrap=cc__futex_wake,--wrap=cc__futex_wait,--wrap=cc__idle_stop_searching,--wrap=cc__steal_spin
 * Link: -Wl,--wrap=cc__stack_get
 * Timeout: 200
 */
#include "runtimes.h"

#include "plat/futex.h"
#include "sched/sched.h"

/* With the types that the library gives them. */
__typeof__(cc__futex_wake) __real_cc__futex_wake, __wrap_cc__futex_wake;
__typeof__(cc__futex_wait) __real_cc__futex_wait, __wrap_cc__futex_wait;
__typeof__(cc__idle_stop_searching) __real_cc__idle_stop_searching, __wrap_cc__idle_stop_searching;
__typeof__(cc__steal_spin) __real_cc__steal_spin, __wrap_cc__steal_spin;

__typeof__(cc__stack_get) __real_cc__stack_get, __wrap_cc__stack_get;

static _Atomic long stacks, wakes, outside_wakes, finds, waits, timed_waits, spins, spin_hits;

int __wrap_cc__futex_wake(_Atomic uint32_t *word, int n) {
    cc__add_relaxed(&wakes, 1);
    if (cc__worker_current() == NULL) cc__add_relaxed(&outside_wakes, 1);
    return __real_cc__futex_wake(word, n);
}
int __wrap_cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns) {
    if (cc__worker_current() != NULL) { /* what the test's own thread waits for is its business */
        cc__add_relaxed(&waits, 1);
        if (deadline_ns != CC__NO_DEADLINE) cc__add_relaxed(&timed_waits, 1);
    }
    return __real_cc__futex_wait(word, expect, deadline_ns);
}
void __wrap_cc__idle_stop_searching(struct cc__worker *w, bool found) {
    if (w->searching && found) cc__add_relaxed(&finds, 1);
    __real_cc__idle_stop_searching(w, found);
}

int __wrap_cc__stack_get(struct cc__stack_cache *cache, unsigned cls, struct cc__stack **out) {
    cc__add_relaxed(&stacks, 1);
    return __real_cc__stack_get(cache, cls, out);
}
bool __wrap_cc__steal_spin(struct cc__worker *w) {
    bool hit = __real_cc__steal_spin(w);
    cc__add_relaxed(&spins, 1);
    if (hit) cc__add_relaxed(&spin_hits, 1);
    return hit;
}

static const int64_t patience_ns = INT64_C(60) * 1000000000;

/* ---- lessons 21, 23 and 24: work for workers that fall asleep just now ---- */

static void *counts(void *arg) {
    cc__add_acq_rel((_Atomic long *)arg, 1);
    return NULL;
}
/* As long as a worker looks for work before it sleeps, more or less. */
static void pause_about(int64_t ns) {
    int64_t until = cc_now_ns() + (int64_t)(test_random() % (uint64_t)ns);
    while (cc_now_ns() < until) cc__cpu_relax();
}
struct feeder {
    cc_runtime *rt;
    _Atomic long ran;
    long rounds, spawned;
};
static void *feeds(void *arg) {
    struct feeder *f = arg;
    for (long i = 0; i < f->rounds; i++) {
        cc_task t;
        int burst = 1 + (int)(test_random() % 3);
        for (int k = 0; k < burst; k++) {
            test_must(cc_runtime_spawn(f->rt, &t, NULL, counts, &f->ran) == 0);
            f->spawned++;
            if (k + 1 < burst) test_must(cc_task_detach(t) == 0);
        }
        test_must(cc_task_join(t, NULL) == 0);
        if (i % 4 != 0) pause_about(120000);
    }
    return NULL;
}
static void lesson_21_23_24_work_for_those_about_to_sleep(void **state) {
    (void)state;
    test_seed();
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++) {
        struct feeder f[3];
        pthread_t thread[2];
        cc_runtime *rt;
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = test_workers[w]}), 0);
        for (int i = 0; i < 3; i++) f[i] = (struct feeder){.rt = rt, .rounds = (long)test_rounds(3000)};
        feeds(&f[2]); /* alone: the workers sleep in between */
        for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, feeds, &f[i]), 0);
        for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
        cc_runtime_destroy(rt);
        for (int i = 0; i < 3; i++) assert_int_equal(cc__load_relaxed(&f[i].ran), f[i].spawned);
    }
}

/* The same for tasks that are woken: by a timer, and by one another. */
static void *sleeps_often(void *arg) {
    for (size_t i = test_rounds(300); i > 0; i--)
        test_must(cc_sleep_until_ns(cc_now_ns() + (int64_t)(test_random() % 200000)) == 0);
    return arg;
}
static void *many_short_sleeps(void *arg) {
    cc_task t[6];
    for (int i = 0; i < 6; i++) t[i] = cc_fiber_spawn_task(sleeps_often, NULL);
    for (int i = 0; i < 6; i++) test_must(cc_task_join(t[i], NULL) == 0);
    return arg;
}
static void lesson_23_timers_for_those_about_to_sleep(void **state) {
    (void)state;
    test_on_all(many_short_sleeps);
}

/* ---- lesson 22: what one task spawns is spread over all workers ---- */

struct crowd {
    _Atomic long here;
    long wanted;
    pthread_t thread[16];
};
static void *waits_for_the_crowd(void *arg) {
    struct crowd *c = arg;
    c->thread[cc__add_acq_rel(&c->here, 1)] = test_thread();
    test_must(test_hold_worker_until(&c->here, c->wanted));
    return NULL;
}
static void crowd_is_distinct(const struct crowd *c) {
    for (long i = 0; i < c->wanted; i++)
        for (long k = 0; k < i; k++) test_must(!pthread_equal(c->thread[i], c->thread[k]));
}
static void *fans_out(void *arg) {
    long workers = (long)(intptr_t)arg;
    for (size_t round = test_rounds(50); round > 0; round--) {
        cc_task t[16];
        bool root_too = round % 2 == 0; /* is one of the crowd, or waits */
        struct crowd c = {.wanted = workers};
        for (long i = root_too; i < workers; i++) t[i] = cc_fiber_spawn_task(waits_for_the_crowd, &c);
        if (root_too) waits_for_the_crowd(&c);
        for (long i = root_too; i < workers; i++) test_must(cc_task_join(t[i], NULL) == 0);
        crowd_is_distinct(&c);
    }
    return arg;
}
static void lesson_22_children_run_on_all_workers(void **state) {
    (void)state;
    test_on_all(fans_out);
}

/* ---- lesson 26: what is queued at a worker that is held up is run by others ---- */

static void *spawns_and_holds(void *arg) {
    const long counts_of[] = {1, 2, 3, 100, 400}; /* the last does not fit the worker's own queue */
    for (size_t i = 0; i < TEST_COUNT_OF(counts_of); i++) {
        _Atomic long ran = 0;
        for (long k = 0; k < counts_of[i]; k++) test_must(cc_task_detach(cc_fiber_spawn_task(counts, &ran)) == 0);
        test_must(test_hold_worker_until(&ran, counts_of[i]));
    }
    return arg;
}
static void on_several(void *(*fn)(void *), size_t rounds) {
    test_seed();
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++)
        for (size_t i = 0; i < test_rounds(rounds) && test_workers[w] > 1; i++)
            test_on_workers(test_workers[w], fn, (void *)(uintptr_t)test_workers[w]);
}
static void lesson_26_a_held_workers_queue_is_run(void **state) {
    (void)state;
    on_several(spawns_and_holds, 30);
}

/* ---- lesson 28: most wakes find something ---- */

static void *spins_a_little(void *arg) {
    int64_t until = cc_now_ns() + 20000;
    while (cc_now_ns() < until) cc__cpu_relax();
    return arg;
}
static void *bursts(void *arg) {
    enum { BURST = 790 };
    static cc_task t[BURST];
    for (size_t round = test_rounds(10); round > 0; round--) {
        for (int i = 0; i < BURST; i++) t[i] = cc_fiber_spawn_task(spins_a_little, NULL);
        for (int i = 0; i < BURST; i++) test_must(cc_task_join(t[i], NULL) == 0);
    }
    return arg;
}
static void *pairs(void *arg) {
    for (size_t i = test_rounds(8000); i > 0; i--)
        test_must(cc_task_join(cc_fiber_spawn_task(spins_a_little, NULL), NULL) == 0);
    return arg;
}
/* Starting and ending a runtime wakes each worker once or twice. A worker that is woken for a burst may get no cpu
 * before the burst is over. A spawner that joins its one child often runs it itself, so that who was woken finds
 * nothing; how often depends on how long a pair takes beside how long a worker looks on before it sleeps. */
static void lesson_28_few_wakes_find_nothing(void **state) {
    (void)state;
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++) {
        long start = 3 * (long)test_workers[w], late = 2 * (long)test_rounds(10), spawns = (long)test_rounds(8000);
        cc__store_relaxed(&wakes, 0);
        cc__store_relaxed(&finds, 0);
        test_on_workers(test_workers[w], bursts, NULL);
        long woken = cc__load_relaxed(&wakes), found = cc__load_relaxed(&finds);
        cc__store_relaxed(&wakes, 0);
        cc__store_relaxed(&finds, 0);
        test_on_workers(test_workers[w], pairs, NULL);
        long alone = cc__load_relaxed(&wakes), used = cc__load_relaxed(&finds);
        print_message("%u workers: bursts: %ld wakes, %ld finds; %ld pairs: %ld wakes, %ld finds\n", test_workers[w],
                      woken, found, spawns, alone, used);
        assert_true(woken <= 2 * found + late + start);
        assert_true(alone <= spawns + used + start); /* one a spawn, and one passed on by who found something */
    }
}

/* ---- lesson 30: no worker sleeps with a timeout that rescues what was lost ---- */

static void lesson_30_no_safety_net(void **state) {
    (void)state;
    test_seed();
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++) {
        struct feeder f = {.rounds = (long)test_rounds(500)};
        assert_int_equal(cc_runtime_create(&f.rt, &(cc_runtime_attr){.workers = test_workers[w]}), 0);
        cc__store_relaxed(&waits, 0);
        cc__store_relaxed(&timed_waits, 0);
        feeds(&f);
        for (int64_t give_up = cc_now_ns() + patience_ns; cc__load_relaxed(&waits) == 0;) { /* now, at the latest */
            assert_true(cc_now_ns() < give_up);
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        }
        cc_runtime_destroy(f.rt);
        assert_int_equal(cc__load_relaxed(&timed_waits), 0);
    }
}

/* ---- lesson 40: who has nothing to do looks on for a moment, once, and sleeps ---- */

static void await_idle(cc_runtime *rt) {
    int64_t give_up = cc_now_ns() + patience_ns;
    cc_runtime_stats s;
    for (cc_runtime_stats_get(rt, &s); s.workers_idle < s.workers; cc_runtime_stats_get(rt, &s)) {
        assert_true(cc_now_ns() < give_up);
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}
/* The same, and asleep: who is idle may be on its way there. */
static void await_asleep(cc_runtime *rt) {
    int64_t give_up = cc_now_ns() + patience_ns;
    long before;
    await_idle(rt);
    do {
        assert_true(cc_now_ns() < give_up);
        before = cc__load_relaxed(&waits);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    } while (cc__load_relaxed(&waits) != before);
}
/* How often that pays is printed, not judged: it depends on the machine. */
static void lesson_40_spins_end(void **state) {
    (void)state;
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++) {
        cc_runtime *rt;
        cc_task t;
        _Atomic long done = 0;
        long rounds = (long)test_rounds(200);
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = test_workers[w]}), 0);
        cc__store_relaxed(&spins, 0);
        cc__store_relaxed(&spin_hits, 0);
        for (long i = 0; i < rounds; i++) {
            assert_int_equal(cc_runtime_spawn(rt, &t, NULL, counts, &done), 0);
            assert_int_equal(cc_task_join(t, NULL), 0);
        }
        await_asleep(rt);
        long spun = cc__load_relaxed(&spins), waited = cc__load_relaxed(&waits);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        assert_int_equal(cc__load_relaxed(&spins), spun); /* not once while there is nothing */
        assert_int_equal(cc__load_relaxed(&waits), waited);
        print_message("%u workers, %ld tasks: looked on %ld times, with success %ld times\n", test_workers[w], rounds,
                      spun, cc__load_relaxed(&spin_hits));
        assert_int_equal(cc__load_relaxed(&done), rounds);
        cc_runtime_destroy(rt);
    }
}

/* ---- lesson 42: an idle runtime is one wake away, and a new one has made nothing that is not used ---- */

static void lesson_42_cold_dispatch(void **state) {
    (void)state;
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++) {
        cc_runtime *rt;
        cc_task t;
        _Atomic long done = 0;
        cc__store_relaxed(&stacks, 0);
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = test_workers[w], .no_monitor = 1}), 0);
        await_idle(rt);
        assert_int_equal(cc__load_relaxed(&stacks), 0);
        cc__store_relaxed(&timed_waits, 0);
        for (long i = 0; i < (long)test_rounds(200); i++) {
            cc__store_relaxed(&outside_wakes, 0);
            assert_int_equal(cc_runtime_spawn(rt, &t, NULL, counts, &done), 0);
            assert_int_equal(cc__load_relaxed(&outside_wakes), 1);
            assert_int_equal(cc_task_join(t, NULL), 0);
            await_idle(rt);
        }
        assert_int_equal(cc__load_relaxed(&timed_waits), 0); /* nobody comes by to look */
        assert_in_range(cc__load_relaxed(&stacks), 1, cc__load_relaxed(&done));
        cc_runtime_destroy(rt);
    }
}

/* ---- lesson 31: very many sleepers on one worker ---- */

static void *sleeps_10_ms(void *arg) {
    int64_t begin = cc_now_ns();
    test_must(cc_sleep_ms(10) == 0 && cc_now_ns() - begin >= 10000000);
    cc__add_relaxed((_Atomic long *)arg, 1);
    return NULL;
}
static void *sleeps_in_crowds(void *arg) {
    _Atomic long woke = 0;
    size_t count = TEST_TSAN ? 2000 : test_rounds(100000);
    cc_task *t = malloc(count * sizeof *t);
    test_must(t != NULL);
    int64_t begin = cc_now_ns();
    for (size_t i = 0; i < count; i++) t[i] = cc_fiber_spawn_task(sleeps_10_ms, &woke);
    for (size_t i = 0; i < count; i++) test_must(cc_task_join(t[i], NULL) == 0);
    test_must(cc__load_relaxed(&woke) == (long)count);
    printf("%zu sleepers of 10 ms on %u worker(s): %.1f ms\n", count, (unsigned)(uintptr_t)arg,
           (double)(cc_now_ns() - begin) / 1e6);
    free(t);
    return NULL;
}
static void lesson_31_a_hundred_thousand_sleepers(void **state) {
    (void)state;
    test_on_workers(1, sleeps_in_crowds, (void *)1);
    test_on_workers(7, sleeps_in_crowds, (void *)7);
}

/* ---- lesson 32: a deadline fires though very many are parked ---- */

static _Atomic int opened;
static _Atomic size_t known;
static void *parks_till_opened(void *arg) {
    *(cc_parker *)arg = cc_parker_self();
    cc__add_acq_rel(&known, 1);
    while (cc__load_acquire(&opened) == 0) cc_park_if(&opened, 0);
    return NULL;
}
static void *deadline_among_parked(void *arg) {
    size_t count = TEST_TSAN ? 1000 : test_rounds(30000);
    cc_task *t = malloc(count * sizeof *t);
    cc_parker *p = calloc(count, sizeof *p);
    test_must(t != NULL && p != NULL);
    cc__store_release(&opened, 0);
    cc__store_release(&known, 0);
    for (size_t i = 0; i < count; i++) t[i] = cc_fiber_spawn_task(parks_till_opened, &p[i]);
    while (cc__load_acquire(&known) < count) cc_sleep_ms(1);
    for (int i = 0; i < 5; i++) {
        int64_t begin = cc_now_ns();
        int rc = 0;
        CC_DEADLINE_MS(10) {
            rc = cc_sleep_until_ns(begin + 2 * patience_ns); /* blocked; only the deadline ends it */
        }
        int64_t took = cc_now_ns() - begin;
        test_must(rc == -ETIMEDOUT && took >= 10000000 && took < patience_ns);
    }
    cc__store_release(&opened, 1);
    for (size_t i = 0; i < count; i++) cc_unpark(p[i]);
    for (size_t i = 0; i < count; i++) test_must(cc_task_join(t[i], NULL) == 0);
    free(p);
    free(t);
    return arg;
}
static void lesson_32_deadlines_among_the_parked(void **state) {
    (void)state;
    test_on_all(deadline_among_parked);
}

TEST_MAIN(cmocka_unit_test(lesson_21_23_24_work_for_those_about_to_sleep),
          cmocka_unit_test(lesson_23_timers_for_those_about_to_sleep),
          cmocka_unit_test(lesson_22_children_run_on_all_workers),
          cmocka_unit_test(lesson_26_a_held_workers_queue_is_run), cmocka_unit_test(lesson_28_few_wakes_find_nothing),
          cmocka_unit_test(lesson_30_no_safety_net), cmocka_unit_test(lesson_40_spins_end),
          cmocka_unit_test(lesson_42_cold_dispatch), cmocka_unit_test(lesson_31_a_hundred_thousand_sleepers),
          cmocka_unit_test(lesson_32_deadlines_among_the_parked))
