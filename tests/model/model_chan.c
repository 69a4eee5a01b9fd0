/* SPDX-License-Identifier: MIT */
/* Goal: channels (src/chan/chan.c, src/chan/ring.h): whatever happens at once, every value whose send was accepted is
 * received by exactly one, nobody waits for ever that could go on, who is told of a close or a cancellation has
 * neither sent nor received, and nobody touches a channel, or a waiter's frame, too late.
 * Method: a channel of some capacity, and threads as tasks or plain threads that send and receive one value each, close
 * it, or cancel one of them. Values and frames are plain memory, so that an order that is missing is a data race; a
 * deadlock is a lost wake-up. Where a receiver is the last to use a channel it frees it.
 *
 * Lessons 53 to 60, 77.
 * Sources: src/plat/block.c
 * Sources: src/chan/chan.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c src/base/env.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Sources: src/fiber/ctx_x86_64.S
 * Define: CC__CHAN_CALM=1
 * Timeout: 300
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Mutate: src/chan/ring.h
 * Break: src/chan/ring.h: n >= e->seen => n == e->seen
 * Weaken: src/task/wait_hot.h: cc__wait_settle: store_release -> relaxed
 * Break: src/task/state_hot.h: (CC__CONTROL_STATE | CC__CONTROL_THREAD)) != => CC__CONTROL_STATE) !=
 * Break: src/task/state_hot.h: return cc__cas_acquire(&t->control, &c, cc__with_state(c, CC__ACTIVE)); => return true;
 * Break: src/chan/chan.c: cc__ring_freeze_end(&c->put); => ;
 * Break: src/chan/chan.c: cc__ring_freeze_end(&c->taken); => ;
 * Break: src/chan/chan.c: if (m->peer != NULL) cc__ring_put_frozen(c, m->peer->value); => ;
 * Break: src/chan/chan.c: NULL && !cc__wait_claim(w)) => NULL && (cc__wait_claim(w), false))
 * Break: src/chan/chan.c: end_all(&claims, &c->rx, c->rx_code); => ;
 * Break: src/chan/chan.c: == 0 || c->rx.first != NULL || => == 0 ||
 */
#include "chans.h"

static struct cc_chan *chan;

/* ---- threads ---- */

static int send_one(void) {
    int *l = letter(), now = *l;
    int rc = cc_channel_send(chan, &l);
    codes[mc_self()] = rc;
    if (rc == 0)
        sent[mc_self()] += now;
    else
        free(l);
    return rc;
}
static int recv_one(void) {
    int *l = NULL;
    int rc = cc_channel_recv(chan, &l);
    codes[mc_self()] = rc;
    mc_assert((rc == 0) == (l != NULL));
    if (rc == 0) received[mc_self()] += *l;
    free(l);
    return rc;
}
static void sends(void) {
    (void)become();
    (void)send_one();
}
static void sends_two(void) {
    (void)become();
    (void)send_one();
    (void)send_one();
}
static void receives(void) {
    (void)become();
    (void)recv_one();
}
static void receives_two(void) {
    (void)become();
    (void)recv_one();
    (void)recv_one();
}
static void receives_all(void) {
    (void)become();
    while (recv_one() == 0) {
    }
    mc_assert(codes[mc_self()] == -EPIPE);
}
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
static void sends_and_closes(void) {
    sends();
    cc_channel_close(chan);
}
static void receives_and_frees(void) {
    receives();
    mc_assert(codes[mc_self()] == 0);
    struct cc__waitlist *locks[] = {&chan->rx, &chan->put.guard, &chan->taken.guard}; /* as destroying does */
    for (int i = 0; i < 3; i++) cc__waitlist_lock(locks[i]);
    for (int i = 0; i < 3; i++) cc__waitlist_unlock(locks[i]);
    free(chan->ring);
    free(chan);
    chan = NULL;
}

/* ---- before and after ---- */

static void setup(size_t capacity, bool tasks, int stored) {
    all_begin(tasks);
    chan = channel(capacity);
    for (int i = 0; i < stored; i++) {
        int *l = malloc(sizeof *l);
        *l = 0; /* of nobody */
        mc_assert(cc_channel_send(chan, &l) == 0);
    }
}
static void rendezvous(void) {
    setup(0, true, 0);
}
static void rendezvous_of_threads(void) {
    setup(0, false, 0);
}
static void one(void) {
    setup(1, true, 0);
}
static void one_full(void) {
    setup(1, true, 1);
}
static void two(void) {
    setup(2, true, 0);
}
static void two_full(void) {
    setup(2, true, 2);
}

static void check(void) {
    cc__store_relaxed(&rt.cancelled, 0);
    accepted_is_received(chan == NULL ? 0 : empty_and_free(chan));
}

/* In each, full fences are all that is seq_cst, and threads with one function are alike. */
#define SCENARIO(name, setup, check, ...)                                                                              \
    { name, setup, {__VA_ARGS__}, check, .fences = true, .alike = true }
