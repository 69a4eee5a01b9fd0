/* SPDX-License-Identifier: MIT */
/* RC11 by the book: every execution of a small program that the rules allow, by trying all that there could
 * be.
 *
 * The yardstick for memory.c, written from the paper (Lahav et al., PLDI 2017) and not from the machine:
 * relations over events as bit matrices, guess and check. An execution is a guess of
 *   rf   for each read, which write it reads from, and
 *   mo   for each atomic, an order of its writes (the initial value first)
 * and it is allowed if
 *   no thin air   sb | rf is acyclic (sb: program order)
 *   coherence     hb ; eco? is irreflexive, eco = (rf | mo | rb)+, rb = rf^-1 ; mo
 *   atomicity     nothing in mo between what a read-modify-write reads and what it writes
 *   SC            psc is acyclic
 * with happens-before hb = (sb | sw)+, where a release write or fence synchronises with an acquire read or
 * fence through a release sequence. Release sequences are C++20's: read-modify-writes only.
 *
 * A read-modify-write is one event that is a read and a write. */
#include "oracle.h"

#include <string.h>

enum { EVENTS = ORACLE_ATOMICS + ORACLE_THREADS * ORACLE_STEPS };

typedef uint32_t row;
typedef row relation[EVENTS]; /* r[a] has bit b: a r b */

static struct {
    const struct program *p;
    struct outcomes *out;
    int n; /* events; the first are the initial writes */
    struct event {
        const struct instruction *i; /* NULL: initial */
        int thread, atomic;          /* -1: none */
        bool reads, writes;
        int value_read, value_written, from;
    } e[EVENTS];
    relation sb, rf, mo, hb;
    int writes_of[ORACLE_ATOMICS][EVENTS], write_count[ORACLE_ATOMICS];
} o;

/* ---- relations ---- */

static void compose(relation to, const relation a, const relation b) {
    relation c;
    for (int i = 0; i < o.n; i++) {
        c[i] = 0;
        for (int k = 0; k < o.n; k++)
            if ((a[i] >> k & 1) != 0) c[i] |= b[k];
    }
    memcpy(to, c, sizeof c);
}

static void join(relation to, const relation from) {
    for (int i = 0; i < o.n; i++) to[i] |= from[i];
}

static void close_over(relation r) { /* transitive closure */
    for (int k = 0; k < o.n; k++)
        for (int i = 0; i < o.n; i++)
            if ((r[i] >> k & 1) != 0) r[i] |= r[k];
}

static bool irreflexive(const relation r) {
    for (int i = 0; i < o.n; i++)
        if ((r[i] >> i & 1) != 0) return false;
    return true;
}

static void with_identity(relation to, const relation r) {
    for (int i = 0; i < o.n; i++) to[i] = r[i] | (row)1 << i;
}

/* Only from events of set a to events of set b. */
static void restrict_to(relation r, row a, row b) {
    for (int i = 0; i < o.n; i++) r[i] = (a >> i & 1) != 0 ? r[i] & b : 0;
}

static row events_that(bool (*test)(const struct event *)) {
    row set = 0;
    for (int i = 0; i < o.n; i++)
        if (test(&o.e[i])) set |= (row)1 << i;
    return set;
}

/* ---- kinds of events ---- */

static bool is_fence(const struct event *e) {
    return e->i != NULL && e->i->kind == FENCE;
}

/* The order in force: that of failure for a compare-and-swap that failed. */
static int order_of(const struct event *e) {
    if (e->i == NULL) return __ATOMIC_RELAXED;
    return e->i->kind == CAS && !e->writes ? e->i->fail_order : e->i->order;
}

static bool releases(const struct event *e) {
    int order = order_of(e);
    bool strong = order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
    return strong && (e->writes || is_fence(e));
}

static bool acquires(const struct event *e) {
    int order = order_of(e);
    bool strong = order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
    return strong && (e->reads || is_fence(e));
}

static bool sc_fence(const struct event *e) {
    return is_fence(e) && order_of(e) == __ATOMIC_SEQ_CST;
}

static bool sc_access(const struct event *e) {
    return e->i != NULL && !is_fence(e) && order_of(e) == __ATOMIC_SEQ_CST;
}

static bool is_update(const struct event *e) {
    return e->reads && e->writes;
}

static bool any_fence(const struct event *e) {
    return is_fence(e);
}

static bool same_atomic(int a, int b) {
    return o.e[a].atomic >= 0 && o.e[a].atomic == o.e[b].atomic;
}

static void of_one_atomic(relation to, const relation r, bool same) {
    relation c = {0};
    for (int i = 0; i < o.n; i++)
        for (int k = 0; k < o.n; k++)
            if ((r[i] >> k & 1) != 0 && same_atomic(i, k) == same) c[i] |= (row)1 << k;
    memcpy(to, c, sizeof c);
}

/* ---- the rules ---- */

