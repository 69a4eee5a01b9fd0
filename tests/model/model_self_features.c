/* SPDX-License-Identifier: MIT */
/* Goal: what the checker offers to scenarios works: choices, threads that are created, thread-locals,
 * globals that start anew, futexes with all that can happen to them, bounds that are reported, replay
 * strings that repeat, executions that are told with file and line.
 * Method: scenarios with known outcomes; and searches run from here whose results are looked at.
 * Sources: src/plat/futex.c src/plat/clock.c src/plat/thread.c src/plat/file.c src/base/assert.c src/base/text.c
 */
#include "base/atomic.h"
#include "plat/clock.h"
#include "plat/futex.h"
#include "plat/thread.h"

#include "ccmc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic uint32_t word, other;
static int data, count, results[2];

/* ---- choices, in setup, threads and check ---- */

static int chosen[3];
static void choose_in_setup(void) {
    chosen[0] = mc_choose(2);
}
static void choose_in_thread(void) {
    chosen[1] = mc_choose(3);
}
static void choose_in_check(void) {
    chosen[2] = chosen[0] == 0 ? mc_choose(2) : 0;
    mc_outcome("%d%d%d", chosen[0], chosen[1], chosen[2]);
}

/* ---- state that starts anew, and that is apart ---- */

static int first_use = 1;
static _Thread_local int local = 5;
static void uses_globals(void) {
    mc_assert(first_use == 1 && count == 0);
    first_use = 0;
    count++;
}
static void uses_locals(void) {
    mc_assert(local == 5);
    local = mc_self();
    errno = 100 + mc_self();
    cc__add_relaxed(&word, 1); /* others go on here */
    cc__add_relaxed(&word, 1);
    mc_assert(local == mc_self() && errno == 100 + mc_self());
}

/* ---- threads ---- */

static void *child(void *arg) {
    data += (int)(intptr_t)arg;
    return NULL;
}
static void parent(void) {
    cc__thread t;
    data = 1;
    cc__thread_start(&t, child, (void *)2);
    cc__thread_join(&t);
    mc_assert(data == 3);
    data = 4;
}
static void careless_parent(void) {
    cc__thread t;
    cc__thread_start(&t, child, (void *)2);
    data++;
    cc__thread_join(&t);
}
static void *adds_to_word(void *arg) {
    (void)arg;
    cc__add_relaxed(&word, 1);
    return NULL;
}
static void parent_of_two(void) {
    cc__thread a, b;
    cc__thread_start(&a, adds_to_word, NULL);
    cc__thread_start(&b, adds_to_word, NULL);
    results[0] = (int)cc__load_relaxed(&word);
    cc__thread_join(&a);
    cc__thread_join(&b);
    mc_assert(cc__load_relaxed(&word) == 2);
}
static void result_0(void) {
    mc_outcome("%d", results[0]);
}

static cc__lock lock = CC__LOCK_INIT;
static void at_end(void *arg) {
    mc_assert(arg == &count);
    cc__lock_take(&lock);
    count++;
    cc__lock_drop(&lock);
}
static struct cc__at_end ends = {.fn = at_end};
static void arms_end(void) {
    cc__at_end_arm(&ends, &count);
}
static void both_ended(void) {
    mc_assert(count == 2);
}

static void try_lock(void) {
    int taken = pthread_mutex_trylock(&lock) == 0;
    results[mc_self()] = taken;
    if (taken) pthread_mutex_unlock(&lock);
}
static void results_01(void) {
    mc_outcome("%d%d", results[0], results[1]);
}

/* ---- futexes ---- */

