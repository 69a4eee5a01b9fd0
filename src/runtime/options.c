/* SPDX-License-Identifier: MIT */
/* What a runtime is made with: what the caller says, else the environment, else the defaults.
 *
 * Prev: runtime/options.h  Next: runtime/runtime.c */
#include "options.h"

#include "../fiber/stack.h"
#include "../plat/cpu.h"
#include "../base/env.h"

#include <errno.h>

enum { QUEUE_BITS_MIN = 4, QUEUE_BITS_MAX = 24 };
enum { BLOCKED_MAX = 512, GROW_EVERY_US = 10000, IDLE_MS = 500, US = 1000, MS = 1000000 };

/* What the program was built with, if it said so; guarded by being set before the first runtime. */
static struct cc__built built = {CC_FIBER_WORKERS, CC_FIBER_STACK_SIZE, CC_FIBER_QUEUE_INITIAL};

void cc__options_built(struct cc__built with) {
    if (with.workers != 0) built.workers = with.workers;
    if (with.stack_bytes != 0) built.stack_bytes = with.stack_bytes;
    if (with.queue != 0) built.queue = with.queue;
}

/* How many workers if the program does not say. */
static unsigned workers_default(unsigned cpus, unsigned most, const char **why) {
    unsigned n = (unsigned)cc__env.workers;
    *why = "CC_WORKERS";
    if (n == 0 && built.workers != 0) {
        n = built.workers;
        *why = "CC_FIBER_WORKERS, when it was built";
    }
    if (n == 0) {
        n = cpus;
        *why = "the cpus of its affinity mask";
        if (cc__env.verbose && n < (unsigned)cc__cpu_affinity()) *why = "the cpu quota of its cgroup";
    }
    if (n > most) *why = "max_workers of the program";
    return n < most ? n : most;
}

static unsigned bits_for(size_t n) {
    unsigned bits = QUEUE_BITS_MIN;
    while (bits <= QUEUE_BITS_MAX && ((size_t)1 << bits) < n) bits++;
    return bits;
}

static int64_t or_default(unsigned value, unsigned otherwise) {
    return value != 0 ? value : otherwise;
}

/* How many workers may come in addition, and when. */
static struct cc__growth growth_of(const cc_runtime_attr *attr, unsigned cpus, unsigned workers) {
    unsigned burning = 2 * cpus;
    if (attr->max_workers != 0) burning = attr->max_workers;
    if (burning < workers) burning = workers;
    struct cc__growth g = {.off = attr->no_monitor != 0 || cc__env.sysmon == 0,
                           .burning_max = burning,
                           .blocked_max = (unsigned)or_default(attr->max_blocked, BLOCKED_MAX),
                           .every_ns = or_default(attr->grow_every_us, GROW_EVERY_US) * US,
                           .idle_ns = or_default(attr->idle_ms, IDLE_MS) * MS};
    g.places = g.off ? workers : burning + 1 + g.blocked_max; /* one is the express */
    return g;
}

int cc__options(struct cc__options *o, const cc_runtime_attr *attr) {
    static const cc_runtime_attr defaults = {0};
    if (attr == NULL) attr = &defaults;
    cc__env_read();
    unsigned most = attr->max_workers != 0 ? attr->max_workers : CC__WORKERS_MAX;
    unsigned cpus = (unsigned)cc__cpu_count(); /* once: it reads files */
    const char *why = "the program";
    *o = (struct cc__options){.workers = attr->workers != 0 ? attr->workers : workers_default(cpus, most, &why),
                              .stack_bytes = attr->stack_bytes != 0 ? attr->stack_bytes : built.stack_bytes,
                              .queue_bits = bits_for(attr->queue != 0 ? attr->queue : built.queue),
                              .round_robin = attr->spawn == CC_SPAWN_ROUNDROBIN,
                              .no_stealing = attr->no_stealing != 0,
                              .prewarm_tasks = attr->prewarm_tasks,
                              .prewarm_stacks = attr->prewarm_stacks,
                              .prefetch_pages = attr->prefetch_pages,
                              .name = attr->name != NULL ? attr->name : "ccrt"};
    o->workers_why = why;
    if (o->workers > most || most > CC__WORKERS_MAX) return -EINVAL;
    if (o->stack_bytes > CC__STACK_BYTES_MAX || o->queue_bits > QUEUE_BITS_MAX) return -EINVAL;
    if (attr->max_blocked > CC__WORKERS_MAX) return -EINVAL;
    o->growth = growth_of(attr, cpus, o->workers);
    if (attr->spawn != CC_SPAWN_LOCAL && attr->spawn != CC_SPAWN_ROUNDROBIN) return -EINVAL;
    return 0;
}
