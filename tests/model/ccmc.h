/* SPDX-License-Identifier: MIT */
/* ccmc: a model checker for the library's own sources. This header is all that a scenario needs.
 *
 * A scenario is a handful of threads that call real code of src/. The checker runs them again and again
 * until it has seen every way they can interleave and every value that C11 allows each atomic load to see,
 * and in each of those executions looks for failed assertions, data races, deadlocks, lost wake-ups, memory
 * used after it was freed, and leaks. Nothing is sampled and no number of preemptions is assumed:
 * "exhausted" means that no execution was left out. README.md tells how it works.
 *
 * A file tests/model/model_<protocol>.c opens with a comment that has a line
 *     Sources: src/base/bits.c            (the files of the library that it needs, if any)
 * and ends with the table of its scenarios:
 *
 *     const struct mc_scenario mc_scenarios[] = {
 *         {.name = "one setter, one claimer", .setup = setup, .thread = {setter, claimer}, .check = claimed_once},
 *         {.name = "claim without acquire", .setup = setup, .thread = {setter, careless}, .expect = MC_RACE},
 *         {0},
 *     };
 *
 * Inside a scenario everything is as in any C program: atomics, plain memory, malloc(), pthread mutexes,
 * pthread_create(), futexes, and the library's own context switch. Globals and thread-locals of the program
 * begin each execution as the process began, so setup() need only set what differs. What must not be done:
 * wait in the kernel, map memory, read clocks or random numbers for real. */
#ifndef CCMC_H
#define CCMC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

enum { MC_THREADS = 6 };

/* What can be wrong with an execution. */
enum mc_bug {
    MC_ASSERT = 1u << 0,         /* mc_assert(), CC_CHECK(), CC_ASSERT(), assert(), abort() */
    MC_RACE = 1u << 1,           /* two accesses, one a write, one not atomic, neither before the other */
    MC_DEADLOCK = 1u << 2,       /* threads wait, and nobody is left to wake them: also a lost wake-up */
    MC_USE_AFTER_FREE = 1u << 3, /* an access to freed memory, beside what was allocated, or to a frame that is gone */
    MC_DOUBLE_FREE = 1u << 4,    /* free() of what is not, or no longer, allocated */
    MC_LEAK = 1u << 5,           /* allocated and not freed when check() is through */
    MC_CRASH = 1u << 6,          /* a signal, or an endless loop without any atomic operation */
    MC_MISUSE = 1u << 7,         /* of a mutex, a thread, an atomic accessed by two sizes */
};

struct mc_options;

struct mc_scenario {
    const char *name;
    void (*setup)(void); /* before the threads; may be NULL, and so may check */
    void (*thread[MC_THREADS])(void);
    void (*check)(void); /* after the last thread has ended; sees all they did */

    /* A must-fail twin: it passes if one of these bugs is found, and fails if none is. */
    unsigned expect;
    /* Every outcome there is, as given to mc_outcome(), with a space between two: one more or one less
     * fails the scenario. NULL: whatever they are. */
    const char *outcomes;

    bool quiet; /* threads may wait in a futex for ever: check() is called then, too, and looks who, by mc_sleeps() */
    unsigned first; /* so many of the threads run before the others, one by one, each until it waits: one way to begin,
                     * where to try all would take too long */
    bool alike;     /* threads with the same function do the same: they begin in their order, since any other is the
                     * same with the names changed */
    bool fences;    /* its only seq_cst operations are fences: they need not be tried in every order (fences.c) */
    bool states;    /* search by states, not by executions: where many of those come to the same (states.c). No heap,
                     * no other threads */
    bool sc;        /* sequential consistency, as with --sc: where every value that C11 allows would be too many */
    bool full;      /* takes long: run with --full only */
    bool leaks;     /* what is allocated need not be freed */

    /* Bounds; 0 means the default. One that is hit is always reported, and fails the scenario unless
     * it says that it is bounded. */
    bool bounded;
    unsigned max_steps; /* operations in one execution; default 1000, at most 4000 */
    unsigned max_spins; /* returns from mc_yield(), a thread; default 20 */
    uint64_t max_execs; /* executions; default no limit */
    unsigned spurious;  /* how often a thread's futex wait or weak compare-and-swap fails for no reason; default 0 */
    int (*run)(const struct mc_options *options); /* instead of all the above: returns 0, or 1 for failure */
};

/* Defined by each model_<protocol>.c; ends with one that has no name. */
extern const struct mc_scenario mc_scenarios[];

/* ---- for the code of a scenario ---- */

