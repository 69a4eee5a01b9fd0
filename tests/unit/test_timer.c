/* SPDX-License-Identifier: MIT */
/* Goal: a set of timers gives back exactly those that are due, whether near, in the wheel or far; others can be taken
 * out at any time; and it knows when to look next.
 * Method: random additions, removals and jumps in time, against a plain array of what should be in the set; all over
 * its range, and so many in a few ticks that their slots get leaves, for which there is at times no memory.
 * Link: -Wl,--wrap=malloc
 */
#include "test.h"

#include "base/rng.h"
#include "driver/timer.h"
#include "plat/clock.h"

enum { TIMERS = 500 };

static struct sleeper {
    struct cc__timer timer;
    struct cc__wait wait;
    struct cc__task *task;
    bool in;
} sleeper[TIMERS];

static struct cc__timers set;
static struct cc__rng rng;
static int64_t start, now;
static bool crowded;        /* all are in a few ticks */
static unsigned no_memory;  /* of a hundred leaves for so many */
static unsigned asked, had; /* leaves */

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n) {
    if (n != sizeof(struct cc__timer_leaf)) return __real_malloc(n);
    asked++;
    if (cc__rng_below(&rng, 100) < no_memory) return NULL;
    had++;
    return __real_malloc(n);
}

static void begin(void) {
    cc__rng_seed(&rng, test_seed());
    start = now = cc__now_ns();
    memset(&set, 0, sizeof set);
    cc__timers_init(&set, now);
    for (int i = 0; i < TIMERS; i++) {
        sleeper[i] = (struct sleeper){.task = cc__task_alloc(NULL)};
        assert_non_null(sleeper[i].task);
    }
}

static void end(void) {
    cc__timers_end(&set);
    assert_null(set.spare);
    for (int i = 0; i < TIMERS; i++) cc__task_free(NULL, sleeper[i].task);
}

/* Some time from now: past, soon, within the wheel, far. */
static int64_t some_time(void) {
    static const int64_t range[] = {1000, 3000000, 900000000, 1100000000, 60000000000};
    if (crowded) return now + 20000000 + (int64_t)cc__rng_below(&rng, 4000000);
    unsigned r = cc__rng_below(&rng, TEST_COUNT_OF(range) + 1);
    if (r == TEST_COUNT_OF(range)) return now - (int64_t)cc__rng_below(&rng, 1000000);
    return now + (int64_t)(cc__rng_next(&rng) % (uint64_t)range[r]);
}

static int64_t soonest(void) {
    int64_t when = CC__NEVER;
    for (int i = 0; i < TIMERS; i++)
        if (sleeper[i].in && sleeper[i].timer.when_ns < when) when = sleeper[i].timer.when_ns;
    return when;
}

static void sleep_begins(struct sleeper *s) {
    cc__wait_begin(&s->wait, s->task, CC__BY_ANY, NULL, "test");
    assert_true(cc__state_park(s->task));
    s->timer = (struct cc__timer){.when_ns = some_time(), .task = s->task, .epoch = s->wait.epoch};
    int64_t next = cc__load_relaxed(&set.next_ns);
    s->in = true;
    assert_int_equal(cc__timers_add(&set, &s->timer), s->timer.when_ns < next);
}

static void sleep_ends_early(struct sleeper *s) {
    cc__timers_remove(&set, &s->timer);
    cc__timers_remove(&set, &s->timer); /* harmless */
    cc__state_resume(s->task);
    s->in = false;
}

static void time_passes(void) {
    static const int64_t step[] = {100000, 5000000, 500000000, 3000000000, 100000000000};
    now += (int64_t)(cc__rng_next(&rng) % (uint64_t)step[cc__rng_below(&rng, TEST_COUNT_OF(step))]);
    int64_t before = CC__NEVER;
    for (struct cc__task *t = cc__timers_expire(&set, now), *next; t != NULL; t = next) {
        next = t->next;
        int i = 0;
        while (i < TIMERS && sleeper[i].task != t) i++;
        assert_true(i < TIMERS && sleeper[i].in && sleeper[i].timer.when_ns <= now);
        assert_true(before == CC__NEVER || before <= sleeper[i].timer.when_ns); /* in order */
        before = sleeper[i].timer.when_ns;
        assert_int_equal(cc__wait_outcome(&sleeper[i].wait), CC__TIMED_OUT);
        sleeper[i].in = false;
    }
    assert_true(soonest() > now); /* nobody was forgotten */
}

static void at_random(unsigned one_look_in) {
    begin();
    for (size_t round = 0; round < test_scaled(20000); round++) {
        struct sleeper *s = &sleeper[cc__rng_below(&rng, TIMERS)];
        if (!s->in)
            sleep_begins(s);
        else if (cc__rng_below(&rng, 2) == 0)
            sleep_ends_early(s);
        if (cc__rng_below(&rng, one_look_in) == 0) time_passes();
        assert_true(cc__load_relaxed(&set.next_ns) <= soonest()); /* never too late */
    }
    for (int i = 0; i < TIMERS; i++)
        if (sleeper[i].in) sleep_ends_early(&sleeper[i]);
    assert_null(cc__timers_expire(&set, now)); /* a look that was too early corrects it */
    assert_int_equal(cc__load_relaxed(&set.next_ns), CC__NEVER);
    end();
}

static void random_timers(void **state) {
    (void)state;
    at_random(20);
}

static void crowds(void **state) {
    static const unsigned failing[] = {0, 30, 100};
    (void)state;
    crowded = true;
    for (size_t i = 0; i < TEST_COUNT_OF(failing); i++) {
        asked = had = 0;
        no_memory = failing[i];
        at_random(2000);
        assert_true(asked > 0);
        assert_true(failing[i] == 100 ? had == 0 : had > 0);
    }
    crowded = false;
    no_memory = 0;
}

/* With one timer the next look is exactly at its end, however far that is. */
static void one_timer_is_exact(void **state) {
    (void)state;
    begin();
    for (int i = 0; i < TIMERS; i++) {
        sleep_begins(&sleeper[i]);
        assert_int_equal(cc__load_relaxed(&set.next_ns), sleeper[i].timer.when_ns);
        sleep_ends_early(&sleeper[i]);
        assert_int_equal(cc__load_relaxed(&set.next_ns), CC__NEVER);
        now += 700000000;
        assert_null(cc__timers_expire(&set, now));
    }
    end();
}

TEST_MAIN(cmocka_unit_test(random_timers), cmocka_unit_test(crowds), cmocka_unit_test(one_timer_is_exact))
