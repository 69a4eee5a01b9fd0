/* SPDX-License-Identifier: MIT */
/* The end of a task, and joining it.
 *
 *   the task (T)                                a joiner (J)
 *   T1 writes its result                        J1 tries to release the handle. It was done: it passes once
 *   T2 locks the joiners, becomes DONE,            through the lock, takes the result, frees the record
 *      takes all joiners off, unlocks           J2 locks the joiners; done, or another generation by now:
 *   T3 decides the wait of each, unparks it        back to J1; else puts itself on the list, unlocks
 *                                               J3 waits; then J1 again
 *
 * A joiner is on the list before T2, or sees DONE under the lock. Who frees the record has passed through the
 * lock after DONE, so T is through with the record by then; T3 touches only nodes in frames of joiners that are
 * not decided yet, and reads the next one before it decides.
 *
 * Prev: sched/idle.c  Next: sched/cancel.c */
#include <ccrt/task.h>

#include "sched.h"

#include "../base/assert.h"

#include <errno.h>
#include <stdlib.h>

static void record_free(struct cc__task *t) {
    struct cc__worker *w = cc__worker_current();
    struct cc__task_cache none = {0};
    free(t->name);
    t->name = NULL;
    cc__task_free(w != NULL ? &w->records : &none, t);
    cc__task_cache_drain(&none);
}

void cc__finish(struct cc__worker *w, struct cc__task *t) {
    t->fiber = NULL;
    /* [SD1] release: shutdown that counts this end sees all the task spawned. */
    cc__store_release(&w->ended, cc__load_relaxed(&w->ended) + 1);
    cc__waitlist_lock(&t->joiners);
    bool released = cc__state_finish(t);
    struct cc__wait *joiners = cc__waitlist_take_all(&t->joiners);
    cc__waitlist_unlock(&t->joiners);
    if (released) record_free(t);
    cc__wake_all(joiners, CC__MATCHED); /* T3 */
}

/* J1, once the handle is ours and the task is done: whoever ended it is through with the record. */
static void pass_through(struct cc__task *t) {
    cc__waitlist_lock(&t->joiners);
    cc__waitlist_unlock(&t->joiners);
}

/* J2: on the list, unless there is nothing to wait for any more. */
static bool join_register(struct cc__task *t, uint32_t generation, struct cc__wait *w, struct cc__task *self) {
    cc__wait_begin(w, self, t, "join");
    cc__waitlist_lock(&t->joiners);
    uint64_t c = cc__load_acquire(&t->control); /* [TS4] */
    bool wait = cc__task_generation(c) == generation && (c & CC__CONTROL_STATE) != CC__DONE;
    if (wait) cc__waitlist_append(&t->joiners, w);
    cc__waitlist_unlock(&t->joiners);
    return wait;
}

int cc_task_join(cc_task task, void **result) {
    struct cc__task *t = task.priv_record, *self = cc__self();
    if (t == NULL) return -ESRCH;
    if (self == NULL) return -ENOMEM;
    if (t == self && cc_task_valid(task)) return -EDEADLK;
    for (;;) {
        switch (cc__state_release(t, task.priv_generation, true)) {
        case CC__RELEASE_STALE: return -ESRCH;
        case CC__RELEASE_FREE:
            pass_through(t);
            if (result != NULL) *result = t->value;
            record_free(t);
            return 0;
        case CC__RELEASE_LATER: break;
        }
        struct cc__wait w;
        if (join_register(t, task.priv_generation, &w, self)) cc__wait_for(&w, CC__NEVER);
    }
}

int cc_task_detach(cc_task task) {
    struct cc__task *t = task.priv_record;
    if (t == NULL) return -ESRCH;
    switch (cc__state_release(t, task.priv_generation, false)) {
    case CC__RELEASE_STALE: return -ESRCH;
    case CC__RELEASE_FREE:
        pass_through(t);
        record_free(t);
        break;
    case CC__RELEASE_LATER: break;
    }
    return 0;
}

int cc_task_valid(cc_task task) {
    struct cc__task *t = task.priv_record;
    if (t == NULL) return 0;
    uint64_t c = cc__load_acquire(&t->control);
    return cc__task_generation(c) == task.priv_generation && (c & CC__CONTROL_RELEASED) == 0 &&
           (c & CC__CONTROL_STATE) != CC__IDLE;
}
