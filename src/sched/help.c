/* SPDX-License-Identifier: MIT */
/* Helpers: workers that take descriptors' tasks beside the watcher of those (poll.c).
 *
 * One is called for a backlog, whether or not a processor is free: nobody knows that in time. The system puts it on one
 * that is idle, if there is any. Else it is on the watcher's, on that of the very clients it works for, or on some
 * other program's, and would have that for a time slice, milliseconds, while all that waits for the other one waits
 * for so long. So
 *
 *   - a helper gives way once a turn: it lets others have its processor. Where nobody else wants it that is one short
 *     system call (docs/decisions/0025-give-way.md);
 *   - a helper that finds itself on the processor of its watcher is no help: what one of them does, the other does not.
 *     It looks at no descriptors any more, finishes what is in its rings and steps back: it gives way again and again,
 *     without taking anything. If the system has a processor for it, it is there within a few milliseconds. If not, it
 *     depends. The watcher has had nothing to do in between: then one is enough, and the helper leaves: it sleeps, and
 *     nobody is called for twice as long, and twice that each time, until one has had a processor of its own. The
 *     watcher has had no rest: it waits on, since the system may still find that it is due a part of some other
 *     processor. Others share this one: it helps, for two of us get more of it than one
 *     (docs/decisions/0026-no-crowd.md).
 *
 * Who steps back or leaves passes S2 to S4 of idle.c, but there is one queue that it does not look into: the watcher's
 * ring of those that were woken. Nothing is lost by that, since its owner never sleeps while there is something in that
 * ring. But it may come to it late, if the task that it runs computes or blocks for long, and a publisher may have
 * relied on us. So who steps back must have seen
 *
 *   L1 that the watcher has looked around within a millisecond, and its task has not said that it blocks;
 *   L2 that there is nothing else for us: not in its slot or among what is new there, nor anywhere else;
 *   L3 that there is a monitor, which finds a watcher that gets stuck now, moves what is in its ring to the global
 *      queue and wakes us: L2, or S4, sees it there.
 *
 * Rejected: to leave at once: some systems put who is woken on its waker's processor, though another one is idle, and
 * move it a little later. To leave a processor where somebody else runs: it may be a program that computes for hours,
 * beside which two workers are due twice as much as one.
 *
 * Prev: sched/poll.c  Next: sched/fdwait_hot.h */
#include "sched.h"

#include "../plat/thread.h"
#include "choice.h"

/* In cycles, as the looks of worker.c; at 3 GHz a quarter, one and five milliseconds; and from ten to eighty. */
enum { GIVE_WAY_CYCLES = 750000, LATELY_CYCLES = 3000000, PATIENCE_CYCLES = 15000000 };
enum { HOLD_MIN_CYCLES = 2 * PATIENCE_CYCLES, HOLD_MAX_CYCLES = 8 * HOLD_MIN_CYCLES, STAY_CYCLES = HOLD_MAX_CYCLES };
enum { ALONE_PARTS = 8 }; /* seven of eight are nearly all */

static bool helps(const struct cc__worker *w) {
    return w->watcher != w && !w->temporary;
}

/* 0: no time is. */
static bool is_before(uint64_t cycles, uint64_t until) {
    return until != 0 && (int64_t)(until - cycles) > 0;
}

/* ---- the watcher ---- */

void cc__help_say_where(struct cc__worker *w, uint64_t cycles) {
    unsigned cpu = cc__choice_cpu();
    if (cpu != cc__load_relaxed(&w->help.cpu)) cc__store_relaxed(&w->help.cpu, cpu);
    cc__store_relaxed(&w->help.seen, cycles);
}

void cc__help_call(struct cc__worker *w) {
    if (is_before(cc__choice_cycles(), cc__load_relaxed(&w->watcher->help.none_until))) return;
    if (!cc__load_relaxed(&w->watcher->help.called)) cc__store_relaxed(&w->watcher->help.called, true);
    cc__idle_notify(w->runtime);
}

/* ---- giving way ---- */

/* True: go home for it, and look around after it. There the task that is being left is parked already, and what is in
 * the rings others can take; with what they cannot it is put off, and by who searches, since others rely on that. */
