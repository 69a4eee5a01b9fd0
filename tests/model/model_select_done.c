/* SPDX-License-Identifier: MIT */
/* Goal: select (src/chan/select.c) that waits for the end of a task (src/sched/finish.c) as well as at a channel: the
 * end is not missed, whenever it comes; a value that comes at the same time is received, or is not sent; the task is
 * still there to be joined, and who joins it first may have its record used again at once: nobody touches it then by a
 * node that was left on its list.
 * Method: as model_select.c, with the real end of a task, and a pool of one record as in model_finish.c: one thread is
 * the worker that ends it, and perhaps spawns another on the same record; others select, send, join and cancel.
 *
 * Lessons 5, 64 and 77.
 * Sources: src/plat/block.c
 * Sources: src/chan/chan.c src/chan/select.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/sched/finish.c src/task/pool.c src/sched/inbox.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Sources: src/base/env.c src/fiber/ctx_x86_64.S
 * Define: CC__CHAN_CALM=1
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Break: src/chan/select.c: cc__task_ended_locked(c->task) ? (int)i : -EAGAIN => -EAGAIN
 * Break: src/chan/select.c: if (p->list == NULL || i == but) => if (p->chan == NULL || i == but)
 * Break: src/chan/select.c: = p->lock = &((struct cc__task *)c->task.priv_record)->joiners => = NULL
 * Break: src/sched/finish.c: released || j->node.next != NULL || cc__wait_contested(j) => false
 */
#include <ccrt/select.h>

#define REAL_FINISH
#include "chans.h"

static struct cc_chan *chan;
static struct cc__worker worker;
static struct cc__task record; /* the pool's only one */
static cc_task handle;         /* of its first task */
static int results[2];         /* of that, and of the next */
static int joined;             /* by how many */

/* ---- who ends ---- */

static void end(struct cc__task *t, int i) {
    results[i] = 42 + i;
    t->value = &results[i];
    cc__finish(&worker, t);
    if (worker.next != NULL) cc__ready(worker.next);
    worker.next = NULL;
}
static cc_task handle_of(struct cc__task *t) {
    return (cc_task){.priv_record = t, .priv_generation = cc__task_generation(cc__load_relaxed(&t->control))};
}
static void ends(void) {
    cc__worker_set_current(&worker);
    end(&record, 0);
}
/* And if its record is free by then: another task on that, which has nothing to do with who waits for the first. */
static void ends_and_spawns(void) {
    ends();
    struct cc__task *t = cc__task_alloc(&worker.records);
    if (t == NULL) t = cc__task_alloc(NULL);
    if (t == NULL) return;
    cc__task_hold(t);
    t->fn = nothing;
    t->runtime = &rt;
    cc_task second = handle_of(t);
    end(t, 1);
    mc_assert(cc_task_detach(second) == 0);
}

/* ---- who waits ---- */

/* For the end, or for a value. */
static int select_end(void) {
    int *in = NULL;
    cc_case cases[] = {{.op = CC_OP_RECV, .chan = chan, .elem = (void *)&in}, {.op = CC_OP_DONE, .task = handle}};
    (void)become();
    int which = cc_select_cases(cases, 2, CC_SELECT_IN_ORDER);
    codes[mc_self()] = which;
    mc_assert((in != NULL) == (which == 0));
    if (in != NULL) received[mc_self()] += *in;
    free(in);
    return which;
}
static void selects(void) {
    (void)select_end();
}
static void join(void) {
    void *result;
    int rc = cc_task_join(handle, &result);
    mc_assert(rc == 0 || rc == -ESRCH);
    if (rc == 0) mc_assert(*(int *)result == 42);
    joined += rc == 0;
}
static void selects_and_joins(void) {
    (void)select_end();
    join();
}
static void joins(void) {
    (void)become();
    join();
}

/* ---- who sends ---- */

static void sends(void) {
    int *l = letter(), now = *l;
    (void)become();
    mc_assert(cc_channel_send(chan, &l) == 0);
    sent[mc_self()] += now;
}
static void tries_to_send(void) {
    int *l = letter(), now = *l;
    (void)become();
    if (cc_channel_try_send(chan, &l) == 0)
        sent[mc_self()] += now;
    else
        free(l);
}
static void cancels_second(void) {
    cancel(1);
}

/* ---- before and after ---- */

static void begin(size_t capacity, bool tasks) {
    worker.runtime = &rt;
    cc__state_begin(&record);
    cc__task_release(&record);
    cc__task_free(NULL, &record);
    mc_assert(cc__task_alloc(NULL) == &record);
    cc__task_hold(&record);
    record.fn = nothing;
    record.runtime = &rt;
    handle = handle_of(&record);
    all_begin(tasks);
    chan = channel(capacity);
}
static void setup(void) {
    begin(0, true);
}
static void setup_threads(void) {
    begin(0, false);
}
static void setup_buffered(void) {
    begin(1, true);
}

/* Nobody is left on a list; its record is free, once. */
static void check(void) {
    cc__store_relaxed(&rt.cancelled, 0);
    mc_assert(record.joiners.first == NULL);
    mc_assert(joined <= 1 && (joined == 1) == (cc_task_valid(handle) == 0));
    if (joined == 0) mc_assert(cc_task_detach(handle) == 0);
    cc__task_cache_drain(&worker.records);
    for (int i = 0; i < MC_THREADS; i++) cc__task_cache_drain(&mine[i].worker.records);
    mc_assert(cc__task_alloc(NULL) == &record && cc__task_alloc(NULL) == NULL);
    accepted_is_received(empty_and_free(chan));
}

const struct mc_scenario mc_scenarios[] = {
    {"a task ends", setup, {ends, selects}, check, .outcomes = "0,1,0,0"},
    {"a task ends, a thread selects", setup_threads, {ends, selects}, check, .outcomes = "0,1,0,0"},
    {"a task ends, and is joined", setup, {ends, selects_and_joins}, check, .outcomes = "0,1,0,0"},
    {"a task ends, one sends", setup, {ends, selects, tries_to_send}, check, .outcomes = "0,0,0,0 0,1,0,0"},
    {"a task ends, one sends to a buffer",
     setup_buffered,
     {ends, selects, sends},
     check,
     .outcomes = "0,0,0,0 0,1,0,0"},
    {"a task ends, two select", setup, {ends, selects, selects}, check, .outcomes = "0,1,1,0"},
    {"a task ends, one selects, one joins", setup, {ends, selects, joins}, check, .outcomes = "0,1,0,0"},
    {"a task ends, its record is used again", setup, {ends_and_spawns, selects_and_joins}, check},
    {"one selects, one joins, the record is used again", setup, {ends_and_spawns, selects, joins}, check},
    {"one waits in a select, cancelled", setup, {ends, selects, cancels_second}, check},
    {0},
};
