/* SPDX-License-Identifier: MIT */
/* Goal: waits at a channel with a deadline (src/chan/chan.c, src/chan/select.c and src/driver/timer.c): a value, a
 * close and a time-out that meet decide a wait one way. Who is told that it was too late has neither sent nor received,
 * who is not has done so once, a value that was not taken goes to the next, and nobody touches the frame, or the timer
 * in it, of one that has gone on.
 * Method: as model_chan.c, with a deadline around the wait, or a case of a select for a time, and a thread that plays
 * the clock: it looks for timers that are due. The timers are the library's.
 *
 * Lessons 63, 65 and 77.
 * Sources: src/plat/block.c
 * Sources: src/chan/chan.c src/chan/select.c src/driver/timer.c src/sched/park.c src/sched/cancel.c src/task/state.c
 * Sources: src/task/wait.c src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c
 * Sources: src/base/text.c src/base/env.c src/fiber/ctx_x86_64.S
 * Define: CC__CHAN_CALM=1 CC__TIMER_SLOTS=64
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Break: src/driver/timer.c: if (!cc__wait_decide(task, t->epoch, CC__TIMED_OUT)) continue; => ;
 * Break: src/chan/chan.c: NULL && !cc__wait_claim(w)) => NULL && (cc__wait_claim(w), false))
 * Break: src/chan/select.c: leave_all(s, s->count, told); => ;
 * Break: src/task/wait_hot.h: (CC__OUTCOME_MASK | CC__OUTCOME_CLAIMED) => CC__OUTCOME_MASK
 */
#include <ccrt/select.h>

#define REAL_TIMERS
#include "chans.h"

#include <ccrt/scope.h>

enum { NEAR_NS = 1 << 30 };
#define DUE_NS INT64_C(2000000000)

static struct cc_chan *chan;
static cc_priv_scope deadlines[MC_THREADS];

bool cc__task_ended(cc_task task) {
    (void)task;
    return false;
}
bool cc__task_ended_locked(cc_task task) {
    (void)task;
    return false;
}

/* ---- who waits ---- */

static void until_due(void) {
    struct cc__task *self = become();
    deadlines[mc_self()] = (cc_priv_scope){.owner = self, .deadline_ns = DUE_NS, .kind = CC__SCOPE_DEADLINE};
    self->scope = &deadlines[mc_self()];
}
static void send_one(void) {
    int *l = letter(), now = *l;
    codes[mc_self()] = cc_channel_send(chan, &l);
    if (codes[mc_self()] == 0)
        sent[mc_self()] += now;
    else
        free(l);
}
static void recv_one(void) {
    int *l = NULL;
    codes[mc_self()] = cc_channel_recv(chan, &l);
    mc_assert((codes[mc_self()] == 0) == (l != NULL));
    if (l != NULL) received[mc_self()] += *l;
    free(l);
}
static void sends_timed(void) {
    until_due();
    send_one();
}
static void receives_timed(void) {
    until_due();
    recv_one();
}
static void sends(void) {
    (void)become();
    send_one();
}
static void receives(void) {
    (void)become();
    recv_one();
}
/* Who got it gives it on. */
static void receives_timed_and_passes_on(void) {
    receives_timed();
    int was = codes[mc_self()];
    if (was == 0) send_one();
    codes[mc_self()] = was;
}
/* A value, or some time: 0 or 1. */
static void selects_timed(void) {
    int *in = NULL;
    cc_case cases[] = {{.op = CC_OP_RECV, .chan = chan, .elem = (void *)&in}, {.op = CC_OP_AFTER, .ns = 1000}};
    (void)become();
    codes[mc_self()] = cc_select_cases(cases, 2, CC_SELECT_IN_ORDER);
    mc_assert((in != NULL) == (codes[mc_self()] == 0));
    if (in != NULL) received[mc_self()] += *in;
    free(in);
}

/* ---- who comes by ---- */

static void tries_to_send(void) {
    int *l = letter(), now = *l;
    (void)become();
    if (cc_channel_try_send(chan, &l) == 0)
        sent[mc_self()] += now;
    else
        free(l);
}
static void tries_to_receive(void) {
    int *got = NULL;
    (void)become();
    if (cc_channel_try_recv(chan, &got) == 0) received[mc_self()] += *got;
    free(got);
}
static void closes(void) {
    (void)become();
    cc_channel_close(chan);
}