bool cc__help_gives_way(struct cc__worker *w) {
    if (!helps(w) || w->searching || w->next != NULL || w->pinned.first != NULL) return false;
    uint64_t cycles = cc__choice_cycles();
    if (cycles - w->help.gave_way < GIVE_WAY_CYCLES) return false;
    w->help.took = false;
    w->help.gave_way = cycles;
    w->until_look = 1;
    return w->help.gives_way = true;
}

void cc__help_give_way(struct cc__worker *w) {
    uint64_t before = cc__choice_cycles();
    w->help.gives_way = false;
    if (!cc__help_crowds(w)) w->help.hold = 0; /* it has had a processor of its own, or somebody else's */
    cc__count(&w->count.gave_way);
    cc__thread_yield();
    w->looked += cc__choice_cycles() - before; /* what it ran did not take so long */
}

/* ---- stepping back, and leaving ---- */

/* The same processor, and L1, L3. */
bool cc__help_crowds(struct cc__worker *w) {
    struct cc__worker *o = w->watcher;
    if (!helps(w) || !cc__poll_on(w) || w->runtime->growth.off) return false;
    unsigned cpu = cc__load_relaxed(&o->help.cpu);
    if (cpu == 0 || cpu != cc__choice_cpu()) return false;
    uint64_t cycles = cc__choice_cycles();
    if (is_before(cycles, w->help.stays_until) || cycles - cc__load_relaxed(&o->help.seen) > LATELY_CYCLES)
        return false;
    return cc__load_relaxed(&o->asleep) == CC__AWAKE && !cc__worker_says_blocking(o);
}

/* What its watcher has had of processors so far. */
static int64_t watcher_had_ns(const struct cc__worker *w) {
    /* [RT1] acquire: then its number is known. */
    return cc__load_acquire(&w->watcher->started) == 0 ? 0 : cc__thread_cpu_ns(w->watcher->thread_id);
}

/* Whether it has had one to itself since we crowd it, or nearly so. */
static bool watcher_was_alone(const struct cc__worker *w) {
    int64_t had = watcher_had_ns(w) - w->help.had_ns, passed = cc__choice_now() - w->help.since_ns;
    return had >= passed - passed / ALONE_PARTS;
}

static void begin_to_wait(struct cc__worker *w, uint64_t cycles) {
    w->help.crowds_since = cycles;
    w->help.had_ns = watcher_had_ns(w);
    w->help.since_ns = cc__choice_now();
    w->help.dry_then = cc__load_relaxed(&w->watcher->help.dry);
}

static void leave(struct cc__worker *w, uint64_t cycles) {
    struct cc__help *here = &w->help, *there = &w->watcher->help;
    here->hold = here->hold == 0 ? HOLD_MIN_CYCLES : here->hold * 2;
    if (here->hold > HOLD_MAX_CYCLES) here->hold = HOLD_MAX_CYCLES;
    cc__store_relaxed(&there->called, false);
    cc__store_relaxed(&there->none_until, cycles + here->hold);
}

static enum cc__help_next search_on(struct cc__help *here) {
    here->steps_back = false;
    here->crowds_since = 0;
    return CC__HELP_SEARCH;
}

/* One that was called, or has helped. */
enum cc__help_next cc__help_step_back(struct cc__worker *w) {
    struct cc__help *here = &w->help;
    here->steps_back = cc__help_crowds(w) && (here->helps || cc__load_relaxed(&w->watcher->help.called));
    if (CC__LIKELY(!here->steps_back) || !cc__idle_step_back(w)) return search_on(here); /* L2 */
    uint64_t cycles = cc__choice_cycles();
    if (here->crowds_since == 0) begin_to_wait(w, cycles);
    if (cycles - here->crowds_since >= PATIENCE_CYCLES) {
        here->crowds_since = 0;
        if (!watcher_was_alone(w)) {
            here->stays_until = cycles + STAY_CYCLES;
            return search_on(here);
        }
        if (here->dry_then != cc__load_relaxed(&w->watcher->help.dry)) {
            leave(w, cycles);
            return CC__HELP_LEAVE;
        }
    }
    cc__count(&w->count.gave_way);
    cc__thread_yield();
    return CC__HELP_AGAIN;
}
