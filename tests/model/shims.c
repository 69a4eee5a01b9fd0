/* SPDX-License-Identifier: MIT */
/* The C library's threads and mutexes, as the scenario sees them.
 *
 * The program is linked with --wrap for the names below (CMakeLists.txt has the list), so that src/plat
 * works unchanged: its locks, threads and thread-end functions become objects of the checker.
 *
 * Mutexes. A lock waits until the mutex is free and learns what the last owner knew when it gave it up.
 * Unlocking what one does not hold is misuse. A failed trylock is a read; it learns nothing.
 *
 * Threads. pthread_create() is a step that the new thread depends on; pthread_join() waits for its end.
 * Keys and their destructors work, because the library has code that runs at a thread's end.
 *
 * What is not here (condition variables, reader-writer locks, barriers) the library does not use; the names
 * are wrapped all the same, and say so. */
#include "internal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define PC __builtin_return_address(0)

enum { KEYS = 16 };

static struct {
    unsigned keys;
    void (*destructor[KEYS])(void *);
    void *value[MC__ALL][KEYS];
} shims;

void mc__shims_reset(void) {
    if (shims.keys > 0) memset(&shims, 0, sizeof shims);
}

void mc__shims_tape(struct mc__tape *tape) {
    mc__tape(tape, &shims, sizeof shims);
}

/* ---- mutexes ---- */

static bool lock_enabled(const struct mc__thread *t) {
    return mc.object[t->op.object].value == 0;
}

static void take(struct mc__thread *t, const struct mc__op *op) {
    struct mc__object *o = &mc.object[op->object];
    o->value = t->tid + 1;
    o->plain_writes = t->plain_writes;
    mc__view_join(&t->now, &o->released);
}

static mc__word lock_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    (void)code;
    mc__atomic(op->addr, 1, true, op->pc);
    take(t, op);
    mc__trace_step(op, "%s", "");
    return 0;
}

static mc__word trylock_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    (void)code;
    op->writes = lock_enabled(t);
    mc__atomic(op->addr, 1, op->writes, op->pc);
    if (op->writes) take(t, op);
    mc__looked_at(t, op->object, mc.object[op->object].version);
    mc__trace_step(op, "%s", op->writes ? "taken" : "busy");
    return op->writes ? 0 : EBUSY;
}

static mc__word unlock_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    (void)code;
    struct mc__object *o = &mc.object[op->object];
    if (o->value != t->tid + 1)
        mc__fail(MC_MISUSE, op->pc, "T%u unlocks %s, which it does not hold", t->tid, mc__trace_name(op->addr));
    mc__atomic(op->addr, 1, true, op->pc);
    o->value = 0;
    o->released = t->now;
    if (t->plain_writes != o->plain_writes) o->version++;
    mc__looked_at(t, op->object, o->version);
    mc__trace_step(op, "%s", "");
    return 0;
}

const struct mc__kind mc__lock = {
    .name = "lock", .object = MC__MUTEX, .writes = true, .enabled = lock_enabled, .apply = lock_apply};
const struct mc__kind mc__unlock = {.name = "unlock", .object = MC__MUTEX, .writes = true, .apply = unlock_apply};
static const struct mc__kind trylock_kind = {
    .name = "trylock", .object = MC__MUTEX, .writes = true, .apply = trylock_apply};

static int on_mutex(const struct mc__kind *kind, pthread_mutex_t *m, const void *pc) {
    if (!mc.running) return 0;
    return (int)mc__visible((struct mc__op){.kind = kind, .addr = (uintptr_t)m, .size = sizeof *m, .pc = pc});
}

/* ---- threads ---- */

static uintptr_t spawning; /* a place for its address: the object that all spawns write */

static mc__word spawn_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    (void)code;
    if (mc.threads == MC__THREADS) mc__die("more than %d threads", MC__THREADS);
    struct mc__thread *child = &mc.thread[mc.threads++];
    child->now = t->now;
    child->now.before.t[child->tid] = 1;
    child->acquired = child->now;
    child->start = (void *(*)(void *))(uintptr_t)op->arg;
    child->arg = (void *)(uintptr_t)op->expected;
    mc__trace_step(op, "T%u", child->tid);
    mc__thread_prepare(child->tid);
    mc__thread_start(child->tid, &t->sp);
    return child->tid;
}

static bool join_enabled(const struct mc__thread *t) {
    return mc.thread[(unsigned)t->op.arg].done;
}

