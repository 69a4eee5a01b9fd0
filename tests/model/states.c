/* SPDX-License-Identifier: MIT */
/* States: for scenarios that say `.states`, in which many executions come to the same.
 *
 * dpor.c leaves out executions that differ in the order of independent steps. What is left can still be far too much
 * where threads meet often and forget at once: four that count up and down one counter do so in thousands of orders,
 * and a moment later nothing tells which it was. So here the state of the machine is noted before each step, and an
 * execution that comes to one that was there before is given up: all that can follow was tried, or will be.
 *
 * The search is then as plain as can be: every thread is tried at every node and every message that the memory model
 * has, but for sleep sets, which leave out steps and not states. They make one thing to mind (Godefroid's book, see
 * dpor.c, chapter 5): a state that was left with some threads asleep has not been tried with those. It is noted with
 * them, and whoever comes with fewer asleep goes on.
 *
 * What a state is. Two are the same if whatever follows from the one follows from the other:
 * 1. Of a thread: where it is and what its variables are. That follows from the results of its operations and the plain
 *    memory it has read, since it began or since it called mc_forget(): `digest`. A thread that has ended is just that.
 * 2. Of an atomic: the messages that somebody who is not done may still see, with their values and views. Positions are
 *    counted from the lowest of those. Who is at a full fence, or has said mc_blind(), will see nothing older than what
 *    others' fences have seen. A view below what all its readers know tells them nothing, and neither does it
 *    here: of a message that only some can still read, these; of what an acquire fence would add, its own thread.
 * 3. Of the others: locks, semaphores, futex queues and who waits there; what a spin loop has looked at, as far as it
 *    matters for when it goes on.
 * 4. The program's data and thread-locals, as they are (image.c), but for what mc_statistics() was told of.
 * Where threads are alike, states are the same that differ in which of them is which.
 *
 * What is not part of a state: heap and stacks, so threads must not share those, nor be created; a scenario that does
 * is told so. And the clocks by which data races are found: one that only an execution has which was given up is not
 * found. So whatever is searched by states should be searched without in smaller scenarios.
 *
 * States are noted by a hash of 64 bits: of 10 million, two would be taken for one with a probability of 1 in 300,000.
 * model_random compares the outcomes with those of the other searches. */
#include "internal.h"

#include <stdlib.h>

struct state {
    uint64_t key;   /* 0: none */
    mc__mask sleep; /* not tried from here */
};

static struct {
    struct state *at; /* a hash table */
    size_t room, n;
} table;

void mc__states_reset(void) {
    free(table.at);
    table.n = 0;
    table.room = (size_t)1 << 16;
    table.at = calloc(table.room, sizeof *table.at);
    if (table.at == NULL) mc__die("out of memory for states");
}

uint64_t mc__states_count(void) {
    return table.n;
}

static struct state *place_of(uint64_t key) {
    size_t k = key >> 8 & (table.room - 1);
    while (table.at[k].key != 0 && table.at[k].key != key) k = (k + 1) & (table.room - 1);
    return &table.at[k];
}

static void table_grow(void) {
    struct state *old = table.at;
    size_t room = table.room;
    table.room *= 2;
    table.at = calloc(table.room, sizeof *table.at);
    if (table.at == NULL) mc__die("out of memory for %zu states", table.n);
    for (size_t k = 0; k < room; k++)
        if (old[k].key != 0) *place_of(old[k].key) = old[k];
    free(old);
}

/* ---- what is still of use ---- */

static uint8_t base[MC__OBJECTS];  /* of each atomic: the lowest position that a thread's view has */
static uint64_t name[MC__OBJECTS]; /* objects have numbers in order of first use, which says nothing */

/* The oldest that a thread may see. Of what it sees only after a full fence, nothing older than others' fences did. */
static unsigned oldest(const struct mc__thread *t, unsigned object) {
    unsigned now = t->now.at[object], fenced = mc.sc.at[object];
    bool later = t->op.kind == &mc__fence || (t->blind && !mc__set_has(&t->sees, object));
    return later && fenced > now ? fenced : now;
}

/* The oldest that some threads may see. */
static void lowest(uint8_t *low, mc__mask who) {
    memset(low, UINT8_MAX, MC__OBJECTS);
    for (unsigned t = 0; t < mc.threads; t++) {
        if (mc.thread[t].done || (who & MC__BIT(t)) == 0) continue;
        for (unsigned i = 0; i < mc.objects; i++) {
            unsigned pos = oldest(&mc.thread[t], i);
            if (pos < low[i]) low[i] = (uint8_t)pos;
        }
    }
}

/* Of positions: those that say more than `low` does, and are still of use. */
static uint64_t view_digest(const uint8_t *at, const uint8_t *low) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < mc.objects; i++)
        if (at[i] > low[i] && at[i] > base[i]) sum += mc__mix(name[i], (uint64_t)(at[i] - base[i]));
    return sum;
}

/* ---- the parts ---- */

/* What a yield would wait for. Of an object that has changed since, that alone. */
static uint64_t looked_digest(const struct mc__thread *t) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < mc.objects; i++) {
        if (!mc__set_has(&t->looked, i)) continue;
        const struct mc__object *o = &mc.object[i];
        bool changed = mc__changed_since(o, t->seen[i]);
        bool later = o->kind == MC__ATOMIC && t->seen[i] > base[i];
        int since = changed ? -1 : later ? t->seen[i] - base[i] : 0;
        sum += mc__mix(name[i], (uint64_t)since);
    }
    return sum;
}

