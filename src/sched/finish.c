/* SPDX-License-Identifier: MIT */
/* The end of a task, and joining it. The joiners' lock decides between the task's end and its handle's.
 *
 *   the task (T)                                a joiner (J)
 *   T1 writes its result                        J1 locks the joiners. Released, or another generation by now:
 *   T2 locks the joiners, becomes DONE             stale. Done: releases, takes the result. Else it puts
 *   T3 one plain joiner: releases for it,          itself on the list. Unlocks
 *      decides its wait, unlocks; T is          J2 waits. Matched: T has released it for us. "Look again":
 *      through with the record                     J1. Cancelled: takes its node off, under the lock
 *   T4 else it marks itself as ending, and      J3 frees the record, unless T is still ending
 *      lets joiners look again one by one
 *   T5 frees the record if it was released
 *
 * A joiner is on the list before T2, or sees DONE. The record is freed by who comes second of the release and T's last
 * unlock. A stale joiner may lock the list of a record that is somebody else's now, and leaves without a change: it
 * reads the mark first, and a clear one means that the generation it reads next is the newest [FN1].
 *
 * Direct hand-off: the joiner runs next on this worker, without passing through a queue.
 *
 * Prev: sched/idle.c  Next: sched/events.c */
#include <ccrt/task.h>

#include "sched.h"

#include "../base/assert.h"
#include "events.h"
#include "leave.h"

#include <errno.h>
#include <stdlib.h>

/* joiners.mark, beside CC__RELEASED: the task is at T4. */
enum { ENDING = 2 };

enum { OVER_MAX = 32 }; /* ended children that a worker keeps from their nursery */

static void mark_set(struct cc__task *t, uint32_t bits) {
    cc__store_relaxed(&t->joiners.mark, bits); /* with the lock */
}

void cc__record_free(struct cc__task *t) {
    struct cc__worker *w = cc__worker_current();
    if (CC__UNLIKELY(t->has_name)) free(t->name);
    cc__task_free(w != NULL ? &w->records : NULL, t);
}

/* T4, T5: with the lock held. */
static CC__COLD void end_slowly(struct cc__task *t) {
    mark_set(t, cc__load_relaxed(&t->joiners.mark) | ENDING);
    while (t->joiners.first != NULL) {
        if (CC__TRACING(CC__LOG_JOIN)) cc__event_joined(t, t->joiners.first->task);
        cc__wake_first(&t->joiners, CC__CLOSED);
        cc__waitlist_lock(&t->joiners);
    }
    uint32_t mark = cc__load_relaxed(&t->joiners.mark) & ~(uint32_t)ENDING;
    mark_set(t, mark);
    cc__waitlist_unlock(&t->joiners);
    if (mark != 0) cc__record_free(t);
}

/* A nursery's child that ended well. Its nursery waits for all its children, so the worker need not tell it while the
 * next task it runs is another of them: it tells of several at once, under one lock. Whoever leaves a task for another
 * one, or runs out of them, tells first. */
static void end_child(struct cc__worker *w, struct cc__task *t) {
    if (w->over != t->nursery) cc__finish_tell(w);
    w->over = t->nursery;
    cc__record_free(t);
    if (++w->over_count == OVER_MAX) cc__finish_tell(w);
}

void cc__finish_tell(struct cc__worker *w) {
    struct cc_nursery *n = w->over;
    unsigned count = w->over_count;
    if (n == NULL) return;
    w->over = NULL;
    w->over_count = 0;
    cc__nursery_children_ended(n, count);
}

/* The end of one that somebody has a handle of. */
static inline __attribute__((always_inline)) void end_held(struct cc__worker *w, struct cc__task *t, bool told) {
    told ? cc__waitlist_lock(&t->joiners) : cc__waitlist_lock_untold(&t->joiners);
    cc__state_finish(t);
    struct cc__wait *j = t->joiners.first;
    bool released = cc__load_relaxed(&t->joiners.mark) != 0;
    if (j == NULL) {
        told ? cc__waitlist_unlock(&t->joiners) : cc__waitlist_unlock_untold(&t->joiners);
        if (released) cc__record_free(t);
    } else if (released || j->node.next != NULL || cc__wait_contested(j)) {
        end_slowly(t);
    } else { /* T3 */
        if (told && CC__TRACING(CC__LOG_JOIN)) cc__event_joined(t, j->task);
        cc__waitlist_remove(&t->joiners, j);
        mark_set(t, CC__RELEASED);
        told ? cc__waitlist_unlock(&t->joiners) : cc__waitlist_unlock_untold(&t->joiners);
        told ? cc__wake_next(w, j, CC__MATCHED) : cc__wake_next_untold(w, j, CC__MATCHED);
    }
}

static CC__COLD void end_held_and_told(struct cc__worker *w, struct cc__task *t) {
    end_held(w, t, true);
}

static CC__NOINLINE void end_held_quickly(struct cc__worker *w, struct cc__task *t) {
    end_held(w, t, false);
}

void cc__finish(struct cc__worker *w, struct cc__task *t) {
    t->fiber = NULL;
    /* [SD1] release: shutdown that counts this end sees all the task spawned. */
    cc__store_release(&w->count.ended, cc__load_relaxed(&w->count.ended) + 1);
    if (!t->no_handle) {
        CC__TRACING(CC__TELL_WAKES | CC__LOG_JOIN) ? end_held_and_told(w, t) : end_held_quickly(w, t);
        return;
    }
    cc__state_finish(t);
    if (t->counts_out)
        end_child(w, t);
    else
        cc__record_free(t);
}

