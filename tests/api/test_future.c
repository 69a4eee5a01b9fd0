/* SPDX-License-Identifier: MIT */
/* Goal: a future is polled when it is woken and by one worker at a time, whoever wakes it and when; it is over when it
 * is ready and its last waker is gone, and may be freed then; it can be cancelled, shielded and awaited; channels,
 * sleeps, tasks and other futures can be polled for (lessons 19, 20).
 * Method: futures on runtimes of 1 to 16 workers, freed as soon as their counter allows it, woken by plain threads,
 * tasks and themselves. What a poll must not do ends a child process with a message.
 * Timeout: 240
 */
#include "runtimes.h"

#include <ccrt.h>

typedef CC_CHAN(int) int_chan;

/* ---- waking itself ---- */

struct ticker {
    cc_future fut;
    int steps, polls;
    _Atomic int inside;
};

static cc_poll_state tick(cc_future *f, cc_waker *w) {
    struct ticker *t = CC_CONTAINER_OF(f, struct ticker, fut);
    test_must(cc__xchg_acq_rel(&t->inside, 1) == 0);
    t->polls++;
    bool more = t->polls <= t->steps;
    if (more) {
        cc_waker_wake(w);
        cc_waker_wake(w); /* the same again: polled once all the same */
    }
    cc__store_release(&t->inside, 0);
    return more ? CC_PENDING : CC_READY;
}

static void *ticks(void *arg) {
    size_t n = test_rounds(20000);
    struct ticker *all = calloc(n, sizeof *all);
    cc_counter c = CC_COUNTER_INIT(0);
    for (int round = 0; round < 2; round++) { /* one that is over may be spawned again */
        for (size_t i = 0; i < n; i++) {
            if (round == 0) cc_future_init(&all[i].fut, tick);
            all[i].steps = (int)(i % 5);
            all[i].polls = 0;
            test_must(cc_future_spawn(&all[i].fut, &c) == 0);
        }
        cc_counter_wait(&c);
        for (size_t i = 0; i < n; i++) test_must(all[i].polls == 1 + (int)(i % 5));
    }
    free(all);
    return arg;
}
static void futures_wake_themselves(void **state) {
    (void)state;
    test_on_all(ticks);
    ticks(NULL); /* spawned by a plain thread */
}

/* A future that wakes itself for ever starves nobody. */
struct forever {
    cc_future fut;
    _Atomic int stop;
};
static cc_poll_state spin(cc_future *f, cc_waker *w) {
    struct forever *s = CC_CONTAINER_OF(f, struct forever, fut);
    if (cc__load_relaxed(&s->stop) != 0) return CC_READY;
    cc_waker_wake(w);
    return CC_PENDING;
}
static void *sleeps(void *arg) {
    for (int i = 0; i < 5; i++) test_must(cc_sleep_ms(1) == 0);
    return arg;
}
static void *starves_nobody(void *arg) {
    struct forever s[3] = {0};
    cc_counter c = CC_COUNTER_INIT(0);
    for (int i = 0; i < 3; i++) {
        cc_future_init(&s[i].fut, spin);
        test_must(cc_future_spawn(&s[i].fut, &c) == 0);
    }
    test_must(cc_task_join(cc_fiber_spawn_task(sleeps, NULL), NULL) == 0);
    for (int i = 0; i < 3; i++) cc__store_relaxed(&s[i].stop, 1);
    cc_counter_wait(&c);
    return arg;
}
static void who_wakes_itself_starves_nobody(void **state) {
    (void)state;
    test_on_all(starves_nobody);
}

/* ---- wakers ---- */

struct woken {
    cc_future fut;
    _Atomic(cc_waker *) waker;
    _Atomic int flag;
    int value; /* written before the wake, read by the poll */
    int polls;
};

