/* SPDX-License-Identifier: MIT */
/* Goal: a user's program under ThreadSanitizer, with the installed library that was built without, draws no report for
 *   what tasks hand to each other in the ways that are there for it.
 * Method: several workers, and plain memory that one task writes and another reads or writes after: the argument and
 *   the result of a task, what a nursery's children did, values by every kind of channel and what they point to,
 *   what every kind of lock guards, a park and its unpark; each many times, by tasks and plain threads. */
#include <ccrt.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(cond) ((void)((cond) || (fprintf(stderr, "san_tasks.c:%d: not true: %s\n", __LINE__, #cond), exit(1), 0)))

enum { TIMES = 200, TASKS = 8 };

struct parcel {
    int n;
    char text[60]; /* too long for a register */
};

static struct parcel *pack(int n) {
    struct parcel *p = malloc(sizeof *p);
    CHECK(p != NULL);
    p->n = n;
    memset(p->text, 'a' + n % 26, sizeof p->text);
    return p;
}
static void unpack(struct parcel *p, int n) {
    CHECK(p->n == n && p->text[0] == 'a' + n % 26 && p->text[59] == p->text[0]);
    free(p);
}

/* ---- arguments, results, nurseries ---- */

static void *doubles(void *p) {
    ((struct parcel *)p)->n *= 2;
    return p;
}
CC_TASK(fills, (int *, place), (int, value)) {
    *place = value;
    return 0;
}

static void spawns_and_joins(void) {
    for (int i = 0; i < TIMES; i++) {
        int places[TASKS];
        struct parcel *p = pack(2 * i);
        void *back;
        p->n = i;
        cc_task t;
        CHECK(cc_task_spawn(&t, NULL, doubles, p) == 0 && cc_task_join(t, &back) == 0);
        unpack(back, 2 * i);
        CC_NURSERY(n) {
            for (int k = 0; k < TASKS; k++) CHECK(cc_spawn(n, fills, &places[k], i + k) == 0);
        }
        for (int k = 0; k < TASKS; k++) CHECK(places[k] == i + k);
    }
}

/* ---- channels ---- */

typedef CC_CHAN(struct parcel *) pointers;
typedef CC_CHAN(struct parcel) parcels;

CC_TASK(sends, (pointers, c), (parcels, d)) {
    for (int i = 0; i < TIMES; i++) {
        struct parcel *p = pack(i), copy = *p;
        CHECK(cc_send(c, p) == 0 && cc_send(d, copy) == 0);
    }
    cc_chan_close(c);
    cc_chan_close(d);
    return 0;
}
static void *sends_from_thread(void *c) {
    pointers *to = c;
    for (int i = 0; i < TIMES; i++) CHECK(cc_send(*to, pack(i)) == 0);
    return NULL;
}

static void channels(size_t capacity) {
    pointers c;
    parcels d;
    CHECK(cc_chan_create(c, capacity) == 0 && cc_chan_create(d, capacity) == 0);
    CC_NURSERY(n) {
        CHECK(cc_spawn(n, sends, c, d) == 0);
        for (int i = 0; i < TIMES; i++) {
            struct parcel *p, q;
            int which = cc_select(CC_RECV(c, &p), CC_AFTER_MS(60000));
            CHECK(which == 0);
            unpack(p, i);
            CHECK(cc_recv(d, &q) == 0 && q.n == i && q.text[59] == 'a' + i % 26);
        }
    }
    cc_chan_destroy(c);
    cc_chan_destroy(d);
}

static void channel_from_thread(void) {
    pointers c;
    pthread_t thread;
    struct parcel *p;
    CHECK(cc_chan_create(c, 3) == 0 && pthread_create(&thread, NULL, sends_from_thread, &c) == 0);
    for (int i = 0; i < TIMES; i++) {
        CHECK(cc_recv(c, &p) == 0);
        unpack(p, i);
    }
    pthread_join(thread, NULL);
    cc_chan_destroy(c);
}

/* ---- the other kinds ---- */

typedef CC_ONESHOT(struct parcel *) one_pointer;
typedef CC_BROADCAST(struct parcel *) pointers_to_all;
typedef CC_WATCH(struct parcel *) newest_pointer;

