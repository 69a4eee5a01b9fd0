/* SPDX-License-Identifier: MIT */
/* What can be known of a task without stopping it.
 *
 *   1. its control word: nothing lives here, or it is ACTIVE: that is all; or PARKED:
 *   2. a copy of its record, of its fiber's, of the node of its wait, and of its stack's words
 *   3. its control word again: the same, so it was parked all the time, or parked again: then the copies may be of two
 *      waits. A node is only believed if it says that it is of this task's present wait.
 *
 * One that was woken and has not run yet is looked at in the same way: what it waited for, and why that is over.
 *
 * Records are never unmapped and may be read at any time. All else may be gone by now, and is copied by the kernel,
 * which does not fault: fibers, stacks, names, sites, runtimes. No lock is taken, so nobody is held up, and a task that
 * was stopped in the middle of something does not stop the report.
 *
 * Prev: runtime/report.h  Next: runtime/dump.c */
#include "report.h"

#include "../base/assert.h"
#include "../chan/chan.h"
#include "../fiber/backtrace.h"
#include "../plat/clock.h"
#include "../plat/peek.h"

#include <string.h>

enum { RUNTIMES = 64, MS = 1000000, SECOND = 1000 };

/* ---- who runs ---- */

/* What workers ran when their runtime was first met: filled by whoever has the lock of dump.c. */
static struct running {
    const struct cc__task *task;
    int64_t since_ns;
    unsigned worker;
} running[CC__WORKERS_MAX];
static unsigned running_count;
static const struct cc__runtime *runtimes[RUNTIMES];
static char runtime_names[RUNTIMES][sizeof((struct cc__runtime *)0)->name];
static unsigned runtime_count;

/* A place of spawns, or a reason to wait, as text: there are few of them, and many tasks. */
static struct known {
    const void *at;
    char what[48], file[96];
    int line;
} known[64]; /* by address; filled by whoever has the lock of dump.c */

void cc__report_begin(void) {
    running_count = runtime_count = 0;
    memset(known, 0, sizeof known);
}

/* What a worker runs, and since when: that the monitor knows, if it has seen the same task before. */
static bool worker_peek(const struct cc__worker *w, struct running *out) {
    const char *at = (const char *)w;
    uint32_t tick;
    struct cc__watch watch;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): the pointer is what is copied */
    if (!cc__peek(&out->task, at + offsetof(struct cc__worker, current), sizeof out->task) ||
        !cc__peek(&tick, at + offsetof(struct cc__worker, tick), sizeof tick) ||
        !cc__peek(&watch, at + offsetof(struct cc__worker, watch), sizeof watch))
        return false;
    out->since_ns = watch.tick == tick ? watch.since_ns : 0;
    return true;
}

static unsigned runtime_meet(const struct cc__runtime *rt) {
    static _Alignas(CC__FALSE_SHARING) struct cc__runtime copy;
    unsigned at = 0;
    while (at < runtime_count && runtimes[at] != rt) at++;
    if (at < runtime_count || at == RUNTIMES) return at;
    runtimes[runtime_count++] = rt;
    runtime_names[at][0] = 0;
    if (!cc__peek((void *)&copy, rt, sizeof copy)) return at;
    memcpy(runtime_names[at], copy.name, sizeof copy.name - 1);
    unsigned workers = cc__load_relaxed(&copy.worker_count);
    for (unsigned i = 0; i < workers && running_count < CC__COUNT_OF(running); i++) {
        struct running *r = &running[running_count];
        if (!worker_peek(&copy.workers[i], r)) break;
        r->worker = i + 1;
        if (r->task != NULL) running_count++;
    }
    return at;
}

/* ---- copies ---- */

typedef uint64_t __attribute__((may_alias)) word;

/* Read as it is, which only a report may do. */
CC__HOOKS_UNCHECKED static void copy_record(struct cc__task *to, const struct cc__task *from) {
    const volatile word *source = (const volatile word *)(const void *)from;
    word *target = (word *)(void *)to;
    for (size_t i = 0; i < sizeof *to / sizeof *target; i++) target[i] = source[i];
}

