/* SPDX-License-Identifier: MIT */
/* Goal: sleeping workers (src/sched/idle.c): nobody sleeps while there is work that nobody else looks for, however
 * publishers, searchers and sleepers meet [ID1]; shutdown wakes all.
 * Method: workers that look for tasks in one counter, search and sleep as sched/worker.c does, on real futexes; threads
 * that publish tasks and notify. Whoever runs the last task ends the runtime. A worker that sleeps too long is a
 * deadlock. Tasks that need each other: each waits until the other has begun, so one worker is not enough, and the
 * one that was woken must have woken the next.
 * One worker is exhausted with a publisher, a second thread that notifies, mail, timers, a batch and shutdown. Two
 * publishers of a task each, and two workers that live on after it, have too many executions for that: they are a part
 * of them, with --full, or at random, with a seed. model_idle_pair.c has them cut down, exhausted.
 * A worker that sleeps in its reactor sleeps on a semaphore, which bell and events post to.
 * Sources: src/sched/idle.c src/base/bits.c src/plat/futex.c src/plat/clock.c src/base/assert.c src/base/text.c
 * Weaken: src/sched/idle.c: notify: fence_full -> nothing
 * Weaken: src/sched/idle.c: cc__idle_sleep: fence_full -> nothing
 * Weaken: src/sched/idle.c: cc__idle_notify_worker: fence_full -> nothing
 * Weaken: src/sched/idle.c: cc__idle_timer_added: fence_full -> nothing
 * Weaken: src/sched/idle.c: cc__idle_wake_all: fence_full -> nothing
 * Mutate slowly: src/sched/idle.c
 * Survives: *: add_acq_rel -> *: in what is exhausted the count of searchers orders nothing: the fences do
 * Survives: *: sub_acq_rel -> *: the same
 * Survives: notify: cas_acq_rel -> *: the same
 * Survives: cc__idle_notify_many: fence_full -> *: notify(), which ends it, has its own
 * Survives: rouse: xchg_release -> relaxed: a woken worker that does not see the work yet looks again before it sleeps
 * Survives: sleep_until_woken: load_acquire -> relaxed: the same
 * Survives: cc__idle_sleep: load_acquire* -> relaxed: the same; and nothing is read because of `stopping`
 * Weaken: src/sched/idle.c: cc__idle_stop_searching: fence_full -> nothing
 * Break: src/sched/idle.c: if (timer || cc__steal_visible(w)) notify(rt); => (void)timer;
 * Break: src/sched/idle.c: stay = stay || cc__poll_own(w) != polls; => ;
 * Break: src/sched/idle.c: CC__AWAKE) == CC__ASLEEP_POLLING) => CC__AWAKE) == 7)
 * Break: src/sched/idle.c: || wake_one(rt)) return; => || wake_one(rt) || cc__sub_acq_rel(&rt->searching, 1)) return;
 */
#include "plat/clock.h"
#include "sched/sched.h"

#include "ccmc.h"
#include "noforks.h"

#include <stdio.h>

enum { WORKERS = 2 };
#define SOON_NS INT64_C(2000000000)
#define TIMER_NS INT64_C(5000000000)

_Thread_local struct cc__worker *cc__current_worker; /* as in src/fiber/current.c */

static struct cc__runtime rt;
static struct cc__worker workers[WORKERS];
static _Atomic uint64_t idle_words[1];
static _Atomic int queue;         /* tasks that wait.  W: publishers, workers */
static _Atomic int mail[WORKERS]; /* the same for one worker alone */
static bool has_mail;
static _Atomic int begun, ended;
static int tasks;
static bool need_each_other, sleepy;

static void publish(int n);

/* ---- what surrounds it ---- */

bool cc__steal_anything(struct cc__worker *w) {
    mc_assert(w->runtime == &rt);
    return cc__load_relaxed(&queue) > 0 || (has_mail && cc__load_relaxed(&mail[w->id]) > 0);
}
bool cc__steal_visible(struct cc__worker *w) {
    return cc__steal_anything(w);
}

/* The reactor of the first worker. */
static struct mc_sem bell;
static _Atomic int event; /* W: who has something arrive there */

