/* SPDX-License-Identifier: MIT */
/* Goal: values of the special kinds of channels are accounted for, all kinds at once in one runtime: an ordered one
 * gives every result once and in order; a oneshot its value, or that there is none; a broadcast every value, but for
 * those it counts as lost; a watch no version twice, and the last one always.
 * Method: rounds with a crowd for each kind, some fibers and some plain threads; calls are given up at random, by
 * deadlines and cancellation, and taken up again. Each kind has its own test of the same in tests/api; here they share
 * workers, and the handles of oneshots go through a channel. 1, 2, 7 and 16 workers. CC_TEST_SECONDS makes it go on for
 * so long. The last line says how many values were received.
 * Timeout: 120
 */
#include "actors.h"

enum { CREW = 3, ANSWER = 1000, SHOTS_MAX = 1 << 14 };

typedef CC_BROADCAST(uint64_t) news;
typedef CC_WATCH(uint64_t) watched;
typedef CC_ONESHOT(uint64_t) answer;
struct question {
    answer to;
    uint64_t number;
};
typedef CC_CHAN(struct question) questions;

struct round {
    uint64_t each; /* values of each who sends */
    cc_ordered *ordered;
    news news;
    watched watch;
    questions questions;
    _Atomic uint64_t spawners, askers, speakers, changers; /* who still does; the last one closes it */
    _Atomic uint64_t spawned, results;                     /* of `ordered` */
    _Atomic uint64_t said, now;                            /* sent to `news`; and to `watch` */
    _Atomic uint32_t saying, changing;                     /* locks of these, so that the numbers are in order */
    _Atomic uint64_t next_question;
    _Atomic uint8_t answered[SHOTS_MAX]; /* by its number: 1, its send returned 0 */
    _Atomic uint64_t received;           /* in all */
};

/* ---- results in order ---- */

static void *returns_it(void *arg) {
    if ((uintptr_t)arg % 5 == 0) cc_yield();
    return arg;
}
struct result {
    struct round *r;
    void *value;
};
static int spawn_it(void *arg) {
    struct result *x = arg;
    return cc_ordered_spawn(x->r->ordered, returns_it, x->value);
}
static int receive_it(void *arg) {
    struct result *x = arg;
    return cc_ordered_recv(x->r->ordered, &x->value);
}
static void *spawns(void *arg) {
    struct round *r = arg;
    for (uint64_t i = 0; i < r->each;) {
        struct result x = {r, (void *)(uintptr_t)(i + 1)};
        int rc = actors_call(spawn_it, &x);
        test_must(rc == 0 || actors_gave_up(rc));
        if (rc != 0) continue;
        cc__add_relaxed(&r->spawned, ++i);
    }
    if (cc__sub_acq_rel(&r->spawners, 1) == 1) cc_ordered_close(r->ordered);
    return NULL;
}
static void *collects(void *arg) {
    struct round *r = arg;
    for (;;) {
        struct result x = {r, NULL};
        int rc = actors_call(receive_it, &x);
        if (rc == -EPIPE) return NULL;
        if (actors_gave_up(rc)) continue;
        test_must(rc == 0);
        cc__add_relaxed(&r->results, (uintptr_t)x.value);
        cc__add_relaxed(&r->received, 1);
    }
}

/* ---- questions and answers ---- */

struct asked {
    answer a;
    uint64_t value;
};
static int hear(void *arg) {
    struct asked *x = arg;
    return cc_oneshot_recv(x->a, &x->value);
}
static void *asks(void *arg) {
    struct round *r = arg;
    for (uint64_t i = 0; i < r->each; i++) {
        struct asked x = {.value = 0};
        uint64_t number = cc__add_relaxed(&r->next_question, 1);
        bool patient = test_random() % 4 != 0;
        int rc;
        test_must(number < SHOTS_MAX && cc_oneshot_create(x.a) == 0);
        test_must(cc_send(r->questions, {x.a, number}) == 0);
        do rc = actors_call(hear, &x);
        while (patient && actors_gave_up(rc));
        /* Who answers notes that after its send: so what was received may not be noted yet; what was not, never is. */
        test_must(rc == 0 ? x.value == ANSWER + number : x.value == 0);
        test_must(rc == 0 || rc == -EPIPE || (!patient && actors_gave_up(rc)));
        if (rc == -EPIPE) test_must(cc__load_acquire(&r->answered[number]) == 0);
        if (rc == 0) cc__add_relaxed(&r->answered[number], 2);
        if (rc == 0) cc__add_relaxed(&r->received, 1);
        if (actors_gave_up(rc)) cc__add_relaxed(&r->answered[number], 4);
        cc_oneshot_destroy(x.a);
    }
    if (cc__sub_acq_rel(&r->askers, 1) == 1) cc_chan_close(r->questions);
    return NULL;
}
static void *answers(void *arg) {
    struct round *r = arg;
    CC_EACH(struct question, q, r->questions) {
        test_jitter();
        if (test_random() % 4 == 0)
            cc_oneshot_drop(q.to);
        else if (cc_oneshot_send(q.to, ANSWER + q.number) == 0)
            cc__add_acq_rel(&r->answered[q.number], 1);
    }
    return NULL;
}
/* Sent and received, neither, or the one who asked had gone. */
static void check_answers(struct round *r) {
    for (uint64_t i = 0; i < cc__load_relaxed(&r->next_question); i++) {
        uint8_t is = cc__load_relaxed(&r->answered[i]);
        test_must(is == 0 || is == (1 | 2) || is == 4 || is == (4 | 1));
    }
}

/* ---- news ---- */

