/* SPDX-License-Identifier: MIT */
/* Goal: a broadcast (src/chan/broadcast.c, src/sched/claims.h): a subscriber receives what is sent after it subscribed,
 * in order, less what it is told that it lost; nobody waits for ever, and who saw the end may destroy it.
 * Method: room for one value or two; senders, subscribers, one who closes and one who cancels. It is on the heap, and
 * what is sent is the address of plain memory: a late touch is a use after free, an order that is missing a data race,
 * a lost wake-up a deadlock.
 *
 * Lessons 9 and 77.
 * Sources: src/chan/broadcast.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Sources: src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Break: src/chan/broadcast.c: if (s->priv_next >= => if (b->closed || s->priv_next >=
 * Break: src/chan/broadcast.c: s->priv_next < oldest ? oldest - s->priv_next : 0 => 0
 * Break: src/chan/broadcast.c: (&claims, &b->receivers, CC__MATCHED); => (&claims, &b->receivers, CC__CLOSED);
 * Break: src/chan/broadcast.c: cc__claims_all(&claims, &b->receivers, CC__CLOSED); => ;
 */
#include "kinds.h"

#include <ccrt/broadcast.h>

static cc_broadcast *news;
static cc_subscriber subscribed; /* before all */

static void send(void) {
    const int *l = letter();
    (void)code((cc_broadcast_send)(news, &l));
}
static void sends(void) {
    (void)become();
    send();
}
static void sends_and_closes(void) {
    sends();
    (cc_broadcast_close)(news);
}
static void sends_two_and_closes(void) {
    (void)become();
    send();
    send();
    (cc_broadcast_close)(news);
}
static void closes(void) {
    (void)become();
    (cc_broadcast_close)(news);
}

static int got[MC_THREADS], lost[MC_THREADS];
static int receive(cc_subscriber *s) {
    const int *l = NULL;
    int rc = code((cc_broadcast_recv)(news, s, (void *)&l));
    mc_assert((rc == 0) == (l != NULL));
    if (rc == 0) {
        mc_assert(*l > 0);
        got[mc_self()]++;
        lost[mc_self()] += (int)s->lagged;
    }
    return rc;
}
static void receives(void) {
    cc_subscriber s = subscribed;
    (void)become();
    (void)receive(&s);
}
static void receives_all(void) {
    cc_subscriber s = subscribed;
    (void)become();
    while (receive(&s) == 0) {
    }
    mc_assert(codes[mc_self()] == -EPIPE && (int)s.lost == lost[mc_self()]);
}
static void receives_all_and_destroys(void) {
    receives_all();
    (cc_broadcast_destroy)(news);
    news = NULL;
}
/* From now on: what was sent before is not received. */
static void subscribes(void) {
    cc_subscriber s;
    (void)become();
    mc_assert((cc_broadcast_subscribe)(news, &s) == 0);
    while (receive(&s) == 0) {
    }
}

static void begin(size_t capacity, bool as_tasks) {
    begin_kinds(as_tasks);
    mc_assert((cc_broadcast_create)(&news, sizeof(int *), capacity) == 0);
    mc_assert((cc_broadcast_subscribe)(news, &subscribed) == 0);
}
static void one(void) {
    begin(1, true);
}
static void two(void) {
    begin(2, true);
}
static void threads(void) {
    begin(1, false);
}
static void check(void) {
    mc_outcome("%d:%d+%d,%d:%d+%d", codes[0], got[0], lost[0], codes[1], got[1], lost[1]);
    if (news != NULL) (cc_broadcast_destroy)(news); /* which checks that nobody is on its list */
}

const struct mc_scenario mc_scenarios[] = {
    {"send, receive", one, {receives, sends}, check, .outcomes = "0:1+0,0:0+0"},
    {"close, receive", one, {receives, closes}, check, .outcomes = "-32:0+0,0:0+0"},
    {"a value, the end", one, {receives_all_and_destroys, sends_and_closes}, check, .outcomes = "-32:1+0,0:0+0"},
    {"a value, the end, threads",
     threads,
     {receives_all_and_destroys, sends_and_closes},
     check,
     .outcomes = "-32:1+0,0:0+0"},
    {"two values, room for two",
     two,
     {receives_all_and_destroys, sends_two_and_closes},
     check,
     .outcomes = "-32:2+0,0:0+0",
     .full = true},
    {"two values, room for one",
     one,
     {receives_all_and_destroys, sends_two_and_closes},
     check,
     .outcomes = "-32:2+0,0:0+0 -32:1+1,0:0+0"},
    {"send, two receive", one, {receives, receives, sends}, check, .outcomes = "0:1+0,0:1+0"},
    {"send, close, receive", one, {receives, closes, sends}, check, .outcomes = "0:1+0,0:0+0 -32:0+0,0:0+0"},
    {"send, receive, be cancelled", one, {receives, sends, cancels}, check, .outcomes = "0:1+0,0:0+0 -125:0+0,0:0+0"},
    {"subscribe meanwhile", one, {subscribes, sends_and_closes}, check, .outcomes = "-32:1+0,0:0+0 -32:0+0,0:0+0"},
    {0},
};