static uint64_t thread_digest(const struct mc__thread *t) {
    if (t->done) return 1;
    uint64_t h = mc__mix(t->digest, (t->count > 0) | t->woken << 1 | t->swapped << 2 | t->blind << 3);
    h = mc__mix(mc__mix(h, t->spurious), (uint64_t)t->clock_ns);
    h = mc__mix(h, view_digest(t->now.at, base));
    h = mc__mix(h, view_digest(t->acquired.at, t->now.at));
    h = mc__mix(h, view_digest(t->released.at, base));
    h = mc__mix(h, view_digest(t->fresh, t->now.at));
    h = mc__mix(h, mc__image_locals_digest(t->tid));
    return mc__mix(h, looked_digest(t));
}

/* What a message tells its readers. If nothing more can be put right after it, only a thread that has seen nothing
 * newer is one. */
static uint64_t released_digest(unsigned object, unsigned pos) {
    const struct mc__object *o = &mc.object[object];
    const uint8_t *at = mc.message[o->order[pos]].released.at;
    if (pos + 1u == o->n || !mc.message[o->order[pos + 1]].rmw) return view_digest(at, base);
    uint8_t low[MC__OBJECTS];
    mc__mask readers = 0;
    for (unsigned t = 0; t < mc.threads; t++)
        if (oldest(&mc.thread[t], object) <= pos) readers |= MC__BIT(t);
    lowest(low, readers);
    return view_digest(at, low);
}

/* An atomic that is as it began to all, whatever it was meanwhile, is like one that nobody has used yet. */
static uint64_t atomic_digest(unsigned object) {
    const struct mc__object *o = &mc.object[object];
    mc__word newest = mc__newest(o);
    bool alone = base[object] + 1u == o->n, first = newest == mc.message[o->order[0]].value;
    if (alone && first && released_digest(object, base[object]) == 0) return 0;
    uint64_t h = name[object];
    for (unsigned pos = base[object]; pos < o->n; pos++) {
        const struct mc__message *m = &mc.message[o->order[pos]];
        h = mc__mix(mc__mix(h, (uint64_t)m->value), (uint64_t)(m->value >> 64));
        h = mc__mix(h, released_digest(object, pos));
        if (pos > base[object]) h = mc__mix(h, m->rmw);
    }
    return h;
}

static uint64_t object_digest(unsigned object) {
    const struct mc__object *o = &mc.object[object];
    if (o->kind == MC__ATOMIC) return atomic_digest(object);
    if (o->kind == MC__NOTHING) return 0;
    bool held = o->kind == MC__MUTEX && o->value != 0;
    bool wrote = held && mc.thread[o->value - 1].plain_writes != o->plain_writes;
    uint64_t h = mc__mix(mc__mix(name[object], (uint64_t)o->value), (uint64_t)o->waiting << 1 | wrote);
    return mc__mix(h, view_digest(o->released.at, base));
}

/* The place of a thread among the digests: its own, or where threads are alike one by its digest, so that it does not
 * matter which of them it is. */
static unsigned place_among(unsigned tid, const uint64_t *digest) {
    unsigned before = 0, first = tid;
    if (!mc.scenario->alike) return tid;
    for (unsigned i = 0; i < mc.threads; i++) {
        if (mc.thread[i].body != mc.thread[tid].body) continue;
        if (i < first) first = i;
        before += digest[i] < digest[tid] || (digest[i] == digest[tid] && i < tid);
    }
    return first + before; /* they are neighbours */
}

static uint64_t machine_digest(mc__mask *sleep) {
    lowest(base, (mc__mask)~0u);
    for (unsigned i = 0; i < mc.objects; i++) {
        name[i] = mc__mix(mc.object[i].addr, mc.object[i].kind);
        if (mc.object[i].kind != MC__ATOMIC)
            base[i] = 0;
        else if (base[i] == UINT8_MAX || mc.options.sc_only)
            base[i] = (uint8_t)(mc.object[i].n - 1u);
    }
    uint64_t h = mc__mix(mc.alone, mc__image_digest()), digest[MC__THREADS] = {0}, sum = 0;
    mc__mask renamed = 0;
    for (unsigned i = 0; i < mc.threads; i++) digest[i] = thread_digest(&mc.thread[i]);
    for (unsigned i = 0; i < mc.threads; i++) {
        unsigned place = place_among(i, digest);
        sum += mc__mix(digest[i], place);
        if ((*sleep & MC__BIT(i)) != 0) renamed |= MC__BIT(place);
    }
    *sleep = renamed;
    for (unsigned i = 0; i < mc.objects; i++) sum += object_digest(i);
    return mc__mix(mc__mix(h, sum), view_digest(mc.sc.at, base)) | 1;
}

/* Whether the search need not go on from here, with these threads asleep. Otherwise it is noted that it has. */
bool mc__states_seen(mc__mask sleep) {
    unsigned threads = 0;
    while (threads < MC_THREADS && mc.scenario->thread[threads] != NULL) threads++;
    if (mc.threads != threads || mc__arena_used()) mc__die(".states, and threads or memory are created");
    uint64_t key = machine_digest(&sleep);
    struct state *s = place_of(key);
    if (s->key != 0) {
        bool tried = (s->sleep & ~sleep) == 0;
        s->sleep &= sleep;
        return tried;
    }
    *s = (struct state){.key = key, .sleep = sleep};
    if (++table.n * 2 > table.room) table_grow();
    return false;
}
