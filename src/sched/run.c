/* SPDX-License-Identifier: MIT */
/* From one task to the next.
 *
 * A task that parks, yields or ends picks the next one itself and switches straight to it; the worker's own
 * stack is used only when there is nothing to run. What the left task still needs, to be committed as parked, to
 * be queued again, to have its fiber put away, needs a stack that is not its own: so it is written down in the
 * worker, and the first thing the next stack does is to carry it out (cc__run_arrive). Until then nobody else
 * can run the left task: it is in no queue, and not yet PARKED.
 *
 * A fiber runs task after task: when one ends and the next has not begun yet, it begins right there. A future is polled
 * on any fiber that has none of its own to go on with, and leaves nothing there.
 *
 * Prev: sched/steal.c  Next: sched/leave.h */
#include "sched.h"

#include "../base/assert.h"
#include "../plat/thread.h"
#include "events.h"
#include "leave.h"

enum { IDLE_FIBERS_MAX = 64 };

static void fiber_main(void *arg);

/* TSan keeps a stack of calls for each fiber, and a fiber that left for good never returned from its last ones:
 * begun again and again, it would overflow. And one whose memory is far away goes home. */
static bool can_begin_again(const struct cc__worker *w, const struct cc__fiber *f) {
    if (CC__UNLIKELY(w->victims != NULL) && !cc__stack_lives(f->stack, &w->stacks)) return false;
    return f->bytes == cc__stack_class_bytes(w->runtime->stack_class) && (f->hooks & CC__HOOK_TSAN) == 0;
}

static void put_fiber(struct cc__worker *w, struct cc__fiber *f) {
    if (can_begin_again(w, f) && w->idle_fiber_count < IDLE_FIBERS_MAX) {
        f->arg = w->idle_fibers;
        w->idle_fibers = f;
        w->idle_fiber_count++;
    } else {
        cc__fiber_destroy(f, &w->stacks);
    }
}

void cc__run_drop_fibers(struct cc__worker *w) {
    while (w->idle_fibers != NULL) {
        struct cc__fiber *f = w->idle_fibers;
        w->idle_fibers = f->arg;
        cc__fiber_destroy(f, &w->stacks);
    }
    w->idle_fiber_count = 0;
}

/* The fiber a task goes on with, or begins on. NULL: no memory for a stack. */
static struct cc__fiber *fiber_for(struct cc__worker *w, struct cc__task *t) {
    struct cc__fiber *f = t->fiber;
    if (f != NULL) return f;
    unsigned cls = t->stack_class == CC__STACKLESS ? w->runtime->stack_class : t->stack_class; /* any will do */
    if (cls == w->runtime->stack_class && w->idle_fibers != NULL) {
        f = w->idle_fibers;
        w->idle_fibers = f->arg;
        w->idle_fiber_count--;
    } else if (cc__fiber_create(&f, &w->stacks, cc__stack_class_bytes(cls), false, false) != 0) {
        return NULL;
    }
    cc__fiber_start(f, fiber_main, f);
    return f;
}

static void begin_on(struct cc__fiber *f, struct cc__task *t) {
    f->task = t;
    cc__fiber_describe(f, t->serial, cc__task_label(t));
}

static inline void switched(struct cc__worker *w) {
    if (CC__TRACING(CC__TRACE_SWITCH | CC__EDGES)) cc__event_switch(w);
}

void cc__run_switched(struct cc__worker *w) {
    switched(w);
}

void cc__run_arrive(struct cc__worker *w) {
    enum cc__left left = w->left;
    w->left = CC__LEFT_NOTHING;
    switch (left) {
    case CC__LEFT_NOTHING: break;
    case CC__LEFT_PARKING: cc__run_parked(w); break;
    case CC__LEFT_YIELDING: cc__ready_later(w, w->left_task); break;
    case CC__LEFT_PAUSING: cc__ready_paused(w, w->left_task); break;
    case CC__LEFT_ENDED: put_fiber(w, w->left_fiber); break;
    }
}

/* The fiber of the next task, which becomes the current one; the worker's root if there is none. */
struct cc__fiber *cc__run_next_fiber(struct cc__worker *w, struct cc__task *next) {
    struct cc__fiber *f = next == NULL ? w->root : fiber_for(w, next);
    if (CC__UNLIKELY(f == NULL && next != NULL)) { /* no stack now: it waits in line, and the worker tries again */
        if (next->pinned != 0)
            cc__tasks_append(&w->pinned, next);
        else
            cc__inject_push(&w->runtime->inject, next);
        cc__thread_yield();
        next = NULL;
        f = w->root;
    }
    cc__store_relaxed(&w->current, next);
    w->budget = CC__BUDGET;
    return f;
}

void cc__run_operation(void) {
    struct cc__worker *w = cc__worker_current();
    struct cc__task *t = w == NULL ? NULL : cc__load_relaxed(&w->current);
    if (t == NULL || (w->budget > 0 && w->budget-- > 0) || t->stack_class == CC__STACKLESS) return;
    w->budget = CC__BUDGET;
    cc__run_leave(w, CC__LEFT_PAUSING, 0);
}

/* Whether a task that has no fiber can run on this one. */
static inline bool fits(const struct cc__fiber *f, const struct cc__task *t) {
    return t->stack_class == CC__STACKLESS || t->stack_class == cc__stack_class(f->bytes);
}

static void fiber_main(void *arg) {
    struct cc__fiber *f = arg;
    struct cc__worker *w = cc__worker_current();
    switched(w);
    cc__run_arrive(w);
    struct cc__task *next;
    for (;;) {
        struct cc__task *t = cc__load_relaxed(&w->current);
        struct cc__worker *began_on = w;
        uint32_t tick = cc__load_relaxed(&w->tick);
        if (CC__LIKELY(t->stack_class != CC__STACKLESS)) {
            begin_on(f, t);
            t->fiber = f;
            t->value = t->fn(t->value);
            if (CC__UNLIKELY(t->has_locals)) cc__locals_end(t);
            w = cc__worker_current(); /* it may have moved */
            if (CC__UNLIKELY(f->frame != NULL)) cc__frame_end(f);
            if (CC__UNLIKELY(f->forks != NULL || cc__forks_own_any(&w->forks))) cc__forks_forgotten();
            cc__finish(w, t);
        } else {
            w = cc__future_poll(f, t);
        }
        bool waited = w != began_on || tick != cc__load_relaxed(&w->tick);
        next = waited ? NULL : cc__worker_pick_through(w);
        if (next == NULL) next = cc__worker_pick(w);
        if (w->over != NULL && (next == NULL || next->fiber != NULL || next->nursery != w->over || next->is_fork))
            cc__finish_tell(w);
        cc__store_relaxed(&w->current, next);
        w->budget = CC__BUDGET;
        if (next == NULL || next->fiber != NULL || !fits(f, next)) break;
        switched(w);
    }
    struct cc__fiber *to = cc__run_next_fiber(w, next);
    w->left = CC__LEFT_ENDED;
    w->left_fiber = f;
    cc__fiber_exit(f, to);
}

void cc__run_task(struct cc__worker *w, struct cc__task *t) {
    struct cc__fiber *to = cc__run_next_fiber(w, t);
    if (to == w->root) return;
    if (cc__fiber_switch(w->root, to)) cc__run_switched(w);
    cc__run_arrive(w);
}
