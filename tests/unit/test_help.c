/* SPDX-License-Identifier: MIT */
/* Goal: a worker that helps with descriptors lets other threads have its processor again and again, though there is
 * work; the watcher does not, and nobody does who has got nothing from descriptors. On the watcher's processor it goes
 * to another one, of those it may use, and then not again for a while; it does not where the watcher is elsewhere, has
 * not looked around for long, or sleeps, nor does the watcher itself. A full look calls it only if the one after it is
 * full, too.
 * Method: two workers. Pairs of tasks that send a byte to and fro, until the helper has given way some times; none is
 *   lost by that. Then tasks that yield to each other beside one that waits for a descriptor. What workers have counted
 *   is read from inside. Moving: a task on the helper says what the watcher would, while that one is kept busy, and
 *   asks. Full looks: a task has more descriptors be ready than a look takes, and looks itself; whether the other
 *   worker is still idle is seen by its bit. The monitor may wake that one first, so it is tried again.
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
CC_TASK(asks, (int, fd)) {
    char byte = 0;
    do {
        char sent = ++byte;
        test_must(cc_write(fd, &sent, 1) == 1 && cc_read(fd, &byte, 1) == 1 && byte == sent);
        test_must(cc_cancelled() == 0); /* it has come in time */
    } while (ways(0) < WAYS);
    cc_close(fd);
    return 0;
}
static void *helps(void *arg) {
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
    return arg;
}
static void a_helper_gives_way(void **state) {
    (void)state;
    test_on_workers(2, helps, NULL);
}

/* The watcher runs this, so it does not look around, and says nothing itself. */
static _Atomic bool over;

static void *keeps_busy(void *arg) {
    while (!cc__load_relaxed(&over)) cc__cpu_relax();
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
static void sleeps(struct cc__worker *watcher) {
    cc__store_relaxed(&watcher->asleep, CC__ASLEEP_POLLING);
}
static void has_just_moved_us(struct cc__worker *watcher) {
    (void)watcher;
    cc__worker_current()->help.moved = cc__cycles();
}
static void crowd(struct cc__worker *w) {
    w->help.moved = cc__cycles() - (UINT64_C(1) << 34);
    cc__store_relaxed(&w->watcher->help.cpu, cc__thread_cpu());
    cc__store_relaxed(&w->watcher->help.seen, cc__cycles());
}
/* Whether the worker that runs this moves, if its watcher is on the same processor, at some time. (The system may move
 * us in between.) */
static bool would_move(void (*change)(struct cc__worker *)) {
    struct cc__worker *w = cc__worker_current();
    bool moved = false;
    for (int k = 0; k < TRIES; k++) {
        crowd(w);
        change(w->watcher);
        moved = cc__help_move(w) || moved;
        cc__store_relaxed(&w->watcher->asleep, CC__AWAKE);
    }
    return moved;
}
/* Whether it tries to, when it gives way. */
static bool moves_to_give_way(void) {
    struct cc__worker *w = cc__worker_current();
    bool tried = false;
    for (int k = 0; k < TRIES && !tried; k++) {
        crowd(w);
        uint64_t before = w->help.moved;
        cc__help_give_way(w);
        tried = w->help.moved != before;
    }
    return tried;
}
static bool may_use_several;

static void watch_descriptors(void) {
    int fd[2];
    make_pair(fd);
    CC_DEADLINE_MS(0) {
        test_must(cc_wait_fd(fd[0], POLLIN) == -ETIMEDOUT);
    }
    cc_close(fd[0]);
    cc_close(fd[1]);
}
static void *asks_itself(void *arg) {
    cc_task t;
    watch_descriptors();
    test_must(cc_task_spawn(&t, &(cc_task_attr){.worker = 2}, keeps_busy, NULL) == 0);
    while (cc__load_relaxed(&worker(1)->current) == NULL) cc__cpu_relax();
    test_must(would_move(changes_nothing) == may_use_several);
    test_must(!would_move(is_elsewhere) && !would_move(is_not_known) && !would_move(has_not_looked));
    test_must(!would_move(sleeps) && !would_move(has_just_moved_us));
    test_must(moves_to_give_way());
    cc__store_relaxed(&over, true);
    test_must(cc_task_join(t, NULL) == 0);
    return arg;
}
static void a_helper_leaves_its_watchers_processor(void **state) {
    (void)state;
    may_use_several = cc__cpu_affinity() > 1;
    on_worker(1, asks_itself);
}
static void *watches(void *arg) {
    watch_descriptors();
    test_must(worker(1) == cc__worker_current() && !would_move(changes_nothing));
    return arg;
}
static void a_watcher_stays(void **state) {
    (void)state;
    on_worker(2, watches);
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
          cmocka_unit_test(a_helper_leaves_its_watchers_processor), cmocka_unit_test(a_watcher_stays),
          cmocka_unit_test(two_full_looks_call_another))