static cc_poll_state until_flag(cc_future *f, cc_waker *w) {
    struct woken *s = CC_CONTAINER_OF(f, struct woken, fut);
    if (s->polls++ == 0) cc__store_release(&s->waker, cc_waker_clone(w));
    if (cc__load_acquire(&s->flag) == 0) return CC_PENDING;
    test_must(s->value == 7);
    return CC_READY;
}

static void *wakes(void *arg) {
    struct woken *s = arg;
    cc_waker *w;
    while ((w = cc__load_acquire(&s->waker)) == NULL) sched_yield();
    test_jitter();
    s->value = 7;
    cc__store_release(&s->flag, 1);
    cc_waker_wake(w);
    cc_waker_wake(w);
    test_jitter();
    cc_waker_wake(w); /* it may be ready long since: then nothing happens, and it is still there */
    cc_waker_drop(w);
    return NULL;
}

static void *woken_by_threads(void *arg) {
    for (size_t i = 0; i < test_rounds(300); i++) {
        struct woken *s = calloc(1, sizeof *s);
        cc_counter c = CC_COUNTER_INIT(0);
        pthread_t thread;
        cc_task task = {0};
        cc_future_init(&s->fut, until_flag);
        test_must(cc_future_spawn(&s->fut, &c) == 0);
        test_must(cc_future_spawn(&s->fut, &c) == -EBUSY);
        if (i % 2 == 0)
            test_must(pthread_create(&thread, NULL, wakes, s) == 0);
        else
            task = cc_fiber_spawn_task(wakes, s);
        cc_counter_wait(&c);
        memset(s, 0xff, sizeof *s);
        free(s); /* the waker is gone */
        if (i % 2 == 0)
            pthread_join(thread, NULL);
        else
            test_must(cc_task_join(task, NULL) == 0);
    }
    return arg;
}
static void it_is_over_when_its_wakers_are_gone(void **state) {
    (void)state;
    test_on_workers(2, woken_by_threads, NULL);
    test_on_workers(7, woken_by_threads, NULL);
}

/* ---- await ---- */

static void *awaits(void *future) {
    cc_future_await(future);
    struct woken *s = CC_CONTAINER_OF(future, struct woken, fut);
    test_must(s->value == 7);
    return NULL;
}
static void *awaited(void *arg) {
    for (size_t i = 0; i < test_rounds(200); i++) {
        struct woken *s = calloc(1, sizeof *s);
        cc_future_init(&s->fut, until_flag);
        cc_future_await(&s->fut); /* never spawned: over */
        test_must(cc_future_spawn(&s->fut, NULL) == 0);
        cc_task t[3];
        for (int k = 0; k < 2; k++) t[k] = cc_fiber_spawn_task(awaits, &s->fut);
        t[2] = cc_fiber_spawn_task(wakes, s);
        awaits(&s->fut);
        for (int k = 0; k < 3; k++) test_must(cc_task_join(t[k], NULL) == 0);
        free(s);
    }
    return arg;
}
static void *awaits_in_vain(void *arg) {
    struct woken s = {0};
    cc_future_init(&s.fut, until_flag);
    test_must(cc_future_spawn(&s.fut, NULL) == 0);
    CC_DEADLINE_MS(5) {
        test_must(cc_future_await_cancellable(&s.fut) == -ETIMEDOUT);
    }
    wakes(&s);
    test_must(cc_future_await_cancellable(&s.fut) == 0);
    return arg;
}
static void fibers_await_futures(void **state) {
    (void)state;
    test_on_workers(2, awaited, NULL);
    test_on_workers(7, awaited, NULL);
    awaited(NULL); /* a plain thread */
    test_on_workers(2, awaits_in_vain, NULL);
}

/* ---- channels ---- */

struct relay {
    cc_future fut;
    int_chan in, out;
    int v, step;
    long sum, count;
};

