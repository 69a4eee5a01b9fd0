/* SPDX-License-Identifier: MIT */
/* The search: runs the scenario again and again, each time another way, until no way is left.
 *
 * The checker is stateless (Godefroid's VeriSoft, POPL 1997): it keeps no states that were seen, only the
 * list of choices of the last execution, one node a step: which thread was let go on, and which of its
 * operation's possible results it got. To try something else at a node, the scenario is run anew from the
 * beginning, or from a snapshot of the same execution (snapshot.c), with the choices up to that node as before. For
 * that, all that a scenario does must follow from
 * those choices: memory, thread-locals and heap start the same each time (image.c, arena.c), and where an
 * execution takes another way than it did before with the same choices, the checker says so and stops.
 *
 * One thread runs at a time, each on a stack of its own (threads.c). An operation arrives in mc__visible():
 * the thread says what it wants to do, the search picks who goes on, and when it is this thread's turn the
 * operation is made. Plain code between operations runs along with the one before it.
 *
 *   setup, as thread MAIN -> every thread up to its first operation -> steps until all have ended -> check
 *
 * Modes. MC_REDUCED tries at each node what dpor.c asks for. MC_NAIVE tries every enabled thread and every
 * value that the memory model has: the yardstick for the former. MC_RANDOM picks at random. A replay string
 * gives all choices; what follows its end is picked at random. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct mc__state mc;

enum { OUTCOMES = 1u << 18, NAMED = 2000, NAME_BYTES = 48 };

static struct {
    uint64_t random;
    uint64_t *set;                /* of digests of outcomes, a hash table */
    char name[NAMED][NAME_BYTES]; /* outcomes that mc_outcome() was told, in order of appearance */
    unsigned names;
    int named; /* that of this execution, or -1 */
    struct mc__forced *forced;
    unsigned forced_steps;
} search;

/* ---- how executions end ---- */

void mc__bug(enum mc_bug kind, const void *pc, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(mc.result.text, sizeof mc.result.text, format, args);
    va_end(args);
    mc.result.bug = kind;
    mc.bug_pc[0] = pc;
    mc.bug_tid[0] = mc.self;
    mc.end = MC__BUG;
}

void mc__fail(enum mc_bug kind, const void *pc, const char *format, ...) {
    char text[sizeof mc.result.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mc__bug(kind, pc, "%s", text);
    mc__to_driver();
}

static void cut(const char *text) {
    mc.end = MC__CUT;
    mc.result.exhausted = false;
    if (mc.result.bound[0] == 0) snprintf(mc.result.bound, sizeof mc.result.bound, "%s", text);
}

void mc__cut(const char *format, ...) {
    char text[sizeof mc.result.bound];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cut(text);
    mc__to_driver();
}

void mc__die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "ccmc: %s: ", mc.scenario->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(2);
}

/* Nobody can go on. */
static void deadlock(void) {
    char text[400];
    int at = 0;
    for (unsigned i = 0; i < mc.threads; i++) {
        const struct mc__thread *t = &mc.thread[i];
        if (t->done) continue;
        const char *on = t->op.addr != 0 ? mc__trace_name(t->op.addr) : "";
        if (at < (int)sizeof text - 1)
            at += snprintf(text + at, sizeof text - (size_t)at, "%s T%u in %s%s%s", at > 0 ? "," : "", i,
                           t->op.kind->name, on[0] != 0 ? " of " : "", on);
    }
    mc__bug(MC_DEADLOCK, NULL, "deadlock, or a lost wake-up:%s, forever", text);
}

/* Nobody can go on, and need not: all that wait do so in futexes, and the scenario says that they may. */
static bool quiet(void) {
    for (unsigned i = 0; i < mc.threads; i++)
        if (!mc.thread[i].done && !mc__in_futex(&mc.thread[i])) return false;
    return mc.scenario->quiet;
}

/* ---- one step ---- */

