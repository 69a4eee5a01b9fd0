/* SPDX-License-Identifier: MIT */
/* Plain memory: data races, by clocks.
 *
 * Two accesses to the same byte race if one is a write, one is not atomic, they are of different threads
 * and neither happens before the other. Every thread counts its steps; its view's clock (memory.c) says how
 * many steps of each other thread happen before what it does now. An access is remembered as (thread, its
 * count); it happens before a later one if the later thread's clock has reached that count. This is the
 * vector clock test of FastTrack (Flanagan, Freund, PLDI 2009), without its compression.
 *
 * The order in which the checker runs the two does not matter, only whether something orders them: so a
 * race is found in the first execution in which it is there, however lucky the timing. And since there is
 * no race up to that point, a plain load always reads what the program order of a sequential run would
 * give: real memory serves for plain data, and plain accesses need not be steps.
 *
 * Memory is looked at in cells of 8 bytes. A cell keeps a short list of accesses, each with a mask of
 * bytes; a write that is ordered after them replaces those it covers. free() counts as a write of the whole
 * block (arena.c), so that an access that is merely not ordered before it is found, too. */
#include "internal.h"

#include <stdio.h>

enum { CELLS = 1u << 16, SLOTS = 2 * CELLS, PLACES = 40 };

enum { PLAIN_READ, PLAIN_WRITE, ATOMIC_READ, ATOMIC_WRITE };
static const char *const access_names[] = {"read", "write", "atomic read", "atomic write"};

struct place {
    int16_t count; /* of its thread when it was made */
    uint8_t tid, kind, bytes;
    const void *pc;
};

struct cell {
    _Alignas(64) uintptr_t base; /* its address / 8 */
    uint32_t slot;               /* where it is found */
    uint8_t n;
    bool atomic; /* an atomic is here */
    struct place place[PLACES];
};

_Static_assert(offsetof(struct cell, place) == 16 && sizeof(struct place) == 16, "as mc__race_tape() has it");

static struct cell cells[CELLS]; /* those in use stand at the front */
static unsigned used;

/* Where the cell of an address is: a hash table, empty where the generation is not that of this execution. */
static struct slot { uint32_t generation, cell; } slots[SLOTS];
static uint32_t generation;

void mc__race_reset(void) {
    generation++;
    used = 0;
}

/* Cells that came after those of a tape go in the order that is the reverse of theirs: the table is as it was. */
void mc__race_tape(struct mc__tape *tape) {
    unsigned before = used;
    mc__tape(tape, &used, sizeof used);
    while (before > used) slots[cells[--before].slot].generation = 0;
    for (unsigned i = 0; i < used; i++) {
        struct cell *c = &cells[i];
        mc__tape_16(tape, c);
        for (unsigned k = 0; k < c->n; k++) mc__tape_16(tape, &c->place[k]);
    }
}

static struct cell *cell_of(uintptr_t base) {
    size_t h = (size_t)(base + (base >> 12) * 0x9e3779b97f4a7c15u); /* neighbours stay neighbours */
    for (;; h++) {
        struct slot *s = &slots[h % SLOTS];
        if (s->generation == generation && cells[s->cell].base == base) return &cells[s->cell];
        if (s->generation == generation) continue;
        if (used == CELLS) mc__die("one execution touches more than %u KiB", CELLS * 8 / 1024);
        *s = (struct slot){.generation = generation, .cell = used};
        struct cell *c = &cells[used++];
        c->base = base;
        c->slot = (uint32_t)(h % SLOTS);
        c->n = 0;
        c->atomic = false;
        return c;
    }
}

static bool conflicting(unsigned a, unsigned b) {
    bool plain = a <= PLAIN_WRITE || b <= PLAIN_WRITE;
    bool write = a == PLAIN_WRITE || a == ATOMIC_WRITE || b == PLAIN_WRITE || b == ATOMIC_WRITE;
    return plain && write;
}