static void sleeps(void) {
    while (cc__load_acquire(&word) == 0) cc__futex_wait(&word, 0, CC__NO_DEADLINE);
    mc_assert(data == 42);
}
static void wakes(void) {
    data = 42;
    cc__store_release(&word, 1);
    cc__futex_wake(&word, 1);
}
static void wakes_all(void) {
    data = 42;
    cc__store_release(&word, 1);
    cc__futex_wake(&word, -1);
}
/* The flag is not the futex word: it may be set between the look and the wait. */
static void sleeps_on_another(void) {
    if (cc__load_acquire(&other) == 0) cc__futex_wait(&word, 0, CC__NO_DEADLINE);
}
static void wakes_another(void) {
    cc__store_release(&other, 1);
    cc__futex_wake(&word, 1);
}
static void sleeps_for_a_while(void) {
    int64_t deadline = cc__now_ns() + 5;
    results[0] = cc__futex_wait(&word, 0, deadline);
    mc_assert(results[0] != -ETIMEDOUT || cc__now_ns() == deadline);
}
static void sleeps_once(void) {
    results[0] = cc__futex_wait(&word, 0, CC__NO_DEADLINE);
    results[1]++;
}
static void wake_result(void) {
    mc_outcome("%s", results[0] == 0 ? "woken" : results[0] == -ETIMEDOUT ? "timeout" : "changed");
}
/* The futex word is the low half of an atomic. */
static _Atomic uint64_t whole;
static void sleeps_on_half(void) {
    _Atomic uint32_t *low = (_Atomic uint32_t *)(void *)&whole;
    while (cc__load_acquire(&whole) >> 32 == 0) {
        uint32_t now = cc__load_acquire(low);
        mc_assert(now == 7 || now == 8);
        cc__futex_wait(low, 7, CC__NO_DEADLINE);
    }
}
static void wakes_half(void) {
    cc__store_release(&whole, ((uint64_t)1 << 32) + 8);
    cc__futex_wake((_Atomic uint32_t *)(void *)&whole, 1);
}
static void seven(void) {
    cc__store_relaxed(&whole, 7);
}

static void wakes_gone_word(void) {
    _Atomic uint32_t *gone = malloc(sizeof *gone);
    free(gone);
    cc__futex_wake(gone, 1);
}

/* ---- memory ---- */

static void uses_the_heap(void) {
    int *p = calloc(2, sizeof *p);
    mc_assert(p[0] == 0 && p[1] == 0);
    p[1] = 7;
    p = realloc(p, 4 * sizeof *p);
    mc_assert(p[1] == 7);
    void *q = NULL;
    mc_assert(posix_memalign(&q, 256, 10) == 0 && (uintptr_t)q % 256 == 0);
    free(q);
    free(p);
}

/* ---- going back ---- */

enum { TURNS = 6 };
static long log_of[2][TURNS], log_local_sum[2];
static _Thread_local long sum;
static void *adds_as_child(void *arg) {
    *(long *)arg = (long)cc__add_relaxed(&word, 1);
    return NULL;
}
/* What it sees it notes on the stack, on the heap, in globals and in thread-locals; one of its turns is a child's. */
static void keeps_notes(void) {
    long here[TURNS], *heap[TURNS];
    cc__thread t;
    for (int i = 0; i < TURNS; i++) {
        heap[i] = malloc(sizeof *heap[i]);
        if (i == 3 && mc_self() == 0) {
            cc__thread_start(&t, adds_as_child, &here[i]);
            cc__thread_join(&t);
        } else {
            here[i] = (long)cc__add_relaxed(&word, 1);
        }
        log_of[mc_self()][i] = *heap[i] = here[i];
        sum += here[i];
        errno = (int)sum;
    }
    for (int i = 0; i < TURNS; i++) {
        mc_assert(here[i] == *heap[i] && here[i] == log_of[mc_self()][i] && (i == 0 || here[i] > here[i - 1]));
        log_local_sum[mc_self()] += here[i];
        free(heap[i]);
    }
    mc_assert(sum == log_local_sum[mc_self()] && errno == sum);
}
static void all_noted(void) {
    mc_assert(log_local_sum[0] + log_local_sum[1] == 2 * TURNS * (2 * TURNS - 1) / 2);
}
/* 12 steps of which 6 are the first's: each order comes once. */
static int goes_back(const struct mc_options *o) {
    (void)o;
    const struct mc_scenario notes = {"notes", NULL, {keeps_notes, keeps_notes}, all_noted};
    struct mc_options options = {.mode = MC_REDUCED};
    struct mc_result r = mc_explore(&notes, &options);
    if (r.bug != 0) printf("      %s\n", r.text);
    bool ok = r.bug == 0 && r.exhausted && r.execs == 924 && r.outcomes == 924;
    mc_result_fini(&r);
    return !ok;
}

