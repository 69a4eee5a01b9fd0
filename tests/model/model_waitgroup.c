/* SPDX-License-Identifier: MIT */
/* Goal: waitgroups (src/sync/waitgroup.c) and what is done once (src/sync/once.c): who waits sees what all did that
 * were counted out [WG1], and may free the group at once; who finds it done sees what was done [ON1].
 * Method: what each does before it is counted out is plain memory that who waited reads; the group is on the heap and
 * freed by who waited: a late touch is a use after free.
 *
 * Sources: src/sync/waitgroup.c src/sync/once.c src/sync/sync.c src/sched/park.c src/sched/cancel.c src/task/state.c
 * Sources: src/task/wait.c src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c
 * Sources: src/base/assert.c src/base/text.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns
 * Mutate: src/sync/waitgroup.c src/sync/once.c
 * Survives: count_out: sub_acq_rel -> acquire: the unlock after it releases
 * Break: src/sync/waitgroup.c: while (now > n) => while (now >= n)
 * Break: src/sync/waitgroup.c: if (now == n) => if (now != n)
 * Break: src/sync/once.c: cc__claims_all(&got, l, CC__MATCHED); => ;
 */
#include "locks.h"

#include <ccrt/once.h>
#include <ccrt/waitgroup.h>

static cc_waitgroup *g;
static int did[MC_THREADS];

static void waits(void) {
    (void)become();
    cc_waitgroup_wait(g);
    mc_assert(did[1] && did[2]);
    free(g);
}
static void does(void) {
    did[mc_self()] = 1;
    cc_waitgroup_done(g);
}
static void does_both(void) {
    did[1] = did[2] = 1;
    cc_waitgroup_add(g, -2);
}
static void begin_group(void) {
    g = calloc(1, sizeof *g);
    cc_waitgroup_add(g, 2);
}
static void setup(void) {
    tasks_begin(1);
    begin_group();
}
static void setup_threads(void) {
    all_begin(false);
    begin_group();
}

static cc_once once;
static int made;
static void make(void) {
    made++;
}
static void asks(void) {
    (void)become();
    cc_once_do(&once, make);
    mc_assert(made == 1);
}
static void setup_once(void) {
    tasks_begin(1);
}

const struct mc_scenario mc_scenarios[] = {
    {"one waits, two are done", setup, {waits, does, does}},
    {"a thread waits, both are done at once", setup_threads, {waits, does_both}},
    {"two ask for what is done once", setup_once, {asks, asks}},
    {"three ask for what is done once", setup_once, {asks, asks, asks}},
    {0},
};