static mc__word join_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    (void)code;
    const struct mc__thread *child = &mc.thread[(unsigned)op->arg];
    mc__view_join(&t->now, &child->now);
    mc__clock_join(&t->past, &child->past);
    mc__trace_step(op, "T%u", child->tid);
    return 0;
}

const struct mc__kind mc__spawn = {.name = "create", .object = MC__SPAWNING, .writes = true, .apply = spawn_apply};
static const struct mc__kind join_kind = {.name = "join", .enabled = join_enabled, .apply = join_apply};

/* Destructors of keys, as long as they set new values, at most four times. */
void mc__shims_thread_end(void) {
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned k = 0; k < shims.keys; k++) {
            void *value = shims.value[mc.self][k];
            shims.value[mc.self][k] = NULL;
            if (value != NULL && shims.destructor[k] != NULL) shims.destructor[k](value);
        }
    }
}

/* ---- what the program calls ---- */

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the linker's --wrap makes these names */

int __wrap_pthread_mutex_lock(pthread_mutex_t *m) {
    return on_mutex(&mc__lock, m, PC);
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *m) {
    return on_mutex(&trylock_kind, m, PC);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m) {
    return on_mutex(&mc__unlock, m, PC);
}

/* The memory becomes a mutex, or no longer is one: like any other write to it. */
int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attributes) {
    (void)attributes;
    mc__plain((uintptr_t)m, 1, true, PC);
    return 0;
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *m) {
    if (!mc.running) return 0;
    if (mc.object[mc__object_at((uintptr_t)m, sizeof *m, MC__MUTEX)].value != 0)
        mc__fail(MC_MISUSE, PC, "%s is destroyed while it is held", mc__trace_name((uintptr_t)m));
    mc__plain((uintptr_t)m, 1, true, PC);
    return 0;
}

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*start)(void *), void *arg) {
    (void)attributes;
    if (!mc.running || mc.self == MC__MAIN) mc__die("pthread_create() in setup or check");
    mc__word tid = mc__visible((struct mc__op){.kind = &mc__spawn,
                                               .addr = (uintptr_t)&spawning,
                                               .size = 1,
                                               .arg = (uintptr_t)start,
                                               .expected = (uintptr_t)arg,
                                               .pc = PC});
    *out = (pthread_t)tid + 1;
    return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result) {
    if (!mc.running || thread == 0 || thread > mc.threads || thread - 1 == mc.self)
        mc__fail(MC_MISUSE, PC, "pthread_join() of no other thread");
    mc__visible((struct mc__op){.kind = &join_kind, .arg = thread - 1, .pc = PC});
    if (result != NULL) *result = mc.thread[thread - 1].result;
    return 0;
}

int __wrap_pthread_detach(pthread_t thread) {
    (void)thread;
    return 0;
}

__attribute__((noreturn)) void __wrap_pthread_exit(void *result) {
    mc__self()->result = result;
    mc__thread_end();
}

pthread_t __wrap_pthread_self(void) {
    return (pthread_t)mc.self + 1;
}

int __wrap_pthread_setname_np(pthread_t thread, const char *name) {
    (void)thread, (void)name;
    return 0;
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
    if (shims.keys == KEYS) return EAGAIN;
    shims.destructor[shims.keys] = destructor;
    *key = shims.keys++;
    return 0;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
    if (key >= shims.keys) return EINVAL;
    shims.value[mc.self][key] = (void *)(uintptr_t)value;
    return 0;
}

void *__wrap_pthread_getspecific(pthread_key_t key) {
    return key < shims.keys ? shims.value[mc.self][key] : NULL;
}

int __wrap_sched_yield(void) {
    mc_yield();
    return 0;
}

__attribute__((noreturn)) void __wrap_abort(void) {
    if (!mc.running) mc__die("abort() outside an execution");
    mc__fail(MC_ASSERT, PC, "abort() called by T%u", mc.self);
}

__attribute__((noreturn)) void __wrap___assert_fail(const char *cond, const char *file, unsigned line, const char *in) {
    (void)in;
    mc_assert_failed(cond, file, (int)line);
    __builtin_unreachable();
}

#define NOT_MODELLED(name)                                                                                             \
    int __wrap_##name(void) {                                                                                          \
        mc__die("%s() is not modelled", #name);                                                                        \
    }
NOT_MODELLED(pthread_cond_wait)
NOT_MODELLED(pthread_cond_timedwait)
NOT_MODELLED(pthread_rwlock_rdlock)
NOT_MODELLED(pthread_rwlock_wrlock)
NOT_MODELLED(pthread_barrier_wait)
NOT_MODELLED(sem_wait)
NOT_MODELLED(nanosleep)

#pragma GCC visibility pop
