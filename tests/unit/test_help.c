/* SPDX-License-Identifier: MIT */
/* Goal: a worker that helps with descriptors lets other threads have its processor again and again, though there is
 * work; the watcher does not, and nobody does who has got nothing from descriptors. On the watcher's processor it steps
 * back, and leaves after a while, if that has had the processor to itself and nothing to do for a moment; it does not
 * where the watcher is elsewhere, has not looked around for long, blocks, or is left with something new, nor where it
 * was not called and has not helped. With a processor of its own it stays. A full look calls it only if the one after
 * it is full, too.
 * Method: two workers. Pairs of tasks that send a byte to and fro, until the helper has given way some times; none is
 *   lost by that. Then tasks that yield to each other beside one that waits for a descriptor. What workers have counted
 *   is read from inside. On two processors, with a worker bound to each, none has left. Stepping back: a task on the
 *   helper says what the watcher would, while that one is kept busy, and asks; also as if it had waited. Full looks: a
 *   task has more descriptors be ready than a look takes, and looks itself; whether the other worker is still idle is
 *   seen by its bit. The monitor may wake that one first, so it is tried again.
 */
#include "runtimes.h"

#include "plat/clock.h"
#include "plat/cpu.h"
#include "sched/sched.h"

#include <poll.h>
#include <sys/socket.h>

enum { PAIRS = 100, WAYS = 5, YIELDERS = 8, YIELDS = 20000, PATIENCE_S = 60 };
enum { CROWD = 2 * CC__REACTOR_EVENTS, TRIES = 100 };

static struct cc__worker *worker(unsigned i) {
    return &cc__worker_current()->runtime->workers[i];
}
static uint64_t ways(unsigned i) {
    return cc__load_relaxed(&worker(i)->count.gave_way);
}
static void make_pair(int fd[2]) {
    test_must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0);
}

/* Run it on one of two workers: the helper, 1, or the watcher, 2. */
static void on_worker(unsigned place, void *(*fn)(void *)) {
    cc_runtime *rt;
    cc_task t;
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 2}), 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, &(cc_task_attr){.worker = place}, fn, NULL), 0);
    assert_int_equal(cc_task_join(t, NULL), 0);
    cc_runtime_destroy(rt);
}

CC_TASK(answers, (int, fd)) {
    char byte;
    while (cc_read(fd, &byte, 1) == 1) test_must(cc_write(fd, &byte, 1) == 1);
    cc_close(fd);
    return 0;
}
static bool given_way(void) {
    return ways(0) >= WAYS;
}
static bool (*enough)(void); /* of what the pairs wait for */

CC_TASK(asks, (int, fd)) {
    char byte = 0;
    do {
        char sent = ++byte;
        test_must(cc_write(fd, &sent, 1) == 1 && cc_read(fd, &byte, 1) == 1 && byte == sent);
        test_must(cc_cancelled() == 0); /* it has come in time */
    } while (!enough());
    cc_close(fd);
    return 0;
}
static void send_to_and_fro(bool (*until)(void)) {
    enough = until;
    test_must(worker(0)->watcher == worker(1) && worker(1)->watcher == worker(1));
    CC_DEADLINE_MS(PATIENCE_S * 1000) {
        CC_NURSERY(n) {
            for (int i = 0; i < PAIRS; i++) {
                int fd[2];
                make_pair(fd);
                test_must(cc_spawn(n, asks, fd[0]) == 0 && cc_spawn(n, answers, fd[1]) == 0);
            }
        }
    }
    test_must(ways(1) == 0);
}
static void *helps(void *arg) {
    send_to_and_fro(given_way);
    return arg;
}
static void a_helper_gives_way(void **state) {
    (void)state;
    test_on_workers(2, helps, NULL);
}

