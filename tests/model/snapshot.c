/* SPDX-License-Identifier: MIT */
/* Snapshots: not all of an execution has to be run again to try something else near its end.
 *
 * The search goes back to the deepest node with something left to try, and that is most often a few steps from the end:
 * of the steps of all executions four in five repeat what the execution before did. So on the way to a node to which
 * the search went back the machine's state is kept, and the next execution that has the same steps up to there begins
 * there.
 *
 * All state is copied, by the part it belongs to, to one tape: what threads and objects know, messages, accesses to
 * memory, heap and stacks as far as they are used, thread-locals, and of the program's data what was written since the
 * execution began (image.c). Everything stays at its address, so a stack that was put back goes on as if nothing had
 * happened. Not on the tape are the nodes: they belong to the search.
 *
 * A snapshot is taken between two steps, in the driver: the thread whose turn it was has said what it wants to do next
 * and gone to sleep like all the others, and the driver picks who goes on. So a tape that was put back goes on as the
 * beginning of an execution does.
 *
 * Snapshots stand in order of depth, and those deeper than the node to which the search goes back are dropped: each is
 * of an execution with the same steps. The first is of what setup() left, if it has made no choice.
 *
 * Where the program switches stacks itself, in ways that cannot be known here, none is taken. */
#include "internal.h"

#include <stdlib.h>

/* Steps: cheaper to make again than to copy the machine; and so many that one in the middle is of use, too. */
enum { NEAR = 3, FAR = 16, NEVER = MC__STEPS + 1 };

static struct {
    unsigned n;
    unsigned depth[MC__STEPS];
    struct mc__tape tape[MC__STEPS];
} kept;

void mc__tape_grow(struct mc__tape *tape, size_t bytes) {
    tape->room = 2 * (tape->n + bytes);
    tape->bytes = realloc(tape->bytes, tape->room);
    if (tape->bytes == NULL) mc__die("out of memory for snapshots");
}

void mc__tape(struct mc__tape *tape, void *at, size_t bytes) {
    if (tape->n + bytes > tape->room) mc__tape_grow(tape, bytes);
    char *there = tape->bytes + tape->n;
    memcpy(tape->back ? at : there, tape->back ? there : at, bytes);
    tape->n += bytes;
}

#define TAPE(tape, what) mc__tape((tape), &(what), sizeof(what))

static void tape_machine(struct mc__tape *tape) {
    unsigned threads = mc.threads;
    TAPE(tape, mc.threads);
    TAPE(tape, mc.depth);
    TAPE(tape, mc.self);
    TAPE(tape, mc.alone);
    TAPE(tape, mc.watch);
    TAPE(tape, mc.told);
    mc__tape(tape, mc.tale, mc.told * sizeof mc.tale[0]);
    mc__tape(tape, mc.thread, mc.threads * sizeof mc.thread[0]);
    TAPE(tape, mc.thread[MC__MAIN]);
    for (unsigned i = mc.threads; i < threads; i++) mc__thread_clear(i); /* created later */
}

static void tape_all(struct mc__tape *tape, bool back) {
    tape->n = 0;
    tape->back = back;
    tape_machine(tape);
    mc__memory_tape(tape);
    mc__threads_tape(tape);
    mc__fences_tape(tape);
    mc__race_tape(tape);
    mc__arena_tape(tape);
    mc__image_tape(tape);
    mc__shims_tape(tape);
}

void mc__snapshots_reset(void) {
    kept.n = 0;
    mc.pause = NEVER;
}

/* Where the next one is to be taken: on the way to the node that the search went back to. */
void mc__snapshot_plan(void) {
    unsigned last = mc.replay > 0 ? mc.replay - 1 : 0, from = kept.n > 0 ? kept.depth[kept.n - 1] : 0;
    unsigned gap = last > from ? last - from : 0;
    mc.pause = gap < NEAR || !mc__image_known() ? NEVER : gap < FAR ? last : from + gap / 2;
}

/* All threads have said what they want to do next. */
void mc__snapshot_take(void) {
    mc.pause = NEVER;
    if (!mc__threads_can_tape() || !mc__image_known()) return;
    tape_all(&kept.tape[kept.n], false);
    kept.depth[kept.n++] = mc.depth;
    mc__snapshot_plan();
}

/* Go to the deepest one from which this execution's steps can be made; false: to the beginning. */
bool mc__snapshot_back(void) {
    unsigned last = mc.replay > 0 ? mc.replay - 1 : 0;
    while (kept.n > 0 && kept.depth[kept.n - 1] > last) kept.n--;
    if (kept.n == 0) return false;
    tape_all(&kept.tape[kept.n - 1], true);
    return true;
}
