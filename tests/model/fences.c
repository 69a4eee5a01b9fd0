/* SPDX-License-Identifier: MIT */
/* seq_cst fences whose order is not chosen: for scenarios that say `.fences`, and have no other seq_cst operations.
 *
 * memory.c makes fences one after the other, and that is their order S. All orders have to be tried then: with four
 * threads of three fences, hundreds of thousands, most of which nobody can tell apart. RC11 asks for less: that some
 * order exists. Its rule (psc, for fences) is that this relation has no cycle:
 *
 *   F1 -> F2  if F1 happens before F2, or if F1 happens before an access e to some atomic, and e comes before (by
 *             reads-from, modification order, from-read, and what these make together) an access that happens before F2
 *
 * So a fence here is only noted, with its thread's view: the positions of what it knows of each atomic. An access e of
 * F1's side that is about position p of an atomic (the message read, or the one that a store is put after) comes before
 * all that F2 knows beyond p: F1 -> F2 if F2's view of that atomic is above p. A message may be chosen by a load or a
 * store if that makes no cycle. The newest always may: nobody knows more. For fences that come later, each fence keeps
 * the lowest position of each atomic that an access after it was about.
 *
 * Why that is right, in four steps.
 * 1. "F2's view is above p" is "e comes before an access e' that happens before F2". A view has the positions that its
 *    owner's past, by happens-before, has read or stored, and no others (mc.sc is not used here; what spin loops have
 *    waited for, `fresh`, is kept apart). Let F2's past have such an e' at position q > p. If e read p: e comes before
 *    the store of p+1 by from-read, and that before e' by modification order, then reads-from if e' reads. If e stored,
 *    its message is p+1: it is e', or comes before it in the same ways. Conversely, whatever follows e by these
 *    relations is a store at a position above p or a read of one. Whether e or F2 is made first does not matter:
 *    mc__fences_access() looks for fences that know more, mc__fences_made() for accesses, by `low`.
 * 2. So after any steps the relation is RC11's psc, on what was done so far: what a step adds leaves what was there as
 *    it is. (A message put between others moves positions, and all that speaks of them.) A step is allowed just if the
 *    result has no cycle. What RC11 allows has no cycle at any earlier point either, and a step always has one choice:
 *    hence the machine makes all executions that RC11 allows, in every order of their steps that program order,
 *    reads-from and the order of stores allow, and no others. Where there is no cycle a total order S exists.
 * 3. Two neighbouring steps of different threads that do not conflict by mc__conflict() can be swapped, whatever
 *    messages they chose: by 2, what is allowed depends on what the two make together, and that is the same. A fence is
 *    such a step against all others. This is all that dpor.c needs of independent steps: an execution stays one when
 *    neighbours are swapped. That a choice of one can take a choice from the other does not matter, since a thread
 *    counts as tried where all its choices were, and none of the steps can take away the other's last choice: a thread
 *    that sleeps need not be tried because each execution that has its step later has it, with the same choice, at the
 *    front, where it was tried.
 * 4. memory.c's "fewer choices" skips a message only where the step could not have come before it: fences add nothing
 *    to what a step depends on, so there is less to skip, and what is not skipped comes by swapping the two.
 *
 * model_random compares with memory.c's way, in which all orders are made, and with the rules, which have none.
 *
 * The relation is kept closed: reach[f] has all fences after f. */
#include "internal.h"

enum { FENCES = 64, NONE = UINT8_MAX };

static struct {
    unsigned n;
    uint8_t tid[FENCES];
    int16_t stamp[FENCES];             /* its thread's own clock: who has seen that has the fence before it */
    uint8_t view[FENCES][MC__OBJECTS]; /* what it knows */
    uint8_t low[FENCES][MC__OBJECTS];  /* the lowest that an access after it was about */
    uint64_t reach[FENCES];
} fences;

void mc__fences_reset(void) {
    fences.n = 0;
}

void mc__fences_tape(struct mc__tape *tape) {
    mc__tape(tape, &fences.n, sizeof fences.n);
    mc__tape(tape, fences.tid, fences.n * sizeof fences.tid[0]);
    mc__tape(tape, fences.stamp, fences.n * sizeof fences.stamp[0]);
    mc__tape(tape, fences.view, fences.n * sizeof fences.view[0]);
    mc__tape(tape, fences.low, fences.n * sizeof fences.low[0]);
    mc__tape(tape, fences.reach, fences.n * sizeof fences.reach[0]);
}

/* Those that happen before what thread t does now. */
static uint64_t before(const struct mc__thread *t) {
    uint64_t set = 0;
    for (unsigned f = 0; f < fences.n; f++)
        if (t->now.before.t[fences.tid[f]] >= fences.stamp[f]) set |= (uint64_t)1 << f;
    return set;
}

/* Those that know of something in `object` beyond a position. */
static uint64_t beyond(unsigned object, unsigned pos) {
    uint64_t set = 0;
    for (unsigned f = 0; f < fences.n; f++)
        if (fences.view[f][object] > pos) set |= (uint64_t)1 << f;
    return set;
}

static uint64_t reached_from(uint64_t set) {
    uint64_t reached = set;
    for (; set != 0; set &= set - 1) reached |= fences.reach[__builtin_ctzll(set)];
    return reached;
}

/* Each of `from` comes before each of `to`. */
static void order(uint64_t from, uint64_t to) {
    if (from == 0 || to == 0) return;
    to = reached_from(to);
    for (unsigned f = 0; f < fences.n; f++)
        if ((((fences.reach[f] | (uint64_t)1 << f) & from)) != 0) fences.reach[f] |= to;
}

/* Thread t makes one; its view is up to date. */
void mc__fences_made(const struct mc__thread *t) {
    if (fences.n == FENCES) mc__cut("more than %d fences in one execution", FENCES);
    unsigned self = fences.n;
    uint64_t earlier = before(t);
    for (unsigned f = 0; f < fences.n; f++)
        for (unsigned i = 0; i < mc.objects; i++)
            if (fences.low[f][i] < t->now.at[i]) earlier |= (uint64_t)1 << f;
    fences.n++;
    fences.tid[self] = (uint8_t)t->tid;
    fences.stamp[self] = t->now.before.t[t->tid];
    memcpy(fences.view[self], t->now.at, sizeof fences.view[self]);
    memset(fences.low[self], 0xff, sizeof fences.low[self]);
    fences.reach[self] = 0;
    order(earlier, (uint64_t)1 << self);
}

/* Whether an access by thread t may be about a position. */
bool mc__fences_allow(const struct mc__thread *t, unsigned object, unsigned pos) {
    uint64_t to = beyond(object, pos);
    return to == 0 || (reached_from(to) & before(t)) == 0;
}

/* It is. */
void mc__fences_access(const struct mc__thread *t, unsigned object, unsigned pos) {
    uint64_t from = before(t);
    order(from, beyond(object, pos));
    for (; from != 0; from &= from - 1) {
        uint8_t *low = &fences.low[__builtin_ctzll(from)][object];
        if (pos < *low) *low = (uint8_t)pos;
    }
}

/* A message is put before others. */
void mc__fences_make_room(unsigned object, unsigned pos) {
    for (unsigned f = 0; f < fences.n; f++) {
        if (fences.view[f][object] >= pos) fences.view[f][object]++;
        if (fences.low[f][object] >= pos && fences.low[f][object] != NONE) fences.low[f][object]++;
    }
}