bool cc__poll_sleep(struct cc__worker *w, int64_t until_ns) {
    mc_assert(w == &workers[0] && until_ns == CC__NEVER);
    mc_sem_wait(&bell);
    w->event_count = cc__load_relaxed(&event);
    return w->event_count > 0;
}
void cc__reactor_ring(struct cc__reactor *r) {
    mc_assert(r == &workers[0].reactor);
    mc_sem_post(&bell);
}

void cc__monitor_rouse(void) {
}
void cc__monitor_ring(void) {
}

static bool take(void) {
    int n = cc__load_relaxed(&queue);
    while (n > 0)
        if (cc__cas_acq_rel(&queue, &n, n - 1)) return true;
    return false;
}

static void run(void) {
    if (need_each_other) {
        cc__add_relaxed(&begun, 1);
        while (cc__load_relaxed(&begun) < tasks) mc_yield();
    }
    if (cc__add_acq_rel(&ended, 1) + 1 < tasks) return;
    cc__store_release(&rt.stopping, 1); /* the last one */
    cc__idle_wake_all(&rt);
}

static void worker(struct cc__worker *w) {
    for (;;) {
        bool found = take();
        if (!found && cc__idle_start_searching(w)) found = take();
        if (found) {
            cc__idle_stop_searching(w, true);
            run();
        } else if (!cc__idle_sleep(w)) {
            cc__idle_stop_searching(w, false);
            return;
        }
    }
}
static void first_worker(void) {
    worker(&workers[0]);
}
static void second_worker(void) {
    worker(&workers[1]);
}

/* The only worker, which ends with the last task: fewer steps. */
static void lone_worker(void) {
    struct cc__worker *w = &workers[0];
    if (sleepy) mc_assert(cc__idle_sleep(w));
    for (int done = 0; done < tasks;) {
        if (take()) {
            cc__idle_stop_searching(w, true);
            done++;
            cc__add_relaxed(&ended, 1);
        } else {
            mc_assert(cc__idle_sleep(w));
        }
    }
}

/* Workers that found nothing and go to sleep; each ends with the first task it finds. */
static void sleeper(struct cc__worker *w) {
    bool found;
    do {
        mc_assert(cc__idle_sleep(w));
        found = take();
    } while (!found);
    cc__idle_stop_searching(w, true);
    cc__add_relaxed(&ended, 1);
}
static void first_sleeper(void) {
    sleeper(&workers[0]);
}
static void second_sleeper(void) {
    sleeper(&workers[1]);
}

/* A worker that goes to sleep until there is mail; the only one who takes it. */
static void mail_reader(void) {
    struct cc__worker *w = &workers[0];
    do mc_assert(cc__idle_sleep(w));
    while (cc__load_relaxed(&mail[0]) == 0);
    cc__sub_acq_rel(&mail[0], 1);
    cc__idle_stop_searching(w, true);
    cc__add_relaxed(&ended, 1);
}
/* A worker that sleeps until a timer is due that is set meanwhile. */
static void timer_waiter(void) {
    struct cc__worker *w = &workers[0];
    do mc_assert(cc__idle_sleep(w));
    while (cc__load_relaxed(&w->timers.next_ns) > cc__now_ns());
    cc__idle_stop_searching(w, true);
    cc__add_relaxed(&ended, 1);
}
static void adds_timer(void) {
    cc__store_relaxed(&workers[0].timers.next_ns, TIMER_NS);
    cc__idle_timer_added(&rt, TIMER_NS);
}
/* The same, behind one that is due sooner: who adds it relies on a sleeper that may be awake by then. */
static void second_timer_waiter(void) {
    struct cc__worker *w = &workers[0];
    do {
        mc_assert(cc__idle_sleep(w));
        if (cc__now_ns() >= SOON_NS) cc__store_relaxed(&w->timers.next_ns, CC__NEVER);
    } while (cc__load_relaxed(&workers[1].timers.next_ns) > cc__now_ns());
    cc__idle_stop_searching(w, true);
    cc__add_relaxed(&ended, 1);
}
static void adds_second_timer(void) {
    cc__store_relaxed(&workers[1].timers.next_ns, TIMER_NS);
    cc__idle_timer_added(&rt, TIMER_NS);
}
static void posts(void) {
    cc__add_acq_rel(&mail[0], 1);
    cc__idle_notify_worker(&workers[0]);
}
/* A worker that sleeps until an event comes; and where it comes from. */
static void event_waiter(void) {
    struct cc__worker *w = &workers[0];
    do mc_assert(cc__idle_sleep(w));
    while (w->event_count == 0);
    cc__idle_stop_searching(w, true);
    cc__add_relaxed(&ended, 1);
}
static void arrives(void) {
    cc__store_relaxed(&event, 1);
    mc_sem_post(&bell);
}
/* Another thread makes the reactor, and then something arrives. */
static void makes_reactor(void) {
    cc__store_release(&workers[0].reactor.number, 1);
    cc__idle_notify_worker(&workers[0]);
    arrives();
}
/* A worker that searches: it has not looked yet, and publishers rely on it. */
static void searcher(void) {
    struct cc__worker *w = &workers[0];
    w->searching = true;
    while (!take()) mc_assert(cc__idle_sleep(w));
    cc__idle_stop_searching(w, true);
    cc__add_relaxed(&ended, 1);
}