/* ---- bounds ---- */

static void adds_forever(void) {
    for (;;) cc__add_relaxed(&word, 1);
}
static void flips_forever(void) {
    for (;;) { /* 0 to 1 to 0 */
        cc__or_relaxed(&word, 1);
        cc__and_relaxed(&word, 0);
    }
}
static void spins_while_it_flips(void) {
    while (cc__load_relaxed(&word) != 7) mc_yield();
}

/* ---- searches looked at from here ---- */

static void store_word(void) {
    cc__store_relaxed(&word, 1);
    results[0] = (int)cc__load_relaxed(&other);
}
static void store_other(void) {
    cc__store_relaxed(&other, 1);
    results[1] = (int)cc__load_relaxed(&word);
}
static void not_both_zero(void) {
    mc_assert(results[0] + results[1] > 0);
}
static const struct mc_scenario buffering = {
    "store buffering", NULL, {store_word, store_other}, not_both_zero, .expect = MC_ASSERT};

static bool same_bug(const struct mc_result *a, const struct mc_result *b) {
    return a->bug == b->bug && strcmp(a->text, b->text) == 0 && strcmp(a->replay, b->replay) == 0;
}

static int replays(const struct mc_options *o) {
    (void)o;
    struct mc_options options = {.mode = MC_REDUCED};
    struct mc_result found = mc_explore(&buffering, &options);
    options.replay = found.replay;
    struct mc_result again = found.replay != NULL ? mc_explore(&buffering, &options) : found;
    bool ok = found.bug == MC_ASSERT && same_bug(&found, &again) && again.execs == 1;
    mc_result_fini(&again);
    mc_result_fini(&found);
    return !ok;
}

static int random_finds_it(const struct mc_options *o) {
    struct mc_options options = {.mode = MC_RANDOM, .max_execs = 1000, .seed = o->seed};
    struct mc_result a = mc_explore(&buffering, &options), b = mc_explore(&buffering, &options);
    bool ok = a.bug == MC_ASSERT && !a.exhausted && same_bug(&a, &b) && a.execs == b.execs;
    mc_result_fini(&a);
    mc_result_fini(&b);
    return !ok;
}

static int sequential_consistency_hides_it(const struct mc_options *o) {
    (void)o;
    struct mc_options options = {.mode = MC_REDUCED, .sc_only = true};
    struct mc_result r = mc_explore(&buffering, &options);
    bool ok = r.bug == 0 && r.exhausted && r.outcomes == 3;
    mc_result_fini(&r);
    return !ok;
}

static const struct mc_scenario endless = {"endless", NULL, {adds_forever}, NULL, .max_steps = 50};
static void adds_twice(void) {
    adds_to_word(NULL);
    adds_to_word(NULL);
}
static const struct mc_scenario many = {"many", NULL, {adds_twice, adds_twice, adds_twice}, NULL, .max_execs = 5};

/* ---- the command line: the story of an execution, and its replay string ---- */

/* Run this program with some arguments; returns its exit status, and what it printed. */
static int run_self(const char *arguments, char *said, size_t size) {
    char command[1024], path[512];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return -1;
    path[n] = 0;
    snprintf(command, sizeof command, "'%s' %s", path, arguments);
    FILE *f = popen(command, "r");
    if (f == NULL) return -1;
    size_t got = fread(said, 1, size - 1, f);
    said[got] = 0;
    return pclose(f);
}

