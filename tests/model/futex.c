/* SPDX-License-Identifier: MIT */
/* Futexes and time: the system calls that src/plat makes to wait.
 *
 * futex wait is two steps. The first is what the kernel does under the lock of the queue: a load of the
 * word, and if that is the expected value the thread is in the queue. The second is coming
 * back, which waits until somebody woke it, or may happen at any time where the wait has a deadline:
 * timeouts are not a matter of time here but one more thing that can happen. A wake wakes any n of those in
 * the queue; which ones is a choice. Nothing is learned by being woken: the word must be read again.
 *
 * What makes "store, wake" against "wait" safe is the kernel's promise, no more: either the wake finds the waiter,
 * or the wait comes after it and sees the store. So a queue remembers what those who woke knew of the word, and a
 * later wait sees nothing older. The kernel has full fences in both calls; a protocol that needs those for
 * something else than the word relies on what is promised nowhere, and does not get it here. It also costs less: calls
 * for different words need not be tried in both orders.
 *
 * A wake does not touch the word's memory, which may be gone by then.
 *
 * mc_await() is what all this comes to where a protocol uses it well: a wait for the word to be something else, in one
 * step, and no wakes. For scenarios that would be too large, next to others that have the real thing.
 *
 * Each thread has a clock of its own that only its timeouts move, to the deadline. */
#include "internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PC __builtin_return_address(0)

#define SECOND_NS ((int64_t)1000000000)
#define BEGIN_NS SECOND_NS /* what clocks say at the start of an execution */

static const struct mc__kind sleep_kind, await_kind;

enum { QUEUED = 1, SLEEP_WOKEN = 0, SLEEP_TIMEOUT = 1, SLEEP_SPURIOUS = 2 };

static mc__word wait_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    mc__word value = mc__read_apply(t, op, code, __ATOMIC_RELAXED);
    bool queued = value == op->expected;
    if (queued) mc.object[op->object2].waiting |= MC__BIT(t->tid);
    t->woken = false;
    mc__trace_step(op, "sees %s%s", mc__trace_value(value, op->size), queued ? ", sleeps" : "");
    return queued ? QUEUED : 0;
}

bool mc__in_futex(const struct mc__thread *t) {
    return !t->done && (t->op.kind == &sleep_kind || t->op.kind == &await_kind);
}

bool mc_sleeps(int thread) {
    return mc__in_futex(&mc.thread[thread]);
}

static bool may_wake_itself(const struct mc__thread *t) {
    return t->op.timed || t->spurious < mc.scenario->spurious;
}

static bool sleep_enabled(const struct mc__thread *t) {
    return t->woken || may_wake_itself(t);
}

static unsigned sleep_options(const struct mc__thread *t, const struct mc__op *op, uint16_t *codes) {
    unsigned n = 0;
    if (t->woken) codes[n++] = SLEEP_WOKEN;
    if (!t->woken && op->timed) codes[n++] = SLEEP_TIMEOUT;
    if (!t->woken && t->spurious < mc.scenario->spurious) codes[n++] = SLEEP_SPURIOUS;
    return n;
}

static mc__word sleep_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    mc.object[op->object2].waiting &= (mc__mask)~MC__BIT(t->tid);
    if (code == SLEEP_SPURIOUS) t->spurious++;
    mc__trace_step(op, "%s", code == SLEEP_WOKEN ? "woken" : code == SLEEP_TIMEOUT ? "timed out" : "for no reason");
    return code;
}

/* Sets of n of those in the queue: each is a code. */
static unsigned wake_options(const struct mc__thread *t, const struct mc__op *op, uint16_t *codes) {
    (void)t;
    mc__mask waiting = mc.object[op->object2].waiting;
    int n = __builtin_popcount(waiting);
    if (op->arg < (unsigned)n) n = (int)op->arg;
    unsigned count = 0;
    for (unsigned set = 0; set <= waiting; set++)
        if ((set & ~(unsigned)waiting) == 0 && __builtin_popcount(set) == n) codes[count++] = (uint16_t)set;
    return count;
}

static mc__word wake_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    struct mc__object *queue = &mc.object[op->object2];
    queue->waiting &= (mc__mask)~code;
    mc__view_join(&queue->released, &t->now);
    for (unsigned i = 0; i < MC__THREADS; i++)
        if ((code & MC__BIT(i)) != 0) mc.thread[i].woken = true;
    mc__trace_step(op, "%d woken", __builtin_popcount(code));
    return (unsigned)__builtin_popcount(code);
}

