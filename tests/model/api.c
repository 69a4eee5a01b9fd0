/* SPDX-License-Identifier: MIT */
/* What scenarios call: assertions, choices, spin loops, semaphores. See ccmc.h.
 *
 * Spin loops. A loop that waits for another thread could go round any number of times, and a load may see
 * an old value each time: executions without end, none of which says anything new. So mc_yield(), once a
 * turn:
 * 1. The thread waits until one of the objects that it read since the last yield holds something else than
 *    it saw; that may be so already, if it saw something old. Where this never comes the loop never ends: a
 *    deadlock.
 * 2. From then on it sees what is newest now of those objects (and of no others): stores become visible
 *    after some time, says the standard. It learns nothing else by that.
 * A mutex counts as changed when its owner wrote something while holding it. */
#include "internal.h"

#include <stdio.h>

#define PC __builtin_return_address(0)

void mc_assert_failed(const char *cond, const char *file, int line) {
    const char *base = strrchr(file, '/');
    if (mc.running) mc__fail(MC_ASSERT, PC, "assertion failed: %s (%s:%d)", cond, base != NULL ? base + 1 : file, line);
    mc__die("assertion failed: %s (%s:%d)", cond, file, line);
}

int mc_self(void) {
    return (int)mc.self;
}

/* ---- what setup() says of atomics ---- */

static void told(const void *at, size_t bytes, bool constant) {
    if (mc.told == MC__TOLD) mc__die("told of too many atomics");
    mc.tale[mc.told++] = (struct mc__told){.begin = (uintptr_t)at, .end = (uintptr_t)at + bytes, .constant = constant};
}

void mc_constant(const void *at, size_t bytes) {
    told(at, bytes, true);
}

void mc_statistics(const void *at, size_t bytes) {
    told(at, bytes, false);
}

bool mc__no_step(const struct mc__op *op) {
    if (op->kind->object != MC__ATOMIC) return false;
    for (unsigned i = 0; i < mc.told; i++) {
        const struct mc__told *k = &mc.tale[i];
        if (op->addr >= k->end || k->begin >= op->addr + op->size) continue;
        if (!k->constant) return true;
        if (mc.self == MC__MAIN) return false;
        if (op->kind == &mc__load) return true;
        mc__fail(MC_MISUSE, op->pc, "%s of what mc_constant() was told of", op->kind->name);
    }
    return false;
}

void mc_forget(uint64_t now) {
    struct mc__thread *t = mc__self();
    t->digest = mc__mix((uintptr_t)PC, now);
    memset(&t->looked, 0, sizeof t->looked);
}

void mc_blind(void) {
    struct mc__thread *t = mc__self();
    t->blind = true;
    memset(&t->sees, 0, sizeof t->sees);
}

void mc_sees(const void *at, size_t bytes) {
    mc__set_add(&mc__self()->sees, mc__object_at((uintptr_t)at, (unsigned)bytes, MC__ATOMIC));
}

/* ---- choices ---- */

static unsigned choice_options(const struct mc__thread *t, const struct mc__op *op, uint16_t *codes) {
    (void)t;
    if (op->arg < 1 || op->arg > MC__CODES) mc__fail(MC_MISUSE, op->pc, "mc_choose() of no or too many numbers");
    for (unsigned i = 0; i < (unsigned)op->arg; i++) codes[i] = (uint16_t)i;
    return (unsigned)op->arg;
}

static mc__word choice_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    (void)t;
    mc__trace_step(op, "%u of %u", code, (unsigned)op->arg);
    return code;
}

const struct mc__kind mc__choice = {.name = "choose", .options = choice_options, .apply = choice_apply};

int mc_choose(int n) {
    return (int)mc__visible((struct mc__op){.kind = &mc__choice, .arg = n > 0 ? (unsigned)n : 0, .pc = PC});
}

/* ---- spin loops ---- */

static bool yield_enabled(const struct mc__thread *t) {
    bool any = false;
    for (unsigned i = 0; i < mc.objects; i++) {
        if (!mc__set_has(&t->op.looked, i)) continue;
        if (mc__changed_since(&mc.object[i], t->seen[i])) return true;
        any = true;
    }
    return !any;
}

static mc__word yield_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    (void)code;
    for (unsigned i = 0; i < mc.objects; i++) {
        const struct mc__object *o = &mc.object[i];
        if (mc__set_has(&op->looked, i) && o->kind == MC__ATOMIC) t->fresh[i] = (uint8_t)(o->n - 1u);
    }
    memset(&t->looked, 0, sizeof t->looked);
    mc__trace_step(op, "%s", "");
    if (++t->spins > mc.max_spins) mc__cut("%u turns of a spin loop", mc.max_spins);
    return 0;
}

const struct mc__kind mc__yield = {.name = "yield", .enabled = yield_enabled, .apply = yield_apply};

void mc_yield(void) {
    if (!mc.running) return;
    mc__visible((struct mc__op){.kind = &mc__yield, .pc = PC, .looked = mc__self()->looked});
}

void mc_watch(void (*fn)(const void *at, size_t bytes, bool write)) {
    mc.watch = fn;
}

/* ---- semaphores ---- */

static bool sem_enabled(const struct mc__thread *t) {
    return mc.object[t->op.object].value > 0;
}

static mc__word sem_wait_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    (void)code;
    struct mc__object *o = &mc.object[op->object];
    o->value--;
    o->version++;
    mc__view_join(&t->now, &o->released);
    mc__looked_at(t, op->object, o->version);
    mc__trace_step(op, "leaves %d", (int)o->value);
    return 0;
}

static mc__word sem_post_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    (void)code;
    struct mc__object *o = &mc.object[op->object];
    o->value++;
    mc__view_join(&o->released, &t->now);
    mc__trace_step(op, "makes %d", (int)o->value);
    return 0;
}

/* A post counts as a read: posts commute with posts, and with nothing else. */
static const struct mc__kind sem_wait_kind = {
    .name = "wait", .object = MC__SEM, .writes = true, .enabled = sem_enabled, .apply = sem_wait_apply};
static const struct mc__kind sem_post_kind = {.name = "post", .object = MC__SEM, .apply = sem_post_apply};

void mc_sem_init(struct mc_sem *s, int count) {
    if (mc.running) mc.object[mc__object_at((uintptr_t)s, sizeof *s, MC__SEM)].value = count;
}

void mc_sem_wait(struct mc_sem *s) {
    mc__visible((struct mc__op){.kind = &sem_wait_kind, .addr = (uintptr_t)s, .size = sizeof *s, .pc = PC});
}

void mc_sem_post(struct mc_sem *s) {
    mc__visible((struct mc__op){.kind = &sem_post_kind, .addr = (uintptr_t)s, .size = sizeof *s, .pc = PC});
}
