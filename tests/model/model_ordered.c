/* SPDX-License-Identifier: MIT */
/* Goal: an ordered channel (src/chan/ordered.c, src/sched/claims.h): results come in the order of their spawns, each
 * once; a spawn that fails has run nothing and takes no room; a receive that fails takes no result along; nobody waits
 * for ever, and who saw the end may destroy it.
 * Method: spawners, receivers, one who closes and one who cancels. What is spawned is run by threads of its own, in any
 * order; spawning itself may fail. The channel is on the heap, and results are addresses of plain memory: a late touch
 * is a use after free, an order that is missing a data race, a lost wake-up a deadlock.
 *
 * Lessons 9, 71 and 77.
 * Sources: src/chan/ordered.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Sources: src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Break: src/chan/ordered.c: cc__list_append(&q->taken, &s->node); => cc__list_prepend(&q->taken, &s->node);
 * Break: src/chan/ordered.c: return first != NULL && first->full; => return first != NULL;
 * Break: src/chan/ordered.c: if (rc != 0) give_back(q, s); => ;
 * Break: src/chan/ordered.c: give_results(q, &waited); => ;
 * Break: src/chan/ordered.c: if (is_over(q)) cc__claims_all(claims, &q->receivers, CC__CLOSED); => ;
 * Break: src/chan/ordered.c: return q->closed && cc__list_empty(&q->taken); => return q->closed;
 * Break: src/chan/ordered.c: cc__claims_all(&claims, &q->spawners, CC__CLOSED); => ;
 * Break: src/chan/ordered.c: (&w, &q->receivers, &q->spawners); => (&w, &q->receivers, &q->receivers);
 */
#include "kinds.h"

#include <ccrt/ordered.h>
#include <ccrt/task.h>

static cc_ordered *q;

/* ---- what is spawned ---- */

enum { JOBS = 3 };
static struct job {
    struct mc_sem ready;
    void *(*fn)(void *);
    void *arg;
    bool joined;
} jobs[JOBS];
static int spawned;       /* by one at a time */
static int fails_at = -1; /* that spawn fails */
static int ran[JOBS];

int cc_task_spawn_at(const cc_site *site, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg) {
    (void)site, (void)attr;
    int i = spawned++;
    if (i == fails_at) return -ENOMEM;
    *out = (cc_task){.priv_record = &jobs[i]};
    jobs[i].fn = fn;
    jobs[i].arg = arg;
    mc_sem_post(&jobs[i].ready);
    return 0;
}
int cc_task_join(cc_task t, void **result) {
    struct job *j = t.priv_record;
    (void)result;
    mc_assert(!j->joined);
    j->joined = true;
    return 0;
}
int cc_task_detach(cc_task t) {
    (void)t;
    return -ESRCH;
}
void cc_yield(void) {
}

/* The function of all: writes what its receiver reads. */
static void *work(void *arg) {
    int i = (int)(intptr_t)arg;
    ran[i] = i + 1;
    return &ran[i];
}
static void run(int i) {
    mc_sem_wait(&jobs[i].ready);
    mc_assert(jobs[i].fn(jobs[i].arg) != NULL);
}
static void runs_first(void) {
    run(0);
}
static void runs_second(void) {
    run(1);
}

/* ---- spawners ---- */

static int spawn(intptr_t number) {
    return code(cc_ordered_spawn_at(NULL, q, work, (void *)number));
}
static void spawns(void) {
    (void)become();
    (void)spawn(0);
}
static void spawns_another(void) {
    (void)become();
    (void)spawn(1);
}
/* The first fails. */
static void spawns_one_of_two_and_closes(void) {
    (void)become();
    mc_assert(spawn(2) == -ENOMEM && spawn(0) == 0);
    cc_ordered_close(q);
}
static void closes(void) {
    (void)become();
    cc_ordered_close(q);
}

/* ---- receivers ---- */

static int got[MC_THREADS]; /* the numbers of what it received, as digits */
static int receive(void) {
    void *r = NULL;
    int rc = cc_ordered_recv(q, &r);
    mc_assert((rc == 0) == (r != NULL));
    if (rc == 0) got[mc_self()] = 10 * got[mc_self()] + *(int *)r;
    return code(rc);
}
static void receives(void) {
    (void)become();
    (void)receive();
}
static void receives_all(void) {
    (void)become();
    while (receive() == 0) {
    }
}
static void receives_all_and_destroys(void) {
    receives_all();
    cc_ordered_destroy(q);
    q = NULL;
}

