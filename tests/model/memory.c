/* SPDX-License-Identifier: MIT */
/* Memory: which values an atomic load may see, and what one learns by seeing them.
 *
 * The model is RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer: "Repairing Sequential Consistency in C/C++11",
 * PLDI 2017), which is C++20's without load buffering. RC11 is a set of rules about whole executions; to
 * run a program one needs a machine that obeys them at each step. This is a view machine, after the one in
 * "A Promising Semantics for Relaxed-Memory Concurrency" (Kang, Hur, Lahav, Vafeiadis, Dreyer, POPL 2017)
 * without its promises:
 *
 *   A store does not overwrite. Each atomic has a list of messages, one a store, in modification order.
 *   A view gives for each atomic the oldest position that may still be seen; it only ever grows.
 *
 * 1. A load sees any message at or after the thread's view of that atomic (`now`), and raises the view to
 *    it: later loads do not go back (coherence).
 * 2. A store puts a message anywhere after the thread's view, not only at the end: two threads' stores to x
 *    and y may land in opposite orders (the litmus tests 2+2W and S). Only the place right before a
 *    read-modify-write is taken, for that one must directly follow what it read.
 * 3. A release store puts the thread's whole view into its message, a relaxed one the view at the last
 *    release fence (`released`). A load with acquire adds the message's view to its own; a relaxed one
 *    keeps it aside (`acquired`) until an acquire fence. That is all of message passing.
 * 4. A read-modify-write adds the view of the message it read to the one it writes: a release sequence.
 * 5. seq_cst: one more view, `mc.sc`. A fence takes it in and gives its own; a seq_cst load sees nothing
 *    older than it, a seq_cst store goes after it, and both raise it for their atomic. So the order in
 *    which the checker makes these operations is the total order S of the standard.
 *
 * Views carry a clock too, `before`: the steps that happen before, for race.c. The seq_cst view has none:
 * fences order what is seen, but do not by themselves synchronise.
 *
 * Exact for programs whose only seq_cst operations are fences, which is this library's case: the test
 * model_random compares with the rules themselves. Of programs that mix seq_cst accesses with weaker ones
 * to the same atomic it leaves out the few outcomes where S contradicts happens-before (Z6.U of the first
 * paper). Load buffering, where a load sees a store that its own thread's later store causes, is left out
 * by RC11 itself: no step here can see a store that was not made yet.
 *
 * Fewer choices, same outcomes. A load made after a store may skip it and see an older one, or the load may
 * be made before the store: the same outcome twice. So a step may skip a message only if it could not have
 * been made before the step that stored it: because its thread depends on that one (mc__dpor_known()), or
 * because what it reads was stored even later, and put before. The same goes for stores that are put before
 * others. Where neither holds the two steps can be swapped, and the search does that. model_random checks
 * this against the naive search. */
#include "internal.h"

/* Code of a weak compare-and-swap that fails though the value is right. */
enum { SPURIOUS = 1u << 12 };

void mc__memory_reset(void) {
    mc.objects = mc.messages = 0;
    memset(&mc.sc, 0, sizeof mc.sc);
    memset(&mc.sc_fences, 0, sizeof mc.sc_fences);
    memset(&mc.sc_accesses, 0, sizeof mc.sc_accesses);
}

/* Messages are mostly written once, and a tape that is put back is of the same execution: then those that it has are
 * still there. */
static void messages_tape(struct mc__tape *tape) {
    uint64_t rewritten = mc.rewritten;
    mc__tape(tape, &mc.messages, sizeof mc.messages);
    mc__tape(tape, &mc.rewritten, sizeof mc.rewritten);
    size_t bytes = mc.messages * sizeof mc.message[0];
    if (tape->back && rewritten == mc.rewritten)
        tape->n += bytes;
    else
        mc__tape(tape, mc.message, bytes);
}

void mc__memory_tape(struct mc__tape *tape) {
    mc__tape(tape, &mc.sc, sizeof mc.sc);
    mc__tape(tape, &mc.sc_fences, sizeof mc.sc_fences);
    mc__tape(tape, &mc.sc_accesses, sizeof mc.sc_accesses);
    mc__tape(tape, &mc.objects, sizeof mc.objects);
    for (unsigned i = 0; i < mc.objects; i++) {
        struct mc__object *o = &mc.object[i];
        mc__tape(tape, o, offsetof(struct mc__object, order));
        mc__tape(tape, o->order, o->n * sizeof o->order[0]);
    }
    messages_tape(tape);
}