/* Passes on what it receives, until the channel is closed. */
static cc_poll_state pass_on(cc_future *f, cc_waker *w) {
    struct relay *r = CC_CONTAINER_OF(f, struct relay, fut);
    (void)w;
    for (;;) {
        int rc = r->step == 0 ? cc_poll_recv(f, r->in, &r->v) : cc_poll_send(f, r->out, &r->v);
        if (rc == -EAGAIN) return CC_PENDING;
        if (rc == -EPIPE && r->step == 0) break;
        test_must(rc == 0);
        if (r->step == 1) r->count++, r->sum += r->v;
        r->step = !r->step;
    }
    return CC_READY;
}

static void *send_numbers(void *arg) {
    int_chan c = {.ch = arg};
    for (int i = 1; i <= (int)test_rounds(2000); i++) test_must(cc_send(c, i) == 0);
    cc_chan_close(c);
    return NULL;
}

static void *through_futures(void *arg) {
    enum { STAGES = 5 };
    long n = (long)test_rounds(2000), sum = 0, count = 0;
    for (size_t capacity = 0; capacity < 40; capacity = capacity * 3 + 1) {
        struct relay *r = calloc(STAGES, sizeof *r);
        int_chan c[STAGES + 1];
        cc_counter over[STAGES] = {CC_COUNTER_INIT(0)};
        for (int i = 0; i <= STAGES; i++) test_must(cc_chan_create(c[i], capacity) == 0);
        for (int i = 0; i < STAGES; i++) {
            cc_future_init(&r[i].fut, pass_on);
            r[i].in = c[i];
            r[i].out = c[i + 1];
            test_must(cc_future_spawn(&r[i].fut, &over[i]) == 0);
        }
        cc_task t = cc_fiber_spawn_task(send_numbers, c[0].ch);
        sum = count = 0;
        for (int v; count < n; count++) {
            test_must(cc_recv(c[STAGES], &v) == 0);
            sum += v;
        }
        test_must(sum == n * (n + 1) / 2);
        for (int i = 0; i < STAGES; i++) {
            cc_counter_wait(&over[i]);
            test_must(r[i].count == n && r[i].sum == sum);
            cc_chan_close(c[i + 1]);
        }
        test_must(cc_task_join(t, NULL) == 0);
        free(r);
        for (int i = 0; i <= STAGES; i++) cc_chan_destroy(c[i]);
    }
    return arg;
}
static void channels_can_be_polled(void **state) {
    (void)state;
    test_on_all(through_futures);
}

/* Many receivers and one channel: each value arrives once; the last poll is told that it is closed. */
struct sink {
    cc_future fut;
    int_chan in;
    int v;
    long sum;
};
static cc_poll_state take_all(cc_future *f, cc_waker *w) {
    struct sink *s = CC_CONTAINER_OF(f, struct sink, fut);
    int rc;
    (void)w;
    while ((rc = cc_poll_recv(f, s->in, &s->v)) == 0) s->sum += s->v;
    test_must(rc == -EAGAIN || rc == -EPIPE);
    return rc == -EAGAIN ? CC_PENDING : CC_READY;
}
static void *shared_channel(void *arg) {
    enum { SINKS = 20 };
    struct sink *s = calloc(SINKS, sizeof *s);
    int_chan c;
    cc_counter over = CC_COUNTER_INIT(0);
    long n = (long)test_rounds(2000), sum = 0;
    test_must(cc_chan_create(c, 3) == 0);
    for (int i = 0; i < SINKS; i++) {
        cc_future_init(&s[i].fut, take_all);
        s[i].in = c;
        test_must(cc_future_spawn(&s[i].fut, &over) == 0);
    }
    send_numbers(c.ch);
    cc_counter_wait(&over);
    for (int i = 0; i < SINKS; i++) sum += s[i].sum;
    test_must(sum == n * (n + 1) / 2);
    free(s);
    cc_chan_destroy(c);
    return arg;
}
static void a_channel_is_shared(void **state) {
    (void)state;
    test_on_all(shared_channel);
}

/* ---- cancellation ---- */

struct waits {
    cc_future fut;
    int_chan c;
    int v, polls, rc, kind;
    _Atomic int pending, shielded_polls;
};
enum { RECEIVE, SLEEP, SHIELDED };