static void *speaks(void *arg) {
    struct round *r = arg;
    for (uint64_t i = 0; i < r->each; i++) {
        while (cc__xchg_acquire(&r->saying, 1) != 0) cc_yield();
        uint64_t number = cc__load_relaxed(&r->said) + 1;
        test_must(cc_broadcast_send(r->news, number) == 0);
        cc__store_relaxed(&r->said, number);
        cc__store_release(&r->saying, 0);
        if (i % 16 == 0) cc_yield();
    }
    if (cc__sub_acq_rel(&r->speakers, 1) == 1) cc_broadcast_close(r->news);
    return NULL;
}
struct listener {
    struct round *r;
    cc_subscriber s; /* since before the first value */
    uint64_t value;
};
static int listen_to_one(void *arg) {
    struct listener *l = arg;
    return cc_broadcast_recv(l->r->news, &l->s, &l->value);
}
static void *listens(void *arg) {
    struct listener *l = arg;
    uint64_t got = 0, last = 0;
    for (;;) {
        int rc = actors_call(listen_to_one, l);
        if (rc == -EPIPE) break;
        if (actors_gave_up(rc)) continue;
        test_must(rc == 0 && l->value == last + 1 + l->s.lagged);
        last = l->value;
        got++;
        if (test_random() % 8 == 0) cc_yield();
    }
    test_must(got + l->s.lost == cc__load_acquire(&l->r->said) && last == got + l->s.lost);
    cc__add_relaxed(&l->r->received, got);
    return NULL;
}

/* ---- what is so now ---- */

static void *changes(void *arg) {
    struct round *r = arg;
    for (uint64_t i = 0; i < r->each; i++) {
        while (cc__xchg_acquire(&r->changing, 1) != 0) cc_yield();
        uint64_t number = cc__load_relaxed(&r->now) + 1;
        test_must(cc_watch_send(r->watch, number) == 0);
        cc__store_relaxed(&r->now, number);
        cc__store_release(&r->changing, 0);
        if (i % 16 == 0) cc_yield();
    }
    if (cc__sub_acq_rel(&r->changers, 1) == 1) cc_watch_close(r->watch);
    return NULL;
}
struct watcher {
    struct round *r;
    uint64_t seen, value;
};
static int watch_for_one(void *arg) {
    struct watcher *w = arg;
    return cc_watch_recv(w->r->watch, &w->seen, &w->value);
}
static void *watches(void *arg) {
    struct watcher w = {.r = arg};
    uint64_t got = 0, missed = 0;
    for (;;) {
        uint64_t before = w.seen;
        int rc = actors_call(watch_for_one, &w);
        test_must(rc == 0 ? w.seen > before && w.value == w.seen : w.seen == before);
        if (rc == -EPIPE) break;
        if (rc != 0) continue;
        missed += w.seen - before - 1;
        got++;
    }
    test_must(w.seen == cc__load_acquire(&w.r->now) && got + missed == w.seen);
    cc__add_relaxed(&w.r->received, got);
    return NULL;
}

/* ---- a round ---- */

static uint64_t one_round(struct actors *a, uint64_t each) {
    static struct round r;
    static struct listener listener[CREW];
    memset(&r, 0, sizeof r);
    r.each = each;
    _Atomic uint64_t *const crews[] = {&r.spawners, &r.askers, &r.speakers, &r.changers};
    for (size_t i = 0; i < TEST_COUNT_OF(crews); i++) cc__store_relaxed(crews[i], CREW);
    cc__store_relaxed(&r.now, 1);
    size_t room = 1 + test_random() % 32;
    test_must(cc_ordered_create(&r.ordered, room) == 0 && cc_broadcast_create(r.news, room) == 0);
    test_must(cc_watch_create(r.watch, 1) == 0 && cc_chan_create(r.questions, room - 1) == 0);
    void *(*const both[])(void *) = {spawns, collects, asks, answers, speaks, changes, watches};
    for (int k = 0; k < CREW; k++) {
        listener[k] = (struct listener){.r = &r};
        test_must(cc_broadcast_subscribe(r.news, &listener[k].s) == 0);
    }
    for (int k = 0; k < CREW; k++) {
        for (size_t i = 0; i < TEST_COUNT_OF(both); i++)
            (k == 0 && test_random() % 4 == 0 ? actors_thread : actors_task)(a, both[i], &r);
        (k == 0 ? actors_thread : actors_task)(a, listens, &listener[k]);
    }
    actors_join(a);
    test_must(cc__load_relaxed(&r.spawned) == cc__load_relaxed(&r.results));
    check_answers(&r);
    cc_ordered_destroy(r.ordered);
    cc_broadcast_destroy(r.news);
    cc_watch_destroy(r.watch);
    cc_chan_destroy(r.questions);
    return cc__load_relaxed(&r.received);
}

static void all_that_is_sent_is_accounted_for(void **state) {
    (void)state;
    const char *given = getenv("CC_TEST_SECONDS");
    int64_t seconds = given == NULL ? 0 : strtol(given, NULL, 10), begun = cc_now_ns();
    uint64_t received = 0;
    test_seed();
    do {
        for (size_t i = 0; i < TEST_COUNT_OF(test_workers); i++) {
            struct actors a;
            actors_begin(&a, test_workers[i]);
            for (int k = 0; k < 4; k++) received += one_round(&a, test_rounds(2000));
            actors_end(&a);
        }
    } while (cc_now_ns() - begun < seconds * 1000000000);
    double took = (double)(cc_now_ns() - begun) / 1e9;
    printf("total: %lu values, %.0f a second\n", (unsigned long)received, (double)received / took);
    assert_true(received > 0);
}

TEST_MAIN(cmocka_unit_test(all_that_is_sent_is_accounted_for))