static uint64_t random_below(uint64_t n) { /* splitmix64, as base/rng.h */
    uint64_t z = (search.random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

/* A load of some bytes of a larger atomic, as of a futex word that is half of one: the whole is looked at. */
static void op_widen(struct mc__op *op) {
    for (unsigned i = 0; i < mc.objects; i++) {
        const struct mc__object *o = &mc.object[i];
        bool inside = op->addr >= o->addr && op->addr + op->size <= o->addr + o->size;
        if (o->kind != MC__ATOMIC || !inside || op->size == o->size) continue;
        op->shift = (uint8_t)(8 * (op->addr - o->addr));
        op->part = op->size;
        op->addr = o->addr;
        op->size = o->size;
    }
}

static void op_prepare(struct mc__op *op) {
    const struct mc__kind *k = op->kind;
    if (k->part && mc__object_known(op->addr, op->size, MC__ATOMIC) == MC__NO_OBJECT) op_widen(op);
    op->writes = k->writes;
    bool plain = mc.options.sc_only || mc.scenario->fences;
    op->sc = plain ? MC__SC_NONE : k->sc; /* all see the newest as it is, or fences.c orders them */
    op->object = op->object2 = MC__NO_OBJECT;
    bool access = k->object == MC__ATOMIC && (op->order == __ATOMIC_SEQ_CST || op->fail_order == __ATOMIC_SEQ_CST);
    if (access && mc.scenario->fences) mc__die("a seq_cst access, and .fences");
    if (access && !mc.options.sc_only) op->sc = MC__SC_ACCESS;
    if (k->object != MC__NOTHING)
        op->object = (uint8_t)mc__object_at(op->addr, op->size, (enum mc__object_kind)k->object);
    if (k->queue) op->object2 = (uint8_t)mc__object_at(op->queue, sizeof(uint32_t), MC__QUEUE);
}

/* Where threads that are alike have not begun, the one with the lowest number begins. That is the program in which the
 * step that begins such a thread lets the next one begin, as if it had created it: of executions that are the same but
 * for the names of the threads, it has one at least, and it is searched as any other. */
static bool twin_begins(const struct mc__thread *t) {
    if (!mc.scenario->alike || t->tid == 0 || t->count > 0 || t->body == NULL) return true;
    return t[-1].body != t->body || t[-1].count > 0;
}

static void twin_begun(const struct mc__thread *t, const struct mc__node *n) {
    struct mc__thread *next = &mc.thread[t->tid + 1];
    if (!mc.scenario->alike || t->count != 1 || next->tid >= mc.threads || next->body != t->body) return;
    mc__clock_join(&next->past, &n->past);
    next->last = (int)mc.depth - 1;
}

static bool can_go_on(const struct mc__thread *t) {
    return !t->done && twin_begins(t) && (t->op.kind->enabled == NULL || t->op.kind->enabled(t));
}

/* The first threads of a scenario that says so have the machine to themselves, one by one, each until it waits. Then
 * all that they did comes before whatever follows: the order is given, not one of many. */
static bool begins_alone(void) {
    if (mc.alone >= mc.scenario->first) return false;
    while (mc.alone < mc.scenario->first && !can_go_on(&mc.thread[mc.alone])) mc.alone++;
    if (mc.alone < mc.scenario->first) return true;
    struct mc__clock before = {{0}};
    for (unsigned i = 0; i < mc.scenario->first; i++) mc__clock_join(&before, &mc.thread[i].past);
    for (unsigned i = 0; i < mc.threads; i++) mc__clock_join(&mc.thread[i].past, &before);
    return false;
}

static mc__mask enabled_threads(void) {
    mc__mask enabled = 0;
    if (begins_alone()) return MC__BIT(mc.alone);
    for (unsigned i = 0; i < mc.threads; i++) {
        if (can_go_on(&mc.thread[i])) enabled |= MC__BIT(i);
    }
    return enabled;
}

static unsigned nth_of(mc__mask mask, unsigned n) {
    while (n-- > 0) mask &= (mc__mask)(mask - 1);
    return (unsigned)__builtin_ctz(mask);
}

/* The thread to be tried first at a new node; the last one to go on is preferred: fewer switches. */
static int node_pick(struct mc__node *n) {
    const struct mc__node *before = mc.depth > 0 ? n - 1 : NULL;
    if (mc.depth < search.forced_steps) return search.forced[mc.depth].tid;
    if (mc.options.mode == MC_RANDOM)
        return (int)nth_of(n->enabled, (unsigned)random_below((unsigned)__builtin_popcount(n->enabled)));
    if ((mc.options.mode == MC_REDUCED || mc.by_states) && before != NULL) n->sleep = mc__dpor_sleep(before);
    mc__mask awake = n->enabled & (mc__mask)~n->sleep;
    if (awake == 0) return -1;
    bool same = before != NULL && (awake & MC__BIT(before->tid)) != 0;
    return same ? before->tid : (int)nth_of(awake, 0);
}

static struct mc__node *node_new(mc__mask enabled) {
    if (mc.depth >= mc.max_steps) {
        char text[64];
        snprintf(text, sizeof text, "%u steps in one execution", mc.max_steps);
        cut(text);
        return NULL;
    }
    struct mc__node *n = &mc.node[mc.depth];
    if (mc.depth < mc.replay) {
        if ((enabled & MC__BIT(n->tid)) == 0) mc__die("not deterministic: the same choices led elsewhere");
        return n;
    }
    n->enabled = enabled;
    n->done = n->sleep = 0;
    n->choice = n->choices = 0;
    int tid = node_pick(n);
    bool main = enabled == MC__BIT(MC__MAIN);
    if (tid >= 0 && mc.by_states && !main && mc__states_seen(n->sleep)) tid = -1;
    if (tid < 0) {
        mc.end = MC__PRUNED;
        return NULL;
    }
    if ((enabled & MC__BIT(tid)) == 0) mc__die("the replay string does not fit: thread %c cannot go on", 'a' + tid);
    n->tid = (uint8_t)tid;
    n->backtrack = mc.options.mode == MC_NAIVE ? enabled : MC__BIT(tid);
    return n;
}

/* Who goes on: a thread, or -1 and mc.end says why not. */
static int schedule(void) {
    mc__mask enabled = enabled_threads();
    bool all_done = true;
    for (unsigned i = 0; i < mc.threads; i++) all_done = all_done && mc.thread[i].done;
    struct mc__node *n = NULL;
    if (all_done)
        mc.end = MC__DONE;
    else if (enabled == 0 && quiet())
        mc.end = MC__DONE;
    else if (enabled == 0)
        deadlock();
    else
        n = node_new(enabled);
    if (n == NULL) {
        bool more = mc.end == MC__PRUNED || mc.end == MC__CUT || !all_done;
        if (more && mc.options.mode == MC_REDUCED) mc__dpor_never_made();
        return -1;
    }
    n->op = mc.thread[n->tid].op;
    mc.depth++;
    mc.result.steps++;
    n->count = ++mc.thread[n->tid].count;
    return n->tid;
}

/* Which of its possible results the operation of this node gets. */
static unsigned choose(const struct mc__thread *t, struct mc__node *n) {
    uint16_t codes[MC__CODES];
    codes[0] = 0;
    unsigned count = n->op.kind->options != NULL ? n->op.kind->options(t, &n->op, codes) : 1;
    if (mc.depth <= search.forced_steps) {
        uint16_t code = search.forced[mc.depth - 1].code;
        for (n->choice = 0; n->choice < count && codes[n->choice] != code;) n->choice++;
        if (n->choice == count) mc__die("the replay string does not fit: step %u cannot be %u", mc.depth, code);
    } else if (mc.options.mode == MC_RANDOM) {
        n->choice = (uint16_t)random_below(count);
    }
    bool known = n->choices != 0 && n->choices != count;
    if (n->choice >= count || (known && mc.options.mode != MC_RANDOM))
        mc__die("not deterministic: the same choices led elsewhere");
    n->choices = (uint16_t)count;
    n->code = codes[n->choice];
    return n->code;
}

static mc__word step(struct mc__thread *t) {
    struct mc__node *n = &mc.node[mc.depth - 1];
    n->result = n->op.kind->apply(t, &n->op, choose(t, n));
    t->now.before.t[t->tid]++; /* what it does from now on is not part of what the operation published */
    t->digest = mc__mix(mc__mix(t->digest, (uint64_t)n->result), n->op.writes);
    mc__dpor_step(n, mc.options.mode == MC_REDUCED && mc.depth >= mc.replay);
    twin_begun(t, n);
    return n->result;
}

/* setup() and check(): alone, so nothing to choose but what they ask for. */
static mc__word step_of_main(struct mc__thread *t) {
    struct mc__op *op = &t->op;
    if (++t->alone > 1000000) mc__fail(MC_CRASH, op->pc, "1,000,000 operations in setup or check: an endless loop");
    if (op->kind->enabled != NULL && !op->kind->enabled(t))
        mc__fail(MC_DEADLOCK, op->pc, "%s waits in setup or check", op->kind->name);
    if (op->kind != &mc__choice) return op->kind->apply(t, op, 0);
    struct mc__node *n = node_new(MC__BIT(MC__MAIN));
    if (n == NULL) mc__to_driver();
    n->op = *op;
    n->count = 0;
    mc.depth++;
    mc.result.steps++;
    return step(t);
}

void mc__go_on(void) {
    unsigned self = mc.self;
    if (mc.depth == mc.pause) {
        mc__thread_pause();
        return;
    }
    int next = schedule();
    if (next < 0) mc__to_driver();
    if ((unsigned)next != self) mc__switch_to((unsigned)next);
}

mc__word mc__visible(struct mc__op op) {
    if (!mc.running || mc__no_step(&op)) return mc__direct(&op);
    struct mc__thread *t = mc__self();
    t->quiet = 0;
    t->frame = *(uintptr_t *)__builtin_frame_address(0); /* of our caller, which the program called */
    op_prepare(&op);
    t->op = op;
    if (t->tid == MC__MAIN) return step_of_main(t);
    if (t->starting)
        mc__thread_started();
    else
        mc__go_on();
    return step(t);
}

/* ---- outcomes ---- */

static void outcome_add(void) {
    uint64_t h = 0x9e3779b97f4a7c15u;
    if (search.named >= 0) {
        for (const char *c = search.name[search.named]; *c != 0; c++) h = mc__mix(h, (uint64_t)*c);
    } else {
        for (unsigned i = 0; i < mc.threads; i++) h = mc__mix(h, mc.thread[i].digest);
        uint64_t memory = 0; /* a sum: objects are in the order of their first use */
        for (unsigned i = 0; i < mc.objects; i++) {
            const struct mc__object *o = &mc.object[i];
            if (o->kind == MC__ATOMIC) memory += mc__mix(mc__mix(1, (uint64_t)o->addr), (uint64_t)mc__newest(o));
        }
        h = mc__mix(h, memory);
    }
    h |= 1;
    size_t k = h >> 40;
    while (search.set[k % OUTCOMES] != 0 && search.set[k % OUTCOMES] != h) k++;
    if (search.set[k % OUTCOMES] == h || mc.result.outcomes > OUTCOMES / 2) return;
    search.set[k % OUTCOMES] = h;
    mc.result.outcomes++;
    mc.result.digest += mc__mix(h, 1);
}

void mc_outcome(const char *format, ...) {
    char text[NAME_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (unsigned i = 0; i <= search.names; i++) {
        if (i == NAMED) mc__die("more than %d outcomes", NAMED);
        if (i == search.names) strcpy(search.name[search.names++], text);
        search.named = (int)i;
        if (strcmp(search.name[i], text) == 0) break;
    }
    mc__trace(NULL, "outcome %s", text);
}

bool mc_outcome_seen(const char *outcome) {
    for (unsigned i = 0; i < search.names; i++)
        if (strcmp(search.name[i], outcome) == 0) return true;
    return false;
}

const char *mc_outcome_next(const char *previous) {
    unsigned i = previous == NULL ? 0 : (unsigned)((previous - search.name[0]) / NAME_BYTES) + 1;
    return i < search.names ? search.name[i] : NULL;
}

/* ---- executions ---- */

static void execution_threads(void) {
    const struct mc__thread *before = &mc.thread[MC__MAIN];
    for (unsigned i = 0; i < MC_THREADS && mc.scenario->thread[i] != NULL; i++) {
        struct mc__thread *t = &mc.thread[mc.threads++];
        t->now = before->now;
        t->now.before.t[t->tid] = 1;
        t->acquired = t->now;
        t->body = mc.scenario->thread[i];
        mc__thread_prepare(t->tid);
    }
    unsigned threads = mc.threads;
    for (unsigned i = 0; i < threads && mc.end == MC__RUNNING; i++) mc__thread_start(i, &mc.driver);
}

static void execution_begin(void) {
    mc.depth = mc.alone = mc.told = 0;
    mc__image_reset();
    mc__memory_reset();
    mc__fences_reset();
    mc__race_reset();
    mc__arena_reset();
    mc__threads_reset();
    mc__shims_reset();
    mc.watch = NULL;
    mc.thread[MC__MAIN].now.before.t[MC__MAIN] = 1;
    if (mc.scenario->setup != NULL) mc__run_main(mc.scenario->setup);
    if (mc.end == MC__RUNNING) execution_threads();
}

/* Threads come back when the execution is over, or for a snapshot. */
static void execution_go_on(bool from_setup) {
    mc__snapshot_plan();
    if (from_setup && mc.end == MC__RUNNING && mc.depth == 0) mc__snapshot_take();
    for (int next; mc.end == MC__RUNNING && (next = schedule()) >= 0;) {
        mc__enter((unsigned)next);
        if (mc.end == MC__RUNNING) mc__snapshot_take();
    }
}

static void execution(void) {
    mc.end = MC__RUNNING;
    mc.running = true;
    search.named = -1;
    bool back = mc__snapshot_back();
    if (back)
        mc.result.steps += mc.depth;
    else
        execution_begin();
    execution_go_on(!back);
    struct mc__thread *main = &mc.thread[MC__MAIN];
    if (mc.end == MC__DONE) {
        for (unsigned i = 0; i < mc.threads; i++) mc__view_join(&main->now, &mc.thread[i].now);
        if (mc.scenario->check != NULL) mc__run_main(mc.scenario->check);
    }
    if (mc.end == MC__DONE && !mc.scenario->leaks) mc__arena_leaks();
    if (mc.end == MC__DONE) outcome_add();
    mc.running = false;
    mc.result.execs += mc.end == MC__DONE || mc.end == MC__BUG;
    mc.result.pruned += mc.end == MC__PRUNED;
    mc.result.cut += mc.end == MC__CUT;
}

/* Go to the deepest node with something left to try; false if there is none. */
static bool next_branch(void) {
    while (mc.depth > 0) {
        struct mc__node *n = &mc.node[mc.depth - 1];
        mc.replay = mc.depth--;
        if (n->choice + 1u < n->choices) {
            n->choice++;
            return true;
        }
        n->done |= MC__BIT(n->tid);
        mc__mask rest = n->backtrack & (mc__mask) ~(n->done | n->sleep);
        if (rest != 0) {
            n->tid = (uint8_t)__builtin_ctz(rest);
            n->choice = n->choices = 0;
            return true;
        }
    }
    return false;
}

/* Whether the search may stop, exhausted or not. */
static bool out_of_executions(void) {
    if (mc.options.stop_at_bound && mc.result.cut > 0 && !mc.scenario->bounded) return true;
    uint64_t limit = mc.options.max_execs;
    if (limit == 0 || (mc.scenario->max_execs != 0 && mc.scenario->max_execs < limit)) limit = mc.scenario->max_execs;
    if (limit == 0 || mc.result.execs + mc.result.pruned + mc.result.cut < limit) return false;
    char text[64];
    snprintf(text, sizeof text, "%llu executions", (unsigned long long)limit);
    cut(text);
    return true;
}

static void search_begin(const struct mc_scenario *s, const struct mc_options *o) {
    mc.scenario = s;
    mc.options = *o;
    mc.result = (struct mc_result){.exhausted = o->mode != MC_RANDOM && o->replay == NULL};
    mc.options.sc_only = o->sc_only || s->sc;
    mc.by_states = s->states && o->mode == MC_REDUCED && o->replay == NULL;
    if (mc.by_states) {
        if (s->fences) mc__die(".states, and .fences");
        mc.options.mode = MC_NAIVE;
        mc__states_reset();
    }
    mc.max_steps = s->max_steps != 0 ? s->max_steps : 1000;
    if (mc.max_steps > MC__STEPS) mc.max_steps = MC__STEPS;
    mc.max_spins = s->max_spins != 0 ? s->max_spins : 20;
    mc.replay = 0;
    mc.tracing = false;
    search.random = o->seed;
    search.names = 0;
    search.forced_steps = 0;
    if (search.set == NULL) search.set = malloc(OUTCOMES * sizeof *search.set);
    if (search.forced == NULL) search.forced = malloc(MC__STEPS * sizeof *search.forced);
    if (search.set == NULL || search.forced == NULL) mc__die("out of memory");
    memset(search.set, 0, OUTCOMES * sizeof *search.set);
    mc__threads_init();
    mc__arena_init();
    mc__image_take();
    mc__snapshots_reset();
}

static void search_replay(void) {
    bool sc_only = false;
    search.forced_steps = mc__replay_parse(mc.options.replay, search.forced, MC__STEPS, &sc_only);
    mc.options.sc_only = mc.options.sc_only || sc_only;
    mc.options.mode = MC_RANDOM; /* any value that the model has, not only those that are needed */
    if (mc.options.trace) mc__trace_begin();
    execution();
    if (mc.options.trace) mc__trace_print();
    mc.tracing = false;
}

static double seconds_now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct mc_result mc_explore(const struct mc_scenario *s, const struct mc_options *o) {
    double begin = seconds_now();
    search_begin(s, o);
    if (o->replay != NULL) {
        search_replay();
    } else {
        do {
            execution();
        } while (mc.end != MC__BUG && (o->mode == MC_RANDOM || next_branch()) && !out_of_executions());
    }
    mc__image_reset();
    if (mc.result.bug != 0) {
        mc.result.exhausted = false;
        mc.result.replay = mc__replay_string();
    }
    if (mc.by_states) mc.result.states = mc__states_count();
    mc.by_states = false;
    mc.result.seconds = seconds_now() - begin;
    return mc.result;
}

void mc_result_fini(struct mc_result *r) {
    free(r->replay);
    r->replay = NULL;
}
