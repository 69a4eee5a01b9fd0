/* SPDX-License-Identifier: MIT */
/* Goal: programs over locks in the shape of well-known bugs, which wait for ever, are reported, with who waits and for
 * what, and ended; the same programs repaired run to their end.
 * Method: each kernel is a function that has the bug or has not. With it, a child process of its own must end by
 * abort() after a report that names each task with what it waits for, or after a message where it is a misuse that can
 * be told at once. Without it, it runs many times on runtimes of 1, 2, 7 and 16 workers.
 * Not with: thread valgrind cross
 * Timeout: 120
 */
#include "child.h"
#include "runtimes.h"
#include "waits.h"

typedef CC_CHAN(int) int_chan;

/* All that a kernel has. */
struct stage {
    bool bug;
    cc_mutex a, b;
    cc_rwlock rw;
    cc_cond cond;
    cc_waitgroup group;
    cc_sem sem;
    cc_barrier barrier;
    int_chan c;
    int ready;           /* guarded by a */
    _Atomic int arrived; /* how many are where they have to be for it to happen */
};

static void arrive(struct stage *s) {
    cc__add_acq_rel(&s->arrived, 1);
}
/* With the bug, it happens each time: all that it takes have come. */
static void until_arrived(struct stage *s, int n) {
    while (s->bug && cc__load_acquire(&s->arrived) < n) cc_yield();
}

/* ---- two locks, in two orders ---- */

static void *locks_a_then_b(void *arg) {
    struct stage *s = arg;
    cc_mutex_lock(&s->a);
    arrive(s);
    until_arrived(s, 2);
    cc_mutex_lock(&s->b);
    cc_mutex_unlock(&s->b);
    cc_mutex_unlock(&s->a);
    return NULL;
}
static void *locks_b_then_a(void *arg) {
    struct stage *s = arg;
    if (!s->bug) return locks_a_then_b(arg);
    cc_mutex_lock(&s->b);
    arrive(s);
    until_arrived(s, 2);
    cc_mutex_lock(&s->a);
    cc_mutex_unlock(&s->a);
    cc_mutex_unlock(&s->b);
    return NULL;
}

/* ---- a reader that reads again, and a writer that came in between ---- */

static void *reads_inside_reading(void *arg) {
    struct stage *s = arg;
    cc_rwlock_rdlock(&s->rw);
    arrive(s);
    if (s->bug)
        test_until_waiting(s->rw.priv_lock, 1);
    else
        cc_rwlock_unlock(&s->rw);
    cc_rwlock_rdlock(&s->rw);
    cc_rwlock_unlock(&s->rw);
    if (s->bug) cc_rwlock_unlock(&s->rw);
    return NULL;
}
static void *writes(void *arg) {
    struct stage *s = arg;
    until_arrived(s, 1);
    cc_rwlock_wrlock(&s->rw);
    cc_rwlock_unlock(&s->rw);
    return NULL;
}

/* ---- a reader that wants to write what it reads ---- */

static void *upgrades(void *arg) {
    struct stage *s = arg;
    cc_rwlock_rdlock(&s->rw);
    if (!s->bug) cc_rwlock_unlock(&s->rw);
    cc_rwlock_wrlock(&s->rw);
    cc_rwlock_unlock(&s->rw);
    return NULL;
}

/* ---- a signal that comes before the wait ---- */

static void *waits_for_a_signal(void *arg) {
    struct stage *s = arg;
    until_arrived(s, 1);
    cc_mutex_lock(&s->a);
    if (s->bug) /* what it waits for is not looked at */
        cc_cond_wait(&s->cond, &s->a);
    else
        while (s->ready == 0) cc_cond_wait(&s->cond, &s->a);
    cc_mutex_unlock(&s->a);
    return NULL;
}
static void *signals_early(void *arg) {
    struct stage *s = arg;
    cc_mutex_lock(&s->a);
    s->ready = 1;
    cc_cond_signal(&s->cond);
    cc_mutex_unlock(&s->a);
    arrive(s);
    return NULL;
}

/* ---- one that leaves early, and does not say that it is done ---- */

static void *works(void *arg) {
    struct stage *s = arg;
    bool fails = cc__add_acq_rel(&s->arrived, 1) == 0;
    if (fails && s->bug) return NULL;
    cc_waitgroup_done(&s->group);
    return NULL;
}
static void *waits_for_all(void *arg) {
    struct stage *s = arg;
    cc_waitgroup_wait(&s->group);
    return NULL;
}

/* ---- a mutex, held across a send to who needs it first ---- */

static void *sends_with_it(void *arg) {
    struct stage *s = arg;
    cc_mutex_lock(&s->a);
    arrive(s);
    if (!s->bug) cc_mutex_unlock(&s->a);
    test_must(cc_send(s->c, 1) == 0);
    if (s->bug) cc_mutex_unlock(&s->a);
    return NULL;
}
static void *receives_with_it(void *arg) {
    struct stage *s = arg;
    int v;
    until_arrived(s, 1);
    cc_mutex_lock(&s->a);
    cc_mutex_unlock(&s->a);
    test_must(cc_recv(s->c, &v) == 0 && v == 1);
    return NULL;
}

/* ---- each has one of two permits, and wants two ---- */

static void *wants_two(void *arg) {
    struct stage *s = arg;
    if (s->bug) {
        cc_sem_acquire(&s->sem, 1);
        arrive(s);
        until_arrived(s, 2);
        cc_sem_acquire(&s->sem, 1);
    } else {
        cc_sem_acquire(&s->sem, 2);
    }
    cc_sem_release(&s->sem, 2);
    return NULL;
}

/* ---- a barrier for one more than there are ---- */

