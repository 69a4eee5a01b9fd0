/* SPDX-License-Identifier: MIT */
/* Goal: select (src/chan/select.c) over channels of all kinds, against plain sends and receives, other selects, a close
 * and a cancellation: exactly one case happens, no value is lost or doubled, nobody waits for ever that could go on,
 * and no node stays on a list.
 * Method: as model_chan.c, with two channels. Two selects that meet are the hardest: each may be what the other one
 * waits for, on both channels at once. A value is on the heap and freed by who received it.
 *
 * Lessons 57, 64, 65, 77.
 * Sources: src/chan/chan.c src/chan/select.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Sources: src/base/env.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Break: src/chan/select.c: if (l == NULL || i == but) continue; => if (l == NULL || i != but) continue;
 * Break: src/chan/select.c: leave_all(s, i); => ;
 * Break: src/chan/select.c: s->nodes[0].one_of = true; => s->nodes[0].hit = true;
 * Break: src/chan/chan.c: && !cc__wait_claim(w)) {} => && (cc__wait_claim(w), false)) {}
 */
#include <ccrt/select.h>

#include "base/env.h"
#include "chan/chan.h"

#include "around.h"

#include <stdlib.h>
#include <string.h>

static struct cc_chan *chans[2];
static int sent[MC_THREADS], received[MC_THREADS], codes[MC_THREADS];

/* ---- what surrounds it ---- */

void cc__env_read(void) {
}
void cc__finish_tell(struct cc__worker *w) {
    (void)w;
}
struct cc__task *cc__task_alloc(struct cc__task_cache *cache) {
    (void)cache;
    return NULL;
}
void cc__task_free(struct cc__task_cache *cache, struct cc__task *t) {
    (void)cache, (void)t;
}
bool cc__task_ended(cc_task task) {
    (void)task;
    return false;
}
bool cc__task_ended_locked(cc_task task) {
    (void)task;
    return false;
}
int cc__nursery_cancelled(const struct cc_nursery *n) {
    (void)n;
    return 0;
}
void cc__nursery_list(struct cc__task *self) {
    (void)self;
}
void cc__nursery_cancel(struct cc_nursery *n, int code) {
    (void)n, (void)code;
}

/* ---- threads ---- */

static int *letter(void) {
    int *l = malloc(sizeof *l);
    *l = 1 << mc_self();
    return l;
}
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
static void cancels(void) {
    struct cc__task *t = &mine[0].task;
    cc__store_release(&rt.cancelled, 1);
    cc__fence_full();
    cc__state_set_cancel(t);
    cc__wait_cancel(t);
    cc__unpark(t, 0);
}

/* ---- before and after ---- */

static void channel(int i, size_t capacity) {
    struct cc_chan *c = chans[i] = malloc(sizeof *c);
    memset(c, 0, sizeof *c);
    c->alive = 0x63686e21;
    c->elem_bytes = sizeof(int *);
    c->capacity = capacity;
    c->always = capacity == 0;
    if (c->always) cc__chan_freeze(c);
    if (c->always) return;
    c->mask = 1;
    c->cell_bytes = sizeof(struct cc__cell) + sizeof(int *);
    c->cells = malloc(2 * c->cell_bytes);
    for (size_t k = 0; k < 2; k++)
        cc__store_relaxed(&((struct cc__cell *)(void *)(c->cells + k * c->cell_bytes))->turn, k);
}
static void setup(void) {
    all_begin(true);
    channel(0, 0);
    channel(1, 0);
}
static void setup_buffered(void) {
    all_begin(true);
    channel(0, 1);
    channel(1, 0);
}
static void check(void) {
    int all_sent = 0, all_received = 0;
    for (int i = 0; i < MC_THREADS; i++) {
        all_sent += sent[i];
        all_received += received[i];
    }
    mc_outcome("%d,%d,%d", codes[0], codes[1], codes[2]);
    for (int i = 0; i < 2; i++) {
        struct cc_chan *c = chans[i];
        mc_assert(c->rx.first == NULL && c->tx.first == NULL && cc__load_relaxed(&c->rx.mark) == 0);
        for (int *l; cc_channel_try_recv(c, &l) == 0; free(l)) all_received += *l;
        free(c->cells);
        free(c);
    }
    mc_assert(all_sent == all_received);
}

const struct mc_scenario mc_scenarios[] = {
    {"receive of two, one sends", setup, {selects_receives, sends_to_second}, check, .outcomes = "1,0,0"},
    {"receive of two, both send", setup, {selects_receives, selects_sends}, check},
    {"selects that may meet twice", setup, {selects_receive_or_send, selects_send_or_receive}, check},
    {"select, closed", setup, {selects_receives, closes_first}, check},
    {"select with a buffer", setup_buffered, {selects_receives, sends_to_first}, check},
    {"two selects with a buffer", setup_buffered, {selects_receives, selects_sends}, check},
    {"select, cancelled", setup_buffered, {selects_receives, sends_to_first, cancels}, check, .first = 1},
    {"select, cancelled, at any time",
     setup_buffered,
     {selects_receives, sends_to_first, cancels},
     check,
     .full = true},
    {"two selects, two senders",
     setup,
     {selects_receives, selects_receives, sends_to_first, sends_to_second},
     check,
     .full = true},
    {0},
};