/* ---- the clock ---- */

static void time_is_up(int i) {
    for (struct cc__task *t = cc__timers_expire(&mine[i].worker.timers, DUE_NS), *next; t != NULL; t = next) {
        next = t->next;
        cc__ready(t);
    }
}
static void time_is_up_for_first(void) {
    time_is_up(0);
}

/* ---- before and after ---- */

static void begin(size_t capacity, bool tasks, bool full) {
    all_begin(tasks);
    for (int i = 0; i < MC_THREADS; i++) cc__timers_init(&mine[i].worker.timers, DUE_NS + NEAR_NS);
    chan = channel(capacity);
    if (!full) return;
    int *l = malloc(sizeof *l);
    *l = 0; /* of nobody */
    mc_assert(cc_channel_send(chan, &l) == 0);
}
static void rendezvous(void) {
    begin(0, true, false);
}
static void rendezvous_of_threads(void) {
    begin(0, false, false);
}
static void one(void) {
    begin(1, true, false);
}
static void one_full(void) {
    begin(1, true, true);
}
static void check(void) {
    for (int i = 0; i < MC_THREADS; i++) mc_assert(mine[i].worker.timers.near == NULL);
    accepted_is_received(empty_and_free(chan));
}

/* Who waits has come, or comes while the others are at it; every outcome of the first. */
#define WAITS(outcomes_) .first = 1, .fences = true, .outcomes = outcomes_
#define COMES(outcomes_) .fences = true, .outcomes = outcomes_
#define HAD_OR_LATE "-110,0,0,0 0,0,0,0"
#define CLOSED_OR_LATE "-110,0,0,0 -32,0,0,0"
#define VALUE {receives_timed, sends, time_is_up_for_first}, check
#define TAKEN {sends_timed, receives, time_is_up_for_first}, check
#define CHOICE {selects_timed, sends, time_is_up_for_first}, check

const struct mc_scenario mc_scenarios[] = {
    {"time is up", rendezvous, {receives_timed, time_is_up_for_first}, check, WAITS("-110,0,0,0")},
    {"one waits to receive: a value, time is up",
     rendezvous,
     {receives_timed, tries_to_send, time_is_up_for_first},
     check,
     WAITS(HAD_OR_LATE)},
    {"one waits to send: taken, time is up",
     rendezvous,
     {sends_timed, tries_to_receive, time_is_up_for_first},
     check,
     WAITS(HAD_OR_LATE)},
    {"a thread waits to receive: a value",
     rendezvous_of_threads,
     {receives_timed, tries_to_send},
     check,
     COMES(HAD_OR_LATE)},
    {"a thread waits to send: taken",
     rendezvous_of_threads,
     {sends_timed, tries_to_receive},
     check,
     COMES(HAD_OR_LATE)},
    {"capacity 1, one waits to receive: a value, time is up", one, VALUE, WAITS(HAD_OR_LATE)},
    {"capacity 1, full, one waits to send: taken, time is up", one_full, TAKEN, WAITS(HAD_OR_LATE)},
    {"a select waits: a value, time is up", one, CHOICE, WAITS("0,0,0,0 1,0,0,0")},
    {"one waits to receive: closed, time is up",
     one,
     {receives_timed, closes, time_is_up_for_first},
     check,
     WAITS(CLOSED_OR_LATE)},
    {"one waits to send: closed, time is up",
     one_full,
     {sends_timed, closes, time_is_up_for_first},
     check,
     WAITS(CLOSED_OR_LATE)},
    {"two wait: a value, time is up for the first, the next has it",
     rendezvous,
     {receives_timed_and_passes_on, receives, sends, time_is_up_for_first},
     check,
     .first = 2,
     .fences = true,
     .outcomes = HAD_OR_LATE},
    {"capacity 1, a value, time is up", one, VALUE, COMES(HAD_OR_LATE)},
    {"capacity 1, full, taken, time is up", one_full, TAKEN, COMES(HAD_OR_LATE)},
    {"a select, a value, time is up", one, CHOICE, COMES("0,0,0,0 1,0,0,0")},
    {0},
};
