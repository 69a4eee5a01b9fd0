/* SPDX-License-Identifier: MIT */
/* Futures: a poll function that sleeps, one that waits for a plain thread by a clone of its waker, one that joins a
 * task and is cancelled; a fiber awaits them. */
#include <ccrt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

/* Sleeps three times. */
typedef struct {
    cc_future fut;
    int naps;
} sleeper;

static cc_poll_state nap(cc_future *f, cc_waker *w) {
    (void)w;
    sleeper *s = CC_CONTAINER_OF(f, sleeper, fut);
    while (s->naps < 3) {
        if (cc_poll_sleep_ms(f, 5) == -EAGAIN) return CC_PENDING;
        s->naps++;
    }
    return CC_READY;
}

/* Waits for something that only a thread knows. */
typedef struct {
    cc_future fut;
    cc_waker *waker;
    pthread_t thread;
    atomic_int answer;
} question;

static void *think(void *arg) {
    question *q = arg;
    atomic_store(&q->answer, 42);
    cc_waker_wake(q->waker);
    cc_waker_drop(q->waker); /* from here on it may be over */
    return NULL;
}

static cc_poll_state ask(cc_future *f, cc_waker *w) {
    question *q = CC_CONTAINER_OF(f, question, fut);
    if (q->waker == NULL) {
        q->waker = cc_waker_clone(w);
        if (pthread_create(&q->thread, NULL, think, q) != 0) cc_waker_drop(q->waker);
    }
    return atomic_load(&q->answer) == 0 ? CC_PENDING : CC_READY;
}

/* Joins a task that takes too long. */
typedef struct {
    cc_future fut;
    cc_task task;
    int rc;
} joiner;

static void *takes_long(void *arg) {
    cc_sleep_ms(50);
    return arg;
}

static cc_poll_state join(cc_future *f, cc_waker *w) {
    (void)w;
    joiner *j = CC_CONTAINER_OF(f, joiner, fut);
    j->rc = cc_poll_join(f, j->task, NULL);
    return j->rc == -EAGAIN ? CC_PENDING : CC_READY;
}

CC_MAIN(argc, argv) {
    sleeper s = {0};
    question q = {0};
    joiner j = {.task = cc_fiber_spawn_task(takes_long, NULL)};

    cc_future_init(&s.fut, nap);
    cc_future_init(&q.fut, ask);
    cc_future_init(&j.fut, join);
    if (cc_future_spawn(&s.fut, NULL) || cc_future_spawn(&q.fut, NULL) || cc_future_spawn(&j.fut, NULL)) return 1;

    cc_future_await(&q.fut);
    printf("the answer: %d\n", atomic_load(&q.answer));
    pthread_join(q.thread, NULL);
    cc_future_await(&s.fut);
    printf("slept %d times\n", s.naps);
    cc_future_cancel(&j.fut);
    cc_future_await(&j.fut);
    printf("the joiner: %s\n", j.rc == -ECANCELED ? "cancelled" : cc_strerror(j.rc));
    cc_task_join(j.task, NULL);
    return 0;
}