static const struct mc__kind wait_kind = {.name = "futex wait",
                                          .object = MC__ATOMIC,
                                          .part = true,
                                          .queue = true,
                                          .options = mc__read_options,
                                          .apply = wait_apply};
static const struct mc__kind sleep_kind = {
    .name = "futex sleep", .queue = true, .enabled = sleep_enabled, .options = sleep_options, .apply = sleep_apply};
static const struct mc__kind wake_kind = {
    .name = "futex wake", .queue = true, .options = wake_options, .apply = wake_apply};

static long futex_wait(uint32_t *word, uint32_t expected, const struct timespec *until, const void *pc) {
    struct mc__op op = {.kind = &wait_kind,
                        .addr = (uintptr_t)word,
                        .size = sizeof *word,
                        .queue = (uintptr_t)word,
                        .expected = expected,
                        .pc = pc,
                        .timed = until != NULL};
    if (mc__visible(op) != QUEUED) {
        errno = EAGAIN;
        return -1;
    }
    op.kind = &sleep_kind;
    mc__word how = mc__visible(op);
    if (how == SLEEP_WOKEN) return 0;
    if (how == SLEEP_TIMEOUT) {
        int64_t deadline = (int64_t)until->tv_sec * SECOND_NS + until->tv_nsec - BEGIN_NS;
        if (mc__self()->clock_ns < deadline) mc__self()->clock_ns = deadline;
    }
    errno = how == SLEEP_TIMEOUT ? ETIMEDOUT : EINTR;
    return -1;
}

static long futex_wake(uint32_t *word, int n, const void *pc) {
    return (long)mc__visible((struct mc__op){.kind = &wake_kind,
                                             .addr = (uintptr_t)word,
                                             .size = sizeof *word,
                                             .queue = (uintptr_t)word,
                                             .arg = n < 0 ? 0 : (unsigned)n,
                                             .pc = pc});
}

/* ---- the wait as one step ---- */

static bool await_over(const struct mc__op *op) {
    return mc__newest(&mc.object[op->object]) != op->expected;
}

static bool await_enabled(const struct mc__thread *t) {
    return t->op.timed || await_over(&t->op);
}

static unsigned await_options(const struct mc__thread *t, const struct mc__op *op, uint16_t *codes) {
    (void)t;
    unsigned n = 0;
    if (await_over(op)) codes[n++] = SLEEP_WOKEN;
    if (op->timed) codes[n++] = SLEEP_TIMEOUT;
    return n;
}

/* As after a spin loop, it sees what it has waited for, and learns nothing by that: the word is read again. */
static mc__word await_apply(struct mc__thread *t, struct mc__op *op, unsigned code) {
    if (code == SLEEP_WOKEN) t->fresh[op->object] = (uint8_t)(mc.object[op->object].n - 1u);
    mc__trace_step(op, "%s", code == SLEEP_WOKEN ? "over" : "timed out");
    return code;
}

static const struct mc__kind await_kind = {
    .name = "await", .object = MC__ATOMIC, .enabled = await_enabled, .options = await_options, .apply = await_apply};

#pragma GCC visibility push(default)

bool mc_await(const void *word, uint32_t not_this, bool timed) {
    struct mc__op op = {.kind = &await_kind,
                        .addr = (uintptr_t)word,
                        .size = sizeof(uint32_t),
                        .expected = not_this,
                        .pc = PC,
                        .timed = timed};
    return mc__visible(op) == SLEEP_WOKEN;
}

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the linker's --wrap makes these names */

long __wrap_syscall(long number, ...) {
    long a[6];
    va_list args;
    va_start(args, number);
    for (unsigned i = 0; i < 6; i++) a[i] = va_arg(args, long);
    va_end(args);
    if (!mc.running) return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_gettid) return (long)mc.self + 1;
    if (number != SYS_futex) mc__die("system call %ld is not modelled", number);
    switch (a[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: return futex_wait((uint32_t *)a[0], (uint32_t)a[2], (const struct timespec *)a[3], PC);
    case FUTEX_WAKE: return futex_wake((uint32_t *)a[0], (int)a[2], PC);
    default: mc__die("futex operation %ld is not modelled", a[1]);
    }
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts) {
    if (!mc.running) return clock_gettime(id, ts);
    int64_t now = mc__self()->clock_ns + BEGIN_NS;
    *ts = (struct timespec){.tv_sec = now / SECOND_NS, .tv_nsec = now % SECOND_NS};
    return 0;
}

#pragma GCC visibility pop
