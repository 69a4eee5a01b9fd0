/* SPDX-License-Identifier: MIT */
/* Goal: the checker leaves nothing out and makes nothing up.
 * Method: random programs of a few instructions, each run in ways whose sets of outcomes must be the
 * same:
 *   reduced   the search that all models use (dpor.c, and the fewer choices of memory.c), and that by states (states.c)
 *   naive     every interleaving and every value that the memory model has
 *   oracle    the rules of RC11, without any machine (oracle.c)
 * The first two must agree on every program; a program that can deadlock must be found out by both. The
 * oracle knows no locks and no loops, and where seq_cst accesses (not fences) are mixed with weaker ones it
 * may have outcomes that the machine leaves out (memory.c), but none that it lacks.
 *
 * 300 programs of each kind; 10,000 with --full. --seed S gives others.
 */
#include "oracle.h"

#include "ccmc.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Orders are data here, which the operations of <stdatomic.h> do not take: so what those are compiled to. */
uint32_t __tsan_atomic32_load(const volatile uint32_t *p, int order);
void __tsan_atomic32_store(volatile uint32_t *p, uint32_t v, int order);
uint32_t __tsan_atomic32_fetch_add(volatile uint32_t *p, uint32_t v, int order);
uint32_t __tsan_atomic32_exchange(volatile uint32_t *p, uint32_t v, int order);
int __tsan_atomic32_compare_exchange_strong(volatile uint32_t *p, uint32_t *e, uint32_t v, int order, int fail);
void __tsan_atomic_thread_fence(int order);