/* Where that is kept; a site and a reason are never at one address. */
static struct known *known_slot(const void *at) {
    return &known[(uintptr_t)at / sizeof(void *) % CC__COUNT_OF(known)];
}

static const struct known *site_text(const struct cc_site *at) {
    struct known *k = known_slot(at);
    struct cc_site site;
    if (k->at == at) return k;
    *k = (struct known){.at = at};
    if (at == NULL || !cc__peek(&site, at, sizeof site)) return k;
    if (site.what != NULL) cc__peek_text(k->what, sizeof k->what, site.what);
    if (site.file != NULL) cc__peek_text(k->file, sizeof k->file, site.file);
    k->line = site.line;
    return k;
}

static const char *reason_text(const char *at) {
    struct known *k = known_slot(at);
    if (k->at == at) return k->what;
    *k = (struct known){.at = at};
    if (at != NULL) cc__peek_text(k->what, sizeof k->what, at);
    return k->what;
}

/* Its name, or its function as the spawn had it; and where that was. */
static void take_label(const struct cc__task *copy, struct cc__report *out) {
    const struct known *site = site_text(copy->site);
    out->site = copy->site;
    if (copy->has_name)
        cc__peek_text(out->name, sizeof out->name, copy->name);
    else
        memcpy(out->name, site->what, sizeof out->name);
    memcpy(out->file, site->file, sizeof out->file);
    out->line = site->line;
}

/* A task that another waits for. */
static void take_object(const struct cc__task *t, struct cc__report *out) {
    struct cc__task copy;
    struct cc__report other = {0};
    if (!cc__peek((void *)&copy, t, sizeof copy)) return;
    take_label(&copy, &other);
    out->object_serial = copy.serial;
    memcpy(out->object_name, other.name, sizeof other.name);
}

/* Why a wait on a channel is over; or that it is not. */
static int notified(enum cc__outcome outcome, bool parked) {
    switch (outcome) {
    case CC__MATCHED: return CC_CHAN_NOTIFY_DATA;
    case CC__CLOSED: return CC_CHAN_NOTIFY_CLOSE;
    case CC__TIMED_OUT:
    case CC__CANCELLED: return CC_CHAN_NOTIFY_CANCEL;
    case CC__PENDING: break;
    }
    return parked ? CC_CHAN_NOTIFY_NONE : CC_CHAN_NOTIFY_SIGNAL;
}

/* A channel that it waits on, unless that is gone. */
static void take_chan(const cc_chan *c, struct cc__report *out) {
    cc_chan copy;
    if (c == NULL || !cc__peek((void *)&copy, c, sizeof copy) || copy.alive != CC__CHAN_ALIVE) return;
    out->chan.looked = true;
    out->chan.closed = cc_channel_is_closed(&copy) != 0;
    out->chan.len = cc_channel_len(&copy);
    out->chan.cap = cc_channel_cap(&copy);
    if (copy.name != NULL) cc__peek_text(out->object_name, sizeof out->object_name, copy.name);
}

static void take_wait(struct cc__task *t, const struct cc__fiber *fiber, struct cc__report *out) {
    struct cc__wait wait;
    out->since_ns = fiber->since_ns;
    if ((fiber->waits_for & CC__WAITS_FLAG) != 0) {
        strcpy(out->reason, "park_if");
        out->object = fiber->waits_for & ~CC__WAITS_FLAG;
    } else if (fiber->waits_for != 0 && cc__peek(&wait, (const void *)fiber->waits_for, sizeof wait) &&
               cc__wait_is_of(&wait, t)) {
        memcpy(out->reason, reason_text(wait.reason), sizeof out->reason - 1);
        out->object = (uintptr_t)wait.object;
        if (strcmp(out->reason, "join") == 0) take_object(wait.object, out);
        bool select = strcmp(out->reason, "select") == 0;
        out->chan.is = select || strcmp(out->reason, "send") == 0 || strcmp(out->reason, "receive") == 0;
        if (!out->chan.is) return;
        out->chan.notified = notified(cc__outcome_of(t), out->doing != CC__READY);
        if (select)
            out->object = 0; /* of one case, which says little */
        else
            take_chan(wait.object, out);
    }
}

