/* SPDX-License-Identifier: MIT */
/* The command line of a model: run its scenarios, say what came out, and whether that is what was expected.
 *
 * A scenario passes if
 *   it expects no bug, none was found, and the search was exhausted (or says that it is bounded, and was);
 *   it expects a bug of some kinds, and one of these was found;
 *   and the outcomes are those it lists, if it does.
 * With --random, --sc or --replay less is looked at: a bug where none is expected is a failure, nothing
 * else. */
#include "ccmc.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: %s [OPTION...] [NAME...]     scenarios whose name has NAME in it; all without\n"
    "  --list              what there is\n"
    "  --full              the long scenarios, too\n"
    "  --passing           only those that expect no bug\n"
    "  --first             stop at the first that fails, or hits a bound; try a few of all before\n"
    "  --mutant N          one of the mutants that mutate.py has built in\n"
    "  --trace             tell the execution that fails, also where that is expected\n"
    "  --sc                sequential consistency: each load sees the newest store\n"
    "  --max-execs N       stop a search after N executions (which then is not exhausted)\n"
    "  --random N          N random executions instead of a search; --seed S repeats them\n"
    "  --replay STRING     one execution, told; NAME is the scenario it belongs to\n";

/* Read by what mutate.py makes of sources. */
__attribute__((visibility("default"))) int mc_mutant;

struct run {
    const char *program;
    struct mc_options options;
    bool list, passing, first;
    char **names;
    int n;
};

static const char *bug_name(unsigned bug) {
    static const char *const names[] = {"assertion", "data race", "deadlock", "use after free",
                                        "bad free",  "leak",      "crash",    "misuse"};
    return bug != 0 ? names[__builtin_ctz(bug)] : "none";
}

static bool asked_for(const struct run *run, const struct mc_scenario *s) {
    if (s->full && !run->options.full && run->n == 0) return false;
    if (run->passing && s->expect != 0) return false;
    for (int i = 0; i < run->n; i++)
        if (strstr(s->name, run->names[i]) != NULL) return true;
    return run->n == 0;
}

/* ---- verdicts ---- */

/* Whether a word is one of a list. */
static bool listed(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n) {
        bool whole = (at == list || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ');
        if (whole) return true;
    }
    return false;
}

static bool outcomes_as_listed(const char *list) {
    bool ok = true;
    for (const char *o = mc_outcome_next(NULL); o != NULL; o = mc_outcome_next(o)) {
        if (listed(list, o)) continue;
        printf("      outcome %s is not in the list: %s\n", o, list);
        ok = false;
    }
    char *copy = strdup(list), *save = NULL;
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
        if (mc_outcome_seen(word)) continue;
        printf("      outcome %s is in the list and never came\n", word);
        ok = false;
    }
    free(copy);
    return ok;
}

/* Why a scenario fails, or NULL. */
static const char *objection(const struct run *run, const struct mc_scenario *s, const struct mc_result *r) {
    if (r->bug != 0 && s->expect == 0) return "a bug";
    if (r->bug != 0 && (s->expect & r->bug) == 0) return "another bug than expected";
    if (run->options.mode == MC_RANDOM || run->options.sc_only) return NULL;
    if (s->expect != 0) return r->bug != 0 ? NULL : "the bug it must have was not found";
    if (!r->exhausted && !s->bounded) return "not exhausted";
    if (r->exhausted && s->bounded) return "it says it is bounded, and is not";
    if (s->outcomes != NULL && !outcomes_as_listed(s->outcomes)) return "other outcomes than expected";
    return NULL;
}

static void print_result(const struct mc_scenario *s, const struct mc_result *r, const char *wrong) {
    printf("%s %-46s %9llu executions %7llu pruned %10llu steps %6llu outcomes %7.2f s  ",
           wrong != NULL ? "FAIL" : "pass", s->name, (unsigned long long)r->execs, (unsigned long long)r->pruned,
           (unsigned long long)r->steps, (unsigned long long)r->outcomes, r->seconds);
    if (r->states != 0) printf("%llu states, ", (unsigned long long)r->states);
    if (r->bug != 0)
        printf("%s%s\n", bug_name(r->bug), wrong != NULL ? "" : ", as it must");
    else if (r->exhausted)
        printf("exhausted\n");
    else
        printf("NOT exhausted: %llu cut, %s\n", (unsigned long long)r->cut, r->bound);
    if (wrong != NULL) printf("      %s%s%s\n", wrong, r->bug != 0 ? ": " : "", r->text);
}

/* ---- runs ---- */

static void tell(const struct run *run, const struct mc_scenario *s, const char *replay) {
    struct mc_options again = run->options;
    again.replay = replay;
    again.trace = true;
    struct mc_result r = mc_explore(s, &again);
    mc_result_fini(&r);
    printf("  replay: %s\n", replay);
    printf("  (%s --replay %s '%s')\n", run->program, replay, s->name);
}

