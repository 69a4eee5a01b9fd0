/* SPDX-License-Identifier: MIT */
/* The search for the next task, and a worker's life.
 *
 * Order: high priority; what a task that ended handed over, or the slot (three times in a row at most, then it goes to
 * the tail of its ring, or two tasks that wake each other would keep all others out); the ring of tasks that were
 * begun and woken, then the ring of those that are new or yielded; pinned tasks; the global queue in a batch; timers
 * that are due, and descriptors that are ready; then other workers' (steal.c), and low priority when there is nothing
 * else, or nothing else here when a task yields (spawn.c). One time in eight the first and the second of two go the
 * other way, so that neither high priority nor begun work keeps the rest out for ever; and one of low priority is taken
 * when some have been there for 50 ms, at looks, below. After a new task that has ended without ever waiting up to
 * eight others go before what was begun, while each of them ends so and they are quick
 * (docs/decisions/0010-newest-first.md).
 *
 * Every 61st task, or every half millisecond where tasks take longer than that allows, the timers, descriptors, the
 * pinned and the global queue come first, so that no local crowd starves them, and the tasks of a worker that stands
 * still. Cycles are read at these looks only: how many tasks there are between two is guessed from those since the
 * last. (Half a millisecond at 3 GHz: where the counter is slower than that, so are the looks at slow tasks.)
 *
 * Prev: sched/inbox.c  Next: sched/steal.c */
#include "sched.h"

#include "../base/text.h"
#include "../plat/futex.h"
#include "../plat/thread.h"
#include "../task/keep.h"
#include "choice.h"
#include "slot.h"

enum {
    LOOK_EVERY_MAX = 61,
    LOOK_CYCLES = 1500000,
    STRANDED_CYCLES = LOOK_CYCLES / 4,
    THROUGH_MAX = 8,
    TURN_PARTS = 8,
    LOW_NS = 50000000
};

bool cc__worker_expire(struct cc__timers *s, int64_t *now) {
    int64_t next = cc__load_relaxed(&s->next_ns);
    if (next == CC__NEVER) return false;
    if (*now == 0) *now = cc__choice_now();
    if (next > *now) return false;
    struct cc__task *ready = cc__timers_expire(s, *now);
    cc__ready_list(ready);
    return ready != NULL;
}

static bool other_way(struct cc__worker *w) {
    return cc__load_relaxed(&w->tick) % CC__OTHER_WAY_EVERY == 0;
}

/* What goes before the rings: handed over, or from the slot. */
static struct cc__task *take_first(struct cc__worker *w) {
    struct cc__task *t = w->next;
    w->next = NULL;
    return t != NULL ? t : cc__slot_take(w);
}

/* One look in eight goes the other way, not one tick in eight: with a slot that is taken three times of four, it is
 * every fourth tick that comes here, and perhaps never the eighth. */
static struct cc__task *take_from_rings(struct cc__worker *w) {
    bool other = ++w->ring_looks % CC__OTHER_WAY_EVERY == 0, jobs = cc__jobs_any(w);
    if (CC__UNLIKELY(jobs) && w->ring_looks % (2 * CC__OTHER_WAY_EVERY) == 0) return cc__jobs_pop(w);
    struct cc__task *t = cc__runq_pop(other ? &w->fresh : &w->begun);
    if (t == NULL) t = cc__runq_pop(other ? &w->begun : &w->fresh);
    return t == NULL && jobs ? cc__jobs_pop(w) : t;
}

struct cc__task *cc__worker_pick_local(struct cc__worker *w) {
    struct cc__task *t = take_first(w);
    if (t != NULL && w->lifo_streak < CC__LIFO_MAX) {
        w->lifo_streak++;
        return t;
    }
    w->lifo_streak = 0;
    struct cc__task *first = take_from_rings(w);
    if (first == NULL) return t; /* nobody waits that it could keep out */
    if (t != NULL) cc__ready_taken(w, t);
    return first;
}

static struct cc__task *take_pinned(struct cc__worker *w) {
    if (w->pinned.first == NULL) {
        if (CC__LIKELY(cc__load_relaxed(&w->mail) == NULL)) return NULL;
        w->pinned = cc__inbox_take(&w->mail);
    }
    return cc__tasks_take(&w->pinned);
}

/* The post of this worker goes to its rings. */
static void open_post(struct cc__worker *w) {
    if (CC__UNLIKELY(cc__load_relaxed(&w->post) != NULL)) cc__ready_all_taken(w, cc__inbox_take(&w->post));
}