/* The condition holds, or this execution is a bug. */
#define mc_assert(cond) ((void)((cond) || (mc_assert_failed(#cond, __FILE__, __LINE__), 0)))
void mc_assert_failed(const char *cond, const char *file, int line);

/* Any number in [0, n): all of them are tried. Also in setup() and check(). */
int mc_choose(int n);

/* One turn of a spin loop: do not come back before something that was looked at since the last turn has
 * changed, and then see the change. Without it a loop that waits for another thread has no end. */
void mc_yield(void);

/* Wait until an atomic of 32 bits is not this, in one step: for a futex in scenarios that are too large with the real
 * one. False: it timed out, as it may at any time if `timed`. */
bool mc_await(const void *word, uint32_t not_this, bool timed);

/* The number of this thread, from 0. */
int mc_self(void);

/* Whether a thread waits in a futex: for check(), where a scenario is `quiet`. */
bool mc_sleeps(int thread);

/* Say what came out of this execution, in check(): one word, printf style. */
void mc_outcome(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A counting semaphore: for run queues and the like that are not what is being checked. A post
 * happens before the waits that follow it. */
struct mc_sem {
    int unused;
};
void mc_sem_init(struct mc_sem *s, int count);
void mc_sem_wait(struct mc_sem *s);
void mc_sem_post(struct mc_sem *s);

/* Memory for a stack that the scenario switches to, for this execution only; the checker sees accesses to
 * it as to any other memory. */
void *mc_stack(size_t bytes);

/* In setup(): atomics that no thread will change, which then cost nothing to load. A thread that does is a bug. */
void mc_constant(const void *at, size_t bytes);

/* In setup(): counters that nobody acts on, not even who counts. No thread sees them change, and there are no steps. */
void mc_statistics(const void *at, size_t bytes);

/* What this thread does from now on does not follow from what it has read so far, but from `now` and what it will read:
 * it is in the middle of no spin loop, and its variables are `now` and what never changes. For `states`: the fewer of
 * them there are, the more of its pasts are the same. Wrong, it hides executions. */
void mc_forget(uint64_t now);

/* Until its next full fence this thread loads no atomics but those of mc_sees(), which comes after, and what it stores
 * or updates of the others has one place to go: it is a bug otherwise. For `states`: what is old is nothing to it. */
void mc_blind(void);
void mc_sees(const void *at, size_t bytes);

/* Have fn called for each access to memory that instrumented code makes from now on in this execution; NULL: no more.
 * fn itself must not be instrumented. An atomic operation writes if it stores. */
void mc_watch(void (*fn)(const void *at, size_t bytes, bool write));

/* ---- for programs that explore by themselves ---- */

enum mc_mode {
    MC_REDUCED, /* every execution but those that differ in the order of independent steps only */
    MC_NAIVE,   /* every execution: slow, to test the other one */
    MC_RANDOM,
};

struct mc_options {
    enum mc_mode mode;
    bool sc_only;       /* sequential consistency: each load sees the newest store */
    bool full;          /* the long form of everything */
    bool trace;         /* tell executions: replayed ones, and with mc_main() those that fail as they must */
    bool stop_at_bound; /* one that is hit has shown what it will: do not search on */
    uint64_t max_execs; /* 0: no limit; with MC_RANDOM, how many */
    uint64_t seed;
    const char *replay; /* run one execution only */
};

struct mc_result {
    unsigned bug;   /* an enum mc_bug, or 0 */
    char text[512]; /* what it is */
    char *replay;   /* the execution that has it; freed by mc_result_fini() */

    uint64_t execs;  /* to the end */
    uint64_t pruned; /* given up: the same as one that was run before */
    uint64_t cut;    /* given up at a bound */
    uint64_t steps;
    uint64_t states;   /* of a search by those */
    bool exhausted;    /* nothing was left out */
    char bound[128];   /* which bound was hit first, or empty */
    uint64_t outcomes; /* how many differ in some result of some thread, or in what mc_outcome() was told */
    uint64_t digest;   /* of the set of outcomes: equal sets, equal digests */
    double seconds;
};

struct mc_result mc_explore(const struct mc_scenario *s, const struct mc_options *o);
void mc_result_fini(struct mc_result *r);

/* Whether an outcome was seen by the last mc_explore(); and all of them in turn, NULL after the last. */
bool mc_outcome_seen(const char *outcome);
const char *mc_outcome_next(const char *previous);

/* What main() does: run the scenarios that the arguments ask for. Returns 0, 1 or 2 (bad arguments). */
int mc_main(int argc, char **argv, const struct mc_scenario *scenarios);

#pragma GCC visibility pop

#endif /* CCMC_H */
