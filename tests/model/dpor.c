/* SPDX-License-Identifier: MIT */
/* Partial order reduction: which executions need not be run.
 *
 * Two steps are independent if either order of them leads to the same state: two loads, or stores to
 * different atomics. Executions that differ only in the order of independent neighbours are the same for
 * every purpose (Mazurkiewicz); of millions of interleavings a few are left. One must be run of each class,
 * and the classes are found while running (Flanagan, Godefroid: "Dynamic partial-order reduction for model
 * checking software", POPL 2005), in the form called source-DPOR (Abdulla, Aronsson, Jonsson, Sagonas:
 * "Optimal dynamic partial order reduction", POPL 2014):
 *
 * 1. Run any execution to its end. Each step gets a clock, `past`: the steps it depends on, which are those
 *    of its own thread and those before it that conflict, and what these depend on.
 * 2. A race, in this file, is a pair of conflicting steps of two threads that nothing else between them
 *    orders: first n, later p's. (Nothing is wrong with that; data races are race.c's business.) Turning
 *    the pair round leads to another class. Where n was made, something else has to be tried: take v = all
 *    steps after n that do not depend on n, then p's step. Any thread whose first step in v depends on no
 *    other step in v could begin v; they are v's initials. If none of them is among those to be tried at n
 *    (`backtrack`), add one.
 * 3. Go back to the deepest node with something left to try, try it, repeat.
 *
 * Sleep sets (Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996). When
 * all that begins with thread q at a node was tried, and another thread's step is tried there next, then q
 * need not be tried until some step conflicts with q's: until then q's step commutes to the front, where it
 * was tried. Those q sleep. If all that is enabled sleeps, the execution is given up ("pruned").
 *
 * Threads that wait. A lock that waits cannot be made before the unlock that lets it go on, so that pair is
 * no race; the race is between the two locks. Likewise any step that was waiting, disabled, when n was
 * made, unless something after n that does not depend on n lets it go on as well: a spin loop looks at several
 * atomics, and of two posts to a semaphore either will do; then both orders are possible. Steps that were
 * never made, because their thread waits forever or the execution was given up, have races too.
 *
 * Values. Where one step can have several results (memory.c), all are tried before its thread counts as
 * done. A compare-and-swap that failed is a load. */
#include "internal.h"

static bool yield_conflict(const struct mc__op *yield, const struct mc__op *other) {
    return other->writes && other->object != MC__NO_OBJECT && mc__set_has(&yield->looked, other->object);
}

/* Whether the order of the two matters. */
bool mc__conflict(const struct mc__op *a, const struct mc__op *b) {
    if (a->sc != MC__SC_NONE && b->sc != MC__SC_NONE && (a->sc == MC__SC_FENCE || b->sc == MC__SC_FENCE)) return true;
    if (a->object2 != MC__NO_OBJECT && a->object2 == b->object2) return true;
    if (a->kind == &mc__yield) return yield_conflict(a, b);
    if (b->kind == &mc__yield) return yield_conflict(b, a);
    if (a->object == MC__NO_OBJECT || a->object != b->object) return false;
    return a->writes || b->writes || (a->sc == MC__SC_ACCESS && b->sc == MC__SC_ACCESS);
}

/* ---- clocks: the same relation as mc__conflict(), kept as who wrote and read each object ---- */

static void join_looked(struct mc__clock *c, const struct mc__op *op) {
    for (unsigned i = 0; i < mc.objects; i++)
        if (mc__set_has(&op->looked, i)) mc__clock_join(c, &mc.object[i].wrote);
}

/* What an operation of thread t depends on, if it is made now. */
static struct mc__clock past_of(const struct mc__thread *t, const struct mc__op *op) {
    struct mc__clock c = t->past;
    if (op->object != MC__NO_OBJECT) {
        const struct mc__object *o = &mc.object[op->object];
        mc__clock_join(&c, &o->wrote);
        if (op->writes) mc__clock_join(&c, &o->read);
        if (op->sc == MC__SC_ACCESS) mc__clock_join(&c, &o->sc);
    }
    if (op->object2 != MC__NO_OBJECT) mc__clock_join(&c, &mc.object[op->object2].wrote);
    if (op->sc != MC__SC_NONE) mc__clock_join(&c, &mc.sc_fences);
    if (op->sc == MC__SC_FENCE) mc__clock_join(&c, &mc.sc_accesses);
    if (op->kind == &mc__yield) join_looked(&c, op);
    return c;
}

/* It was made: those after it depend on it. */
static void leave_marks(const struct mc__op *op, const struct mc__clock *past) {
    if (op->object != MC__NO_OBJECT) {
        struct mc__object *o = &mc.object[op->object];
        mc__clock_join(op->writes ? &o->wrote : &o->read, past);
        if (op->sc == MC__SC_ACCESS) mc__clock_join(&o->sc, past);
    }
    if (op->object2 != MC__NO_OBJECT) mc__clock_join(&mc.object[op->object2].wrote, past);
    if (op->sc != MC__SC_NONE) mc__clock_join(op->sc == MC__SC_FENCE ? &mc.sc_fences : &mc.sc_accesses, past);
    if (op->kind != &mc__yield) return;
    for (unsigned i = 0; i < mc.objects; i++)
        if (mc__set_has(&op->looked, i)) mc__clock_join(&mc.object[i].read, past);
}

/* What an operation depends on apart from its conflicts with plain stores and loads of the same atomic: a message by a
 * step that is not among these could also have been stored later (memory.c). */