static struct program program;
static uint32_t atomic[ORACLE_ATOMICS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct mc_sem sem;
static char read_values[ORACLE_THREADS][2 * ORACLE_STEPS]; /* a digit each */

/* ---- running a program ---- */

static void locked_add(uint32_t *p, const struct instruction *i, bool wait) {
    if (wait)
        pthread_mutex_lock(&mutex);
    else if (pthread_mutex_trylock(&mutex) != 0)
        return;
    __tsan_atomic32_fetch_add(p, 1, i->order);
    pthread_mutex_unlock(&mutex);
}

static void if_store(uint32_t *p, const struct instruction *i) {
    uint32_t *other = &atomic[(i->atomic + 1) % ORACLE_ATOMICS];
    if (__tsan_atomic32_load(other, __ATOMIC_RELAXED) == 0) __tsan_atomic32_store(p, i->value, __ATOMIC_RELAXED);
}

/* How often it went round is part of the outcome. */
static int spin(uint32_t *p, const struct instruction *i) {
    int turns = 0;
    for (; __tsan_atomic32_load(p, i->order) == 0; turns++) mc_yield();
    return turns;
}

/* Makes one instruction; returns what it read, or -1. */
static int execute(const struct instruction *i) {
    uint32_t *p = &atomic[i->atomic], seen = i->expected;
    switch (i->kind) {
    case LOAD: return (int)__tsan_atomic32_load(p, i->order);
    case STORE: __tsan_atomic32_store(p, i->value, i->order); return -1;
    case ADD: return (int)__tsan_atomic32_fetch_add(p, 1, i->order);
    case SWAP: return (int)__tsan_atomic32_exchange(p, i->value, i->order);
    case CAS: __tsan_atomic32_compare_exchange_strong(p, &seen, i->value, i->order, i->fail_order); return (int)seen;
    case FENCE: __tsan_atomic_thread_fence(i->order); return -1;
    case LOCKED_ADD: locked_add(p, i, true); return -1;
    case TRY_ADD: locked_add(p, i, false); return -1;
    case IF_STORE: if_store(p, i); return -1;
    case SPIN: return spin(p, i);
    case SEM_WAIT: mc_sem_wait(&sem); return -1;
    case SEM_POST: mc_sem_post(&sem); return -1;
    case QUEUE_WAIT: return (int)syscall(SYS_futex, p, FUTEX_WAIT, 0, NULL, NULL, 0) + 1;
    default:
        __tsan_atomic32_store(p, i->value, i->order);
        return (int)syscall(SYS_futex, p, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static void run(int t) {
    int at = 0;
    for (int s = 0; s < program.steps[t]; s++) {
        int value = execute(&program.at[t][s]);
        if (value >= 0) read_values[t][at++] = (char)('0' + value);
    }
}

static void setup(void) {
    mc_sem_init(&sem, 1);
}
static void thread_0(void) {
    run(0);
}
static void thread_1(void) {
    run(1);
}
static void thread_2(void) {
    run(2);
}
static void thread_3(void) {
    run(3);
}
static void either(void) {
    run(mc_self());
}
static bool alike; /* the first two threads are: whichever is which is one outcome */
static void (*const threads[ORACLE_THREADS])(void) = {thread_0, thread_1, thread_2, thread_3};

static void check(void) {
    char text[ORACLE_TEXT + 20] = "";
    bool swap = alike && strcmp(read_values[0], read_values[1]) > 0;
    for (int t = 0; t < program.threads; t++) strcat(text, read_values[swap && t < 2 ? 1 - t : t]);
    strcat(text, "-");
    for (int a = 0; a < ORACLE_ATOMICS; a++) {
        char digit[2] = {(char)('0' + __tsan_atomic32_load(&atomic[a], __ATOMIC_RELAXED)), 0};
        strcat(text, digit);
    }
    mc_outcome("%s", text);
}

/* ---- making one up ---- */

static uint64_t random_state;

static unsigned below(unsigned n) { /* as cc__rng_below() */
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)(((z ^ (z >> 31)) >> 32) * n >> 32);
}

/* What programs are made of. */
enum flavour { WEAK, SEQ_CST, BLOCKING, WAITING, ALIKE };

static uint8_t order_for(unsigned kind, enum flavour flavour) {
    static const uint8_t load[] = {__ATOMIC_RELAXED, __ATOMIC_ACQUIRE, __ATOMIC_SEQ_CST};
    static const uint8_t store[] = {__ATOMIC_RELAXED, __ATOMIC_RELEASE, __ATOMIC_SEQ_CST};
    static const uint8_t update[] = {__ATOMIC_RELAXED, __ATOMIC_ACQUIRE, __ATOMIC_RELEASE, __ATOMIC_ACQ_REL,
                                     __ATOMIC_SEQ_CST};
    static const uint8_t fence[] = {__ATOMIC_ACQUIRE, __ATOMIC_RELEASE, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST};
    unsigned all = flavour == SEQ_CST;
    if (kind == FENCE && flavour == WAITING) return __ATOMIC_SEQ_CST;
    switch (kind) {
    case FENCE: return fence[below(4)];
    case LOAD:
    case SPIN: return load[below(2 + all)];
    case STORE:
    case QUEUE_WAKE: return store[below(2 + all)];
    default: return update[below(4 + all)];
    }
}

static struct instruction make_instruction(enum flavour flavour, unsigned atomics) {
    static const uint8_t often[] = {LOAD, LOAD, LOAD, STORE, STORE, STORE, ADD, SWAP, CAS, FENCE, FENCE};
    unsigned kind = often[below(sizeof often)];
    static const uint8_t waits[] = {SPIN, SPIN, SPIN, SEM_WAIT, SEM_POST, QUEUE_WAIT, QUEUE_WAKE};
    if (flavour == BLOCKING && below(2) == 0) kind = LOCKED_ADD + below(INSTRUCTIONS - LOCKED_ADD);
    if (flavour >= WAITING && below(3) == 0) kind = waits[below(sizeof waits)];
    struct instruction i = {.kind = (uint8_t)kind,
                            .atomic = (uint8_t)below(atomics),
                            .order = order_for(kind, flavour),
                            .fail_order = order_for(LOAD, WEAK),
                            .value = (uint8_t)(1 + below(2)),
                            .expected = (uint8_t)below(2)};
    return i;
}

static void make_program(enum flavour flavour) {
    static const unsigned longest[] = {0, 0, 4, 3, 2};
    program = (struct program){.threads = 2 + (int)below(3)};
    unsigned atomics = 1 + below(ORACLE_ATOMICS);
    for (int t = 0; t < program.threads; t++) {
        program.steps[t] = 1 + (int)below(longest[program.threads]);
        for (int s = 0; s < program.steps[t]; s++) program.at[t][s] = make_instruction(flavour, atomics);
    }
    alike = flavour == ALIKE;
    if (!alike) return;
    program.steps[1] = program.steps[0];
    memcpy(program.at[1], program.at[0], sizeof program.at[0]);
}

static void print_program(void) {
    static const char *const kinds[INSTRUCTIONS] = {"load",  "store",      "add",        "swap",      "cas",
                                                    "fence", "locked add", "try add",    "if store",  "spin",
                                                    "wait",  "post",       "futex wait", "futex wake"};
    static const char *const orders[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    for (int t = 0; t < program.threads; t++) {
        printf("    T%d:", t);
        for (int s = 0; s < program.steps[t]; s++) {
            const struct instruction *i = &program.at[t][s];
            printf(" %s %s", kinds[i->kind], orders[i->order]);
            if (i->kind != FENCE) printf(" %c", "xyz"[i->atomic]);
            if (i->kind == CAS) printf(" %u", i->expected);
            printf(" %u;", i->value);
        }
        printf("\n");
    }
}

/* ---- comparing ---- */

enum { NAIVE_EXECUTIONS = 8000 }; /* more and the program is too large */

/* Whether the oracle has what the last search saw; and nothing else, if it is to be the same. */
static bool as_the_oracle_says(bool same) {
    static struct outcomes allowed;
    oracle_outcomes(&program, &allowed);
    bool ok = true;
    for (const char *seen = mc_outcome_next(NULL); seen != NULL; seen = mc_outcome_next(seen)) {
        bool found = false;
        for (int i = 0; i < allowed.n && !found; i++) found = strcmp(seen, allowed.text[i]) == 0;
        if (!found) printf("    %s is not allowed\n", seen);
        ok = ok && found;
    }
    for (int i = 0; i < allowed.n && same; i++) {
        if (mc_outcome_seen(allowed.text[i])) continue;
        printf("    %s is allowed and never came\n", allowed.text[i]);
        ok = false;
    }
    return ok;
}

struct sums {
    uint64_t reduced, naive, skipped;
};

/* Whether the reduced search finds what the naive one did. */
static bool compare_reduced(const struct mc_scenario *s, const struct mc_result *naive, struct sums *sums) {
    struct mc_result reduced = mc_explore(s, &(struct mc_options){.mode = MC_REDUCED});
    sums->reduced += reduced.execs + reduced.pruned;
    bool whole = naive->bug != 0 || naive->exhausted, same = naive->bug == reduced.bug;
    if (whole && reduced.bug == 0) same = same && naive->digest == reduced.digest;
    if (!same && whole) {
        const char *how = s->fences ? " with .fences" : s->states ? " by states" : "";
        printf("    reduced%s: %llu outcomes, bug %u; naive: %llu outcomes, bug %u\n", how,
               (unsigned long long)reduced.outcomes, reduced.bug, (unsigned long long)naive->outcomes, naive->bug);
    }
    mc_result_fini(&reduced);
    return same || !whole;
}

static bool compare(enum flavour flavour, struct sums *sums) {
    struct mc_scenario s = {.name = "random program", .setup = setup, .check = check};
    for (int t = 0; t < program.threads; t++) s.thread[t] = alike && t < 2 ? either : threads[t];
    struct mc_options o = {.mode = MC_NAIVE, .max_execs = NAIVE_EXECUTIONS};
    struct mc_result naive = mc_explore(&s, &o);
    sums->naive += naive.execs;
    sums->skipped += naive.bug == 0 && !naive.exhausted;
    s.alike = alike;
    bool same = compare_reduced(&s, &naive, sums);
    s.states = true;
    same = compare_reduced(&s, &naive, sums) && same;
    s.states = false;
    s.fences = true; /* the naive search makes them in every order */
    if (flavour != SEQ_CST) same = compare_reduced(&s, &naive, sums) && same;
    mc_result_fini(&naive);
    return same && (flavour >= BLOCKING || as_the_oracle_says(flavour == WEAK));
}

static int compare_many(enum flavour flavour, const struct mc_options *o) {
    unsigned programs = o->full ? 10000 : 300, wrong = 0;
    struct sums sums = {0};
    random_state = o->seed * 1000 + (unsigned)flavour;
    for (unsigned i = 0; i < programs && wrong < 5; i++) {
        make_program(flavour);
        if (compare(flavour, &sums)) continue;
        wrong++;
        printf("    program %u, seed %llu:\n", i, (unsigned long long)o->seed);
        print_program();
    }
    printf("     %u programs, %u mismatches; executions: reduced %llu, naive %llu (%llu programs too large for it)\n",
           programs, wrong, (unsigned long long)sums.reduced, (unsigned long long)sums.naive,
           (unsigned long long)sums.skipped);
    return wrong > 0;
}

static int weak(const struct mc_options *o) {
    return compare_many(WEAK, o);
}
static int seq_cst(const struct mc_options *o) {
    return compare_many(SEQ_CST, o);
}
static int blocking(const struct mc_options *o) {
    return compare_many(BLOCKING, o);
}
static int waiting(const struct mc_options *o) {
    return compare_many(WAITING, o);
}

static int two_alike(const struct mc_options *o) {
    return compare_many(ALIKE, o);
}

const struct mc_scenario mc_scenarios[] = {
    {.name = "accesses of all orders but seq_cst, all fences", .run = weak},
    {.name = "seq_cst accesses too", .run = seq_cst},
    {.name = "locks, semaphores, futexes, spin loops", .run = blocking},
    {.name = "full fences, spin loops", .run = waiting},
    {.name = "two threads alike", .run = two_alike},
    {0},
};
