/* SPDX-License-Identifier: MIT */
/* Goal: a oneshot (src/chan/oneshot.c, src/sched/claims.h): a value that was sent is received by exactly one, or stays
 * for who comes later; who gave up has not received; the two ends go in any order, and the memory goes with the second,
 * once; nobody waits for ever, and nobody touches it, or a waiter's frame, too late.
 * Method: senders that send or drop against receivers that wait, look, are cancelled or leave, as tasks or as plain
 * threads. It is on the heap, and what is sent is the address of plain memory: a late touch is a use after free, an
 * order that is missing a data race, a lost wake-up a deadlock.
 *
 * Lessons 9 and 77.
 * Sources: src/chan/oneshot.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Sources: src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Weaken: src/task/wait_hot.h: cc__wait_settle: store_release -> relaxed
 * Break: src/chan/oneshot.c: bool last = !o->sender && !o->receiver; => bool last = !o->sender;
 * Break: src/chan/oneshot.c: bool last = !o->sender && !o->receiver; => bool last = false;
 * Break: src/chan/oneshot.c: if (w != NULL) memcpy(w->value, elem, bytes); => ;
 * Break: src/chan/oneshot.c: return o->sender ? -EAGAIN : -EPIPE; => return -EAGAIN;
 * Break: src/chan/oneshot.c: if (w == NULL) { => if (true) {
 */
#include "kinds.h"

#include <ccrt/oneshot.h>

static cc_oneshot *shot;

static void sends(void) {
    const int *l = letter();
    (void)become();
    (void)code((cc_oneshot_send)(shot, &l));
}
static void drops(void) {
    (void)become();
    (cc_oneshot_drop)(shot);
}
static int taken[MC_THREADS];
static void take(int rc, const int *l) {
    mc_assert((rc == 0) == (l != NULL));
    if (rc == 0) taken[mc_self()] += *l;
}
static void receives(void) {
    const int *l = NULL;
    (void)become();
    int rc = (cc_oneshot_recv)(shot, (void *)&l);
    take(code(rc), l);
}
static void tries(void) {
    const int *l = NULL;
    (void)become();
    int rc = (cc_oneshot_try_recv)(shot, (void *)&l);
    take(code(rc), l);
}
static void leaves(void) {
    (void)become();
    (cc_oneshot_destroy)(shot);
}
static void receives_and_leaves(void) {
    receives();
    leaves();
}

static void begin(bool as_tasks) {
    begin_kinds(as_tasks);
    mc_assert((cc_oneshot_create)(&shot, sizeof(int *)) == 0);
}
static void setup(void) {
    begin(true);
}
static void setup_threads(void) {
    begin(false);
}

/* Both ends are gone. */
static void all_gone(void) {
    mc_outcome("%d,%d,%d", codes[0], codes[1], codes[2]);
}
/* The receiver's is still there: what was sent was received once, or is there. */
static void received_once(void) {
    const int *l = NULL;
    int all = 0, all_sent = 0;
    int left = (cc_oneshot_try_recv)(shot, (void *)&l) == 0 ? *l : 0;
    for (int i = 0; i < MC_THREADS; i++) {
        all += taken[i];
        all_sent += codes[i] == 0 ? letters[i][0] : 0;
    }
    mc_assert(all + left == all_sent && (all == 0 || left == 0));
    mc_outcome("%d,%d,%d,%d", codes[0], codes[1], codes[2], left != 0);
    (cc_oneshot_drop)(shot);
    (cc_oneshot_destroy)(shot);
}

const struct mc_scenario mc_scenarios[] = {
    {"send, receive", setup, {receives_and_leaves, sends}, all_gone, .outcomes = "0,0,0"},
    {"send, receive, threads", setup_threads, {receives_and_leaves, sends}, all_gone, .outcomes = "0,0,0"},
    {"drop, receive", setup, {receives_and_leaves, drops}, all_gone, .outcomes = "-32,0,0"},
    {"drop, receive, threads", setup_threads, {receives_and_leaves, drops}, all_gone, .outcomes = "-32,0,0"},
    {"send, leave", setup, {leaves, sends}, all_gone, .outcomes = "0,0,0 0,-32,0"},
    {"drop, leave", setup, {leaves, drops}, all_gone},
    {"send, receive or be cancelled",
     setup,
     {receives_and_leaves, sends, cancels},
     all_gone,
     .outcomes = "0,0,0 -125,0,0 -125,-32,0"},
    {"drop, receive or be cancelled",
     setup,
     {receives_and_leaves, drops, cancels},
     all_gone,
     .outcomes = "-32,0,0 -125,0,0"},
    {"nobody sends, be cancelled", setup, {receives, cancels}, received_once, .outcomes = "-125,0,0,0"},
    {"send, receive or be cancelled, stay", setup, {receives, sends, cancels}, received_once},
    {"send, receive or be cancelled, threads", setup_threads, {receives, sends, cancels}, received_once},
    {"send, drop, receive", setup, {receives, sends, drops}, received_once},
    {"two send, receive", setup, {receives, sends, sends}, received_once},
    {"send, two receive", setup, {receives, receives, sends}, received_once},
    {"send, receive, try", setup, {receives, tries, sends}, received_once},
    {"send, two receive, one is cancelled", setup, {receives, receives, sends, cancels}, received_once, .fences = true},
    {0},
};
