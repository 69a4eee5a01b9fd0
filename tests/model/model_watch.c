/* SPDX-License-Identifier: MIT */
/* Goal: a watch (src/chan/watch.c, src/sched/claims.h): versions only grow, a value is the one of its version, the last
 * is seen by all who look until it is closed, nobody waits for ever, and who saw the end may destroy it.
 * Method: senders, watchers, one who closes and one who cancels. It is on the heap, and what is sent is the address of
 * plain memory: a late touch is a use after free, an order that is missing a data race, a lost wake-up a deadlock.
 *
 * Lessons 9 and 77.
 * Sources: src/chan/watch.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Sources: src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Break: src/chan/watch.c: if (w->version <= *seen) return w => if (w->closed || w->version <= *seen) return w
 * Break: src/chan/watch.c: (&claims, &w->receivers, CC__MATCHED); => (&claims, &w->receivers, CC__CLOSED);
 * Break: src/chan/watch.c: cc__claims_all(&claims, &w->receivers, CC__CLOSED); => ;
 * Break: src/chan/watch.c: } while (rc == 0 || rc == CC__WAIT_AGAIN); => } while (false);
 * Break: src/task/claims.h: while (cc__claims_first => if (cc__claims_first
 * Break: src/task/claims.h: if (!w->taken && !cc__wait_claim(w)) return false; => ;
 * Break: src/sched/claims.h: if (CC__LIKELY(rc == 0 || rc == -EPIPE)) return rc; => return rc;
 */
#include "kinds.h"

#include <ccrt/watch.h>

static cc_watch *watch;
static int first; /* the value it begins with */

static void send(void) {
    const int *l = letter();
    (void)code((cc_watch_send)(watch, &l));
}
static void sends(void) {
    (void)become();
    send();
}
static void sends_and_closes(void) {
    sends();
    (cc_watch_close)(watch);
}
static void closes(void) {
    (void)become();
    (cc_watch_close)(watch);
}

static int got[MC_THREADS]; /* all letters seen */
static int look(uint64_t *seen) {
    const int *l = NULL;
    uint64_t before = *seen;
    int rc = code((cc_watch_recv)(watch, seen, (void *)&l));
    mc_assert(rc == 0 ? *seen > before && l != NULL : *seen == before && l == NULL);
    if (rc == 0) got[mc_self()] += *l;
    return rc;
}
/* One newer than the first. */
static void watches(void) {
    uint64_t seen = 1;
    (void)become();
    (void)look(&seen);
}
/* Until it is closed: then it has seen the last. */
static void watches_all(void) {
    uint64_t seen = 0;
    (void)become();
    while (look(&seen) == 0) {
    }
    mc_assert(codes[mc_self()] == -EPIPE && seen == (cc_watch_version)(watch));
}
static void watches_all_and_destroys(void) {
    watches_all();
    (cc_watch_destroy)(watch);
    watch = NULL;
}
static void tries(void) {
    uint64_t seen = 0;
    const int *l = NULL, *now = NULL;
    (void)become();
    mc_assert((cc_watch_try_recv)(watch, &seen, (void *)&l) == 0 && *l >= 0);
    mc_assert((cc_watch_get)(watch, (void *)&now) == 0 && *now >= 0);
    mc_assert(now == l || seen < (cc_watch_version)(watch));
}

static void begin(bool as_tasks) {
    const int *f = &first;
    begin_kinds(as_tasks);
    mc_assert((cc_watch_create)(&watch, sizeof f, (void *)&f) == 0);
}
static void setup(void) {
    begin(true);
}
static void setup_threads(void) {
    begin(false);
}
static void check(void) {
    mc_outcome("%d:%d,%d:%d,%d:%d", codes[0], got[0], codes[1], got[1], codes[2], got[2]);
    if (watch != NULL) (cc_watch_destroy)(watch); /* which checks that nobody is on its list */
}

const struct mc_scenario mc_scenarios[] = {
    {"send, watch", setup, {watches, sends}, check, .outcomes = "0:2,0:0,0:0"},
    {"send, watch, threads", setup_threads, {watches, sends}, check, .outcomes = "0:2,0:0,0:0"},
    {"close, watch", setup, {watches, closes}, check, .outcomes = "-32:0,0:0,0:0"},
    {"send, close, watch until the end",
     setup,
     {watches_all_and_destroys, sends_and_closes},
     check,
     .outcomes = "-32:2,0:0,0:0"},
    {"send, close, watch until the end, threads",
     setup_threads,
     {watches_all_and_destroys, sends_and_closes},
     check,
     .outcomes = "-32:2,0:0,0:0"},
    {"send, two watch", setup, {watches, watches, sends}, check, .outcomes = "0:4,0:4,0:0"},
    {"close, two watch", setup, {watches, watches, closes}, check, .outcomes = "-32:0,-32:0,0:0"},
    {"two send, watch", setup, {watches, sends, sends}, check, .outcomes = "0:2,0:0,0:0 0:4,0:0,0:0"},
    {"send, close, watch", setup, {watches, sends, closes}, check, .outcomes = "0:2,0:0,0:0 -32:0,-32:0,0:0"},
    {"send, watch, be cancelled", setup, {watches, sends, cancels}, check, .outcomes = "0:2,0:0,0:0 -125:0,0:0,0:0"},
    {"watch, be cancelled", setup, {watches, cancels}, check, .outcomes = "-125:0,0:0,0:0"},
    {"watch, be cancelled, threads", setup_threads, {watches, cancels}, check, .outcomes = "-125:0,0:0,0:0"},
    {"send, two watch, one is cancelled",
     setup,
     {watches, watches, sends, cancels},
     check,
     .outcomes = "0:4,0:4,0:0 -125:0,0:4,0:0",
     .fences = true},
    {"two send, look", setup, {tries, sends, sends}, check},
    {0},
};
