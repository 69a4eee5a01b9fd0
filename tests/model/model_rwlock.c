/* SPDX-License-Identifier: MIT */
/* Goal: reader-writer locks (src/sync/rwlock.c): a writer has it alone, readers share it; who waits is let go on in the
 * order they came, readers together; one that is cancelled while it waits keeps nobody behind it; nobody touches the
 * lock after who was let go on could have freed it.
 * Method: what it guards is plain memory that writers count up: two that exclude each other and do not are a data race,
 * and what a reader finds there tells which writers were before it. Readers that wait for each other with the lock
 * held are there together or for ever.
 *
 * Lessons 78 and 79.
 * Sources: src/sync/rwlock.c src/sync/sync.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c
 * Sources: src/base/text.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns
 * Weaken: src/task/wait_hot.h: cc__wait_settle: store_release -> relaxed
 * Break: src/sync/rwlock.c: (kind == READ || l->priv_readers == 0) => true
 * Break: src/sync/rwlock.c: CC__SYNC_LIST(l)->first != NULL || !is_free_for => !is_free_for
 * Break: src/sync/rwlock.c: while (list->first != NULL && is_free_for => if (list->first != NULL && is_free_for
 * Break: src/sync/rwlock.c: if (cc__claims_take(got => if (!cc__claims_take(got
 * Break: src/sync/rwlock.c: cc__waitlist_remove(CC__SYNC_LIST(l), w); => ;
 * Break: src/sync/rwlock.c: leave(l, &w); => cc__waitlist_leave(list, &w);
 * Break: src/sched/park.c: w != NULL; w = next) => w != NULL; w = cc__wait_of(w->node.next))
 */
#include "locks.h"

#include <ccrt/rwlock.h>

static cc_rwlock *l;
static int writers;          /* so far; guarded by l */
static int seen[MC_THREADS]; /* writers before one that reads, from 1; 0: it did not get it */
static int wrote[MC_THREADS];
static struct mc_sem met[2], told;
static _Atomic int users; /* W, R: any thread; the last frees it */

static void read_it(void) {
    seen[mc_self()] = 1 + writers;
}
static void write_it(void) {
    writers++;
    wrote[mc_self()] = 1;
}

/* ---- who wants it ---- */

static void reads(void) {
    (void)become();
    cc_rwlock_rdlock(l);
    read_it();
    cc_rwlock_unlock(l);
}
static void writes(void) {
    (void)become();
    cc_rwlock_wrlock(l);
    write_it();
    cc_rwlock_unlock(l);
}
static void reads_cancellably(void) {
    (void)become();
    int rc = cc_rwlock_rdlock_cancellable(l);
    mc_assert(rc == 0 || rc == -ECANCELED);
    if (rc != 0) return;
    read_it();
    cc_rwlock_unlock(l);
}
static void writes_cancellably(void) {
    (void)become();
    int rc = cc_rwlock_wrlock_cancellable(l);
    mc_assert(rc == 0 || rc == -ECANCELED);
    if (rc != 0) return;
    write_it();
    cc_rwlock_unlock(l);
}
static void tries_to_read(void) {
    (void)become();
    if (cc_rwlock_tryrdlock(l) != 0) return;
    read_it();
    cc_rwlock_unlock(l);
}
static void tries_to_write(void) {
    (void)become();
    if (cc_rwlock_trywrlock(l) != 0) return;
    write_it();
    cc_rwlock_unlock(l);
}
/* Threads 0 and 1. */
static void reads_with_other(void) {
    (void)become();
    cc_rwlock_rdlock(l);
    read_it();
    mc_sem_post(&met[1 - mc_self()]);
    mc_sem_wait(&met[mc_self()]);
    cc_rwlock_unlock(l);
}
static void reads_and_tells(void) {
    (void)become();
    cc_rwlock_rdlock(l);
    read_it();
    mc_sem_post(&told);
    cc_rwlock_unlock(l);
}
static void free_if_last(void) {
    if (cc__sub_acq_rel(&users, 1) == 1) free(l);
}
static void reads_and_frees(void) {
    reads();
    free_if_last();
}
static void writes_and_frees(void) {
    writes();
    free_if_last();
}

/* ---- who has it, by the setup ---- */

static void unlocks(void) {
    (void)become();
    cc_rwlock_unlock(l);
}
static void unlocks_when_told(void) {
    mc_sem_wait(&told);
    unlocks();
}
static void writes_on_and_unlocks(void) {
    write_it();
    unlocks();
}

/* ---- before and after ---- */