static uint64_t held_until(void) {
    return cc__load_relaxed(&worker(1)->help.none_until);
}
static void *binds(void *cpu) {
    test_must(cc__thread_pin((int)(uintptr_t)cpu) == 0);
    return NULL;
}
static void *apart(void *arg) {
    cpu_set_t cpus;
    test_must(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
    for (unsigned i = 0, cpu = 0; i < 2; i++, cpu++) {
        cc_task t;
        while (!CPU_ISSET(cpu, &cpus)) cpu++;
        test_must(cc_task_spawn(&t, &(cc_task_attr){.worker = i + 1}, binds, (void *)(uintptr_t)cpu) == 0);
        test_must(cc_task_join(t, NULL) == 0);
    }
    send_to_and_fro(given_way);
    test_must(held_until() == 0);
    return arg;
}
static void who_has_a_processor_stays(void **state) {
    (void)state;
    if (cc__cpu_affinity() < 2) skip();
    test_on_workers(2, apart, NULL);
}

/* The watcher runs this, so it does not look around, and says nothing itself. */
static _Atomic bool spawn, spawned, over;

static void *does_nothing(void *arg) {
    return arg;
}
static void *keeps_busy(void *arg) {
    cc_task t;
    while (!cc__load_relaxed(&spawn)) cc__cpu_relax();
    test_must(cc_task_spawn(&t, NULL, does_nothing, NULL) == 0);
    cc__store_release(&spawned, true);
    while (!cc__load_relaxed(&over)) cc__cpu_relax();
    test_must(cc_task_join(t, NULL) == 0);
    return arg;
}

static void changes_nothing(struct cc__worker *watcher) {
    (void)watcher;
}
static void is_elsewhere(struct cc__worker *watcher) {
    cc__store_relaxed(&watcher->help.cpu, cc__load_relaxed(&watcher->help.cpu) + 1);
}
static void is_not_known(struct cc__worker *watcher) {
    cc__store_relaxed(&watcher->help.cpu, 0);
}
static void has_not_looked(struct cc__worker *watcher) {
    cc__store_relaxed(&watcher->help.seen, cc__cycles() - (UINT64_C(1) << 34));
}
static void has_not_called(struct cc__worker *watcher) {
    cc__store_relaxed(&watcher->help.called, false);
}
static void blocks(struct cc__worker *watcher) {
    cc__store_relaxed(&watcher->blocking, cc__load_relaxed(&watcher->tick) + 1);
}
/* What one that has crowded for long was told while it waited, and how often its watcher had nothing to do. */
enum { ALONE = 1, RESTED = 2 };
static void has_waited(struct cc__worker *w, int what) {
    struct cc__help *h = &w->help;
    h->crowds_since = cc__cycles() - (UINT64_C(1) << 34);
    h->since_ns = cc__now_ns() - 1000000000;
    h->had_ns = (what & ALONE) != 0 ? INT64_MIN / 2 : INT64_MAX / 2;
    h->dry_then = cc__load_relaxed(&w->watcher->help.dry) - ((what & RESTED) != 0);
    h->stays_until = 0;
}

/* Whether the worker that runs this is told so, if its watcher is on the same processor, at some time. (The system may
 * move us in between.) waited: nothing, or what it has seen meanwhile. */
static bool is_told(enum cc__help_next what, void (*change)(struct cc__worker *), int waited) {
    struct cc__worker *w = cc__worker_current();
    bool told = false;
    for (int k = 0; k < TRIES; k++) {
        w->help.crowds_since = w->help.stays_until = 0;
        if (waited >= 0) has_waited(w, waited);
        cc__store_relaxed(&w->watcher->help.cpu, cc__thread_cpu());
        cc__store_relaxed(&w->watcher->help.seen, cc__cycles());
        cc__store_relaxed(&w->watcher->help.called, true);
        cc__store_relaxed(&w->watcher->help.none_until, 0);
        change(w->watcher);
        told = cc__help_step_back(w) == what || told;
    }
    w->help.steps_back = w->help.helps = false;
    w->help.stays_until = 0;
    cc__store_relaxed(&w->watcher->blocking, 0);
    return told;
}
static bool would_step_back(void (*change)(struct cc__worker *)) {
    return is_told(CC__HELP_AGAIN, change, -1);
}
static bool would_leave(int waited) {
    return is_told(CC__HELP_LEAVE, changes_nothing, waited);
}
static void *asks_itself(void *arg) {
    int fd[2];
    cc_task t;
    make_pair(fd);
    CC_DEADLINE_MS(0) {
        test_must(cc_wait_fd(fd[0], POLLIN) == -ETIMEDOUT);
    } /* so descriptors are watched */
    test_must(cc_task_spawn(&t, &(cc_task_attr){.worker = 2}, keeps_busy, NULL) == 0);
    while (cc__load_relaxed(&worker(1)->current) == NULL) cc__cpu_relax();
    test_must(would_step_back(changes_nothing));
    test_must(!would_step_back(is_elsewhere) && !would_step_back(is_not_known) && !would_step_back(has_not_looked));
    test_must(!would_step_back(has_not_called) && !would_step_back(blocks));
    test_must(would_leave(ALONE | RESTED) && !would_leave(ALONE) && !would_leave(RESTED) && !would_leave(-1));
    test_must(is_told(CC__HELP_AGAIN, changes_nothing, ALONE));
    cc__store_relaxed(&spawn, true);
    while (!cc__load_acquire(&spawned)) cc__cpu_relax();
    bool would = true; /* for a moment the monitor may have it, on its way from the slot to the global queue */
    for (int k = 0; k < TRIES && would; k++) would = would_step_back(changes_nothing) || would_leave(ALONE | RESTED);
    test_must(!would);
    cc__store_relaxed(&over, true);
    test_must(cc_task_join(t, NULL) == 0);
    cc_close(fd[0]);
    cc_close(fd[1]);
    return arg;
}
static void reasons_to_stay(void **state) {
    (void)state;
    on_worker(1, asks_itself);
}

CC_TASK(waits, (int, fd)) {
    char byte;
    test_must(cc_read(fd, &byte, 1) == 0); /* its end */
    return 0;
}
CC_TASK(yields) {
    for (size_t i = 0; i < test_rounds(YIELDS); i++) cc_yield();
    return 0;
}
static void *computes(void *arg) {
    int fd[2];
    make_pair(fd);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, waits, fd[0]) == 0);
        CC_NURSERY(turns) {
            for (int i = 0; i < YIELDERS; i++) test_must(cc_spawn(turns, yields) == 0);
        }
        test_must(ways(0) == 0 && ways(1) == 0);
        close(fd[1]);
    }
    cc_close(fd[0]);
    return arg;
}
static void who_computes_does_not(void **state) {
    (void)state;
    test_on_workers(2, computes, NULL);
}