#define LONG(name, setup, check, ...)                                                                                  \
    { name, setup, {__VA_ARGS__}, check, .fences = true, .alike = true, .full = true }
/* The first n threads have come, and wait if they must, when the others begin. */
#define WAITING(n, name, setup, check, ...)                                                                            \
    { name, setup, {__VA_ARGS__}, check, .fences = true, .alike = true, .first = n }

const struct mc_scenario mc_scenarios[] = {
    SCENARIO("rendezvous", rendezvous, check, sends, receives),
    SCENARIO("rendezvous of threads", rendezvous_of_threads, check, sends, receives),
    SCENARIO("rendezvous, the receiver frees it", rendezvous, check, sends, receives_and_frees),
    SCENARIO("rendezvous, cancelled, and nothing else", rendezvous, check, receives, cancels_first),
    SCENARIO("rendezvous, closed", rendezvous, check, sends, receives, closes),
    WAITING(1, "rendezvous, cancelled sender waits", rendezvous, check, sends, tries_to_receive, cancels_first),
    WAITING(1, "rendezvous, cancelled receiver waits", rendezvous, check, receives, tries_to_send, cancels_first),
    SCENARIO("rendezvous, cancelled sender", rendezvous, check, sends, tries_to_receive, cancels_first),
    SCENARIO("rendezvous, cancelled receiver", rendezvous, check, receives, tries_to_send, cancels_first),
    SCENARIO("capacity 1", one, check, sends, receives),
    SCENARIO("capacity 1, the receiver frees it", one, check, sends, receives_and_frees),
    SCENARIO("capacity 1, two of each", one, check, sends_two, receives_two),
    SCENARIO("capacity 1, closed", one, check, sends, receives_all, closes),
    SCENARIO("capacity 1, full, closed", one_full, check, sends, receives_all, closes),
    SCENARIO("capacity 1, tries", one, check, tries_to_send, tries_to_send, tries_to_receive, tries_to_receive),
    WAITING(1, "capacity 1, full, cancelled sender waits", one_full, check, sends, receives, cancels_first),
    WAITING(1, "capacity 1, cancelled receiver waits", one, check, receives, sends, cancels_first),
    SCENARIO("capacity 1, full, cancelled sender", one_full, check, sends, receives, cancels_first),
    SCENARIO("capacity 1, cancelled receiver", one, check, receives, sends, cancels_first),
    SCENARIO("capacity 1, full, 2 senders", one_full, check, sends, sends, receives_two),
    SCENARIO("capacity 2, two of each", two, check, sends_two, receives_two),
    SCENARIO("a place that is used again", two_full, check, sends, receives),
    SCENARIO("a place that is used again, 2 receivers", two_full, check, sends, receives, receives),
    WAITING(2, "capacity 1, 2 receivers wait", one, check, receives, receives, sends_two),
    /* Last, since mutants are caught by those that are quicker. */
    SCENARIO("rendezvous, 2 senders, 2 receivers", rendezvous, check, sends, sends, receives, receives),
    SCENARIO("rendezvous, 2 senders, closed", rendezvous, check, sends, sends, receives_all, closes),
    SCENARIO("capacity 2, full, 2 senders, 2 receivers", two_full, check, sends, sends, receives, receives),
    SCENARIO("capacity 2, 2 senders, 2 receivers", two, check, sends, sends, receives, receives),
    SCENARIO("capacity 1, 2 senders, 2 receivers", one, check, sends, sends, receives, receives),
    SCENARIO("capacity 1, 2 senders, closed", one, check, sends, sends_and_closes, receives_all),
    WAITING(2, "capacity 1, 2 receivers wait, 2 senders, closed", one, check, receives, receives, sends, sends, closes),
    WAITING(2, "capacity 1, full, 2 senders wait, closed", one_full, check, sends, sends, receives, receives, closes),
    SCENARIO("rendezvous, 2 senders, 2 receivers, closed", rendezvous, check, sends, sends, receives, receives, closes),
    SCENARIO("capacity 1, full, 2 senders, 2 receivers", one_full, check, sends, sends, receives, receives),
    SCENARIO("capacity 1, full, 2 of each, closed", one_full, check, sends, sends, receives, receives, closes),
    SCENARIO("capacity 2, full, 2 of each, closed", two_full, check, sends, sends, receives, receives, closes),
    WAITING(1, "capacity 1, one sends, 2 of each, closed", one, check, sends, sends, receives, receives, closes),
    WAITING(1, "capacity 1, one waits, 2 of each, closed", one, check, receives, receives, sends, sends, closes),
    LONG("capacity 1, 2 senders, 2 receivers, closed", one, check, sends, sends, receives, receives, closes),
    WAITING(1, "capacity 2, one sends, 2 of each, closed", two, check, sends, sends, receives, receives, closes),
    WAITING(1, "capacity 2, one waits, 2 of each, closed", two, check, receives, receives, sends, sends, closes),
    LONG("capacity 2, 2 senders, 2 receivers, closed", two, check, sends, sends, receives, receives, closes),
    {0},
};