static void happens_before(relation hb) {
    row fences = events_that(any_fence), updates = events_that(is_update);
    relation sequence = {0}, step, to_fence, from_fence, sw;
    /* (rf ; rmw)*: from a write to the updates that go on with it */
    memcpy(step, o.rf, sizeof step);
    restrict_to(step, ~(row)0, updates);
    close_over(step);
    with_identity(sequence, step);
    /* [release] ; ([F] ; sb)? ; sequence ; rf ; (sb ; [F])? ; [acquire] */
    memcpy(from_fence, o.sb, sizeof from_fence);
    restrict_to(from_fence, fences, ~(row)0);
    with_identity(from_fence, from_fence);
    memcpy(to_fence, o.sb, sizeof to_fence);
    restrict_to(to_fence, ~(row)0, fences);
    with_identity(to_fence, to_fence);
    compose(sw, from_fence, sequence);
    compose(sw, sw, o.rf);
    compose(sw, sw, to_fence);
    restrict_to(sw, events_that(releases), events_that(acquires));
    memcpy(hb, o.sb, sizeof(relation));
    join(hb, sw);
    close_over(hb);
}

static void reads_before(relation rb) {
    memset(rb, 0, sizeof(relation));
    for (int i = 0; i < o.n; i++)
        if (o.e[i].reads) rb[i] = o.mo[o.e[i].from] & ~((row)1 << i);
}

static bool sc_holds(const relation hb, const relation eco, const relation rb) {
    row accesses = events_that(sc_access), fences = events_that(sc_fence);
    if ((accesses | fences) == 0) return true;
    relation scb, other, part, hb_or_same, left = {0}, right, psc, psc_fences;
    of_one_atomic(other, o.sb, false);
    compose(part, other, hb);
    compose(part, part, other);
    memcpy(scb, o.sb, sizeof scb);
    join(scb, part);
    of_one_atomic(part, hb, true);
    join(scb, part);
    join(scb, o.mo);
    join(scb, rb);
    /* ([Esc] | [Fsc] ; hb?) ; scb ; ([Esc] | hb? ; [Fsc]) */
    with_identity(hb_or_same, hb);
    memcpy(left, hb_or_same, sizeof left);
    memcpy(right, hb_or_same, sizeof right);
    restrict_to(left, fences, ~(row)0);
    restrict_to(right, ~(row)0, fences);
    for (int i = 0; i < o.n; i++)
        if ((accesses >> i & 1) != 0) left[i] |= (row)1 << i, right[i] |= (row)1 << i;
    compose(psc, left, scb);
    compose(psc, psc, right);
    /* [Fsc] ; (hb | hb ; eco ; hb) ; [Fsc] */
    compose(psc_fences, hb, eco);
    compose(psc_fences, psc_fences, hb);
    join(psc_fences, hb);
    restrict_to(psc_fences, fences, fences);
    join(psc, psc_fences);
    close_over(psc);
    return irreflexive(psc);
}

/* Whether the order of one atomic's writes is possible, whatever the others': eco never leaves an atomic. */
static bool coherent(int atomic) {
    relation rb, eco, part;
    row here = 0;
    for (int i = 0; i < o.n; i++)
        if (o.e[i].atomic == atomic) here |= (row)1 << i;
    reads_before(rb);
    for (int i = 0; i < o.n; i++) { /* atomicity: rb ; mo never leads back to the update */
        if (!is_update(&o.e[i]) || (here >> i & 1) == 0) continue;
        for (int k = 0; k < o.n; k++)
            if ((rb[i] >> k & 1) != 0 && (o.mo[k] >> i & 1) != 0) return false;
    }
    memcpy(eco, o.rf, sizeof eco);
    join(eco, o.mo);
    join(eco, rb);
    restrict_to(eco, here, here);
    close_over(eco);
    compose(part, o.hb, eco);
    return irreflexive(part) && irreflexive(eco);
}

static bool sc_allows(void) {
    relation rb, eco;
    reads_before(rb);
    memcpy(eco, o.rf, sizeof eco);
    join(eco, o.mo);
    join(eco, rb);
    close_over(eco);
    return sc_holds(o.hb, eco, rb);
}

/* ---- outcomes ---- */

static void outcome_add(void) {
    char text[ORACLE_TEXT];
    int at = 0;
    for (int i = 0; i < o.n; i++)
        if (o.e[i].reads) text[at++] = (char)('0' + o.e[i].value_read);
    text[at++] = '-';
    for (int a = 0; a < ORACLE_ATOMICS; a++) {
        for (int k = 0; k < o.write_count[a]; k++) { /* the last in mo has no successor */
            int w = o.writes_of[a][k];
            if (o.mo[w] == 0) text[at++] = (char)('0' + o.e[w].value_written);
        }
    }
    text[at] = 0;
    for (int i = 0; i < o.out->n; i++)
        if (strcmp(o.out->text[i], text) == 0) return;
    if (o.out->n < ORACLE_OUTCOMES) strcpy(o.out->text[o.out->n++], text);
}