static int traces_and_replays(const struct mc_options *o) {
    (void)o;
    static const char scenario[] = "futex: lost wake-up";
    static const char *const told[] = {"futex wait", "futex wake",  "store release", "sees 0",
                                       "other",      "sleeps_on_a", "deadlock",      "model_self_features.c:"};
    char said[8192], arguments[256], replay[128];
    snprintf(arguments, sizeof arguments, "--trace '%s'", scenario);
    int status = run_self(arguments, said, sizeof said);
    bool ok = status == 0;
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) ok = ok && strstr(said, told[i]) != NULL;
    const char *line = strstr(said, "replay: ");
    if (!ok || line == NULL || sscanf(line, "replay: %127s", replay) != 1) return 1;
    snprintf(arguments, sizeof arguments, "--replay %s '%s'", replay, scenario);
    status = run_self(arguments, said, sizeof said);
    return !(status != 0 && strstr(said, "sleeps_on_a") != NULL && strstr(said, "deadlock") != NULL);
}

static int bounds_are_reported(const struct mc_options *o) {
    (void)o;
    struct mc_options options = {.mode = MC_REDUCED};
    struct mc_result a = mc_explore(&endless, &options), b = mc_explore(&many, &options);
    bool ok = a.bug == 0 && !a.exhausted && a.cut == 1 && strcmp(a.bound, "50 steps in one execution") == 0;
    return !(ok && b.bug == 0 && !b.exhausted && b.execs == 5 && strcmp(b.bound, "5 executions") == 0);
}

/* ---- one who sleeps for ever, one who begins alone, fences ---- */

static void how_many_sleep(void) {
    mc_assert(!mc_sleeps(2));
    mc_outcome("%d", mc_sleeps(0) + mc_sleeps(1));
}
static void adds(void) {
    results[mc_self()] = (int)cc__add_relaxed(&word, 1);
}
static void stores_and_looks(void) {
    bool first = mc_self() == 0;
    cc__store_relaxed(first ? &word : &other, 1);
    cc__fence_full();
    results[mc_self()] = (int)cc__load_relaxed(first ? &other : &word);
}
/* The same without a fence. */
static void stores_and_peeps(void) {
    bool first = mc_self() == 0;
    cc__store_relaxed(first ? &word : &other, 1);
    results[mc_self()] = (int)cc__load_relaxed(first ? &other : &word);
}

/* ---- what no thread changes ---- */

static void word_is_constant(void) {
    cc__store_relaxed(&word, 7);
    mc_constant(&word, sizeof word);
}
static void loads_it(void) {
    mc_assert(cc__load_acquire(&word) == 7);
    results[mc_self()] = (int)cc__add_relaxed(&other, 1);
}

/* ---- a wait in one step ---- */

static void awaits(void) {
    results[0] = 2 - mc_await(&word, 0, true);
    if (results[0] == 1) mc_assert(cc__load_relaxed(&word) == 1);
}
static void awaits_for_ever(void) {
    mc_await(&word, 0, false);
    results[0] = (int)cc__load_relaxed(&word);
}
static void makes_it_two(void) {
    cc__store_relaxed(&word, 1);
    cc__store_relaxed(&word, 2);
}
static void adds_none(void) {
    cc__add_relaxed(&word, 0);
}
static void one_sleeps(void) {
    mc_outcome("%d", mc_sleeps(0));
}

/* ---- a wait that either of two others can end ---- */

