/* SPDX-License-Identifier: MIT */
/* Guide, chapter 6: threads and fibers on one channel; calls that block. */
#include <ccrt.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

typedef CC_CHAN(int) int_chan;

/* A plain thread, not made by the library. */
static void *sensor(void *arg) {
    int_chan *out = arg;
    for (int i = 1; i <= 5; i++) cc_send(*out, i); /* waits as a thread does, when there is no room */
    cc_chan_close(*out);
    return NULL;
}

static int from_thread(void) {
    int_chan c;
    pthread_t thread;
    int sum = 0;
    if (cc_chan_create(c, 0) != 0) return -1;
    if (pthread_create(&thread, NULL, sensor, &c) != 0) return -1;
    CC_EACH(int, v, c) sum += v; /* waits as a fiber does: the worker goes on with others */
    CC_BLOCKING {
        pthread_join(thread, NULL); /* not a call of this library: it blocks the thread */
    }
    cc_chan_destroy(c);
    return sum;
}

/* A library that knows nothing of fibers. */
static int slow_query(void *arg) {
    struct timespec pause = {.tv_nsec = 10000000};
    nanosleep(&pause, NULL);
    return *(int *)arg + 1;
}

CC_ASYNC(int, query, (int, key)) {
    return cc_blocking(slow_query, &key); /* on a thread kept for that; this task waits */
}

CC_MAIN(argc, argv) {
    printf("sum %d\n", from_thread());

    CC_RESULT(int) answers[20];
    int total = 0;
    CC_NURSERY(n) {
        for (int i = 0; i < 20; i++) cc_async(n, answers[i], query, i);
        for (int i = 0; i < 20; i++) total += cc_await(answers[i]);
    }
    printf("total %d\n", total);
    return 0;
}