static void publish(int n) {
    cc__add_acq_rel(&queue, n);
    cc__idle_notify(&rt);
}
static void publishes_one(void) {
    publish(1);
}
static void sleeps_until_stopped(void) {
    while (cc__idle_sleep(&workers[0])) {
    }
    cc__idle_stop_searching(&workers[0], false);
}
static void stops(void) {
    cc__store_release(&rt.stopping, 1);
    cc__idle_wake_all(&rt);
}
static void publishes_batch(void) {
    cc__add_acq_rel(&queue, 1);
    cc__idle_notify_many(&rt, 1);
}
static void notifies(void) {
    cc__idle_notify(&rt);
}
static void publishes_two(void) {
    publish(1);
    publish(1);
}

/* ---- before and after ---- */

static void begin(unsigned n, int expected) {
    cc__store_relaxed(&rt.worker_count, n);
    cc__store_relaxed(&rt.growth.running, n);
    rt.workers = workers;
    rt.idle_words = idle_words;
    cc__store_relaxed(&rt.sleeper_until, CC__NEVER);
    cc__bits_init(&rt.idle, idle_words, n);
    for (unsigned i = 0; i < n; i++) {
        workers[i].runtime = &rt;
        workers[i].id = i;
        cc__store_relaxed(&workers[i].timers.next_ns, CC__NEVER);
    }
    tasks = expected;
}
static void one_worker(void) {
    begin(1, 1);
}
static void no_reactor(void) {
    begin(1, 1);
    mc_sem_init(&bell, 0);
}
static void one_reactor(void) {
    no_reactor();
    cc__store_relaxed(&workers[0].reactor.number, 1);
}
static void no_task_reactor(void) {
    one_reactor();
    tasks = 0;
}
static void no_task(void) {
    begin(1, 0);
}
static void one_worker_two_tasks(void) {
    begin(1, 2);
}
/* There is a task, and the worker missed it: it goes to sleep. */
static void one_worker_late(void) {
    begin(1, 2);
    cc__store_relaxed(&queue, 1);
    sleepy = true;
}
static void one_reader(void) {
    begin(1, 1);
    has_mail = true;
}
static void one_searcher(void) {
    begin(1, 1);
    cc__store_relaxed(&rt.searching, 1);
}
static void one_timer(void) {
    begin(2, 1);
    cc__store_relaxed(&workers[0].timers.next_ns, SOON_NS);
}
static void two_workers(void) {
    begin(2, 1);
}
static void two_workers_two_tasks(void) {
    begin(2, 2);
}
static void tasks_need_each_other(void) {
    begin(2, 2);
    need_each_other = true;
}

static void all_at_rest(void) {
    mc_assert(cc__load_relaxed(&ended) == tasks && cc__load_relaxed(&queue) == 0);
    mc_assert(cc__load_relaxed(&rt.searching) == 0);
    mc_assert(cc__bits_count(&rt.idle) == 0);
}

/* ---- too many executions to run them all ---- */

static const struct mc_scenario large[] = {
    {"2 workers, 1 publisher", two_workers, {first_worker, second_worker, publishes_one}, all_at_rest},
    {"2 workers, 2 publishers",
     two_workers_two_tasks,
     {first_worker, second_worker, publishes_one, publishes_one},
     all_at_rest},
    {"2 workers, a publisher, tasks need each other",
     tasks_need_each_other,
     {first_worker, second_worker, publishes_two},
     all_at_rest},
    {"2 workers, 2 publishers, tasks need each other",
     tasks_need_each_other,
     {first_worker, second_worker, publishes_one, publishes_one},
     all_at_rest},
};