static cc_poll_state wait_long(cc_future *f, cc_waker *w) {
    struct waits *s = CC_CONTAINER_OF(f, struct waits, fut);
    (void)w;
    if (s->polls++ == 0 && s->kind == SHIELDED) cc_future_shield(f);
    if (s->kind == SHIELDED && s->polls == 3) cc_future_unshield(f);
    s->rc = s->kind == SLEEP ? cc_poll_sleep_ms(f, 3600000) : cc_poll_recv(f, s->c, &s->v);
    if (s->rc == -EAGAIN) {
        test_must(s->kind != SHIELDED || cc_future_cancelled(f) == 0);
        cc__store_release(&s->pending, s->polls);
        return CC_PENDING;
    }
    test_must(s->rc != -ECANCELED || cc_future_cancelled(f) == -ECANCELED);
    return CC_READY;
}
static void *cancels(void *arg) {
    int_chan c;
    test_must(cc_chan_create(c, 0) == 0);
    for (size_t i = 0; i < test_rounds(300); i++) {
        struct waits *s = calloc(1, sizeof *s);
        cc_counter over = CC_COUNTER_INIT(0);
        cc_future_init(&s->fut, wait_long);
        s->c = c;
        s->kind = (int)(i % 3);
        test_must(cc_future_spawn(&s->fut, &over) == 0);
        for (int polls = 1; polls <= (s->kind == SHIELDED ? 2 : 1); polls++) {
            while (cc__load_acquire(&s->pending) < polls) cc_yield();
            cc_future_cancel(&s->fut); /* in a shield: polled, and goes on waiting */
        }
        if (s->kind == RECEIVE) test_must(cc_try_send(c, 1) == 0 || cc_try_send(c, 1) == -EAGAIN);
        cc_counter_wait(&over);
        test_must(s->rc == -ECANCELED || (s->kind == RECEIVE && s->rc == 0));
        free(s);
    }
    cc_chan_destroy(c);
    return arg;
}
static void futures_are_cancelled(void **state) {
    (void)state;
    test_on_all(cancels);
}

/* ---- sleeping, giving up ---- */

struct sleeper {
    cc_future fut;
    int ms;
    int64_t slept_ns, began_ns;
};
static cc_poll_state sleep_once(cc_future *f, cc_waker *w) {
    struct sleeper *s = CC_CONTAINER_OF(f, struct sleeper, fut);
    (void)w;
    if (s->began_ns == 0) s->began_ns = cc_now_ns();
    if (cc_poll_sleep_ms(f, s->ms) == -EAGAIN) return CC_PENDING;
    s->slept_ns = cc_now_ns() - s->began_ns;
    return CC_READY;
}
static void *many_sleep(void *arg) {
    size_t n = test_rounds(5000);
    struct sleeper *s = calloc(n, sizeof *s);
    cc_counter over = CC_COUNTER_INIT(0);
    for (size_t i = 0; i < n; i++) {
        cc_future_init(&s[i].fut, sleep_once);
        s[i].ms = (int)(i % 50) - 1;
        test_must(cc_future_spawn(&s[i].fut, &over) == 0);
    }
    cc_counter_wait(&over);
    for (size_t i = 0; i < n; i++) test_must(s[i].slept_ns >= s[i].ms * INT64_C(1000000));
    free(s);
    return arg;
}
static void futures_sleep(void **state) {
    (void)state;
    test_on_all(many_sleep);
}

