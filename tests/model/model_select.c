/* SPDX-License-Identifier: MIT */
/* Goal: select (src/chan/select.c) over channels of all kinds, against plain sends and receives, other selects, a close
 * and a cancellation: exactly one case happens, no value is lost or doubled, nobody waits for ever that could go on,
 * and no node stays on a list.
 * Method: as model_chan.c, with two channels. Two selects that meet are the hardest: each may be what the other one
 * waits for, on both channels at once. A value is on the heap and freed by who received it. Ends of tasks are in
 * model_select_done.c, times in model_chan_timer.c.
 *
 * Lessons 57, 64, 65, 77.
 * Sources: src/plat/block.c
 * Sources: src/chan/chan.c src/chan/select.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Sources: src/base/env.c src/fiber/ctx_x86_64.S
 * Define: CC__CHAN_CALM=1
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Break: src/chan/select.c: if (p->list == NULL || i == but) => if (p->list == NULL || i != but)
 * Break: src/chan/select.c: leave_all(s, i, told); => ;
 * Break: src/task/wait_hot.h: return !w->one_of && => return
 * Break: src/chan/select.c: .one_of = true => .hit = true
 * Break: src/chan/chan.c: NULL && !cc__wait_claim(w)) => NULL && (cc__wait_claim(w), false))
 */
#include <ccrt/select.h>

#include "chans.h"

static struct cc_chan *chans[2];

bool cc__task_ended(cc_task task) {
    (void)task;
    return false;
}
bool cc__task_ended_locked(cc_task task) {
    (void)task;
    return false;
}
/* ---- threads ---- */

static void send_to(int c) {
    int *l = letter(), now = *l;
    (void)become();
    codes[mc_self()] = cc_channel_send(chans[c], &l);
    if (codes[mc_self()] == 0)
        sent[mc_self()] += now;
    else
        free(l);
}
static void sends_to_first(void) {
    send_to(0);
}
static void sends_to_second(void) {
    send_to(1);
}
static void closes_first(void) {
    (void)become();
    cc_channel_close(chans[0]);
}

/* Select over cases on both: to receive into *in, to send *out. */
static void select_of(int op0, int op1) {
    int *in = NULL, *out = letter(), now = *out;
    cc_case cases[] = {{.op = op0, .chan = chans[0], .elem = op0 == CC_OP_RECV ? (void *)&in : (void *)&out},
                       {.op = op1, .chan = chans[1], .elem = op1 == CC_OP_RECV ? (void *)&in : (void *)&out}};
    (void)become();
    int which = cc_select_cases(cases, 2, CC_SELECT_IN_ORDER);
    codes[mc_self()] = which;
    bool sends = which >= 0 && cases[which].op == CC_OP_SEND;
    mc_assert((in != NULL) == (which >= 0 && !sends));
    if (sends)
        sent[mc_self()] += now;
    else
        free(out);
    if (in != NULL) received[mc_self()] += *in;
    free(in);
}
static void selects_receives(void) {
    select_of(CC_OP_RECV, CC_OP_RECV);
}
static void selects_sends(void) {
    select_of(CC_OP_SEND, CC_OP_SEND);
}
static void selects_receive_or_send(void) {
    select_of(CC_OP_RECV, CC_OP_SEND);
}
static void selects_send_or_receive(void) {
    select_of(CC_OP_SEND, CC_OP_RECV);
}

/* ---- before and after ---- */

static void setup(void) {
    all_begin(true);
    chans[0] = channel(0);
    chans[1] = channel(0);
}
static void setup_buffered(void) {
    all_begin(true);
    chans[0] = channel(1);
    chans[1] = channel(0);
}
static void check(void) {
    int left = empty_and_free(chans[0]);
    accepted_is_received(left + empty_and_free(chans[1]));
}

const struct mc_scenario mc_scenarios[] = {
    {"receive of two, one sends", setup, {selects_receives, sends_to_second}, check, .outcomes = "1,0,0,0"},
    {"receive of two, both send", setup, {selects_receives, selects_sends}, check},
    {"selects that may meet twice", setup, {selects_receive_or_send, selects_send_or_receive}, check},
    {"select, closed", setup, {selects_receives, closes_first}, check},
    {"select with a buffer", setup_buffered, {selects_receives, sends_to_first}, check},
    {"two selects with a buffer", setup_buffered, {selects_receives, selects_sends}, check},
    {"select, cancelled", setup_buffered, {selects_receives, sends_to_first, cancels_first}, check, .first = 1},
    {"select, cancelled, at any time", setup_buffered, {selects_receives, sends_to_first, cancels_first}, check},
    {"two selects, two senders", setup, {selects_receives, selects_receives, sends_to_first, sends_to_second}, check},
    {0},
};
