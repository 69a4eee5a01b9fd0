/* SPDX-License-Identifier: MIT */
/* What a runtime is made with: what the caller says, else the environment, else the defaults. The environment is read
 * here and nowhere else.
 *
 * Prev: time/sleep.c  Next: runtime/runtime.c */
#include "options.h"

#include "../fiber/stack.h"
#include "../plat/cpu.h"

#include <errno.h>
#include <stdlib.h>

enum { QUEUE_BITS_MIN = 4, QUEUE_BITS_MAX = 24 };
enum { BLOCKED_MAX = 512, GROW_EVERY_US = 10000, IDLE_MS = 500, US = 1000, MS = 1000000 };

/* CC_WORKERS, or 0 where it is not a number that makes sense. */
static unsigned workers_from_environment(void) {
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a program that changes its environment meanwhile races with itself */
    const char *text = getenv("CC_WORKERS");
    char *end;
    if (text == NULL || *text == 0) return 0;
    unsigned long n = strtoul(text, &end, 10);
    return *end == 0 && n >= 1 && n <= CC__WORKERS_MAX ? (unsigned)n : 0;
}

static unsigned workers_default(unsigned most) {
    unsigned n = workers_from_environment();
    if (n == 0) n = (unsigned)cc__cpu_count();
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
static struct cc__growth growth_of(const cc_runtime_attr *attr, unsigned workers) {
    unsigned burning = 2 * (unsigned)cc__cpu_count();
    if (attr->max_workers != 0) burning = attr->max_workers;
    if (burning < workers) burning = workers;
    struct cc__growth g = {.off = attr->no_monitor != 0,
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
    unsigned most = attr->max_workers != 0 ? attr->max_workers : CC__WORKERS_MAX;
    *o = (struct cc__options){.workers = attr->workers != 0 ? attr->workers : workers_default(most),
                              .stack_bytes = attr->stack_bytes != 0 ? attr->stack_bytes : CC_FIBER_STACK_SIZE,
                              .queue_bits = bits_for(attr->queue != 0 ? attr->queue : CC_FIBER_QUEUE_INITIAL),
                              .round_robin = attr->spawn == CC_SPAWN_ROUNDROBIN,
                              .no_stealing = attr->no_stealing != 0,
                              .prewarm_tasks = attr->prewarm_tasks,
                              .prewarm_stacks = attr->prewarm_stacks,
                              .prefetch_pages = attr->prefetch_pages,
                              .name = attr->name != NULL ? attr->name : "ccrt"};
    if (o->workers > most || most > CC__WORKERS_MAX) return -EINVAL;
    if (o->stack_bytes > CC__STACK_BYTES_MAX || o->queue_bits > QUEUE_BITS_MAX) return -EINVAL;
    if (attr->max_blocked > CC__WORKERS_MAX) return -EINVAL;
    o->growth = growth_of(attr, o->workers);
    if (attr->spawn != CC_SPAWN_LOCAL && attr->spawn != CC_SPAWN_ROUNDROBIN) return -EINVAL;
    return 0;
}