static void take_running(const struct cc__task *t, struct cc__report *out) {
    for (unsigned i = 0; i < running_count; i++) {
        if (running[i].task != t) continue;
        out->doing = CC__RUNS;
        out->worker = running[i].worker;
        out->since_ns = running[i].since_ns;
    }
}

/* A task that waits: what for, and where. */
static void take_parked(struct cc__task *t, const struct cc__task *copy, bool stack, struct cc__report *out) {
    struct cc__fiber fiber;
    bool thread = copy->fn == NULL;
    out->doing = thread ? CC__THREAD_WAITS : CC__WAITS;
    if (copy->fiber == NULL || !cc__peek((void *)&fiber, copy->fiber, sizeof fiber)) return;
    take_wait(t, &fiber, out);
    if (stack && !thread) out->depth = (unsigned)cc__backtrace(&fiber, out->pc, CC__REPORT_FRAMES);
}

/* One that is ready: if it is so because a wait on a channel is over, which, and why. One that has yielded since has
 * left the frame of that node: it lies below its stack. */
static void take_woken(struct cc__task *t, const struct cc__task *copy, struct cc__report *out) {
    struct cc__fiber fiber;
    if (copy->fiber == NULL || !cc__peek((void *)&fiber, copy->fiber, sizeof fiber)) return;
    if (fiber.waits_for < (uintptr_t)fiber.ctx.sp) return;
    take_wait(t, &fiber, out);
    out->since_ns = 0; /* that is of the wait */
    if (!out->chan.is) out->reason[0] = 0;
}

/* 1 to 3. False: it changed meanwhile, to *now. */
static bool take(struct cc__task *t, uint64_t *now, bool stack, struct cc__report *out) {
    struct cc__task copy;
    uint64_t before = *now;
    copy_record(&copy, t);
    *out = (struct cc__report){.serial = copy.serial, .runtime = copy.runtime, .doing = CC__READY};
    if (copy.fn != NULL && copy.runtime != NULL) {
        out->function = copy.body != NULL ? (uintptr_t)copy.body : (uintptr_t)copy.fn;
        take_label(&copy, out);
        unsigned rt = runtime_meet(copy.runtime);
        if (rt < RUNTIMES && strcmp(runtime_names[rt], "ccrt") != 0)
            memcpy(out->runtime_name, runtime_names[rt], sizeof out->runtime_name);
    }
    if ((before & CC__CONTROL_STATE) == CC__PARKED)
        take_parked(t, &copy, stack, out);
    else
        take_running(t, out);
    if (out->doing == CC__READY) take_woken(t, &copy, out);
    *now = cc__load_acquire(&t->control); /* [TS3] as below */
    return *now == before;
}

/* Whether it is one to speak of: a task that lives, or a thread that waits. */
static bool shown(uint64_t control) {
    uint64_t state = control & CC__CONTROL_STATE;
    return state == CC__PARKED || (state == CC__ACTIVE && (control & CC__CONTROL_THREAD) == 0);
}

bool cc__report_take(struct cc__task *t, bool stack, struct cc__report *out) {
    enum { TRIES = 4 };
    uint64_t now = cc__load_acquire(&t->control); /* [TS3] acquire: PARKED says that the stack is quiet */
    for (unsigned i = 0; i < TRIES && shown(now); i++)
        if (take(t, &now, stack, out)) return true;
    if (!shown(now)) return false;
    out->doing = CC__READY; /* it wakes and waits all the time */
    out->reason[0] = 0;
    out->chan.is = false;
    out->depth = 0;
    out->since_ns = 0;
    return true;
}

/* ---- words ---- */

void cc__report_name(struct cc__text *text, const struct cc__report *r) {
    if (r->name[0] != 0) {
        cc__text_str(text, " \"");
        cc__text_str(text, r->name);
        cc__text_str(text, "\"");
    }
    if (r->runtime_name[0] != 0) {
        cc__text_str(text, " of ");
        cc__text_str(text, r->runtime_name);
    }
}