static _Atomic int received;

CC_TASK(receives, (int, fd)) {
    char byte;
    while (cc_read(fd, &byte, 1) == 1) cc__add_relaxed(&received, 1);
    return 0;
}
static bool idles(unsigned i) {
    return cc__bits_test(&cc__worker_current()->runtime->idle, i);
}
static bool look(void) {
    return cc__poll_look(cc__worker_current());
}
/* Whether the first look left the other worker alone, and the second did not. */
static bool second_look_calls(const int *peers) {
    while (!idles(0)) cc_sleep_ms(1);
    worker(1)->poll_full = false;
    cc__store_relaxed(&worker(1)->help.none_until, 0);
    for (int i = 0; i < CROWD; i++) test_must(write(peers[i], "", 1) == 1);
    bool not_yet = look() && idles(0);
    return look() && not_yet && !idles(0);
}
static void *calls(void *arg) {
    static int peers[CROWD];
    bool seen = false;
    test_must(cc__worker_current() == worker(1));
    CC_NURSERY(n) {
        int fd[CROWD][2];
        for (int i = 0; i < CROWD; i++) {
            make_pair(fd[i]);
            peers[i] = fd[i][0];
            test_must(cc_spawn(n, receives, fd[i][1]) == 0);
        }
        cc_sleep_ms(10);
        for (int k = 1; k <= TRIES && !seen; k++) {
            seen = second_look_calls(peers);
            while (cc__load_relaxed(&received) < k * CROWD) cc_sleep_ms(1);
        }
        for (int i = 0; i < CROWD; i++) close(peers[i]);
    }
    test_must(seen);
    return arg;
}
static void two_full_looks_call_another(void **state) {
    (void)state;
    on_worker(2, calls);
}

TEST_MAIN(cmocka_unit_test(a_helper_gives_way), cmocka_unit_test(who_computes_does_not),
          cmocka_unit_test(who_has_a_processor_stays), cmocka_unit_test(reasons_to_stay),
          cmocka_unit_test(two_full_looks_call_another))
