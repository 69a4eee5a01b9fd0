/* SPDX-License-Identifier: MIT */
/* Goal: where there is no memory, oneshots, broadcasts, watches and ordered channels say so and lose nothing: what
 * could not be made is NULL, who cannot wait is told but still gets what is there, and a task that could not be spawned
 * takes no place among the others and keeps nobody waiting.
 * Method: the linker gives us the calls that allocate, that spawn, and that find who is running; each fails on request.
 * For spawns the one at each place in turn, with several spawners and receivers.
 * Link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=cc__self,--wrap=cc_task_spawn_at
 * Not with: cross
 */
#include "actors.h"

#include "sched/sched.h"

static _Atomic int no_memory, nobody;  /* allocations fail; nobody has a record to wait with */
static _Atomic long spawns_to_failure; /* at 1 the next fails; below, none does */

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n) {
    return cc__load_relaxed(&no_memory) ? NULL : __real_malloc(n);
}
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) {
    return cc__load_relaxed(&no_memory) ? NULL : __real_calloc(n, size);
}
struct cc__task *__real_cc__self(void);
struct cc__task *__wrap_cc__self(void);
struct cc__task *__wrap_cc__self(void) {
    return cc__load_relaxed(&nobody) ? NULL : __real_cc__self();
}
int __real_cc_task_spawn_at(const cc_site *site, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *),
                            void *arg);
int __wrap_cc_task_spawn_at(const cc_site *site, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *),
                            void *arg);
int __wrap_cc_task_spawn_at(const cc_site *site, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *),
                            void *arg) {
    if (cc__sub_relaxed(&spawns_to_failure, 1) == 1) return -ENOMEM;
    return __real_cc_task_spawn_at(site, out, attr, fn, arg);
}

typedef CC_ONESHOT(int) int_shot;
typedef CC_BROADCAST(int) int_news;
typedef CC_WATCH(int) int_watch;

static void *echo(void *arg) {
    return arg;
}
static cc_task handle;
static _Atomic int told;
static void *tells_its_handle(void *arg) {
    handle = cc_task_self();
    cc__store_release(&told, 1);
    return arg;
}

static void made_or_not(void **state) {
    (void)state;
    int_shot o;
    int_news b;
    int_watch w;
    cc_ordered *q;
    memset(&o, 1, sizeof o);
    memset(&b, 1, sizeof b);
    memset(&w, 1, sizeof w);
    memset(&q, 1, sizeof q);
    cc__store_relaxed(&no_memory, 1);
    int shot = cc_oneshot_create(o), news = cc_broadcast_create(b, 2), watch = cc_watch_create(w, 1);
    int ordered = cc_ordered_create(&q, 2);
    cc__store_relaxed(&no_memory, 0);
    assert_true(shot == -ENOMEM && news == -ENOMEM && watch == -ENOMEM && ordered == -ENOMEM);
    assert_true(o.ch == NULL && b.ch == NULL && w.ch == NULL && q == NULL);
}

/* 0 if what is there is received although nobody can wait, and -ENOMEM where there is nothing. */
static void without_a_record(void **state) {
    (void)state;
    int_shot o;
    int_news b;
    int_watch w;
    cc_ordered *q;
    cc_subscriber s;
    uint64_t seen = 1;
    int v = 0;
    void *r = NULL;
    assert_int_equal(cc_oneshot_create(o) | cc_broadcast_create(b, 2) | cc_watch_create(w, 1), 0);
    assert_int_equal(cc_ordered_create(&q, 1) | cc_broadcast_subscribe(b, &s), 0);
    cc__store_relaxed(&nobody, 1);
    int rc[] = {cc_oneshot_recv(o, &v), cc_broadcast_recv(b, &s, &v), cc_watch_recv(w, &seen, &v),
                cc_ordered_recv(q, &r)};
    cc__store_relaxed(&nobody, 0);
    for (size_t i = 0; i < TEST_COUNT_OF(rc); i++) assert_int_equal(rc[i], -ENOMEM);
    assert_int_equal(cc_ordered_spawn(q, tells_its_handle, q), 0);
    while (cc__load_acquire(&told) == 0) cc_sleep_ms(1);
    assert_int_equal(cc_oneshot_send(o, 1) | cc_broadcast_send(b, 1) | cc_watch_send(w, 1), 0);
    cc__store_relaxed(&nobody, 1);
    int full = cc_ordered_spawn(q, echo, NULL);
    int got[] = {cc_oneshot_recv(o, &v), cc_broadcast_recv(b, &s, &v), cc_watch_recv(w, &seen, &v)};
    int closed = cc_oneshot_recv(o, &v);
    cc__store_relaxed(&nobody, 0);
    assert_int_equal(full, -ENOMEM);
    for (size_t i = 0; i < TEST_COUNT_OF(got); i++) assert_int_equal(got[i], 0);
    assert_int_equal(closed, -EPIPE);
    cc__store_relaxed(&nobody, 1);
    cc_ordered_destroy(q); /* has what is left end, somehow, */
    cc__store_relaxed(&nobody, 0);
    assert_true(handle.priv_record != NULL && !cc_task_valid(handle)); /* and leaves no handle behind */
    cc_oneshot_destroy(o);
    cc_broadcast_destroy(b);
    cc_watch_destroy(w);
}

enum { SPAWNERS = 3, EACH = 8 };
struct crowd {
    cc_ordered *q;
    _Atomic int accepted, failed, received, left;
};
CC_TASK(spawns, (struct crowd *, c)) {
    for (intptr_t i = 1; i <= EACH; i++) {
        int rc = cc_ordered_spawn(c->q, echo, (void *)i);
        test_must(rc == 0 || rc == -ENOMEM);
        cc__add_relaxed(rc == 0 ? &c->accepted : &c->failed, 1);
    }
    if (cc__sub_acq_rel(&c->left, 1) == 1) cc_ordered_close(c->q);
    return 0;
}
CC_TASK(receives, (struct crowd *, c)) {
    void *r;
    int rc;
    while ((rc = cc_ordered_recv(c->q, &r)) == 0) cc__add_relaxed(&c->received, 1);
    return rc == -EPIPE ? 0 : rc;
}
static void a_spawn_that_fails(void **state) {
    (void)state;
    for (long at = 1; at <= (long)SPAWNERS * EACH; at++) {
        for (size_t window = 1; window <= 4; window++) {
            struct crowd c = {.left = SPAWNERS};
            assert_int_equal(cc_ordered_create(&c.q, window), 0);
            cc__store_relaxed(&spawns_to_failure, at);
            CC_NURSERY(n) {
                for (int i = 0; i < SPAWNERS; i++) test_must(cc_spawn(n, spawns, &c) == 0);
                for (int i = 0; i < 2; i++) test_must(cc_spawn(n, receives, &c) == 0);
                test_must(cc_nursery_wait(n) == 0);
            }
            assert_int_equal(cc__load_relaxed(&c.failed), 1);
            assert_int_equal(cc__load_relaxed(&c.accepted), SPAWNERS * EACH - 1);
            assert_int_equal(cc__load_relaxed(&c.received), SPAWNERS * EACH - 1);
            cc_ordered_destroy(c.q);
        }
    }
}

TEST_MAIN(cmocka_unit_test(made_or_not), cmocka_unit_test(without_a_record), cmocka_unit_test(a_spawn_that_fails))