/* A message that a tape may have is about to be changed. */
static void rewrite(void) {
    static uint64_t last;
    mc.rewritten = ++last;
}

/* ---- real memory: holds the newest value of each atomic ---- */

static mc__word memory_read(uintptr_t addr, unsigned size) {
    mc__word value = 0;
    memcpy(&value, (const void *)addr, size); /* little-endian */
    return value;
}

static void memory_write(uintptr_t addr, unsigned size, mc__word value) {
    mc__image_wrote(addr, size);
    memcpy((void *)addr, &value, size);
}

static mc__word truncate_to(unsigned size, mc__word value) {
    return size == sizeof value ? value : value & (((mc__word)1 << (8 * size)) - 1);
}

/* ---- orders ---- */

static bool acquires(unsigned order) {
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
           order == __ATOMIC_SEQ_CST;
}

static bool releases(unsigned order) {
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static void raise_to(uint8_t *at, unsigned pos) {
    if (*at < pos) *at = (uint8_t)pos;
}

/* ---- objects and their messages ---- */

static struct mc__message *message_at(const struct mc__object *o, unsigned pos) {
    return &mc.message[o->order[pos]];
}

/* A new message at the end or elsewhere; those after it have moved already. */
static struct mc__message *message_add(struct mc__object *o, unsigned pos) {
    if (o->n == MC__POSITIONS || mc.messages == MC__MESSAGES) mc__cut("too many stores in one execution");
    memmove(&o->order[pos + 1], &o->order[pos], (o->n - pos) * sizeof o->order[0]);
    o->n++;
    o->order[pos] = (uint16_t)mc.messages;
    return &mc.message[mc.messages++];
}

static unsigned object_create(uintptr_t addr, unsigned size, enum mc__object_kind kind) {
    if (mc.objects == MC__OBJECTS) mc__die("more than %d atomics and locks in one execution", MC__OBJECTS);
    struct mc__object *o = &mc.object[mc.objects];
    memset(o, 0, sizeof *o);
    o->addr = addr;
    o->size = (uint8_t)size;
    o->kind = (uint8_t)kind;
    if (kind == MC__ATOMIC) { /* what is there was stored before all began */
        struct mc__message *m = message_add(o, 0);
        memset(m, 0, sizeof *m);
        m->tid = MC__MAIN;
        m->value = memory_read(addr, size);
    }
    return mc.objects++;
}

/* An atomic of another size at the same place is a mistake, unless plain stores came between: then it is
 * another variable, on a stack say. */
static void object_retire(struct mc__object *o) {
    if (!message_at(o, o->n - 1u)->lazy)
        mc__fail(MC_MISUSE, NULL, "%s is accessed atomically by two sizes", mc__trace_name(o->addr));
    o->kind = MC__NOTHING;
}

/* Where the object was that was last looked for with a like address: most often it is still the one. */
enum { GUESSES = 256 };
static uint8_t guesses[GUESSES];
static uint8_t *guess_for(uintptr_t addr, enum mc__object_kind kind) {
    return &guesses[(addr / 4 + addr / 4096 + 37u * kind) % GUESSES];
}

/* An object if it can be told at once, or MC__NO_OBJECT. No two objects of a kind overlap. */
unsigned mc__object_known(uintptr_t addr, unsigned size, enum mc__object_kind kind) {
    unsigned i = *guess_for(addr, kind);
    const struct mc__object *o = &mc.object[i];
    return i < mc.objects && o->addr == addr && o->size == size && o->kind == kind ? i : (unsigned)MC__NO_OBJECT;
}

static unsigned object_find(uintptr_t addr, unsigned size, enum mc__object_kind kind) {
    for (unsigned i = 0; i < mc.objects; i++) {
        struct mc__object *o = &mc.object[i];
        if (o->kind != kind) continue;
        if (o->addr == addr && o->size == size) return i;
        if (kind == MC__ATOMIC && addr < o->addr + o->size && o->addr < addr + size) object_retire(o);
    }
    return object_create(addr, size, kind);
}

unsigned mc__object_at(uintptr_t addr, unsigned size, enum mc__object_kind kind) {
    unsigned i = mc__object_known(addr, size, kind);
    if (i != MC__NO_OBJECT) return i;
    i = object_find(addr, size, kind);
    *guess_for(addr, kind) = (uint8_t)i;
    return i;
}

/* The message of a plain store, whose value was not known when it was made. */
static void settle(const struct mc__object *o) {
    struct mc__message *m = message_at(o, o->n - 1u);
    if (!m->lazy) return;
    rewrite();
    m->value = memory_read(o->addr, o->size);
    m->lazy = false;
}

mc__word mc__newest(const struct mc__object *o) {
    settle(o);
    return message_at(o, o->n - 1u)->value;
}

/* A plain store to an atomic, as atomic_init() and memset() make: a relaxed message. race.c has seen that
 * it is ordered with everybody's accesses. */
void mc__plain_write_to_atomics(uintptr_t addr, size_t bytes) {
    struct mc__thread *t = mc__self();
    for (unsigned i = 0; i < mc.objects; i++) {
        struct mc__object *o = &mc.object[i];
        if (o->kind != MC__ATOMIC || o->addr >= addr + bytes || addr >= o->addr + o->size) continue;
        if (message_at(o, o->n - 1u)->lazy) continue;
        unsigned pos = o->n;
        mc__fences_access(t, i, pos - 1u);
        struct mc__message *m = message_add(o, pos);
        *m = (struct mc__message){.tid = (uint8_t)t->tid, .count = (int16_t)(t->count + 1), .lazy = true};
        m->released = t->released;
        raise_to(&t->now.at[i], pos);
        raise_to(&m->released.at[i], pos);
    }
}

/* ---- spin loops ---- */

void mc__looked_at(struct mc__thread *t, unsigned object, unsigned seen) {
    mc__set_add(&t->looked, object);
    t->seen[object] = (uint16_t)seen;
}

/* Whether a spin loop that saw this would see something else now. */
bool mc__changed_since(const struct mc__object *o, unsigned seen) {
    if (o->kind != MC__ATOMIC) return (uint16_t)o->version != seen;
    settle(o);
    for (unsigned pos = seen + 1; pos < o->n; pos++)
        if (message_at(o, pos)->value != message_at(o, seen)->value) return true;
    return false;
}

/* ---- which messages an operation may choose from ---- */

static unsigned oldest(const struct mc__thread *t, const struct mc__op *op, unsigned order) {
    unsigned i = op->object, pos = t->now.at[i];
    if (op->kind != &mc__store && t->fresh[i] > pos) pos = t->fresh[i];
    if (order == __ATOMIC_SEQ_CST && mc.sc.at[i] > pos) pos = mc.sc.at[i];
    if (op->object2 != MC__NO_OBJECT && mc.object[op->object2].released.at[i] > pos)
        pos = mc.object[op->object2].released.at[i]; /* a futex wait, after wakes */
    return pos;
}

/* Whether an operation can be about the message at a position: load it, or put its own after it. */
static bool usable(const struct mc__op *op, const struct mc__object *o, unsigned pos, unsigned from,
                   unsigned from_fail) {
    bool room = pos + 1u == o->n || !message_at(o, pos + 1)->rmw;
    if (op->kind == &mc__cas && message_at(o, pos)->value != op->expected) return pos >= from_fail;
    if (op->kind == &mc__cas || op->kind == &mc__store || op->kind == &mc__update) return room && pos >= from;
    return pos >= from;
}

/* Whether an operation about the message at `pos` may skip the one at `newer`. */
static bool skippable(const struct mc__op *op, const struct mc__object *o, unsigned pos, unsigned newer,
                      const struct mc__clock *known) {
    const struct mc__message *m = message_at(o, newer);
    bool later = op->kind != &mc__store && o->order[pos] > o->order[newer]; /* what it reads was stored later */
    return later || m->tid == MC__MAIN || m->count <= known->t[m->tid];
}

static bool reachable(const struct mc__thread *t, const struct mc__op *op, const struct mc__object *o, unsigned pos,
                      const struct mc__clock *known) {
    if (mc.options.sc_only || t->tid == MC__MAIN) return pos + 1u == o->n;
    if (mc.options.mode != MC_REDUCED) return true;
    for (unsigned newer = pos + 1; newer < o->n; newer++)
        if (!skippable(op, o, pos, newer, known)) return false;
    return true;
}

/* A code is how many messages are skipped. */
unsigned mc__read_options(const struct mc__thread *t, const struct mc__op *op, uint16_t *codes) {
    const struct mc__object *o = &mc.object[op->object];
    settle(o);
    unsigned from = oldest(t, op, op->order), from_fail = op->kind == &mc__cas ? oldest(t, op, op->fail_order) : from;
    unsigned least = from < from_fail ? from : from_fail, last = o->n - 1u, n = 0;
    struct mc__clock known = {{0}};
    if (least < last) known = mc__dpor_known(t, op);
    for (unsigned pos = last + 1; pos-- > least;)
        if (usable(op, o, pos, from, from_fail) && reachable(t, op, o, pos, &known) &&
            (pos == last || !mc.scenario->fences || mc__fences_allow(t, op->object, pos)))
            codes[n++] = (uint16_t)(last - pos);
    if (op->weak && t->tid != MC__MAIN && t->spurious < mc.scenario->spurious &&
        message_at(o, last)->value == op->expected)
        codes[n++] = SPURIOUS;
    if (t->blind && !mc__set_has(&t->sees, op->object) && (n > 1 || !op->kind->writes))
        mc__fail(MC_MISUSE, op->pc, "%s after mc_blind(), before a full fence", op->kind->name);
    return n;
}

/* ---- what operations do ---- */

/* Thread t sees the message at a position. */
static mc__word see(struct mc__thread *t, unsigned object, unsigned pos, unsigned order) {
    const struct mc__message *m = message_at(&mc.object[object], pos);
    mc__fences_access(t, object, pos);
    raise_to(&t->now.at[object], pos);
    mc__view_join(&t->acquired, &m->released);
    if (acquires(order)) mc__view_join(&t->now, &m->released);
    if (order == __ATOMIC_SEQ_CST) raise_to(&mc.sc.at[object], pos);
    mc__looked_at(t, object, pos);
    return m->value;
}

static void make_room_in(struct mc__view *v, unsigned object, unsigned pos) {
    if (v->at[object] >= pos) v->at[object]++;
}

/* A message is about to be put before others: all that speaks of those must follow. */
static void make_room(unsigned object, unsigned pos) {
    rewrite();
    for (unsigned i = 0; i < MC__ALL; i++) {
        struct mc__thread *t = &mc.thread[i];
        make_room_in(&t->now, object, pos);
        make_room_in(&t->acquired, object, pos);
        make_room_in(&t->released, object, pos);
        if (t->fresh[object] >= pos) t->fresh[object]++;
        if (t->seen[object] >= pos) t->seen[object]++;
    }
    for (unsigned i = 0; i < mc.messages; i++) make_room_in(&mc.message[i].released, object, pos);
    for (unsigned i = 0; i < mc.objects; i++) make_room_in(&mc.object[i].released, object, pos);
    make_room_in(&mc.sc, object, pos);
    mc__fences_make_room(object, pos);
}

/* Thread t puts a message after the one at `prev`, which it has read if it is a read-modify-write. */
static void put(struct mc__thread *t, const struct mc__op *op, unsigned prev, mc__word value, bool rmw) {
    unsigned i = op->object, pos = prev + 1;
    struct mc__object *o = &mc.object[i];
    bool newest = pos == o->n;
    if (!rmw) mc__fences_access(t, i, prev);
    if (!newest) make_room(i, pos);
    struct mc__message *m = message_add(o, pos);
    raise_to(&t->now.at[i], pos);
    m->value = truncate_to(op->size, value);
    m->tid = (uint8_t)t->tid;
    m->count = t->count;
    m->rmw = rmw;
    m->lazy = false;
    m->released = releases(op->order) ? t->now : t->released;
    raise_to(&m->released.at[i], pos);
    if (rmw) {
        mc__view_join(&m->released, &message_at(o, prev)->released);
        mc__looked_at(t, i, pos);
    }
    if (op->order == __ATOMIC_SEQ_CST) raise_to(&mc.sc.at[i], pos);
    if (newest) memory_write(op->addr, op->size, value);
}

void mc__fence_by(struct mc__thread *t, unsigned order) {
    if (order == __ATOMIC_SEQ_CST) t->blind = false;
    if (acquires(order)) mc__view_join(&t->now, &t->acquired);
    if (order == __ATOMIC_SEQ_CST && mc.scenario->fences) mc__fences_made(t);
    if (order == __ATOMIC_SEQ_CST && !mc.scenario->fences) {
        for (unsigned i = 0; i < mc.objects; i++) {
            raise_to(&t->now.at[i], mc.sc.at[i]);
            raise_to(&mc.sc.at[i], t->now.at[i]);
        }
    }
    if (releases(order)) {
        t->released = t->now;
        if (t->now.before.t[t->tid]++ == INT16_MAX / 2) mc__cut("%d fences of a thread", INT16_MAX / 2);
        /* What follows is not part of that. */
    }
}

static const char *skipped(unsigned code) {
    static const char *const words[] = {"", ", not the newest", ", not the newest nor the one before"};
    return words[code < 3 ? code : 2];
}

mc__word mc__read_apply(struct mc__thread *t, struct mc__op *op, unsigned code, unsigned order) {
    const struct mc__object *o = &mc.object[op->object];
    mc__word value = see(t, op->object, o->n - 1u - code, order);
    mc__atomic(op->addr, op->size, false, op->pc);
    return op->part == 0 ? value : truncate_to(op->part, value >> op->shift);
}

static mc__word load_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    mc__word value = mc__read_apply(t, op, code, op->order);
    mc__trace_step(op, "sees %s%s", mc__trace_value(value, op->size), skipped(code));
    return value;
}