/* How many tasks to the next look: as many as would take half a millisecond, at the rate of late. */
static uint32_t next_look(uint32_t picks, uint64_t took) {
    uint64_t n = took == 0 ? LOOK_EVERY_MAX : (uint64_t)picks * LOOK_CYCLES / took;
    return n < 1 ? 1 : n > LOOK_EVERY_MAX ? LOOK_EVERY_MAX : (uint32_t)n;
}

/* Descriptors, unless what is in the ring is enough until the next look: the kernel keeps its events in order, while a
 * ring that is filled faster than it is emptied runs over, and who is at the end of that waits for twice as long as the
 * others. Tasks that keep the ring full for good do not keep descriptors waiting, though.
 *
 * What is still in the ring after a whole turn is too much for one, if it is more than a small part of one: another
 * worker is called to help (help.c). */
static CC__COLD void look_at_descriptors(struct cc__worker *w, uint32_t turn, uint64_t cycles) {
    if (w->watcher == w) cc__help_say_where(w, cycles);
    if (turn > 0) {
        int32_t left = (int32_t)(w->poll_tail - cc__load_relaxed(&w->begun.head));
        if (left > 0 && (uint32_t)left * TURN_PARTS >= turn) cc__idle_notify(w->runtime);
        w->poll_tail = cc__load_relaxed(&w->begun.tail);
    }
    cc__poll_look(w);
}

/* One of low priority, if there have been some since long ago, and none has run here since. */
static struct cc__task *take_low_in_turn(struct cc__worker *w) {
    struct cc__inject *inject = &w->runtime->inject;
    if (CC__LIKELY(cc__inject_lane_empty(inject, CC_PRIORITY_LOW))) {
        w->low_since_ns = 0;
        return NULL;
    }
    int64_t now = cc__choice_now();
    if (w->low_since_ns == 0) w->low_since_ns = now;
    if (now - w->low_since_ns < LOW_NS) return NULL;
    w->low_since_ns = 0;
    return cc__inject_take(inject, CC_PRIORITY_LOW);
}

static CC__COLD struct cc__task *look_around(struct cc__worker *w) {
    uint64_t cycles = cc__choice_cycles();
    int64_t now = 0;
    bool whole = w->look_every == LOOK_EVERY_MAX || cycles - w->looked >= LOOK_CYCLES / 2;
    uint32_t turn = whole ? w->look_every : 0;
    w->look_every = w->until_look = next_look(w->look_every, cycles - w->looked);
    w->looked = cycles;
    cc__worker_expire(&w->timers, &now);
    cc__coarse_tell(w->runtime, now);
    if (CC__UNLIKELY(cc__poll_on(w))) look_at_descriptors(w, turn, cycles);
    open_post(w);
    struct cc__task *t = take_low_in_turn(w);
    if (t == NULL) t = take_pinned(w);
    if (t == NULL && cycles - w->other_looked >= STRANDED_CYCLES) {
        w->other_looked = cycles;
        t = cc__steal_stranded(w);
    }
    return t != NULL ? t : cc__inject_take_batch(&w->runtime->inject, w);
}

static CC__COLD struct cc__task *take_high(struct cc__worker *w) {
    return cc__inject_take(&w->runtime->inject, CC_PRIORITY_HIGH);
}

/* Something else goes first, perhaps for long: what was handed over is put where others can take it. */
static void pass_on_next(struct cc__worker *w) {
    struct cc__task *t = w->next;
    if (t == NULL) return;
    w->next = NULL;
    cc__ready_taken(w, t);
    cc__idle_notify(w->runtime);
}

struct cc__task *cc__worker_pick_through(struct cc__worker *w) {
    if (w->through == THROUGH_MAX || w->until_look <= 1 || w->look_every <= THROUGH_MAX || w->next != NULL ||
        cc__load_relaxed(&w->runtime->inject.high) > 0) {
        w->through = 0;
        return NULL;
    }
    struct cc__task *t = cc__runq_pop(&w->fresh);
    if (t == NULL) return NULL;
    w->through++;
    w->until_look--;
    cc__store_relaxed(&w->tick, cc__load_relaxed(&w->tick) + 1);
    return t;
}

