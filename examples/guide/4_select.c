/* SPDX-License-Identifier: MIT */
/* Guide, chapter 4: select as a switch. */
#include <ccrt.h>
#include <stdio.h>

typedef CC_CHAN(int) int_chan;

CC_TASK(feed, (int_chan, out), (int, first), (int, count)) {
    int rc = 0;
    for (int i = 0; i < count && rc == 0; i++) rc = cc_send(out, first + i);
    cc_chan_close(out);
    return rc;
}

/* Receive from both until both are closed. */
static long merge(int_chan a, int_chan b) {
    long sum = 0;
    int v = 0;
    while (a.ch != NULL || b.ch != NULL) {
        switch (cc_select(CC_RECV(a, &v), CC_RECV(b, &v), CC_CLOSED(a), CC_CLOSED(b))) {
        case 0:
        case 1: sum += v; break;
        case 2: a.ch = NULL; break; /* a case on a null channel never happens */
        case 3: b.ch = NULL; break;
        default: return -1; /* cancelled, or out of time */
        }
    }
    return sum;
}

static const char *wait_a_little(int_chan c) {
    int v = 0;
    switch (cc_select(CC_RECV(c, &v), CC_AFTER_MS(20))) {
    case 0: return "a value";
    case 1: return "nothing for 20 ms";
    default: return "an error";
    }
}

static const char *look(int_chan in, int_chan out) {
    int v = 0;
    switch (cc_select(CC_RECV(in, &v), CC_SEND(out, 7), CC_DEFAULT)) {
    case 0: return "received";
    case 1: return "sent";
    case 2: return "neither, now";
    default: return "an error";
    }
}

static void *compute(void *unused) {
    cc_sleep_ms(5);
    return unused;
}

static const char *wait_for_task(int_chan c) {
    cc_task t = cc_fiber_spawn_task(compute, NULL);
    int v = 0;
    int which = cc_select(CC_RECV(c, &v), CC_DONE(t));
    cc_task_join(t, NULL); /* case 1: does not wait */
    return which == 1 ? "the task ended" : "?";
}

CC_MAIN(argc, argv) {
    int_chan a, b, empty;
    if (cc_chan_create(a, 0) != 0 || cc_chan_create(b, 4) != 0 || cc_chan_create(empty, 1) != 0) return 1;
    CC_NURSERY(n) {
        cc_spawn(n, feed, a, 1, 10);
        cc_spawn(n, feed, b, 100, 5);
        printf("%ld\n", merge(a, b));
    }
    printf("%s\n", wait_a_little(empty));
    printf("%s\n", wait_for_task(empty));
    printf("%s, ", look((int_chan){NULL}, empty)); /* there is room */
    printf("%s\n", look((int_chan){NULL}, empty)); /* there is none */
    printf("%s\n", cc_select(CC_RECV(a, &(int){0})) == -EPIPE ? "closed" : "?");
    cc_chan_destroy(a);
    cc_chan_destroy(b);
    cc_chan_destroy(empty);
    return 0;
}
