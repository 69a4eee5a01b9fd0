/* SPDX-License-Identifier: MIT */
/* Goal: who watches sees newer and newer values, each whole, and the last one always; who sends never waits.
 * Method: each case on the plain thread of the test and in a task. Then senders, watchers that time out or are
 * cancelled, and one that closes, on runtimes of 1, 2, 7 and 16 workers and plain threads; a value has its number at
 * both ends of it.
 * Timeout: 120
 */
#include "actors.h"

struct config {
    uint64_t number, filler[13], same;
};
typedef CC_WATCH(struct config) watched;
typedef CC_WATCH(int) int_watch;

static void *call(void *fn) {
    void (*f)(void);
    memcpy(&f, fn, sizeof f);
    f();
    return NULL;
}
/* On this thread, and in a task. */
static void both(void (*f)(void)) {
    f();
    assert_int_equal(cc_task_join(cc_fiber_spawn_task(call, &f), NULL), 0);
}

/* ---- one after the other ---- */

static void values(void) {
    int_watch w;
    int v = -1;
    uint64_t seen = 0, other = 0;
    test_must(cc_watch_create(w, 10) == 0);
    test_must(cc_watch_version(w) == 1 && cc_watch_get(w, &v) == 0 && v == 10);
    test_must(cc_watch_recv(w, &seen, &v) == 0 && v == 10 && seen == 1); /* who has seen nothing sees the first */
    v = -1;
    test_must(cc_watch_try_recv(w, &seen, &v) == -EAGAIN && v == -1 && seen == 1);
    for (int i = 11; i <= 15; i++) test_must(cc_watch_send(w, i) == 0);
    test_must(cc_watch_recv(w, &seen, &v) == 0 && v == 15 && seen == 6 && cc_watch_version(w) == 6);
    test_must(cc_watch_send(w, 15) == 0); /* the same is news, too */
    test_must(cc_watch_try_recv(w, &seen, &v) == 0 && v == 15 && seen == 7);
    test_must(cc_watch_send(w, 16) == 0);
    cc_watch_close(w);
    cc_watch_close(w);
    test_must(cc_watch_send(w, 17) == -EPIPE);
    test_must(cc_watch_recv(w, &seen, &v) == 0 && v == 16 && seen == 8); /* the last is seen */
    v = -1;
    test_must(cc_watch_recv(w, &seen, &v) == -EPIPE && cc_watch_try_recv(w, &seen, &v) == -EPIPE && v == -1);
    test_must(cc_watch_recv(w, &other, &v) == 0 && v == 16 && other == 8);
    test_must(cc_watch_get(w, &v) == 0 && v == 16);
    cc_watch_destroy(w);
}
static void wrong(void) {
    int_watch w = {NULL};
    int v;
    uint64_t seen = 0;
    cc_watch *plain = NULL;
    test_must((cc_watch_create)(NULL, 4, NULL) == -EINVAL);
    test_must((cc_watch_create)(&plain, 0, NULL) == -EINVAL && plain == NULL);
    test_must((cc_watch_create)(&plain, SIZE_MAX, NULL) == -EINVAL);
    test_must(cc_watch_send(w, 1) == -EINVAL && cc_watch_recv(w, &seen, &v) == -EINVAL);
    test_must(cc_watch_try_recv(w, &seen, &v) == -EINVAL && cc_watch_get(w, &v) == -EINVAL);
    test_must(cc_watch_version(w) == 0);
    cc_watch_close(w);
    cc_watch_destroy(w);
    test_must((cc_watch_create)(&w.ch, sizeof v, NULL) == 0 && cc_watch_get(w, &v) == 0 && v == 0);
    test_must((cc_watch_recv)(w.ch, NULL, &v) == -EINVAL);
    cc_watch_destroy(w);
}
static void one_after_the_other(void **state) {
    (void)state;
    both(values);
    both(wrong);
}

/* ---- waiting ---- */

CC_TASK(sends_late, (int_watch, w), (int, count)) {
    for (int i = 1; i <= count; i++) {
        cc_sleep_ms(1);
        if (cc_watch_send(w, i) != 0) return -EIO;
    }
    cc_sleep_ms(1);
    cc_watch_close(w);
    return 0;
}
static void waits(void) {
    int_watch w;
    uint64_t seen = 0;
    int v = -1, last = -1, rc = 0;
    test_must(cc_watch_create(w, 0) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, sends_late, w, 5) == 0);
        while ((rc = cc_watch_recv(w, &seen, &v)) == 0) {
            test_must(v > last && seen == (uint64_t)v + 1);
            last = v;
        }
        test_must(cc_nursery_wait(n) == 0);
    }
    test_must(rc == -EPIPE && last == 5);
    cc_watch_destroy(w);
}
static void gives_up(void) {
    int_watch w;
    uint64_t seen = 1;
    int v = 0, rc = 0;
    test_must(cc_watch_create(w, 0) == 0);
    CC_DEADLINE_MS(2) {
        rc = cc_watch_recv(w, &seen, &v);
    }
    test_must(rc == -ETIMEDOUT && seen == 1);
    CC_NURSERY(n) {
        cc_nursery_cancel(n);
        rc = cc_watch_recv(w, &seen, &v);
        test_must(rc == -ECANCELED && cc_watch_send(w, 5) == 0);
        rc = cc_watch_recv(w, &seen, &v); /* what can succeed at once does */
    }
    test_must(rc == 0 && v == 5 && cc_watch_send(w, 6) == 0);
    CC_DEADLINE_MS(0) {
        rc = cc_watch_recv(w, &seen, &v);
    }
    test_must(rc == 0 && v == 6);
    cc_watch_destroy(w);
}
static void who_waits_is_woken_or_gives_up(void **state) {
    (void)state;
    both(waits);
    both(gives_up);
}

