/* SPDX-License-Identifier: MIT */
/* What a runtime is made with: what the caller says, else the environment, else the defaults.
 *
 * Prev: runtime/options.h  Next: runtime/runtime.c */
#include "options.h"

#include "../base/env.h"
#include "../base/text.h"
#include "../fiber/stack.h"
#include "../plat/cpu.h"
#include "../plat/uring.h"
#include "../plat/vm.h"

#include <ccrt/error.h>
#include <errno.h>

enum { RINGS_BY_DEFAULT = 1 }; /* docs/decisions/0013-files.md */
enum { QUEUE_BITS_MIN = 4, QUEUE_BITS_MAX = 24 };
enum { BLOCKED_MAX = 512, GROW_EVERY_US = 10000, IDLE_MS = 500, US = 1000, MS = 1000000 };

/* What the program was built with, if it said so; guarded by being set before the first runtime. */
static struct cc__built built = {CC_FIBER_WORKERS, CC_FIBER_STACK_SIZE, CC_FIBER_QUEUE_INITIAL};

void cc__options_built(struct cc__built with) {
    if (with.workers != 0) built.workers = with.workers;
    if (with.stack_bytes != 0) built.stack_bytes = with.stack_bytes;
    if (with.queue != 0) built.queue = with.queue;
}

/* The environment asks for what there is not: that is told, and ignored. */
static CC__COLD void say_not_pinned(int rc) {
    char line[256];
    struct cc__text text = cc__text_on(line, sizeof line);
    cc__text_str(&text, "ccrt: CC_PIN=\"");
    cc__text_str(&text, cc__env_strategy(cc__env.pin));
    cc__text_str(&text, rc == -ENOTSUP ? "\" is ignored: this program has no hwloc, or it knows no cpus\n"
                                       : "\" is ignored: no memory\n");
    cc__text_print(&text);
}

/* What is known of the cpus, if a strategy wants to know. *pin: which; CC_PIN_OFF: none, and t is empty. */
static int find_cpus(const cc_runtime_attr *attr, int *pin, struct cc__topology *t) {
    *t = (struct cc__topology){0};
    *pin = attr->pin != CC_PIN_DEFAULT ? attr->pin : cc__env.pin != 0 ? cc__env.pin : CC_PIN_OFF;
    if (*pin < CC_PIN_DEFAULT || *pin > CC_PIN_TIERED) return -EINVAL;
    int rc = *pin == CC_PIN_OFF ? 0 : cc__topology_read(t);
    if (rc == 0 || attr->pin != CC_PIN_DEFAULT) return rc;
    say_not_pinned(rc);
    *pin = CC_PIN_OFF;
    return 0;
}

/* How many workers if the program does not say. cpus: how many may be used; room: how many the strategy gives out. */
static unsigned workers_default(unsigned cpus, unsigned room, unsigned most, const char **why) {
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
        if (room < n) *why = "the cores";
        if (room < n) n = room;
    }
    if (n > most) *why = "max_workers of the program";
    return n < most ? n : most;
}

static unsigned bits_for(size_t n) {
    unsigned bits = QUEUE_BITS_MIN;
    while (bits <= QUEUE_BITS_MAX && ((size_t)1 << bits) < n) bits++;
    return bits;
}

/* Once a process is enough. */
static void tell_missing(const struct cc__options *o) {
    static _Atomic int told; /* W, R: who makes a runtime */
    if (cc__xchg_acq_rel(&told, 1) != 0) return;
    char line[200];
    struct cc__text text = cc__text_on(line, sizeof line);
    cc__text_str(&text, "ccrt: io_uring, by ");
    cc__text_str(&text, o->io_why);
    cc__text_str(&text, ", cannot be had here: ");
    cc__text_str(&text, o->io_missing);
    cc__text_str(&text, "; files go to threads\n");
    cc__text_print(&text);
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

/* Whether files are to be the kernel's. If that is asked for, or is to be told, it is tried here; else when the first
 * is needed. */
static int choose_io(struct cc__options *o, int asked) {
    struct cc__uring *u;
    o->io_why = asked != CC_IO_DEFAULT ? "the program" : cc__env.io != CC_IO_DEFAULT ? "CC_IO" : "default";
    if (asked == CC_IO_DEFAULT) asked = cc__env.io;
    if (asked < CC_IO_DEFAULT || asked > CC_IO_POOL) return -EINVAL;
    o->rings = asked == CC_IO_URING || (asked == CC_IO_DEFAULT && RINGS_BY_DEFAULT);
    if (!o->rings || (asked != CC_IO_URING && !cc__env.verbose)) return 0;
    int rc = cc__uring_open(&u);
    if (rc == 0) {
        cc__uring_close(u);
        return 0;
    }
    o->rings = false;
    o->io_missing = rc == -EOPNOTSUPP ? "not in this build, or under valgrind" : cc_strerror(rc);
    if (asked == CC_IO_URING) tell_missing(o);
    return 0;
}

static int decide(struct cc__options *o, const cc_runtime_attr *attr, unsigned cpus, unsigned room) {
    unsigned most = attr->max_workers != 0 ? attr->max_workers : CC__WORKERS_MAX;
    const char *why = "the program";
    *o = (struct cc__options){.workers = attr->workers != 0 ? attr->workers : workers_default(cpus, room, most, &why),
                              .stack_bytes = attr->stack_bytes != 0 ? attr->stack_bytes : built.stack_bytes,
                              .queue_bits = bits_for(attr->queue != 0 ? attr->queue : built.queue),
                              .round_robin = attr->spawn == CC_SPAWN_ROUNDROBIN,
                              .no_stealing = attr->no_stealing != 0,
                              .huge_wanted = attr->huge_stacks != 0,
                              .huge_stacks = attr->huge_stacks != 0 && cc__vm_huge_bytes() != 0,
                              .prewarm_tasks = attr->prewarm_tasks,
                              .prewarm_stacks = attr->prewarm_stacks,
                              .prefetch_pages = attr->prefetch_pages,
                              .name = attr->name != NULL ? attr->name : "ccrt"};
    o->workers_why = why;
    if (o->workers > most || most > CC__WORKERS_MAX) return -EINVAL;
    if (o->stack_bytes > CC__STACK_BYTES_MAX || o->queue_bits > QUEUE_BITS_MAX) return -EINVAL;
    if (attr->max_blocked > CC__WORKERS_MAX) return -EINVAL;
    int rc = choose_io(o, attr->io);
    if (rc != 0) return rc;
    o->growth = growth_of(attr, cpus, o->workers);
    if (attr->spawn != CC_SPAWN_LOCAL && attr->spawn != CC_SPAWN_ROUNDROBIN) return -EINVAL;
    return 0;
}

int cc__options(struct cc__options *o, const cc_runtime_attr *attr) {
    static const cc_runtime_attr defaults = {0};
    struct cc__topology topology;
    int pin;
    if (attr == NULL) attr = &defaults;
    cc__env_read();
    int rc = find_cpus(attr, &pin, &topology);
    if (rc != 0) return rc;
    unsigned cpus = (unsigned)cc__cpu_count(); /* once: it reads files */
    if (topology.count != 0 && !topology.real) cpus = topology.count;
    rc = decide(o, attr, cpus, pin == CC_PIN_OFF ? cpus : cc__placement_room(&topology, pin));
    if (rc == 0 && pin != CC_PIN_OFF) rc = cc__placement_plan(&o->placement, &topology, pin, o->workers);
    cc__topology_end(&topology);
    return rc;
}