/* ---- joining ---- */

enum looked { STALE, LIVE, ENDED };

/* J1, with the lock: whether there is something to wait for, or to take. */
static enum looked look(cc_task task, uint32_t *mark) {
    struct cc__task *t = task.priv_record;
    *mark = cc__load_acquire(&t->joiners.mark); /* [FN1] acquire: then the generation */
    uint64_t c = cc__load_relaxed(&t->control);
    if ((*mark & CC__RELEASED) != 0 || cc__task_generation(c) != task.priv_generation) return STALE;
    return (c & CC__CONTROL_STATE) == CC__DONE ? ENDED : LIVE;
}

/* J1, J3: on the list, or the result is taken, or it is stale. */
static inline __attribute__((always_inline)) enum looked join_look_as(cc_task task, struct cc__wait *w, void **result,
                                                                      bool told) {
    struct cc__task *t = task.priv_record;
    uint32_t mark;
    told ? cc__waitlist_lock(&t->joiners) : cc__waitlist_lock_untold(&t->joiners);
    enum looked found = look(task, &mark);
    if (told && CC__TRACING(CC__LOG_JOIN) && found != STALE)
        cc__event_join(w->task, t, found == LIVE); /* neither can go */
    if (found == LIVE) cc__waitlist_append(&t->joiners, w);
    if (found == ENDED) {
        mark_set(t, mark | CC__RELEASED);
        if (result != NULL) *result = t->value;
    }
    told ? cc__waitlist_unlock(&t->joiners) : cc__waitlist_unlock_untold(&t->joiners);
    if (found == ENDED && mark == 0) cc__record_free(t);
    if (found == ENDED) cc__run_operation();
    return found;
}

static CC__COLD enum looked join_look_told(cc_task task, struct cc__wait *w, void **result) {
    return join_look_as(task, w, result, true);
}

static enum looked join_look(cc_task task, struct cc__wait *w, void **result) {
    if (CC__TRACING(CC__EDGES | CC__LOG_JOIN)) return join_look_told(task, w, result);
    return join_look_as(task, w, result, false);
}

int cc__join_poll(cc_task task, struct cc__wait *w, void **result) {
    if (task.priv_record == NULL) return -ESRCH;
    switch (join_look(task, w, result)) {
    case STALE: return -ESRCH;
    case ENDED: return 0;
    case LIVE: break;
    }
    return -EAGAIN;
}

/* What a call may join: 0, or why not. */
static int joinable(cc_task task, struct cc__task **self) {
    if (task.priv_record == NULL) return -ESRCH;
    *self = cc__self();
    if (*self == NULL) return -ENOMEM;
    return task.priv_record == *self && cc_task_valid(task) ? -EDEADLK : 0;
}

int cc_task_join(cc_task task, void **result) {
    struct cc__task *t = task.priv_record, *self;
    int rc = joinable(task, &self);
    if (rc != 0) return rc;
    for (;;) {
        struct cc__wait w;
        cc__wait_begin(&w, self, CC__BY_LIST, t, "join");
        switch (join_look(task, &w, result)) {
        case STALE: return -ESRCH;
        case ENDED: return 0;
        case LIVE: break;
        }
        if (cc__wait_for_ever(&w) != CC__MATCHED) continue;
        if (result != NULL) *result = t->value; /* T3: it is ours alone */
        cc__record_free(t);
        return 0;
    }
}

int cc_task_join_cancellable(cc_task task, void **result) {
    struct cc__task *t = task.priv_record, *self;
    int rc = joinable(task, &self);
    if (rc != 0) return rc;
    do {
        struct cc__wait w;
        cc__wait_begin(&w, self, CC__BY_CANCEL, t, "join");
        switch (join_look(task, &w, result)) {
        case STALE: return -ESRCH;
        case ENDED: return 0;
        case LIVE: break;
        }
        rc = cc__wait_cancellable(&w, CC__NEVER);
        cc__waitlist_leave(&t->joiners, &w);
    } while (rc == -EPIPE || rc == CC__WAIT_AGAIN); /* look again; a contested wait is never matched here */
    return rc;
}

int cc_task_detach(cc_task task) {
    struct cc__task *t = task.priv_record;
    if (t == NULL) return -ESRCH;
    uint32_t mark;
    cc__waitlist_lock(&t->joiners);
    enum looked found = look(task, &mark);
    if (found != STALE) mark_set(t, mark | CC__RELEASED);
    cc__waitlist_unlock(&t->joiners);
    if (found == ENDED && mark == 0) cc__record_free(t);
    return found == STALE ? -ESRCH : 0;
}

bool cc__task_ended_locked(cc_task task) {
    uint32_t mark;
    return look(task, &mark) != LIVE;
}

bool cc__task_ended(cc_task task) {
    struct cc__task *t = task.priv_record;
    uint64_t c = cc__load_relaxed(&t->control);
    bool ended = !cc_task_valid(task) || (c & CC__CONTROL_STATE) == CC__DONE;
    CC__EDGE_ACQUIRE(&t->joiners);
    return ended;
}

int cc_task_valid(cc_task task) {
    struct cc__task *t = task.priv_record;
    if (t == NULL) return 0;
    uint32_t mark = cc__load_acquire(&t->joiners.mark); /* [FN1] */
    return (mark & CC__RELEASED) == 0 && cc__task_generation(cc__load_relaxed(&t->control)) == task.priv_generation;
}