static void *waits_for_ever(void *arg) {
    int_watch w = {.ch = arg};
    uint64_t seen = 1;
    int v;
    (void)cc_watch_recv(w, &seen, &v);
    return NULL;
}
static void destroys_early(void *arg) {
    (void)arg;
    int_watch w;
    test_must(cc_watch_create(w, 0) == 0);
    (void)cc_fiber_spawn_task(waits_for_ever, w.ch);
    cc_sleep_ms(50);
    cc_watch_destroy(w);
}
static void destroyed_while_somebody_waits(void **state) {
    (void)state;
    test_aborts(destroys_early, NULL, "somebody waits on");
}

/* ---- many at once ---- */

struct crowd {
    watched w;
    _Atomic uint64_t number, senders, lock;
    bool early; /* somebody closes it while others send */
    uint64_t each;
};

static void *sends(void *arg) {
    struct crowd *c = arg;
    for (uint64_t i = 0; i < c->each; i++) {
        while (cc__xchg_acquire(&c->lock, 1) != 0) cc_yield(); /* versions are numbers */
        uint64_t number = cc__load_relaxed(&c->number) + 1;
        int rc = cc_watch_send(c->w, {.number = number, .same = number});
        test_must(rc == 0 || (c->early && rc == -EPIPE));
        if (rc == 0) cc__store_relaxed(&c->number, number);
        cc__store_release(&c->lock, 0);
        if (rc != 0) break;
        test_jitter();
        if (test_random() % 8 == 0) cc_yield();
    }
    if (cc__sub_acq_rel(&c->senders, 1) == 1) cc_watch_close(c->w);
    return NULL;
}
static void *closes(void *arg) {
    struct crowd *c = arg;
    for (uint64_t turns = test_random() % 300; turns > 0; turns--) cc_yield();
    cc_watch_close(c->w);
    return NULL;
}
struct one {
    watched w;
    uint64_t seen;
    struct config value;
};
static int recv_one(void *arg) {
    struct one *o = arg;
    return cc_watch_recv(o->w, &o->seen, &o->value);
}
static void *watches(void *arg) {
    struct crowd *c = arg;
    struct one o = {.w = c->w};
    for (;;) {
        uint64_t before = o.seen;
        int rc = actors_call(recv_one, &o);
        test_must(rc == 0 ? o.seen > before : o.seen == before);
        test_must(o.value.number == o.seen && o.value.same == o.seen);
        if (rc == -EPIPE) break;
        test_must(rc == 0 || actors_gave_up(rc));
        struct config now;
        test_must(cc_watch_get(c->w, &now) == 0 && now.number == now.same && now.number >= o.seen);
    }
    while (cc__load_acquire(&c->senders) > 0) cc_sleep_ms(1);
    test_must(o.seen == cc__load_acquire(&c->number)); /* the last */
    return NULL;
}
static void versions_grow_and_the_last_is_seen(void **state) {
    (void)state;
    test_seed();
    for (size_t i = 0; i < TEST_COUNT_OF(test_workers); i++) {
        struct actors a;
        actors_begin(&a, test_workers[i]);
        for (size_t round = test_rounds(20); round > 0; round--) {
            struct crowd c = {.number = 1, .senders = 3, .each = test_rounds(300), .early = test_random() % 4 == 0};
            assert_int_equal(cc_watch_create(c.w, {.number = 1, .same = 1}), 0);
            for (int k = 0; k < 4; k++) actors_task(&a, watches, &c);
            actors_thread(&a, watches, &c);
            actors_task(&a, sends, &c);
            actors_task(&a, sends, &c);
            if (c.early) actors_task(&a, closes, &c);
            actors_thread(&a, sends, &c);
            actors_thread(&a, watches, &c);
            actors_join(&a);
            uint64_t last = cc__load_relaxed(&c.number), most = 3 * c.each + 1;
            assert_true(c.early ? last <= most : last == most);
            cc_watch_destroy(c.w);
        }
        actors_end(&a);
    }
}

/* What aborts comes first: a child process has none of the workers its parent had started. */
TEST_MAIN(cmocka_unit_test(destroyed_while_somebody_waits), cmocka_unit_test(one_after_the_other),
          cmocka_unit_test(who_waits_is_woken_or_gives_up), cmocka_unit_test(versions_grow_and_the_last_is_seen))