static struct mc_sem sem;
static void stores_word(void) {
    cc__store_relaxed(&word, 1);
    mc_sem_post(&sem);
}
static void stores_other(void) {
    cc__store_relaxed(&other, 1);
    mc_sem_post(&sem);
}
static void spins_after_a_look(void) {
    results[0] = (int)cc__load_relaxed(&word);
    for (; cc__load_relaxed(&other) == 0; results[1]++) mc_yield(); /* goes round when `word` changes, too */
}
static void waits_for_either(void) {
    mc_sem_wait(&sem);
    results[0] = (int)cc__load_relaxed(&word);
    results[1] = (int)cc__load_relaxed(&other);
}

/* ---- states ---- */

static void word_is_statistics(void) {
    mc_statistics(&word, sizeof word);
}

static void never_three(void) {
    mc_assert(cc__add_relaxed(&word, 1) < 2);
    cc__sub_relaxed(&word, 1);
}

/* As stores_and_looks(), and it says so. */
static void is_blind_and_looks(void) {
    mc_blind();
    stores_and_looks();
}
static void looks_too_soon(void) {
    mc_blind();
    mc_sees(&word, sizeof word);
    cc__load_relaxed(&word);
    cc__load_relaxed(&other);
}

static bool forgets;
static void comes_and_goes(void) {
    for (int i = 0; i < 3; i++) {
        cc__add_relaxed(&word, 1);
        cc__sub_relaxed(&word, 1);
        if (forgets) mc_forget((uint64_t)i);
    }
}
static void nobody_is_left(void) {
    mc_assert(cc__load_relaxed(&word) == 0);
}
static int forgetting_makes_fewer(const struct mc_options *o) {
    (void)o;
    struct mc_scenario s = {.name = "come and go", .thread = {comes_and_goes, comes_and_goes}, .check = nobody_is_left};
    struct mc_options options = {.mode = MC_REDUCED};
    struct mc_result all = mc_explore(&s, &options);
    s.states = true;
    struct mc_result keep = mc_explore(&s, &options);
    forgets = true;
    struct mc_result forget = mc_explore(&s, &options);
    forgets = false;
    bool ok = all.exhausted && keep.exhausted && forget.exhausted && all.states == 0;
    return !(ok && forget.states > 6 && forget.states < keep.states && forget.execs < all.execs);
}