static bool run_one(const struct run *run, const struct mc_scenario *s) {
    if (s->run != NULL) {
        bool ok = s->run(&run->options) == 0;
        printf("%s %s\n", ok ? "pass" : "FAIL", s->name);
        return ok;
    }
    struct mc_result r = mc_explore(s, &run->options);
    const char *wrong = objection(run, s, &r);
    print_result(s, &r, wrong);
    if (r.bug != 0 && (wrong != NULL || run->options.trace)) tell(run, s, r.replay);
    fflush(stdout);
    mc_result_fini(&r);
    return wrong == NULL;
}

static int run_replay(const struct run *run, const struct mc_scenario *scenarios) {
    for (const struct mc_scenario *s = scenarios; s->name != NULL; s++) {
        if (run->n == 0 || !asked_for(run, s) || s->run != NULL) continue;
        struct mc_result r = mc_explore(s, &run->options);
        printf("  %s: %s\n", s->name, bug_name(r.bug));
        int rc = r.bug != 0;
        mc_result_fini(&r);
        return rc;
    }
    fprintf(stderr, "%s: --replay needs the name of a scenario\n", run->program);
    return 2;
}

enum { SAMPLES = 20 };

/* Most mistakes are in many executions, and a few of each scenario find them sooner than searching one after the
 * other. */
static bool sample_fails(const struct run *run, const struct mc_scenario *scenarios, enum mc_mode mode) {
    struct mc_options o = run->options;
    o.mode = mode;
    o.max_execs = SAMPLES;
    for (const struct mc_scenario *s = scenarios; s->name != NULL; s++) {
        if (!asked_for(run, s) || s->run != NULL || s->expect != 0) continue;
        struct mc_result r = mc_explore(s, &o);
        unsigned bug = r.bug;
        if (bug != 0) print_result(s, &r, "a bug");
        mc_result_fini(&r);
        if (bug != 0) return true;
    }
    return false;
}

static int run_all(const struct run *run, const struct mc_scenario *scenarios) {
    unsigned passed = 0, failed = 0;
    bool sample = run->first && run->options.mode == MC_REDUCED;
    if (sample && (sample_fails(run, scenarios, MC_RANDOM) || sample_fails(run, scenarios, MC_REDUCED))) return 1;
    for (const struct mc_scenario *s = scenarios; s->name != NULL; s++) {
        if (run->list) {
            printf("%s%s%s\n", s->name, s->expect != 0 ? "  (must fail)" : "", s->full ? "  (--full)" : "");
            continue;
        }
        if (!asked_for(run, s)) continue;
        bool ok = run_one(run, s);
        passed += ok;
        failed += !ok;
        if (!ok && run->first) break;
    }
    if (run->list) return 0;
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0 || passed == 0;
}

/* ---- arguments ---- */

static bool parse(struct run *run, int argc, char **argv) {
    static const struct option known[] = {
        {"list", no_argument, NULL, 'l'},
        {"full", no_argument, NULL, 'f'},
        {"passing", no_argument, NULL, 'p'},
        {"first", no_argument, NULL, '1'},
        {"mutant", required_argument, NULL, 'M'},
        {"trace", no_argument, NULL, 't'},
        {"sc", no_argument, NULL, 's'},
        {"max-execs", required_argument, NULL, 'm'},
        {"random", required_argument, NULL, 'r'},
        {"seed", required_argument, NULL, 'S'},
        {"replay", required_argument, NULL, 'R'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct mc_options *o = &run->options;
    o->seed = 1;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'l': run->list = true; break;
        case 'f': o->full = true; break;
        case 'p': run->passing = true; break;
        case '1': run->first = o->stop_at_bound = true; break;
        case 'M': mc_mutant = (int)strtol(optarg, NULL, 10); break;
        case 't': o->trace = true; break;
        case 's': o->sc_only = true; break;
        case 'm': o->max_execs = strtoull(optarg, NULL, 10); break;
        case 'r':
            o->mode = MC_RANDOM;
            o->max_execs = strtoull(optarg, NULL, 10);
            break;
        case 'S': o->seed = strtoull(optarg, NULL, 10); break;
        case 'R':
            o->replay = optarg;
            o->trace = true;
            break;
        default: return false;
        }
    }
    run->names = argv + optind;
    run->n = argc - optind;
    return o->mode != MC_RANDOM || o->max_execs > 0;
}

int mc_main(int argc, char **argv, const struct mc_scenario *scenarios) {
    struct run run = {.program = argv[0]};
    if (!parse(&run, argc, argv)) {
        fprintf(stderr, usage, argv[0]);
        return 2;
    }
    if (run.options.replay != NULL) return run_replay(&run, scenarios);
    if (run.options.mode == MC_RANDOM) printf("seed %llu\n", (unsigned long long)run.options.seed);
    return run_all(&run, scenarios);
}
