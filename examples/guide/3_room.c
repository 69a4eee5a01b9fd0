/* SPDX-License-Identifier: MIT */
/* Guide, chapter 3: capacity, what happens without room, and a channel closed by a nursery. */
#include <ccrt.h>
#include <stdio.h>

typedef CC_CHAN(int) int_chan;

static void tries(void) {
    int_chan c;
    if (cc_chan_create(c, 2) != 0) return;
    int rc[4] = {cc_try_send(c, 1), cc_try_send(c, 2), cc_try_send(c, 3), 0};
    cc_chan_close(c);
    rc[3] = cc_send(c, 4);
    printf("%d %d %s %s\n", rc[0], rc[1], rc[2] == -EAGAIN ? "-EAGAIN" : "?", rc[3] == -EPIPE ? "-EPIPE" : "?");
    CC_EACH(int, v, c) printf("%d ", v); /* what was accepted is delivered */
    printf("and closed\n");
    cc_chan_destroy(c);
}

static void keeps(const char *what, int overflow) {
    int_chan c;
    cc_chan_attr attr = {.capacity = 3, .overflow = overflow};
    if (cc_chan_create_with(c, &attr) != 0) return;
    for (int i = 1; i <= 8; i++) cc_send(c, i); /* never waits: all return 0 */
    cc_chan_close(c);
    printf("%s:", what);
    CC_EACH(int, v, c) printf(" %d", v);
    printf(", dropped %d\n", (int)cc_chan_dropped(c));
    cc_chan_destroy(c);
}

CC_TASK(measure, (int_chan, out), (int, from)) {
    for (int i = 0; i < 10; i++) {
        int rc = cc_send(out, from + i);
        if (rc != 0) return rc;
    }
    return 0;
}

CC_TASK(add_up, (int_chan, in), (long *, sum)) {
    CC_EACH(int, v, in) *sum += v;
    return 0;
}

static long three_senders(void) {
    int_chan c;
    long sum = 0;
    if (cc_chan_create(c, 4) != 0) return -1;
    CC_NURSERY(readers) {
        cc_spawn(readers, add_up, c, &sum);
        CC_NURSERY(writers) {
            cc_chan_close_with(c, writers); /* when the last of them has ended */
            for (int i = 0; i < 3; i++) cc_spawn(writers, measure, c, 100 * i);
        }
    }
    cc_chan_destroy(c);
    return sum;
}

CC_MAIN(argc, argv) {
    tries();
    keeps("the oldest", CC_OVERFLOW_DROP_NEWEST);
    keeps("the newest", CC_OVERFLOW_DROP_OLDEST);
    printf("sum %ld\n", three_senders());
    return 0;
}
