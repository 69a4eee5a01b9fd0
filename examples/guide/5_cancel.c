/* SPDX-License-Identifier: MIT */
/* Guide, chapter 5: the first error cancels the others; leaving, shields, loops that compute. */
#include <ccrt.h>
#include <stdio.h>
#include <stdlib.h>

typedef CC_CHAN(int) int_chan;

/* Waits for a value that never comes, with something to clean up. */
CC_TASK(listener, (int_chan, in), (int_chan, ready)) {
    char *buffer = malloc(4096);
    int v = 0;
    cc_send(ready, 1);
    int rc = cc_recv(in, &v); /* a cancellation point */
    printf("listener: %s\n", cc_strerror(rc));
    free(buffer); /* cancellation is a return code: this is always reached */
    return rc;
}

CC_TASK(fail_after, (int_chan, ready)) {
    int v = 0;
    cc_recv(ready, &v); /* until the other one waits, or is about to */
    return -EIO;
}

static int first_error(int_chan never, int_chan ready) {
    int rc = 0;
    CC_NURSERY(n) {
        cc_spawn(n, listener, never, ready);
        cc_spawn(n, fail_after, ready);
        rc = cc_nursery_wait(n);
    }
    return rc;
}

static int first_value(int_chan never, int_chan ready) {
    CC_NURSERY(n) {
        int v = 0;
        cc_spawn(n, listener, never, ready);
        if (cc_recv(ready, &v) == 0) return v; /* cancels and joins, then returns */
    }
    return 0;
}

CC_TASK(save, (int_chan, ready)) {
    int rc = 0;
    cc_send(ready, 1);
    while (cc_cancelled() == 0) cc_yield(); /* a loop that computes asks */
    CC_SHIELD {
        rc = cc_sleep_ms(5); /* as if it wrote to a file: not cancelled in here */
    }
    printf("saved: %s; after that: %s\n", cc_strerror(rc), cc_strerror(cc_cancelled()));
    return rc;
}

static int cancelled(int_chan ready) {
    int rc = 0, v = 0;
    CC_NURSERY(n) {
        cc_spawn(n, save, ready);
        cc_recv(ready, &v);
        cc_nursery_cancel(n);
        rc = cc_nursery_wait(n);
    }
    return rc;
}

CC_MAIN(argc, argv) {
    int_chan never, ready;
    if (cc_chan_create(never, 0) != 0 || cc_chan_create(ready, 1) != 0) return 1;
    printf("nursery: %s\n", cc_strerror(first_error(never, ready)));
    printf("left with %d\n", first_value(never, ready));
    printf("nursery: %s\n", cc_strerror(cancelled(ready)));
    cc_chan_destroy(never);
    cc_chan_destroy(ready);
    return 0;
}