static int at_random(const struct mc_options *o) {
    int failed = 0;
    for (size_t i = 0; i < CC__COUNT_OF(large); i++) {
        struct mc_options options = {
            .mode = MC_RANDOM, .max_execs = o->full ? 2000000 : 20000, .seed = o->seed, .sc_only = o->sc_only};
        struct mc_result r = mc_explore(&large[i], &options);
        printf("     %-46s %9llu random executions, seed %llu: %s\n", large[i].name, (unsigned long long)r.execs,
               (unsigned long long)o->seed, r.bug != 0 ? r.text : "no bug");
        if (r.bug != 0) {
            options.replay = r.replay;
            options.trace = true;
            struct mc_result told = mc_explore(&large[i], &options);
            mc_result_fini(&told);
        }
        failed += r.bug != 0;
        mc_result_fini(&r);
    }
    return failed > 0;
}

#define FENCES .fences = true /* its only seq_cst operations are fences */

const struct mc_scenario mc_scenarios[] = {
    {"1 worker, 1 publisher, spurious wake-ups",
     one_worker,
     {first_worker, publishes_one},
     all_at_rest,
     FENCES,
     .full = true,
     .spurious = 1},
    {"lone worker, 1 publisher", one_worker, {lone_worker, publishes_one}, all_at_rest, FENCES},
    {"lone worker, 1 publisher, spurious wake-ups",
     one_worker,
     {lone_worker, publishes_one},
     all_at_rest,
     FENCES,
     .spurious = 2},
    {"lone worker, a publisher of two", one_worker_two_tasks, {lone_worker, publishes_two}, all_at_rest, .full = true},
    {"a searcher, a publisher", one_searcher, {searcher, publishes_one}, all_at_rest, FENCES},
    {"mail", one_reader, {mail_reader, posts}, all_at_rest, FENCES},
    {"a timer", one_worker, {timer_waiter, adds_timer}, all_at_rest, FENCES},
    {"shutdown", no_task, {sleeps_until_stopped, stops}, all_at_rest, FENCES},
    {"a batch", one_worker, {first_sleeper, publishes_batch}, all_at_rest, FENCES},
    {"in its reactor, a publisher", one_reactor, {lone_worker, publishes_one}, all_at_rest, FENCES},
    {"in its reactor, an event", one_reactor, {event_waiter, arrives}, all_at_rest, FENCES},
    {"in its reactor, an event, and somebody notifies",
     one_reactor,
     {event_waiter, arrives, notifies},
     all_at_rest,
     FENCES},
    {"in its reactor, shutdown", no_task_reactor, {sleeps_until_stopped, stops}, all_at_rest, FENCES},
    {"a reactor is made for it", no_reactor, {event_waiter, makes_reactor}, all_at_rest, FENCES},
    {"lone worker, 2 publishers",
     one_worker_two_tasks,
     {lone_worker, publishes_one, publishes_one},
     all_at_rest,
     .full = true,
     .bounded = true,
     .max_execs = 2000000},
    {"2 sleepers, a publisher of two",
     two_workers_two_tasks,
     {first_sleeper, second_sleeper, publishes_two},
     all_at_rest,
     .full = true,
     .bounded = true,
     .max_execs = 2000000},
    {"2 sleepers, 2 publishers",
     two_workers_two_tasks,
     {first_sleeper, second_sleeper, publishes_one, publishes_one},
     all_at_rest,
     .full = true,
     .bounded = true,
     .max_execs = 2000000},
    {.name = "2 workers, at random", .run = at_random},
    {"1 worker, 1 publisher", one_worker, {first_worker, publishes_one}, all_at_rest, FENCES},
    {"lone worker, a notifier, a publisher",
     one_worker_late,
     {lone_worker, notifies, publishes_one},
     all_at_rest,
     FENCES},
    {"a sleeper, a publisher, a notifier", one_worker, {first_sleeper, publishes_one, notifies}, all_at_rest, FENCES},
    {"a searcher, a publisher, a notifier", one_searcher, {searcher, publishes_one, notifies}, all_at_rest, FENCES},
    {"mail and a notifier", one_reader, {mail_reader, posts, notifies}, all_at_rest, FENCES},
    {"a timer behind another", one_timer, {second_timer_waiter, adds_second_timer}, all_at_rest, FENCES},
    {0},
};
