/* SPDX-License-Identifier: MIT */
/* Goal: forks (src/job/fork.c): each child runs exactly once, called by its parent, taken by a thief or as a task that
 * was queued; who joins it sees what it did; nobody touches a record that was joined: [FJ1], [FJ2], [FJ4].
 * Each runs under the scope it was forked in.
 * Method: a parent that forks and joins, in order or not, on its worker's deque; thieves that take what is shared, or
 * insist, and a monitor that takes all; switches in between. Records are freed as soon as they are joined, and what
 * children read and write is plain memory. A task that was queued runs when its parent leaves its worker. The heavy
 * fence, like the light one, is a fence of C11 here. Each look at the clock takes longer than a thief's patience. With
 * --full two million executions of larger ones are run.
 * Sources: src/job/fork.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c src/base/bits.c
 * Sources: src/sched/inbox.c src/base/assert.c src/base/text.c src/task/pool.c src/plat/thread.c src/plat/file.c
 * Sources: src/plat/futex.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave
 * Define: CC__FORK_PLACES=4
 * Mutate: src/job/fork.c
 * Survives: cc__forks_offer: fence_full -> *: it is for who goes to sleep (model_fork_idle.c)
 * Survives: ask: fence_full -> *: who is not seen to search insists, or sleeps as in model_fork_idle.c
 * Survives: cc__forks_want: fence_full -> *: the same
 * Survives: map_places: store_release -> relaxed: places are there before the threads are
 * Break: src/job/fork.c: #define CC_PRIV_FORK_FENCE() cc__fence_full() => #define CC_PRIV_FORK_FENCE() ((void)0)
 * Break: src/job/fork.c: fence_of_thief(); => ;
 * Break: src/job/fork.c: if (head < split) split = head < tail ? tail : head; => ;
 * Break: src/job/fork.c: split < f->scoped ? f->scoped : split); => split);
 * Break: src/job/fork.c: cc__store_relaxed(&f->tail, tail + 1); => ;
 * Break: src/job/fork.c: bool mine = tail <= at; => bool mine = true;
 * Break: src/job/fork.c: cut(f, f->base); => cc__store_relaxed(cc__forks_head(f), f->base);
 * Break: src/job/fork.c: bool stolen = at < cc__load_relaxed(&f->tail); => bool stolen = false;
 * Break: src/job/fork.c: cc__xchg_acq_rel(state_of(r), DONE); => (cc__store_release(state_of(r), DONE), NULL);
 * Break: src/job/fork.c: if (cc__cas_acq_rel(state_of(r), &state, &w)) cc__wait_for_ever(&w); => ;
 */
#define AROUND_FORKS 1
#include <ccrt/fork.h>

#include "around.h"
#include "forks.h"

#include <stdlib.h>

enum { RECORDS = 6, OWNER = 0 };

static struct record {
    cc_priv_fork fork; /* first */
    int in, out;
} * record[RECORDS];
static int ran[RECORDS];                     /* each written once, plain */
static struct cc__task *queued[FORKS_TASKS]; /* at the owner, which alone touches it */
static int queued_count;
static struct cc__task *given[FORKS_TASKS]; /* by the monitor, which runs them itself */
static int given_count;
static struct cc_priv_scope *under[RECORDS]; /* each was forked under; plain */
static _Atomic uint64_t idle_words[1];
static cc_priv_scope inner;

/* ---- what surrounds it ---- */

void cc__idle_notify(struct cc__runtime *runtime) {
    (void)runtime;
}
void cc__idle_notify_many(struct cc__runtime *runtime, size_t count) {
    (void)runtime, (void)count;
}
void cc__inject_push(struct cc__inject *q, struct cc__task *t) {
    (void)q;
    if (mc_self() == OWNER)
        queued[queued_count++] = t;
    else
        given[given_count++] = t;
}
void cc__inject_push_batch(struct cc__inject *q, struct cc__tasks batch, size_t count) {
    for (struct cc__task *t; (t = cc__tasks_take(&batch)) != NULL; count--) cc__inject_push(q, t);
    mc_assert(count == 0);
}
void cc__ready_taken(struct cc__worker *w, struct cc__task *t) {
    (void)w;
    cc__inject_push(NULL, t);
}