/* ---- before and after ---- */

static void begin(size_t window, bool as_tasks) {
    begin_kinds(as_tasks);
    for (int i = 0; i < JOBS; i++) mc_sem_init(&jobs[i].ready, 0);
    mc_assert(cc_ordered_create(&q, window) == 0);
}
static void one(void) {
    begin(1, true);
}
static void one_threads(void) {
    begin(1, false);
}
static void two_first_fails(void) {
    begin(2, true);
    fails_at = 0;
}
/* A result is there already. */
static void one_full(void) {
    begin(1, true);
    mc_assert(cc_ordered_spawn_at(NULL, q, work, (void *)0) == 0);
    run(0);
}
static void one_spawned(void) {
    begin(1, true);
    mc_assert(cc_ordered_spawn_at(NULL, q, work, (void *)0) == 0);
}
static void two_spawned(void) {
    begin(2, true);
    for (intptr_t i = 0; i < 2; i++) mc_assert(cc_ordered_spawn_at(NULL, q, work, (void *)i) == 0);
    cc_ordered_close(q);
}
static void one_spawned_closed(void) {
    one_spawned();
    cc_ordered_close(q);
}
static void check(void) {
    mc_outcome("%d:%d,%d:%d,%d", codes[0], got[0], codes[1], got[1], codes[2]);
    if (q == NULL) return;
    void *r;
    for (int i = 0; i < spawned; i++) /* who could not be received by now is run here */
        if (jobs[i].fn != NULL && ran[i] == 0) (void)jobs[i].fn(jobs[i].arg);
    while (cc_ordered_try_recv(q, &r) == 0) {
    }
    for (int i = 0; i < spawned; i++) mc_assert(jobs[i].joined == (jobs[i].fn != NULL));
    cc_ordered_destroy(q);
}

const struct mc_scenario mc_scenarios[] = {
    {"spawn, receive", one, {receives, spawns, runs_first}, check, .outcomes = "0:1,0:0,0"},
    {"spawn, receive, threads", one_threads, {receives, spawns, runs_first}, check, .outcomes = "0:1,0:0,0"},
    {"two, in order",
     two_spawned,
     {receives_all_and_destroys, runs_first, runs_second},
     check,
     .outcomes = "-32:12,0:0,0"},
    {"two, two receive",
     two_spawned,
     {receives, receives, runs_first, runs_second},
     check,
     .outcomes = "0:1,0:2,0 0:2,0:1,0",
     .full = true},
    {"two receive one",
     one_spawned_closed,
     {receives, receives, runs_first},
     check,
     .outcomes = "0:1,-32:0,0 -32:0,0:1,0"},
    {"two receive one, close",
     one_spawned,
     {receives, receives, runs_first, closes},
     check,
     .outcomes = "0:1,-32:0,0 -32:0,0:1,0"},
    {"receive or be cancelled",
     one_spawned,
     {receives, runs_first, cancels},
     check,
     .outcomes = "0:1,0:0,0 -125:0,0:0,0"},
    {"full, spawn, receive", one_full, {spawns_another, receives}, check, .outcomes = "0:0,0:1,0"},
    {"full, spawn, close", one_full, {spawns_another, closes}, check, .outcomes = "-32:0,0:0,0"},
    {"full, spawn, receive, close",
     one_full,
     {spawns_another, receives, closes},
     check,
     .outcomes = "0:0,0:1,0 -32:0,0:1,0"},
    {"full, spawn or be cancelled, receive",
     one_full,
     {spawns_another, receives, cancels},
     check,
     .outcomes = "0:0,0:1,0 -125:0,0:1,0"},
    {"the first of two fails",
     two_first_fails,
     {receives_all_and_destroys, spawns_one_of_two_and_closes, runs_second},
     check,
     .outcomes = "-32:1,0:0,0"},
    {"a spawn that fails, close",
     two_first_fails,
     {receives, spawns, closes},
     check,
     .outcomes = "-32:0,-12:0,0 -32:0,-32:0,0"},
    {0},
};