/* Give up one wait for another; and end while one is pending. */
struct fickle {
    cc_future fut;
    int_chan c;
    int v, step, rounds;
};
static cc_poll_state change_mind(cc_future *f, cc_waker *w) {
    struct fickle *s = CC_CONTAINER_OF(f, struct fickle, fut);
    if (s->step == 0) {
        test_must(cc_poll_cancel(f) == -ESRCH);
        test_must(cc_poll_sleep_ms(f, 3600000) == -EAGAIN);
        test_must(cc_poll_cancel(f) == -ECANCELED);
        test_must(cc_poll_sleep_ms(f, 0) == -EAGAIN);
        s->step = 1;
        return CC_PENDING;
    }
    if (s->step == 1) {
        if (cc_poll_sleep_ms(f, 0) == -EAGAIN) return CC_PENDING;
        s->step = 2;
    }
    if (s->rounds++ < 100) {
        if (cc_poll_recv(f, s->c, &s->v) == -EAGAIN && (s->rounds & 1) != 0) (void)cc_poll_cancel(f);
        cc_waker_wake(w);
        return CC_PENDING;
    }
    test_must(cc_channel_poll_send(f, NULL, &s->v) == -EINVAL);
    int rc = cc_channel_poll_recv(f, s->c.ch, &s->v);
    test_must(rc == -EAGAIN || rc == 0 || rc == -EPIPE);
    return CC_READY; /* what is pending is given up */
}
static void *fickle_ones(void *arg) {
    enum { N = 8 };
    struct fickle *s = calloc(N, sizeof *s);
    cc_counter over = CC_COUNTER_INIT(0);
    int_chan c;
    test_must(cc_chan_create(c, 1) == 0);
    for (int i = 0; i < N; i++) {
        cc_future_init(&s[i].fut, change_mind);
        s[i].c = c;
        test_must(cc_future_spawn(&s[i].fut, &over) == 0);
    }
    for (int i = 0; i < 200; i++) {
        int rc = cc_try_send(c, i);
        test_must(rc == 0 || rc == -EAGAIN);
        cc_yield();
    }
    cc_counter_wait(&over);
    free(s);
    cc_chan_destroy(c); /* nobody waits there */
    return arg;
}
static void waits_are_given_up(void **state) {
    (void)state;
    test_on_all(fickle_ones);
}

/* ---- tasks, and other futures ---- */

struct joiner {
    cc_future fut;
    cc_task task;
    cc_future *other;
    void *result;
    int step;
};
static void *returns_itself(void *arg) {
    test_jitter();
    return arg;
}
static cc_poll_state join_both(cc_future *f, cc_waker *w) {
    struct joiner *j = CC_CONTAINER_OF(f, struct joiner, fut);
    (void)w;
    if (j->step == 0) {
        int rc = cc_poll_join(f, j->task, &j->result);
        if (rc == -EAGAIN) return CC_PENDING;
        test_must(rc == 0 && j->result == j);
        test_must(cc_poll_join(f, j->task, NULL) == -ESRCH);
        j->step = 1;
    }
    if (j->other == NULL) return CC_READY;
    return cc_poll_await(f, j->other) == -EAGAIN ? CC_PENDING : CC_READY;
}
static void *joins(void *arg) {
    enum { N = 20 };
    for (size_t round = 0; round < test_rounds(50); round++) {
        struct joiner *j = calloc(N, sizeof *j);
        for (int i = 0; i < N; i++) cc_future_init(&j[i].fut, join_both);
        for (int i = N - 1; i >= 0; i--) { /* each awaits the next */
            j[i].task = cc_fiber_spawn_task(returns_itself, &j[i]);
            j[i].other = i + 1 < N ? &j[i + 1].fut : NULL;
            test_must(cc_future_spawn(&j[i].fut, NULL) == 0);
        }
        cc_future_await(&j[0].fut);
        free(j);
    }
    return arg;
}
static void tasks_and_futures_are_joined(void **state) {
    (void)state;
    test_on_all(joins);
}

/* ---- what a poll function is not ---- */

