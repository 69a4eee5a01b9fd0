/* SPDX-License-Identifier: MIT */
/* The environment: a table of all variables there are, read once, as the first runtime starts. No other file asks for
 * one. A value that is not understood is told in one line, with what would be, and changes nothing; an empty one is as
 * good as none.
 *
 * Prev: chan/select.c  Next: runtime/options.h */
#include "../base/env.h"

#include <ccrt/runtime.h>

#include "../base/text.h"
#include "../plat/thread.h"
#include "../sched/sched.h"
#include "../trace/trace.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

enum kind { FLAG, NUMBER, FILE_NAME, BACKEND, STRATEGY };

/* By CC_IO_* - 1. */
static const char *const backends[] = {"epoll", "uring", "pool"};

/* What CC_PIN may be. */
static const char *const strategies[] = {
    [CC_PIN_OFF] = "off", [CC_PIN_LINEAR] = "linear", [CC_PIN_AVOID_SMT] = "avoid-smt", [CC_PIN_TIERED] = "tiered"};

static const struct variable {
    const char *name;
    enum kind kind;
    int least, most; /* of a number */
    size_t at;       /* where it goes in cc__env */
} variables[] = {
#define AT(field) offsetof(struct cc__env, field)
    {"CC_WORKERS", NUMBER, 1, CC__WORKERS_MAX, AT(workers)},
    {"CC_IO", BACKEND, 0, 0, AT(io)},
    {"CC_TRACE", FILE_NAME, 0, 0, AT(trace)},
    {"CC_PIN", STRATEGY, 0, 0, AT(pin)},
    {"CC_FIBER_STATS", FLAG, 0, 1, AT(fiber_stats)},
    {"CC_VERBOSE", FLAG, 0, 1, AT(verbose)},
    {"CC_SYSMON", FLAG, 0, 1, AT(sysmon)},
    {"CC_DEBUG_JOIN", FLAG, 0, 1, AT(debug_join)},
    {"CC_DEBUG_WAKE", FLAG, 0, 1, AT(debug_wake)},
    {"CC_DEBUG_INBOX", FLAG, 0, 1, AT(debug_inbox)},
    {"CC_DEBUG_SYSMON", FLAG, 0, 1, AT(debug_sysmon)},
    {"CC_PARK_DEBUG", FLAG, 0, 1, AT(park_debug)},
    {"CC_DEBUG_STALL", FLAG, 0, 1, AT(debug_stall)},
    {"CC_DEBUG_DEADLOCK", FLAG, 0, 1, AT(debug_deadlock)},
    {"CC_DEBUG_DEADLOCK_RUNTIME", FLAG, 0, 1, AT(debug_deadlock_runtime)},
    {"CC_DEBUG_INBOX_DUMP", FLAG, 0, 1, AT(debug_inbox_dump)},
    {"CC_DEADLOCK_ABORT", FLAG, 0, 1, AT(deadlock_abort)},
    {"CC_CHAN_DEBUG", FLAG, 0, 1, AT(chan_debug)},
    {"CC_CHAN_DEBUG_VERBOSE", FLAG, 0, 1, AT(chan_debug_verbose)},
    {"CC_CHAN_NO_LOCKFREE", FLAG, 0, 1, AT(chan_no_lockfree)},
#undef AT
};

/* A whole number in decimal, digits only. False: it is none, or not in the range. */
static bool number(const char *text, int least, int most, int *out) {
    long n = 0;
    for (const char *c = text; *c != 0; c++) {
        if (*c < '0' || *c > '9') return false;
        n = n * 10 + (*c - '0');
        if (n > most) return false;
    }
    *out = (int)n;
    return n >= least;
}

static bool strategy(const char *text, int *out) {
    for (*out = CC_PIN_OFF; *out < (int)CC__COUNT_OF(strategies); ++*out)
        if (strcmp(text, strategies[*out]) == 0) return true;
    return false;
}