static void run(struct cc__task *t) {
    struct cc__worker *w = cc__worker_current();
    struct cc__task *before = cc__load_relaxed(&w->current);
    if (t == NULL) return;
    cc__store_relaxed(&w->current, t);
    (void)t->fn(t->value);
    cc__store_relaxed(&w->current, before);
    if (w->next != NULL) { /* a joiner that is to run next */
        cc__ready(w->next);
        w->next = NULL;
    }
}

/* A worker that a task leaves runs what is queued there. */
struct cc__task *cc__worker_pick(struct cc__worker *w) {
    while (w == &mine[OWNER].worker && queued_count > 0) run(queued[--queued_count]);
    return NULL;
}

/* ---- the parent ---- */

static void child(cc_priv_fork *f) {
    struct record *r = (struct record *)(void *)f;
    r->out = r->in + 1;
    ran[r->in - 10]++;
    mc_assert(cc__load_relaxed(&cc__worker_current()->current)->scope == under[r->in - 10]);
}
static const cc_priv_forkable what = {child, {"model", 1, "child"}};

static void fork_it(int i) {
    struct record *r = record[i] = calloc(1, sizeof *r);
    r->in = 10 + i;
    under[i] = cc__load_relaxed(&mine[OWNER].worker.current)->scope;
    r->fork.priv_what = &what;
    cc_priv_fork_call(&r->fork);
}
static void join_only(int i) {
    struct record *r = record[i];
    if (cc_priv_join_call(&r->fork)) child(&r->fork);
    mc_assert(r->out == 11 + i && ran[i] == 1);
}
static void join_it(int i) {
    join_only(i);
    free(record[i]);
}
/* As a switch away and back. */
static void leave(void) {
    struct cc__worker *w = cc__worker_current();
    if (cc__forks_own_any(&w->forks)) cc__forks_flush(w);
    (void)cc__worker_pick(w);
}

static void begin(void) {
    become();
    cc__forks_begin(&mine[OWNER].worker);
}
static void one(void) {
    begin();
    fork_it(0);
    join_it(0);
}
static void two(void) {
    begin();
    fork_it(0);
    fork_it(1);
    join_it(1);
    join_it(0);
}
static void one_by_one(void) {
    begin();
    fork_it(0);
    join_it(0);
    fork_it(1);
    join_it(1);
}
/* The same memory is another record, as that of a frame is. */
static void same_record(void) {
    begin();
    fork_it(0);
    struct record *r = record[0];
    join_only(0);
    *r = (struct record){.in = 11, .fork.priv_what = &what};
    record[1] = r;
    cc_priv_fork_call(&r->fork);
    join_it(1);
}
static void older_first(void) {
    begin();
    fork_it(0);
    fork_it(1);
    join_it(0);
    join_it(1);
}
static void older_of_three_first(void) {
    begin();
    fork_it(0);
    fork_it(1);
    fork_it(2);
    join_it(1);
    join_it(2);
    join_it(0);
}
/* A place that is used again by another record, with the first still to be joined. */
static void leaves_in_between(void) {
    begin();
    fork_it(0);
    leave();
    fork_it(1);
    join_it(0);
    join_it(1);
}
static void two_leave(void) {
    begin();
    fork_it(0);
    fork_it(1);
    leave();
    join_it(1);
    join_it(0);
}
/* More than there are places. */
static void five(void) {
    begin();
    for (int i = 0; i < 5; i++) fork_it(i);
    for (int i = 5; i-- > 0;) join_it(i);
}
/* The first was forked under another scope than the second. */
static void enters_scope(void) {
    struct cc__task *self = become();
    begin();
    fork_it(0);
    cc__forks_scope_enter(self);
    inner = (cc_priv_scope){.owner = self, .kind = CC__SCOPE_SHIELD, .deadline_ns = CC__NEVER};
    self->scope = &inner;
    fork_it(1);
    cc__forks_scope_leave(self, &inner);
    mc_assert(ran[1] == 1);
    self->scope = NULL;
    join_it(0);
    join_it(1);
}

/* The first is joined inside the second's scope, and its place used again. */
static void joins_outer_inside(void) {
    struct cc__task *self = become();
    begin();
    fork_it(0);
    cc__forks_scope_enter(self);
    inner = (cc_priv_scope){.owner = self, .kind = CC__SCOPE_SHIELD, .deadline_ns = CC__NEVER};
    self->scope = &inner;
    join_it(0);
    fork_it(1);
    join_it(1);
    self->scope = NULL;
}