static void *meets(void *arg) {
    struct stage *s = arg;
    cc_barrier_wait(&s->barrier);
    return NULL;
}

/* ---- what has the lock calls what takes it ---- */

static void add_locking(struct stage *s) {
    cc_mutex_lock(&s->a);
    s->ready++;
    cc_mutex_unlock(&s->a);
}
static void *locks_and_calls(void *arg) {
    struct stage *s = arg;
    cc_mutex_lock(&s->a);
    if (s->bug)
        add_locking(s);
    else
        s->ready++;
    cc_mutex_unlock(&s->a);
    return NULL;
}
static void *writes_and_reads(void *arg) {
    struct stage *s = arg;
    cc_rwlock_wrlock(&s->rw);
    if (s->bug) cc_rwlock_rdlock(&s->rw);
    if (s->bug) cc_rwlock_unlock(&s->rw);
    cc_rwlock_unlock(&s->rw);
    return NULL;
}

/* ---- all of them ---- */

enum { TASKS = 3, LINES = 3 };
static const struct kernel {
    const char *is;
    struct {
        const char *name;
        void *(*fn)(void *);
    } task[TASKS];
    const char *says[LINES]; /* with the bug; the first is what kind of end it is */
} kernels[] = {
    {"two locks in two orders",
     {{"alice", locks_a_then_b}, {"bob", locks_b_then_a}},
     {"ccrt: deadlock", "\"alice\" waits (mutex", "\"bob\" waits (mutex"}},
    {"a reader reads again behind a writer",
     {{"reader", reads_inside_reading}, {"writer", writes}},
     {"ccrt: deadlock", "\"reader\" waits (read lock", "\"writer\" waits (write lock"}},
    {"a reader becomes a writer", {{"upgrader", upgrades}}, {"ccrt: deadlock", "\"upgrader\" waits (write lock"}},
    {"a signal is missed",
     {{"waiter", waits_for_a_signal}, {"signaller", signals_early}},
     {"ccrt: deadlock", "\"waiter\" waits (condition"}},
    {"one is never done",
     {{"boss", waits_for_all}, {"worker", works}, {"worker", works}},
     {"ccrt: deadlock", "\"boss\" waits (waitgroup"}},
    {"a mutex is held across a send",
     {{"sender", sends_with_it}, {"receiver", receives_with_it}},
     {"ccrt: deadlock", "\"sender\" waits (send", "\"receiver\" waits (mutex"}},
    {"permits are taken one by one",
     {{"left", wants_two}, {"right", wants_two}},
     {"ccrt: deadlock", "\"left\" waits (semaphore", "\"right\" waits (semaphore"}},
    {"one too few for a barrier",
     {{"first", meets}, {"second", meets}},
     {"ccrt: deadlock", "\"first\" waits (barrier", "\"second\" waits (barrier"}},
    {"a mutex is locked twice", {{"doubler", locks_and_calls}}, {"a mutex was locked twice", "\"doubler\""}},
    {"a writer reads", {{"doubler", writes_and_reads}}, {"a lock was asked for by who has it to write", "\"doubler\""}},
};

static void play(const struct kernel *k, bool bug) {
    struct stage s = {.bug = bug, .sem = CC_SEM_INIT(2)};
    cc_task task[TASKS];
    int count = 0, workers = 0;
    for (int i = 0; i < TASKS && k->task[i].fn != NULL; i++) {
        count++;
        workers += k->task[i].fn == works;
    }
    s.barrier = (cc_barrier)CC_BARRIER_INIT((unsigned)count + (bug ? 1u : 0u));
    cc_waitgroup_add(&s.group, workers);
    test_must(cc_chan_create(s.c, 0) == 0);
    for (int i = 0; i < count; i++)
        test_must(cc_task_spawn(&task[i], &(cc_task_attr){.name = k->task[i].name}, k->task[i].fn, &s) == 0);
    for (int i = 0; i < count; i++) test_must(cc_task_join(task[i], NULL) == 0);
    cc_chan_destroy(s.c);
}

/* ---- with the bug ---- */

static void run(void *at) {
    play(&kernels[*(size_t *)at], true);
}
static bool is_reported(struct test_child *c, const struct kernel *k) {
    bool said = true;
    for (int i = 0; i < LINES && k->says[i] != NULL && said; i++)
        said = test_child_says(c, k->says[i], i == 0 ? 60000 : 10000);
    if (!said) kill(c->pid, SIGKILL);
    int status = test_child_end(c);
    if (said && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) return true;
    print_message("%s: status %x, it said:\n%s\n", k->is, (unsigned)status, c->said);
    return false;
}
static void they_are_reported(void **state) {
    static struct test_child c[TEST_COUNT_OF(kernels)];
    static size_t at[TEST_COUNT_OF(kernels)];
    bool good = true;
    (void)state;
    if (!test_monitored()) skip();
    for (size_t i = 0; i < TEST_COUNT_OF(c); i++) {
        at[i] = i;
        test_child_start(&c[i], run, &at[i]);
    }
    for (size_t i = 0; i < TEST_COUNT_OF(c); i++) good = is_reported(&c[i], &kernels[i]) && good;
    assert_true(good);
}

/* ---- without ---- */

static void *all_repaired(void *arg) {
    for (size_t round = test_rounds(500); round > 0; round--)
        for (size_t i = 0; i < TEST_COUNT_OF(kernels); i++) play(&kernels[i], false);
    return arg;
}
static void repaired_they_end(void **state) {
    (void)state;
    test_on_all(all_repaired);
}

/* The children first: they have none of the workers that their parent would have started. */
TEST_MAIN(cmocka_unit_test(they_are_reported), cmocka_unit_test(repaired_they_end))