const char *cc__env_strategy(int pin) {
    return strategies[pin];
}

/* ccrt: CC_WORKERS="abc" is ignored: it is to be a number from 1 to 4096 */
static void refuse(const struct variable *v, const char *value) {
    enum { SHOWN = 40 };
    char line[256], shown[SHOWN + 1] = {0};
    strncpy(shown, value, SHOWN);
    for (char *c = shown; *c != 0; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    struct cc__text text = cc__text_on(line, sizeof line);
    cc__text_str(&text, "ccrt: ");
    cc__text_str(&text, v->name);
    cc__text_str(&text, "=\"");
    cc__text_str(&text, shown);
    cc__text_str(&text, strlen(value) > SHOWN ? "...\" is ignored: it is to be " : "\" is ignored: it is to be ");
    if (v->kind == BACKEND) {
        cc__text_str(&text, "epoll, uring or pool\n");
    } else if (v->kind == FLAG) {
        cc__text_str(&text, "1 or 0\n");
    } else if (v->kind == STRATEGY) {
        cc__text_str(&text, "off, linear, avoid-smt or tiered\n");
    } else {
        cc__text_str(&text, "a number from ");
        cc__text_dec(&text, (uint64_t)v->least);
        cc__text_str(&text, " to ");
        cc__text_dec(&text, (uint64_t)v->most);
        cc__text_str(&text, "\n");
    }
    cc__text_print(&text);
}

static bool backend(const char *text, int *out) {
    for (size_t i = 0; i < CC__COUNT_OF(backends); i++) {
        if (strcmp(text, backends[i]) != 0) continue;
        *out = (int)i + CC_IO_EPOLL;
        return true;
    }
    return false;
}

static bool understand(const struct variable *v, const char *value, int *out) {
    switch (v->kind) {
    case BACKEND: return backend(value, out);
    case STRATEGY: return strategy(value, out);
    default: return number(value, v->least, v->most, out);
    }
}

static void read_one(const struct variable *v) {
    char *field = (char *)&cc__env + v->at;
    /* A file is not written for who runs the program with another's rights. */
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a program that changes its environment meanwhile races with itself */
    const char *value = v->kind == FILE_NAME ? secure_getenv(v->name) : getenv(v->name);
    int n;
    if (value == NULL || *value == 0) return;
    if (v->kind == FILE_NAME)
        *(const char **)(void *)field = value;
    else if (understand(v, value, &n))
        *(int *)(void *)field = n;
    else
        refuse(v, value);
}

/* The log lines that are asked for are written at the sites that record events. */
static uint32_t logs_asked_for(void) {
    return (cc__env.debug_join ? CC__LOG_JOIN : 0u) | (cc__env.debug_wake ? CC__LOG_WAKE : 0u) |
           (cc__env.debug_inbox ? CC__LOG_INBOX : 0u) | (cc__env.debug_sysmon ? CC__LOG_MONITOR : 0u) |
           (cc__env.park_debug ? CC__LOG_PARK : 0u) |
           (cc__env.chan_debug || cc__env.chan_debug_verbose ? CC__LOG_CHAN : 0u) |
           (cc__env.chan_debug_verbose ? CC__LOG_CHAN_MORE : 0u);
}

void cc__env_read(void) {
    static cc__lock lock = CC__LOCK_INIT;
    static _Atomic bool done;                        /* W: with the lock.  R: anyone.  [EN1] */
    if (CC__LIKELY(cc__load_acquire(&done))) return; /* [EN1] acquire: all of it may be read */
    cc__lock_take(&lock);
    if (!cc__load_relaxed(&done)) {
        for (size_t i = 0; i < CC__COUNT_OF(variables); i++) read_one(&variables[i]);
        cc__trace_turn_on(logs_asked_for());
        if (cc__env.trace != NULL) cc__trace_start(cc__env.trace);
        cc__store_release(&done, true); /* [EN1] */
    }
    cc__lock_drop(&lock);
}