CC_TASK(tells, (one_pointer, o), (pointers_to_all, b), (newest_pointer, w), (struct parcel *, p)) {
    p->n = 7;
    CHECK(cc_oneshot_send(o, p) == 0 && cc_broadcast_send(b, p) == 0 && cc_watch_send(w, p) == 0);
    return 0;
}
CC_TASK(is_told, (one_pointer, o), (pointers_to_all, b), (newest_pointer, w), (cc_subscriber *, s), (int, how)) {
    struct parcel *p = NULL;
    uint64_t seen = 1;
    if (how == 0) CHECK(cc_oneshot_recv(o, &p) == 0);
    if (how == 1) CHECK(cc_broadcast_recv(b, s, &p) == 0);
    if (how == 2) CHECK(cc_watch_recv(w, &seen, &p) == 0);
    CHECK(p->n == 7);
    return 0;
}

static void other_kinds(void) {
    for (int i = 0; i < TIMES; i++) {
        one_pointer o;
        pointers_to_all b;
        newest_pointer w;
        cc_subscriber s;
        struct parcel *p = pack(7);
        CHECK(cc_oneshot_create(o) == 0 && cc_broadcast_create(b, 4) == 0 && cc_watch_create(w, NULL) == 0);
        CHECK(cc_broadcast_subscribe(b, &s) == 0);
        CC_NURSERY(n) {
            for (int how = 0; how < 3; how++) CHECK(cc_spawn(n, is_told, o, b, w, &s, how) == 0);
            CHECK(cc_spawn(n, tells, o, b, w, p) == 0);
        }
        unpack(p, 7);
        cc_oneshot_destroy(o);
        cc_broadcast_destroy(b);
        cc_watch_destroy(w);
    }
}

CC_TASK(asks, (cc_ordered *, q)) {
    for (int i = 0; i < TIMES; i++) {
        struct parcel *p = pack(2 * i);
        p->n = i;
        CHECK(cc_ordered_spawn(q, doubles, p) == 0);
    }
    cc_ordered_close(q);
    return 0;
}

static void in_order(void) {
    cc_ordered *q;
    CHECK(cc_ordered_create(&q, 4) == 0);
    CC_NURSERY(n) {
        void *p;
        CHECK(cc_spawn(n, asks, q) == 0);
        for (int i = 0; cc_ordered_recv(q, &p) == 0; i++) unpack(p, 2 * i);
    }
    cc_ordered_destroy(q);
}

/* ---- locks ---- */

static cc_mutex mutex = CC_MUTEX_INIT;
static cc_rwlock rwlock = CC_RWLOCK_INIT;
static cc_sem sem = CC_SEM_INIT(1);
static cc_cond cond = CC_COND_INIT;
static int by_mutex, by_rwlock, by_sem, turn;

static void *locks_often(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        cc_mutex_lock(&mutex);
        by_mutex++;
        cc_mutex_unlock(&mutex);
        cc_rwlock_wrlock(&rwlock);
        by_rwlock++;
        cc_rwlock_unlock(&rwlock);
        cc_rwlock_rdlock(&rwlock);
        CHECK(by_rwlock > i);
        cc_rwlock_unlock(&rwlock);
        cc_sem_acquire(&sem, 1);
        by_sem++;
        cc_sem_release(&sem, 1);
        if (i % 16 == 0) cc_yield();
    }
    return unused;
}
CC_TASK(locks, (int, unused)) {
    (void)unused;
    locks_often(NULL);
    return 0;
}
CC_TASK(takes_turns, (int, me)) {
    for (int i = 0; i < TIMES; i++) {
        cc_mutex_lock(&mutex);
        while (turn % 2 != me) cc_cond_wait(&cond, &mutex);
        turn++;
        cc_cond_signal(&cond);
        cc_mutex_unlock(&mutex);
    }
    return 0;
}

static void all_locks(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, locks_often, NULL) == 0);
    CC_NURSERY(n) {
        for (int i = 0; i < TASKS; i++) CHECK(cc_spawn(n, locks, i) == 0);
        for (int i = 0; i < 2; i++) CHECK(cc_spawn(n, takes_turns, i) == 0);
    }
    pthread_join(thread, NULL);
    int all = (TASKS + 1) * TIMES;
    CHECK(by_mutex == all && by_rwlock == all && by_sem == all && turn == 2 * TIMES);
}