static void object_name(struct cc__text *text, const struct cc__report *r) {
    if (r->object_name[0] == 0) return;
    cc__text_str(text, " \"");
    cc__text_str(text, r->object_name);
    cc__text_str(text, "\"");
}

/* ` on channel "orders" 0x5581, 3 of 16 in it, closed` */
static void object_chan(struct cc__text *text, const struct cc__report *r) {
    cc__text_str(text, " on channel");
    object_name(text, r);
    cc__text_str(text, " ");
    cc__text_hex(text, r->object);
    if (r->chan.len > 0 || r->chan.cap > 0) {
        cc__text_str(text, ", ");
        cc__text_dec(text, r->chan.len);
        if (r->chan.cap != SIZE_MAX) {
            cc__text_str(text, " of ");
            cc__text_dec(text, r->chan.cap);
        }
        cc__text_str(text, " in it");
    }
    if (r->chan.closed) cc__text_str(text, ", closed");
}

void cc__report_wait(struct cc__text *text, const struct cc__report *r, bool object) {
    if (r->reason[0] == 0) return;
    cc__text_str(text, " (");
    cc__text_str(text, r->reason);
    if (object && r->object_serial != 0) {
        cc__text_str(text, " of task ");
        cc__text_dec(text, r->object_serial);
        object_name(text, r);
    } else if (object && r->chan.looked) {
        object_chan(text, r);
    } else if (object && r->object != 0) {
        cc__text_str(text, " on ");
        cc__text_hex(text, r->object);
    }
    if (r->chan.is) {
        cc__text_str(text, ", ");
        cc__text_str(text, cc_chan_notify_name(r->chan.notified));
    }
    cc__text_str(text, ")");
}

static void duration(struct cc__text *text, int64_t ns) {
    static const struct {
        int64_t below_ms, ms;
        const char *unit;
    } units[] = {{SECOND, 1, " ms"},
                 {(int64_t)120 * SECOND, SECOND, " s"},
                 {(int64_t)120 * 60 * SECOND, (int64_t)60 * SECOND, " min"},
                 {(int64_t)48 * 3600 * SECOND, (int64_t)3600 * SECOND, " h"},
                 {INT64_MAX, (int64_t)24 * 3600 * SECOND, " days"}};
    int64_t ms = ns < 0 ? 0 : ns / MS;
    size_t i = 0;
    while (ms >= units[i].below_ms) i++;
    cc__text_dec(text, (uint64_t)(ms / units[i].ms));
    cc__text_str(text, units[i].unit);
}

void cc__report_age(struct cc__text *text, int64_t least_ns, int64_t most_ns) {
    enum { ALIKE = 4 }; /* a quarter more is the same */
    cc__text_str(text, " for about ");
    duration(text, least_ns);
    if (most_ns - least_ns < SECOND * (int64_t)MS / 10 || (most_ns - least_ns) * ALIKE < least_ns) return;
    cc__text_str(text, " to ");
    duration(text, most_ns);
}

void cc__report_site(struct cc__text *text, const struct cc__report *r) {
    if (r->file[0] == 0) return;
    cc__text_str(text, ", spawned at ");
    cc__text_str(text, r->file);
    cc__text_str(text, ":");
    cc__text_dec(text, (uint64_t)(unsigned)r->line);
}

void cc__report_line(struct cc__text *text, const struct cc__report *r, int64_t now_ns) {
    static const char *const verb[] = {
        [CC__RUNS] = " runs", [CC__WAITS] = " waits", [CC__READY] = " is ready", [CC__THREAD_WAITS] = " waits"};
    cc__text_str(text, r->doing == CC__THREAD_WAITS ? "thread " : "task ");
    cc__text_dec(text, r->serial);
    cc__report_name(text, r);
    cc__text_str(text, verb[r->doing]);
    if (r->doing == CC__RUNS) {
        cc__text_str(text, " on worker ");
        cc__text_dec(text, r->worker);
    }
    cc__report_wait(text, r, true);
    if (r->since_ns != 0) cc__report_age(text, now_ns - r->since_ns, now_ns - r->since_ns);
    cc__report_site(text, r);
}
