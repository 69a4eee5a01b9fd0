/* SPDX-License-Identifier: MIT */
/* Placement. A strategy is an order of cpus; worker i sits on the i-th of them, and again from the first on if there
 * are more workers than cpus.
 *
 *     linear      all cpus, as the system numbers them
 *     avoid SMT   the first thread of each core
 *     tiered      tier by tier: the first threads of the strongest cores; those of weaker kinds; then the second
 *                 threads of the strongest, and so on
 *
 * Within the last two the strongest kind goes first, and neighbours stay side by side: few workers share a node.
 *
 * Tiers need no more than that order. Who publishes work wakes the idle worker with the lowest number (idle.c), so a
 * sibling is woken only when every core below it is at work and there is more to do: that is what load means here. It
 * does not look on for a while before it sleeps again, as others do: it would take from the core what it is idle for.
 * And what is ready again does not stay with the worker that made it ready, but goes to the global queue (ready.c).
 *
 * Nodes. A worker robs those on its own node first, beginning at any of them; then those of its package; then all
 * others. There is one list of victims a node, not one a worker. With one node there is none, and steal.c asks no more
 * than that.
 *
 * Prev: sched/placement.h  Next: sched/spawn.c */
#include "placement.h"

#include <ccrt/runtime.h>

#include "sched.h"

#include <errno.h>
#include <stdlib.h>

/* Whether a strategy gives this cpu out. */
static bool gives(int strategy, const struct cc__cpu *c) {
    return strategy != CC_PIN_AVOID_SMT || c->thread == 0;
}

unsigned cc__placement_room(const struct cc__topology *t, int strategy) {
    unsigned room = 0;
    for (unsigned i = 0; i < t->count; i++) room += gives(strategy, &t->cpu[i]);
    return room;
}

/* Which goes first: by tier, or by the system's numbers; those that are alike as they stand in the topology. */
static int in_tiers(const void *left, const void *right) {
    const struct cc__cpu *a = *(const struct cc__cpu *const *)left, *b = *(const struct cc__cpu *const *)right;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return a < b ? -1 : a > b;
}
static int by_number(const void *left, const void *right) {
    const struct cc__cpu *a = *(const struct cc__cpu *const *)left, *b = *(const struct cc__cpu *const *)right;
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool same_tier(const struct cc__cpu *a, const struct cc__cpu *b) {
    return a->thread == b->thread && a->kind == b->kind;
}

/* Seat the workers on cpus that are in order. */
static void seat_all(struct cc__placement *p, const struct cc__cpu *const *cpu) {
    unsigned tier = 0;
    for (unsigned i = 0; i < p->workers; i++) {
        const struct cc__cpu *c = cpu[i % p->room];
        /* A second worker on a cpu is as good as one more thread of it. */
        if (p->spills && i > 0 && (i % p->room == 0 || !same_tier(c, cpu[i % p->room - 1]))) tier++;
        p->seat[i] = (struct cc__seat){.cpu = c->number, .tier = tier, .node = c->node, .package = c->package};
    }
    p->tiers = tier + 1;
}

/* How many nodes have workers. */
static unsigned count_nodes(const struct cc__placement *p, unsigned all) {
    unsigned nodes = 0;
    for (unsigned node = 0; node < all; node++) {
        bool used = false;
        for (unsigned i = 0; i < p->workers && !used; i++) used = p->seat[i].node == node;
        nodes += used;
    }
    return nodes;
}

/* How far a worker is from a node. */
static unsigned ring_of(const struct cc__seat *s, unsigned node, unsigned package) {
    return s->node == node ? 0 : s->package == package ? 1 : 2;
}

static void list_victims(const struct cc__placement *p, struct cc__victims *v, unsigned node, unsigned package) {
    unsigned n = 0;
    for (unsigned ring = 0; ring < CC__RINGS; ring++) {
        for (unsigned i = 0; i < p->workers; i++)
            if (ring_of(&p->seat[i], node, package) == ring) v->worker[n++] = i;
        v->end[ring] = n;
    }
}

static int list_all_victims(struct cc__placement *p, const struct cc__topology *t) {
    p->victims = calloc(t->nodes, sizeof *p->victims);
    if (p->victims == NULL) return -ENOMEM;
    unsigned *list = calloc((size_t)t->nodes * p->workers, sizeof *list);
    p->victims[0].worker = list; /* the first has them all, to be freed */
    if (list == NULL) return -ENOMEM;
    for (unsigned node = 0; node < t->nodes; node++) {
        unsigned package = 0;
        for (unsigned i = 0; i < t->count; i++)
            if (t->cpu[i].node == node) package = t->cpu[i].package;
        p->victims[node].worker = list + (size_t)node * p->workers;
        list_victims(p, &p->victims[node], node, package);
    }
    return 0;
}

int cc__placement_plan(struct cc__placement **out, const struct cc__topology *t, int strategy, unsigned workers) {
    struct cc__placement *p = calloc(1, sizeof *p);
    const struct cc__cpu **cpu = malloc(t->count * sizeof *cpu);
    if (p != NULL) p->seat = calloc(workers, sizeof *p->seat);
    int rc = cpu == NULL || p == NULL || p->seat == NULL ? -ENOMEM : 0;
    if (rc == 0) {
        p->strategy = strategy;
        p->binds = t->real;
        p->spills = strategy == CC_PIN_TIERED;
        p->workers = workers;
        for (unsigned i = 0; i < t->count; i++)
            if (gives(strategy, &t->cpu[i])) cpu[p->room++] = &t->cpu[i];
        qsort(cpu, p->room, sizeof *cpu, strategy == CC_PIN_LINEAR ? by_number : in_tiers);
        seat_all(p, cpu);
        p->cores = t->cores;
        p->nodes = count_nodes(p, t->nodes);
        if (p->nodes > 1) rc = list_all_victims(p, t);
    }
    free(cpu);
    if (rc == 0)
        *out = p;
    else
        cc__placement_end(p);
    return rc;
}

void cc__placement_end(struct cc__placement *p) {
    if (p == NULL) return;
    if (p->victims != NULL) free(p->victims[0].worker);
    free(p->victims);
    free(p->seat);
    free(p);
}

void cc__placement_seat(const struct cc__placement *p, struct cc__worker *w) {
    const struct cc__seat *s = &p->seat[w->id];
    if (p->binds) w->bound = s->cpu + 1;
    w->tier = s->tier;
    w->spills = p->spills;
    if (p->nodes == 1) return;
    w->victims = &p->victims[s->node];
    w->stacks.home = cc__stack_home(s->node + 1, w->stacks.home >= CC__STACK_NODES);
}