static cc_poll_state looks_around(cc_future *f, cc_waker *w) {
    (void)f, (void)w;
    test_must(!cc_task_valid(cc_task_self()));
    test_must(cc_cancelled() == 0);
    static cc_local key;
    test_must(cc_local_create(&key, NULL) == 0 && cc_local_set(key, &key) == -ENOTSUP && cc_local_get(key) == NULL);
    cc_yield(); /* nothing */
    test_must(cc_frame_alloc(100) != NULL);
    int_chan c;
    test_must(cc_chan_create(c, 1000) == 0);
    for (int i = 0; i < 500; i++) test_must(cc_send(c, i) == 0); /* there is room: it need not wait */
    cc_chan_destroy(c);
    return CC_READY;
}
static void *around(void *arg) {
    cc_future f;
    cc_future_init(&f, looks_around);
    test_must(cc_future_spawn(&f, NULL) == 0);
    cc_future_await(&f);
    memset(&f, 0, sizeof f);
    test_must(cc_future_spawn(&f, NULL) == -EINVAL && cc_future_spawn(NULL, NULL) == -EINVAL);
    (cc_future_init)(&f, looks_around); /* the functions themselves */
    cc_future_init_at(NULL, &f, looks_around);
    cc_future_cancel(&f); /* not spawned: nothing */
    return arg;
}
static void calls_that_do_not_wait(void **state) {
    (void)state;
    test_on_workers(1, around, NULL);
}

static cc_poll_state sleeps_in_poll(cc_future *f, cc_waker *w) {
    (void)f, (void)w;
    cc_sleep_ms(100); /* long enough not to be over before it waits */
    return CC_READY;
}
static cc_poll_state drops_too_much(cc_future *f, cc_waker *w) {
    (void)f;
    cc_waker_drop(w);
    return CC_READY;
}
static cc_poll_state two_at_once(cc_future *f, cc_waker *w) {
    int_chan c;
    int v;
    (void)w;
    test_must(cc_chan_create(c, 1) == 0);
    test_must(cc_poll_sleep_ms(f, 1000) == -EAGAIN);
    test_must(cc_poll_recv(f, c, &v) != 0);
    return CC_READY;
}
static cc_poll_state the_other_way(cc_future *f, cc_waker *w) {
    int_chan c;
    int v = 1;
    (void)w;
    test_must(cc_chan_create(c, 0) == 0);
    test_must(cc_poll_recv(f, c, &v) == -EAGAIN);
    test_must(cc_poll_send(f, c, &v) != 0);
    return CC_READY;
}
static void polls(void *fn) {
    cc_poll_fn *poll;
    memcpy(&poll, fn, sizeof poll);
    cc_future f;
    cc_future_init(&f, poll);
    cc_counter c = CC_COUNTER_INIT(0);
    test_must(cc_future_spawn(&f, &c) == 0);
    cc_counter_wait(&c);
}
static void stranger(void *unused) {
    (void)unused;
    cc_future f;
    cc_future_init(&f, tick);
    test_must(cc_poll_sleep_ms(&f, 1) != 0);
}
static void misuse_is_told(void **state) {
    (void)state;
    cc_poll_fn *waits = sleeps_in_poll, *drops = drops_too_much, *two = two_at_once, *other = the_other_way;
#if CCRT_ASSERT >= 1
    test_aborts(polls, &waits, "a poll function waits");
#else
    polls(&waits); /* it works, for all that */
#endif
    test_aborts(polls, &drops, "a waker was dropped that was not cloned");
    test_aborts(polls, &two, "polls for something else while it waits");
    test_aborts(polls, &other, "sends where it waits to receive");
    test_aborts(stranger, NULL, "whose poll function this is not");
}

TEST_MAIN(cmocka_unit_test(misuse_is_told), cmocka_unit_test(futures_wake_themselves),
          cmocka_unit_test(who_wakes_itself_starves_nobody), cmocka_unit_test(it_is_over_when_its_wakers_are_gone),
          cmocka_unit_test(fibers_await_futures), cmocka_unit_test(channels_can_be_polled),
          cmocka_unit_test(a_channel_is_shared), cmocka_unit_test(futures_are_cancelled),
          cmocka_unit_test(futures_sleep), cmocka_unit_test(waits_are_given_up),
          cmocka_unit_test(tasks_and_futures_are_joined), cmocka_unit_test(calls_that_do_not_wait))