struct cc__task *cc__worker_pick(struct cc__worker *w) {
    struct cc__inject *inject = &w->runtime->inject;
    struct cc__task *t = NULL;
    cc__store_relaxed(&w->tick, cc__load_relaxed(&w->tick) + 1);
    if (CC__UNLIKELY(--w->until_look == 0)) {
        if (CC__UNLIKELY(w->temporary) && cc__grow_pick(w, &t)) return t;
        if (CC__UNLIKELY(w->help.took) && cc__help_gives_way(w)) return NULL;
        t = look_around(w);
    }
    bool high = CC__UNLIKELY(cc__load_relaxed(&inject->high) > 0);
    if (t == NULL && high && !other_way(w)) t = take_high(w);
    if (CC__UNLIKELY(t != NULL)) {
        pass_on_next(w);
        return t;
    }
    t = cc__worker_pick_local(w);
    if (t != NULL) return t;
    if (high) t = take_high(w);
    if (t == NULL) t = take_pinned(w);
    if (t == NULL) t = cc__inject_take_batch(inject, w);
    if (t != NULL) return t;
    int64_t now = 0;
    open_post(w);
    cc__worker_expire(&w->timers, &now);
    t = cc__worker_pick_local(w);
    return t != NULL ? t : cc__tasks_take(&w->pinned); /* whose timer it was, perhaps */
}

/* Descriptors that are ready. Who is alone need not ask before it sleeps there: if any is, it does not sleep. */
static struct cc__task *take_polled(struct cc__worker *w) {
    if (CC__LIKELY(!cc__poll_on(w)) || (cc__poll_own(w) && cc__worker_count(w->runtime) == 1)) return NULL;
    return cc__poll_look(w) ? cc__worker_pick_local(w) : NULL;
}

/* Where others rely on it, if it may be one of those who search. */
static struct cc__task *search(struct cc__worker *w) {
    cc__help_move(w); /* first, if it is in the way here */
    struct cc__task *t = take_polled(w);
    if (t == NULL && cc__idle_start_searching(w)) t = cc__steal(w);
    return t != NULL ? t : cc__inject_take(&w->runtime->inject, CC_PRIORITY_LOW);
}

struct cc__task *cc__worker_find(struct cc__worker *w) {
    if (CC__UNLIKELY(w->express)) return cc__grow_find_begun(w);
    for (;;) {
        if (CC__UNLIKELY(w->help.gives_way)) cc__help_give_way(w);
        struct cc__task *t = cc__worker_pick(w);
        if (CC__UNLIKELY(w->help.gives_way)) continue; /* it has not looked into its rings */
        if (CC__UNLIKELY(w->retiring)) {
            cc__idle_stop_searching(w, true); /* somebody may have relied on us */
            return NULL;
        }
        if (t == NULL) t = search(w);
        if (t != NULL) {
            cc__idle_stop_searching(w, true);
            return t;
        }
        if (w->searching && (cc__poll_own(w) ? cc__poll_spin(w) : cc__steal_spin(w))) continue;
        if (!cc__idle_sleep(w)) {
            cc__idle_stop_searching(w, false);
            return NULL;
        }
        if (CC__UNLIKELY(w->event_count != 0)) cc__poll_deliver(w);
    }
}

static void name_thread(const struct cc__worker *w) {
    char name[16];
    struct cc__text text = cc__text_on(name, sizeof name - 1);
    cc__text_str(&text, w->runtime->name);
    cc__text_str(&text, "-");
    cc__text_dec(&text, w->id);
    name[text.len] = 0;
    cc__thread_set_name(name);
}

void *cc__worker_main(void *arg) {
    struct cc__worker *w = arg;
    name_thread(w);
    if (w->bound != 0 && cc__thread_pin((int)w->bound - 1) != 0) w->bound = 0; /* before it touches much */
    w->thread_id = cc__thread_id();
    w->keeper = cc__keeper_begin();
    cc__worker_set_current(w);
    cc__forks_begin(w);
    struct cc__task *t;
    if (cc__fiber_attach(&w->root) != 0) w->root = NULL;
    /* [RT1] release: the starter may go on; it looks whether there is a root. */
    cc__store_release(&w->started, 1);
    cc__futex_wake(&w->started, 1);
    if (w->root == NULL) {
        cc__keeper_end(w->keeper);
        if (w->temporary) cc__grow_retired(w);
        cc__thread_ends();
        return NULL;
    }
    while ((t = cc__worker_find(w)) != NULL) cc__run_task(w, t);
    cc__run_drop_fibers(w);
    cc__forks_end(w);
    cc__stack_cache_shrink(&w->stacks, 0);
    cc__task_cache_drain(&w->records);
    cc__worker_set_current(NULL);
    cc__keeper_end(w->keeper);
    if (w->temporary) cc__grow_retired(w);
    cc__thread_ends();
    return NULL;
}