static const char *placed(unsigned code) {
    return code == 0 ? "" : ", before newer stores";
}

static mc__word store_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    mc__atomic(op->addr, op->size, true, op->pc);
    put(t, op, mc.object[op->object].n - 1u - code, op->arg, false);
    mc__trace_step(op, "%s%s", mc__trace_value(op->arg, op->size), placed(code));
    return 0;
}

static mc__word update_value(unsigned rmw, mc__word a, mc__word b) {
    switch (rmw) {
    case MC__XCHG: return b;
    case MC__ADD: return a + b;
    case MC__SUB: return a - b;
    case MC__AND: return a & b;
    case MC__OR: return a | b;
    case MC__XOR: return a ^ b;
    default: return ~(a & b);
    }
}

static void update_trace(const struct mc__op *op, mc__word old, mc__word value, unsigned code) {
    if (!mc.tracing) return;
    char was[48];
    strcpy(was, mc__trace_value(old, op->size));
    mc__trace_step(op, "%s -> %s%s", was, mc__trace_value(value, op->size), placed(code));
}

static mc__word update_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    unsigned pos = mc.object[op->object].n - 1u - code;
    mc__atomic(op->addr, op->size, true, op->pc);
    mc__word old = see(t, op->object, pos, op->order);
    mc__word value = truncate_to(op->size, update_value(op->rmw, old, op->arg));
    put(t, op, pos, value, true);
    update_trace(op, old, value, code);
    return old;
}