/* ---- thieves ---- */

static void steal(bool insist) {
    struct cc__worker *w = &mine[mc_self()].worker;
    struct cc__task *t = cc__forks_steal(w, &mine[OWNER].worker, insist);
    if (t != NULL && t->scope != NULL) mc_assert(t->value == record[1]);
    run(t);
}
static void thief(void) {
    become();
    steal(true);
}
static void thief_of_two(void) {
    become();
    steal(true);
    steal(true);
}
static void modest(void) {
    become();
    steal(false);
}

static void monitor(void) {
    become();
    (void)cc__forks_share(&mine[OWNER].worker);
    while (given_count > 0) run(given[--given_count]);
}

/* ---- before and after ---- */

/* Nobody has asked. */
static void setup(void) {
    all_begin(true);
    forks_places(&mine[OWNER].worker, places + CC__FORK_PLACES - 1);
    cc__bits_init(&rt.idle, idle_words, 1);
    mc_constant(idle_words, sizeof idle_words);
    mc_constant(&rt.searching, sizeof rt.searching);
}
/* Somebody sleeps, so that forks are shared as they are made. */
static void setup_shared(void) {
    all_begin(true);
    forks_places(&mine[OWNER].worker, NULL);
    cc__bits_init(&rt.idle, idle_words, 1);
    (void)cc__bits_set(&rt.idle, 0);
    mc_constant(idle_words, sizeof idle_words);
    mc_constant(&rt.searching, sizeof rt.searching);
}
static void all_ran(void) {
    for (int i = 0; i < RECORDS; i++) mc_assert(ran[i] == (record[i] != NULL));
    mc_assert(queued_count == 0 && mine[OWNER].fiber.forks == NULL);
    mc_assert(!cc__forks_any(&mine[OWNER].worker.forks));
}

#define SCENARIO(what_, ...)                                                                                           \
    { .name = what_, .setup = setup, .thread = {__VA_ARGS__}, .check = all_ran, .fences = true }
#define SHARED(what_, ...)                                                                                             \
    { .name = what_ ", shared", .setup = setup_shared, .thread = {__VA_ARGS__}, .check = all_ran, .fences = true }
#define ALIKE(what_, set_, full_, ...)                                                                                 \
    {                                                                                                                  \
        .name = what_, .setup = set_, .thread = {__VA_ARGS__}, .check = all_ran, .fences = true, .alike = true,        \
        .full = full_, .bounded = full_, .max_execs = full_ ? 2000000 : 0                                              \
    }

const struct mc_scenario mc_scenarios[] = {
    SCENARIO("one fork, a thief", one, thief),
    SCENARIO("a place used again after a switch, a thief", leaves_in_between, thief),
    SCENARIO("two forks and a switch, a thief", two_leave, thief),
    SCENARIO("the older first, a thief", older_first, thief),
    SCENARIO("the older of three first, a thief", older_of_three_first, thief),
    SCENARIO("a scope in between, a thief", enters_scope, thief),
    SCENARIO("two forks, a thief", two, thief),
    SCENARIO("one fork, a monitor", one, monitor),
    SCENARIO("a scope in between, a monitor", enters_scope, monitor),
    SCENARIO("joined in an inner scope, a thief", joins_outer_inside, thief),
    SCENARIO("joined in an inner scope, a monitor", joins_outer_inside, monitor),
    SCENARIO("two forks, a monitor", two, monitor),
    SCENARIO("a record used again, a thief", same_record, thief),
    SCENARIO("a record used again, a monitor", same_record, monitor),
    SCENARIO("a full deque", five),
    SHARED("two forks, a thief", two, modest),
    ALIKE("one fork, two thieves, shared", setup_shared, false, one, modest, modest),
    SCENARIO("a place used again, a thief of two", one_by_one, thief_of_two),
    SCENARIO("a record used again, a thief of two", same_record, thief_of_two),
    SCENARIO("two forks, a thief of two", two, thief_of_two),
    ALIKE("one fork, two thieves", setup, false, one, thief, thief),
    ALIKE("a full deque, a thief", setup, true, five, thief),
    ALIKE("two forks, two thieves, shared", setup_shared, true, two, modest, modest),
    ALIKE("two forks, two thieves", setup, true, two, thief, thief),
    ALIKE("the older first, two thieves", setup, true, older_first, thief, thief),
    {0},
};