__attribute__((noreturn)) static void report(const struct cell *c, const struct place *a, unsigned kind,
                                             const void *pc) {
    uintptr_t addr = c->base * 8 + (unsigned)__builtin_ctz(a->bytes);
    mc.bug_pc[1] = a->pc;
    mc.bug_tid[1] = a->tid;
    char by[16] = "setup";
    if (a->tid != MC__MAIN) snprintf(by, sizeof by, "T%u", (unsigned)a->tid);
    mc__fail(MC_RACE, pc, "data race on %s: %s by T%u, and %s by %s, not ordered", mc__trace_name(addr),
             access_names[kind], mc.self, access_names[a->kind], by);
}

/* Note an access to some bytes of a cell, after all that is there was found ordered before it. */
static void cell_add(struct cell *c, unsigned bytes, unsigned kind, const void *pc) {
    unsigned n = 0;
    for (unsigned i = 0; i < c->n; i++) {
        struct place *a = &c->place[i];
        bool replaced = kind == PLAIN_WRITE || (a->tid == mc.self && a->kind == kind);
        if (replaced) a->bytes &= (uint8_t)~bytes;
        if (a->bytes != 0) c->place[n++] = *a;
    }
    if (n == PLACES) mc__die("too many accesses to one word are unordered");
    int16_t count = mc__self()->now.before.t[mc.self];
    c->place[n] = (struct place){
        .count = count, .tid = (uint8_t)mc.self, .kind = (uint8_t)kind, .bytes = (uint8_t)bytes, .pc = pc};
    c->n = (uint8_t)(n + 1);
}

static struct cell *cell_access(uintptr_t base, unsigned bytes, unsigned kind, const void *pc) {
    const struct mc__clock *before = &mc__self()->now.before;
    struct cell *c = cell_of(base);
    struct place *only = c->place;
    if (c->n == 1 && only->tid == mc.self && only->kind == kind && only->bytes == bytes) { /* as most often */
        only->count = before->t[mc.self];
        only->pc = pc;
        return c;
    }
    for (unsigned i = 0; i < c->n; i++) {
        const struct place *a = &c->place[i];
        bool ordered = a->tid == mc.self || a->count <= before->t[a->tid];
        if (!ordered && (a->bytes & bytes) != 0 && conflicting(a->kind, kind)) report(c, a, kind, pc);
    }
    cell_add(c, bytes, kind, pc);
    return c;
}

/* All cells of a range; returns whether an atomic is among them. */
static bool range_access(uintptr_t addr, size_t bytes, unsigned kind, const void *pc) {
    bool atomic = false;
    uintptr_t end = addr + bytes;
    while (addr < end) {
        uintptr_t base = addr / 8, next = (base + 1) * 8 < end ? (base + 1) * 8 : end;
        unsigned mask = ((1u << (next - addr)) - 1) << (addr % 8);
        struct cell *c = cell_access(base, mask & 0xff, kind, pc);
        if (kind >= ATOMIC_READ) c->atomic = true;
        atomic |= c->atomic;
        addr = next;
    }
    return atomic;
}

void mc__plain(uintptr_t addr, size_t bytes, bool write, const void *pc) {
    if (!mc.running || bytes == 0 || mc__image_local(addr)) return;
    struct mc__thread *t = mc__self();
    if (++t->quiet > 10000000) mc__fail(MC_CRASH, pc, "no atomic operation in 10,000,000 accesses: an endless loop");
    mc__arena_check(addr, bytes, pc);
    mc__stack_check(addr, pc);
    if (write) {
        t->plain_writes++;
        mc__image_wrote(addr, bytes);
    }
    if (mc.watch != NULL) mc.watch((const void *)addr, bytes, write);
    mc__trace(pc, "%s %s, %zu bytes", write ? "write" : "read", mc.tracing ? mc__trace_name(addr) : "", bytes);
    bool atomic = range_access(addr, bytes, write ? PLAIN_WRITE : PLAIN_READ, pc);
    if (write && atomic) mc__plain_write_to_atomics(addr, bytes);
    if (mc.by_states && !write) t->digest = mc__mix(t->digest, mc__bytes_digest((const void *)addr, bytes));
}

void mc__atomic(uintptr_t addr, size_t bytes, bool write, const void *pc) {
    mc__arena_check(addr, bytes, pc);
    mc__stack_check(addr, pc);
    if (mc.watch != NULL) mc.watch((const void *)addr, bytes, write);
    range_access(addr, bytes, write ? ATOMIC_WRITE : ATOMIC_READ, pc);
}