struct mc__clock mc__dpor_known(const struct mc__thread *t, const struct mc__op *op) {
    struct mc__clock c = t->past;
    if (op->sc != MC__SC_NONE) mc__clock_join(&c, &mc.sc_fences);
    if (op->sc == MC__SC_FENCE) mc__clock_join(&c, &mc.sc_accesses);
    if (op->sc == MC__SC_ACCESS) mc__clock_join(&c, &mc.object[op->object].sc);
    if (op->object2 != MC__NO_OBJECT) mc__clock_join(&c, &mc.object[op->object2].wrote);
    return c;
}

/* ---- races ---- */

static bool depends_on_any(const struct mc__clock *past, const uint16_t *nodes, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        const struct mc__node *e = &mc.node[nodes[i]];
        if (e->count <= past->t[e->tid]) return true;
    }
    return false;
}

/* Turn round the race of node j with thread p's step, whose clock is `past`; nodes j+1 to end-1 lie between. */
static void reverse(unsigned j, unsigned p, const struct mc__clock *past, unsigned end) {
    static uint16_t v[MC__STEPS];
    struct mc__node *n = &mc.node[j];
    mc__mask started = 0, initials = 0;
    unsigned count = 0;
    for (unsigned k = j + 1; k < end; k++) {
        const struct mc__node *e = &mc.node[k];
        if (n->count <= e->past.t[n->tid]) continue;
        if ((started & MC__BIT(e->tid)) == 0 && !depends_on_any(&e->past, v, count)) initials |= MC__BIT(e->tid);
        started |= MC__BIT(e->tid);
        v[count++] = (uint16_t)k;
    }
    if ((started & MC__BIT(p)) == 0 && !depends_on_any(past, v, count)) initials |= MC__BIT(p);
    if ((initials & (n->backtrack | n->sleep)) != 0) return;
    mc__mask possible = initials & n->enabled;
    n->backtrack |= possible != 0 ? (mc__mask)(possible & -possible) : n->enabled;
}

/* Whether something between node j and `end` that does not depend on node j could let a step go on that waits. */
static bool let_go_by_another(unsigned j, const struct mc__op *op, unsigned end) {
    const struct mc__node *n = &mc.node[j];
    for (unsigned k = j + 1; k < end; k++) {
        const struct mc__node *e = &mc.node[k];
        if (n->count > e->past.t[n->tid] && mc__conflict(&e->op, op)) return true;
    }
    return false;
}

/* A pair that cannot be turned round: p's step was not possible before node j's, and nothing else makes it so. */
static bool fixed(unsigned j, unsigned p, const struct mc__op *op, unsigned end) {
    const struct mc__node *n = &mc.node[j];
    if (n->op.kind == &mc__unlock && op->kind == &mc__lock) return true;
    if (mc.thread[p].last >= (int)j || (n->enabled & MC__BIT(p)) != 0) return false;
    return !let_go_by_another(j, op, end);
}

static void races_of(unsigned p, const struct mc__op *op, const struct mc__clock *past, unsigned end) {
    struct mc__clock ordered = mc.thread[p].past; /* by something between */
    mc__mask others = 0;                          /* that have made steps, before j, that nothing orders */
    for (unsigned q = 0; q < mc.threads; q++)
        if (q != p && mc.thread[q].count > ordered.t[q]) others |= MC__BIT(q);
    for (unsigned j = end; others != 0 && j-- > 0;) {
        const struct mc__node *n = &mc.node[j];
        if ((others & MC__BIT(n->tid)) == 0) continue;
        if (n->count <= ordered.t[n->tid]) {
            others &= (mc__mask)~MC__BIT(n->tid);
            continue;
        }
        if (!mc__conflict(&n->op, op)) continue;
        if (fixed(j, p, op, end)) continue;
        mc__clock_join(&ordered, &n->past);
        reverse(j, p, past, end);
    }
}

/* ---- called by the search ---- */

/* A step was made: give it its clock and, if it is new, look for its races. */
void mc__dpor_step(struct mc__node *n, bool races) {
    struct mc__thread *t = &mc.thread[n->tid];
    unsigned j = (unsigned)(n - mc.node);
    n->past = past_of(t, &n->op);
    n->past.t[t->tid] = n->count;
    if (races) races_of(t->tid, &n->op, &n->past, j);
    leave_marks(&n->op, &n->past);
    t->past = n->past;
    t->last = (int)j;
    if (n->op.kind == &mc__spawn) {
        mc.thread[n->result].past = n->past;
        mc.thread[n->result].last = (int)j;
    }
}

/* The execution is over: races of the steps that threads would have made next. */
void mc__dpor_never_made(void) {
    for (unsigned p = 0; p < mc.threads; p++) {
        const struct mc__thread *t = &mc.thread[p];
        if (t->done) continue;
        struct mc__clock past = past_of(t, &t->op);
        races_of(p, &t->op, &past, mc.depth);
    }
}

/* Who sleeps after a step: those that slept or were done before it and do not conflict with it. */
mc__mask mc__dpor_sleep(const struct mc__node *before) {
    mc__mask sleep = 0, rest = (before->sleep | before->done) & (mc__mask)~MC__BIT(before->tid);
    for (unsigned q = 0; q < mc.threads; q++) {
        bool candidate = (rest & MC__BIT(q)) != 0 && !mc.thread[q].done;
        if (candidate && !mc__conflict(&mc.thread[q].op, &before->op)) sleep |= MC__BIT(q);
    }
    return sleep;
}