const struct mc_scenario mc_scenarios[] = {
    {"choices",
     choose_in_setup,
     {choose_in_thread},
     choose_in_check,
     .outcomes = "000 001 010 011 020 021 100 110 120"},
    {"globals start anew", choose_in_setup, {uses_globals, choose_in_thread}, NULL},
    {"thread-locals and errno are apart", NULL, {uses_locals, uses_locals, uses_locals}, NULL},
    {"a thread is created and joined", NULL, {parent}, NULL},
    {"a child races with its parent", NULL, {careless_parent}, NULL, MC_RACE},
    {"two children", NULL, {parent_of_two}, result_0, .outcomes = "0 1 2"},
    {"code at a thread's end", NULL, {arms_end, arms_end}, both_ended},
    {"trylock", NULL, {try_lock, try_lock}, results_01, .outcomes = "01 10 11"},

    {"futex: sleep and wake", NULL, {sleeps, wakes}, NULL},
    {"futex: two sleep, one wake", NULL, {sleeps, sleeps, wakes}, NULL, MC_DEADLOCK},
    {"futex: two sleep, all are woken", NULL, {sleeps, sleeps, wakes_all}, NULL},
    {"futex: one may sleep for ever", NULL, {sleeps, sleeps, wakes}, how_many_sleep, .outcomes = "0 1", .quiet = true},
    {"one begins alone", NULL, {adds, adds}, results_01, .outcomes = "01", .first = 1},
    {"both begin as they like", NULL, {adds, adds}, results_01, .outcomes = "01 10"},
    {"both are alike", NULL, {adds, adds}, results_01, .outcomes = "01", .alike = true},
    {"a constant", word_is_constant, {loads_it, loads_it}, results_01, .outcomes = "01 10"},
    {"a constant that changes", word_is_constant, {loads_it, adds}, NULL, MC_MISUSE},
    {"counters that nobody acts on", word_is_statistics, {adds, adds}, results_01, .outcomes = "01"},
    {"by states", NULL, {stores_and_looks, stores_and_looks}, results_01, .outcomes = "01 10 11", .states = true},
    {"a load may see an old store", NULL, {stores_and_peeps, stores_and_peeps}, results_01, .outcomes = "00 01 10 11"},
    {"each load sees the newest store",
     NULL,
     {stores_and_peeps, stores_and_peeps},
     results_01,
     .outcomes = "01 10 11",
     .sc = true},
    {"by states: blind until a fence",
     NULL,
     {is_blind_and_looks, is_blind_and_looks},
     results_01,
     .outcomes = "01 10 11",
     .states = true},
    {"a look by one who is blind", NULL, {looks_too_soon}, NULL, MC_MISUSE},
    {"by states: a bug", NULL, {never_three, never_three, never_three}, NULL, MC_ASSERT, .states = true},
    {"by states: a choice",
     choose_in_setup,
     {choose_in_thread},
     choose_in_check,
     .outcomes = "000 001 010 011 020 021 100 110 120",
     .states = true},
    {"a wait in one step", NULL, {awaits_for_ever, makes_it_two}, result_0, .outcomes = "1 2"},
    {"a wait in one step, timed", NULL, {awaits, adds}, result_0, .outcomes = "1 2"},
    {"a wait in one step, for nothing", NULL, {awaits_for_ever}, NULL, MC_DEADLOCK},
    {"a wait in one step, for ever", NULL, {awaits_for_ever, adds_none}, one_sleeps, .outcomes = "1", .quiet = true},
    {"fences, their order left open",
     NULL,
     {stores_and_looks, stores_and_looks},
     results_01,
     .outcomes = "01 10 11",
     .fences = true},
    {"fences in every order", NULL, {stores_and_looks, stores_and_looks}, results_01, .outcomes = "01 10 11"},
    {"a spin that two can end",
     NULL,
     {stores_other, stores_word, spins_after_a_look},
     results_01,
     .outcomes = "00 01 02 10 11"},
    {"a semaphore that two post",
     NULL,
     {stores_word, stores_other, waits_for_either},
     results_01,
     .outcomes = "01 10 11"},
    {"futex: spurious wake-ups", NULL, {sleeps, wakes}, NULL, .spurious = 2},
    {"futex: lost wake-up", NULL, {sleeps_on_another, wakes_another}, NULL, MC_DEADLOCK},
    {"futex: all ends of a timed wait",
     NULL,
     {sleeps_for_a_while, wakes},
     wake_result,
     .outcomes = "woken timeout changed"},
    {"futex: all ends of a wait", NULL, {sleeps_once, wakes}, wake_result, .outcomes = "woken changed"},
    {"futex: half of an atomic", seven, {sleeps_on_half, wakes_half}, NULL},
    {"futex: a wake may come when the word is gone", NULL, {wakes_gone_word}, NULL},

    {"the heap", NULL, {uses_the_heap, uses_the_heap}, NULL},
    {"a bound on steps", NULL, {adds_forever}, NULL, .bounded = true, .max_steps = 100},
    {"a bound on spin loops",
     NULL,
     {spins_while_it_flips, flips_forever},
     NULL,
     .bounded = true,
     .max_steps = 20,
     .max_spins = 3},

    {.name = "what threads forget makes fewer states", .run = forgetting_makes_fewer},
    {.name = "going back leaves everything as it was", .run = goes_back},
    {.name = "a replay string repeats the bug", .run = replays},
    {.name = "random executions find it, the same with the same seed", .run = random_finds_it},
    {.name = "not there under sequential consistency", .run = sequential_consistency_hides_it},
    {.name = "executions are told with their places, and replayed", .run = traces_and_replays},
    {.name = "bounds are reported", .run = bounds_are_reported},
    {0},
};