/* ---- guesses ---- */

static void guess_mo(int a, int k);

static void guess_mo_of_next(int a) {
    const int *writes = o.writes_of[a], count = o.write_count[a];
    for (int i = 0; i < count; i++) o.mo[writes[i]] = 0;
    for (int i = 0; i < count; i++)
        for (int l = i + 1; l < count; l++) o.mo[writes[i]] |= (row)1 << writes[l];
    if (coherent(a)) guess_mo(a + 1, 1);
}

/* Orders of the writes of atomic a and of those after it; the first k places of a's are fixed. */
static void guess_mo(int a, int k) {
    if (a == ORACLE_ATOMICS) {
        if (sc_allows()) outcome_add();
        return;
    }
    int *writes = o.writes_of[a], count = o.write_count[a];
    if (k == count) {
        guess_mo_of_next(a);
        return;
    }
    for (int i = k; i < count; i++) {
        bool possible = true; /* what happens before it comes before it */
        for (int l = k; l < count; l++) possible = possible && (o.hb[writes[l]] >> writes[i] & 1) == 0;
        if (!possible) continue;
        int w = writes[k];
        writes[k] = writes[i], writes[i] = w;
        guess_mo(a, k + 1);
        w = writes[k];
        writes[k] = writes[i], writes[i] = w;
    }
}

/* What one event reads and writes; false if it reads from what turns out not to be a write. */
static bool evaluate(struct event *e) {
    if (e->reads && !o.e[e->from].writes) return false;
    if (e->reads) e->value_read = o.e[e->from].value_written;
    if (e->i == NULL || is_fence(e)) return true;
    e->writes = e->i->kind != LOAD && (e->i->kind != CAS || e->value_read == e->i->expected);
    e->value_written = e->i->kind == ADD ? e->value_read + 1 : e->i->value;
    return true;
}

/* All reads have a source: find the values, in an order that sb and rf allow. */
static void guess_values(void) {
    relation before;
    memset(o.rf, 0, sizeof o.rf);
    for (int i = 0; i < o.n; i++)
        if (o.e[i].reads) o.rf[o.e[i].from] |= (row)1 << i;
    memcpy(before, o.sb, sizeof before);
    join(before, o.rf);
    close_over(before);
    if (!irreflexive(before)) return; /* thin air */
    row done = 0, all = ((row)1 << o.n) - 1;
    while (done != all) {
        for (int i = 0; i < o.n; i++) {
            row needed = 0;
            for (int k = 0; k < o.n; k++) needed |= (before[k] >> i & 1) << k;
            if ((done >> i & 1) != 0 || (needed & ~done) != 0) continue;
            if (!evaluate(&o.e[i])) return;
            done |= (row)1 << i;
        }
    }
    happens_before(o.hb);
    if (!irreflexive(o.hb)) return;
    memset(o.write_count, 0, sizeof o.write_count);
    memset(o.mo, 0, sizeof o.mo);
    for (int i = 0; i < o.n; i++)
        if (o.e[i].writes) o.writes_of[o.e[i].atomic][o.write_count[o.e[i].atomic]++] = i;
    guess_mo(0, 1);
}

static bool may_write(const struct event *e) {
    return e->i == NULL || (e->i->kind != LOAD && e->i->kind != FENCE);
}

static void guess_sources(int i) {
    while (i < o.n && !o.e[i].reads) i++;
    if (i == o.n) {
        struct event saved[EVENTS];
        memcpy(saved, o.e, sizeof saved);
        guess_values();
        memcpy(o.e, saved, sizeof saved);
        return;
    }
    for (int w = 0; w < o.n; w++) {
        if (w == i || !may_write(&o.e[w]) || o.e[w].atomic != o.e[i].atomic || (o.sb[i] >> w & 1) != 0) continue;
        o.e[i].from = w;
        guess_sources(i + 1);
    }
}

void oracle_outcomes(const struct program *p, struct outcomes *out) {
    memset(&o, 0, sizeof o);
    o.p = p;
    o.out = out;
    out->n = 0;
    for (int a = 0; a < ORACLE_ATOMICS; a++) o.e[o.n++] = (struct event){.thread = -1, .atomic = a, .writes = true};
    for (int t = 0; t < p->threads; t++) {
        for (int s = 0; s < p->steps[t]; s++) {
            const struct instruction *i = &p->at[t][s];
            bool fence = i->kind == FENCE;
            o.e[o.n++] = (struct event){.i = i,
                                        .thread = t,
                                        .atomic = fence ? -1 : i->atomic,
                                        .reads = !fence && i->kind != STORE,
                                        .writes = !fence && i->kind != LOAD};
        }
    }
    for (int a = 0; a < o.n; a++)
        for (int b = a + 1; b < o.n; b++)
            if (b >= ORACLE_ATOMICS && (a < ORACLE_ATOMICS || o.e[a].thread == o.e[b].thread)) o.sb[a] |= (row)1 << b;
    guess_sources(0);
}
