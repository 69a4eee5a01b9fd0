/* SPDX-License-Identifier: MIT */
/* Helpers: workers that take descriptors' tasks beside the watcher of those (poll.c).
 *
 * One is called for a backlog, whether or not a processor is free: nobody knows that in time. The system puts it on one
 * that is idle, if there is any. Else it is on the watcher's, on that of the very clients it works for, or on some
 * other program's, and would have that for a time slice, milliseconds, while all that waits for the other one waits
 * for so long. So a helper gives way once a turn: it lets others have its processor. Where nobody else wants it that is
 * one short system call (docs/decisions/0025-give-way.md).
 *
 * A helper on the processor of its watcher is no help: what one of them does, the other does not. Some systems put who
 * is woken beside its waker though another processor is idle, and move it milliseconds later. So a helper that finds
 * itself there has the system put it on another one, of those that this thread may use; at most once a millisecond,
 * since the system may have its reasons to move it back. It looks when it has found nothing in its rings, and so just
 * after it was woken, and when it gives way; both at home, where it is the searcher or nothing, so it may be off the
 * processor for as long as a preemption may take.
 *
 * Rejected: to step back or leave, and leave to the watcher what is in its ring: docs/decisions/0026-no-crowd.md.
 *
 * Prev: sched/poll.c  Next: sched/fdwait_hot.h */
#include "sched.h"

#include "../plat/thread.h"
#include "choice.h"

/* In cycles, as the looks of worker.c; at 3 GHz a quarter of a millisecond, and one. */
enum { GIVE_WAY_CYCLES = 750000, LATELY_CYCLES = 3000000, MOVE_CYCLES = 3000000 };

static bool helps(const struct cc__worker *w) {
    return w->watcher != w && !w->temporary;
}

void cc__help_say_where(struct cc__worker *w, uint64_t cycles) {
    unsigned cpu = cc__choice_cpu();
    if (cpu != cc__load_relaxed(&w->help.cpu)) cc__store_relaxed(&w->help.cpu, cpu);
    cc__store_relaxed(&w->help.seen, cycles);
}

/* ---- a processor of its own ---- */

/* Whether its watcher is on this processor, as far as is known, and at work. */
static bool crowds(const struct cc__worker *w, uint64_t cycles) {
    const struct cc__worker *o = w->watcher;
    unsigned cpu = cc__load_relaxed(&o->help.cpu);
    if (cpu == 0 || cpu != cc__choice_cpu()) return false;
    return cycles - cc__load_relaxed(&o->help.seen) <= LATELY_CYCLES && cc__load_relaxed(&o->asleep) == CC__AWAKE;
}

bool cc__help_move(struct cc__worker *w) {
    if (CC__LIKELY(!helps(w) || !cc__poll_on(w))) return false;
    uint64_t cycles = cc__choice_cycles();
    if (!crowds(w, cycles) || cycles - w->help.moved < MOVE_CYCLES) return false;
    w->help.moved = cycles;
    return cc__thread_move();
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
    cc__count(&w->count.gave_way);
    if (!cc__help_move(w)) cc__thread_yield();
    w->looked += cc__choice_cycles() - before; /* what it ran did not take so long */
}