/* ---- who waits for whom ---- */

static cc_once once = CC_ONCE_INIT;
static cc_barrier barrier = CC_BARRIER_INIT(TASKS);
static int made, slots[TASKS];
static atomic_int begun;

static void make(void) {
    made = 42;
}
CC_TASK(meets, (cc_waitgroup *, g), (cc_notify *, begin), (int, me)) {
    cc_notify_wait(begin);
    CHECK(slots[me] == -1);
    atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed);
    for (int i = 0; i < TIMES; i++) {
        cc_once_do(&once, make);
        CHECK(made == 42);
        slots[me] = i;
        cc_barrier_wait(&barrier);
        CHECK(slots[(me + 1) % TASKS] == i);
        cc_barrier_wait(&barrier);
    }
    slots[me] = me;
    cc_waitgroup_done(g);
    return 0;
}

static void all_meet(void) {
    cc_waitgroup g = CC_WAITGROUP_INIT;
    cc_notify begin = CC_NOTIFY_INIT;
    CC_NURSERY(n) {
        cc_waitgroup_add(&g, TASKS);
        for (int i = 0; i < TASKS; i++) slots[i] = -1;
        for (int i = 0; i < TASKS; i++) CHECK(cc_spawn(n, meets, &g, &begin, i) == 0);
        while (atomic_load_explicit(&begun, memory_order_relaxed) < TASKS) { /* who was not there yet is not told */
            cc_notify_all(&begin);
            cc_yield();
        }
        cc_waitgroup_wait(&g);
        for (int i = 0; i < TASKS; i++) CHECK(slots[i] == i);
    }
}

/* ---- park and unpark: the flag is the program's own, what it stands for is not ---- */

struct event {
    atomic_int fired;
    cc_parker waiter;
    int what;
};

static void *fires(void *arg) {
    struct event *e = arg;
    cc_parker w = e->waiter;
    e->what = 9;
    atomic_store_explicit(&e->fired, 1, memory_order_release);
    cc_unpark(w);
    return NULL;
}

static void parks(void) {
    for (int i = 0; i < TIMES; i++) {
        struct event e = {.waiter = cc_parker_self()};
        cc_task t;
        CHECK(cc_task_spawn(&t, NULL, fires, &e) == 0);
        while (atomic_load_explicit(&e.fired, memory_order_acquire) == 0) cc_park_if(&e.fired, 0);
        CHECK(e.what == 9);
        CHECK(cc_task_join(t, NULL) == 0);
    }
}

/* ---- forks, jobs, loops ---- */

static int cells[20000];

CC_ASYNC(long, sum, (int, from), (int, to)) {
    if (to - from <= 100) {
        long all = 0;
        for (int i = from; i < to; i++) all += cells[i];
        return all;
    }
    CC_FORKED(sum, left);
    cc_fork(left, sum, from, from + (to - from) / 2);
    long right = sum(from + (to - from) / 2, to);
    return cc_join(left, sum) + right;
}
static void adds(void *cell) {
    ++*(int *)cell;
}
static int compare(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static void computes(void) {
    enum { CELLS = sizeof cells / sizeof cells[0] };
    for (int i = 0; i < 10; i++) {
        cc_counter c = CC_COUNTER_INIT(0);
        for (int k = 0; k < CELLS; k++) cells[k] = CELLS - k;
        for (int k = 0; k < TIMES; k++) CHECK(cc_job_spawn(adds, &cells[k], CC_PRIORITY_NORMAL, &c) == 0);
        cc_counter_wait(&c);
        CHECK(sum(0, CELLS) == (long)CELLS * (CELLS + 1) / 2 + TIMES);
        CHECK(cc_parallel_sort(cells, CELLS, sizeof cells[0], compare) == 0);
        for (int k = 1; k < CELLS; k++) CHECK(cells[k - 1] <= cells[k]);
    }
}

CC_MAIN(argc, argv) {
    (void)argc, (void)argv;
    spawns_and_joins();
    channels(0);
    channels(1);
    channels(100);
    channel_from_thread();
    other_kinds();
    in_order();
    all_locks();
    all_meet();
    parks();
    computes();
    printf("ok\n");
    return 0;
}