static cc_rwlock on_the_stack;
static void begin(void) {
    l = &on_the_stack;
    mc_sem_init(&met[0], 0);
    mc_sem_init(&met[1], 0);
    mc_sem_init(&told, 0);
}
static void setup(void) {
    tasks_begin(1);
    begin();
}
static void setup_threads(void) {
    all_begin(false);
    begin();
}
/* The third has it. */
static void setup_reader(void) {
    setup();
    l->priv_readers = 1;
}
static void setup_writer(void) {
    setup();
    l->priv_writer = &mine[2].task;
}
static void setup_heap(int count) {
    setup();
    l = calloc(1, sizeof *l);
    users = count;
}
static void setup_heap_reader(void) {
    setup_heap(1);
    l->priv_readers = 1;
}
static void setup_heap_writer(void) {
    setup_heap(2);
    l->priv_writer = &mine[2].task;
}

static void is_free(void) {
    int sum = 0;
    for (int i = 0; i < MC_THREADS; i++) sum += wrote[i];
    mc_assert(writers == sum && l->priv_writer == NULL && l->priv_readers == 0 && l->priv_waiters[0] == NULL);
}
static void both_had_it(void) {
    is_free();
    mc_assert((seen[0] != 0 || wrote[0]) && (seen[1] != 0 || wrote[1]));
}
/* The first waited to write. */
static void second_read_what_first_wrote(void) {
    is_free();
    mc_assert(wrote[0] && seen[1] == 2);
}
static void second_read_that_or_not(void) {
    is_free();
    mc_assert(wrote[0] && (seen[1] == 2 || seen[1] == 0));
}
static void second_read_beside(void) {
    is_free();
    mc_assert(!wrote[0] && seen[1] == 1);
}
static void second_read_in_any_case(void) {
    is_free();
    mc_assert(seen[1] == 1 + wrote[0]);
    mc_outcome("%s", wrote[0] ? "wrote" : "cancelled");
}
static void both_read_what_third_wrote(void) {
    is_free();
    mc_assert(seen[0] == 2 && seen[1] == 2);
}
static void second_wrote_in_any_case(void) {
    is_free();
    mc_assert(wrote[1] && (seen[0] == 0 || seen[0] == 2));
    mc_outcome("%s", seen[0] ? "read" : "cancelled");
}

const struct mc_scenario mc_scenarios[] = {
    {"two write", setup, {writes, writes}, both_had_it},
    {"one reads, one writes", setup, {reads, writes}, both_had_it},
    {"threads: one reads, one writes", setup_threads, {reads, writes}, both_had_it},
    {"two read together", setup, {reads_with_other, reads_with_other}, both_had_it},
    {"one writes, two that wait read together",
     setup_writer,
     {reads_with_other, reads_with_other, writes_on_and_unlocks},
     both_read_what_third_wrote,
     .first = 2},
    {"one writes, two come to read",
     setup_writer,
     {reads_with_other, reads_with_other, writes_on_and_unlocks},
     both_read_what_third_wrote,
     .alike = true},
    {"one reads, one waits to write, one reads after it",
     setup_reader,
     {writes, reads, unlocks},
     second_read_what_first_wrote,
     .first = 1},
    {"one reads, one waits to write, one tries to read",
     setup_reader,
     {writes, tries_to_read, unlocks},
     second_read_that_or_not,
     .first = 1},
    {"one writes, one comes to read, one tries to write",
     setup_writer,
     {reads, tries_to_write, writes_on_and_unlocks},
     is_free},
    {"one reads, who waits to write is cancelled, the next reads beside",
     setup_reader,
     {writes_cancellably, reads_and_tells, unlocks_when_told, cancels_first},
     second_read_beside,
     .first = 2,
     .fences = true},
    {"one reads, who waits to write gets it or is cancelled, the next reads",
     setup_reader,
     {writes_cancellably, reads, unlocks, cancels_first},
     second_read_in_any_case,
     .outcomes = "cancelled wrote",
     .first = 2,
     .fences = true},
    {"one writes, who waits to read gets it or is cancelled, the next writes",
     setup_writer,
     {reads_cancellably, writes, writes_on_and_unlocks, cancels_first},
     second_wrote_in_any_case,
     .outcomes = "cancelled read",
     .first = 2,
     .fences = true},
    {"one reads, one waits to write and frees it", setup_heap_reader, {writes_and_frees, unlocks}},
    {"one writes, two wait to read, the last frees it",
     setup_heap_writer,
     {reads_and_frees, reads_and_frees, writes_on_and_unlocks},
     .first = 2},
    {"two read, two write", setup, {reads, reads, writes, writes}, both_had_it, .alike = true},
    {"one reads, who waits to write is cancelled or not, the next comes to read",
     setup_reader,
     {writes_cancellably, reads, unlocks, cancels_first},
     second_read_in_any_case,
     .outcomes = "cancelled wrote",
     .first = 1,
     .fences = true,
     .full = true},
    {0},
};