static mc__word cas_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    struct mc__object *o = &mc.object[op->object];
    bool spurious = (code & SPURIOUS) != 0;
    unsigned skip = code & ~(unsigned)SPURIOUS, pos = o->n - 1u - skip;
    t->swapped = op->writes = message_at(o, pos)->value == op->expected && !spurious;
    if (!op->writes) {
        mc__word seen = mc__read_apply(t, op, skip, op->fail_order);
        if (spurious) t->spurious++;
        mc__trace_step(op, "fails, sees %s%s%s", mc__trace_value(seen, op->size), skipped(skip),
                       spurious ? ", for no reason" : "");
        return seen;
    }
    mc__atomic(op->addr, op->size, true, op->pc);
    see(t, op->object, pos, op->order);
    put(t, op, pos, op->arg, true);
    update_trace(op, op->expected, op->arg, skip);
    return op->expected;
}

static mc__word fence_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    (void)code;
    mc__fence_by(t, __ATOMIC_SEQ_CST);
    mc__trace_step(op, "%s", "");
    return 0;
}

#define ON_ATOMIC .object = MC__ATOMIC, .options = mc__read_options
const struct mc__kind mc__load = {.name = "load", ON_ATOMIC, .part = true, .apply = load_apply};
const struct mc__kind mc__store = {.name = "store", ON_ATOMIC, .writes = true, .apply = store_apply};
const struct mc__kind mc__update = {.name = "update", ON_ATOMIC, .writes = true, .apply = update_apply};
const struct mc__kind mc__cas = {.name = "cas", ON_ATOMIC, .writes = true, .apply = cas_apply};
const struct mc__kind mc__fence = {.name = "fence", .sc = MC__SC_FENCE, .apply = fence_apply};

/* The same outside an execution: there is one thread, so nothing to choose from. */
mc__word mc__direct(const struct mc__op *op) {
    if (op->kind->object != MC__ATOMIC) return 0;
    mc__word old = memory_read(op->addr, op->size);
    if (op->kind == &mc__store) memory_write(op->addr, op->size, op->arg);
    if (op->kind == &mc__update) memory_write(op->addr, op->size, update_value(op->rmw, old, op->arg));
    if (op->kind == &mc__cas && old == op->expected) memory_write(op->addr, op->size, op->arg);
    return old;
}
