/* SPDX-License-Identifier: MIT */
/* Guide, chapter 3: a pipeline of three stages, with errors that travel along it. */
#include <ccrt.h>
#include <stdio.h>

typedef CC_CHAN(int) int_chan;

CC_TASK(numbers, (int_chan, out), (int, last), (int, breaks_at)) {
    int rc = 0;
    for (int i = 1; i <= last && rc == 0; i++) rc = i == breaks_at ? -EIO : cc_send(out, i);
    if (rc == 0)
        cc_chan_close(out); /* the end of the stream */
    else
        cc_chan_close_error(out, rc); /* its end, and why */
    return 0;
}

CC_TASK(squares, (int_chan, in), (int_chan, out)) {
    int rc = 0, why = 0;
    CC_EACH(int, v, in, why) {
        rc = cc_send(out, v * v);
        if (rc != 0) break;
    }
    if (rc != 0) cc_chan_close_recv(in, rc);      /* nobody reads any more: tell the senders */
    cc_chan_close_error(out, rc != 0 ? rc : why); /* -EPIPE: an ordinary close */
    return 0;
}

static int sum_of_squares(int last, int breaks_at, long *sum) {
    int_chan a, b;
    if (cc_chan_create(a, 8) != 0) return -ENOMEM;
    if (cc_chan_create(b, 0) != 0) {
        cc_chan_destroy(a);
        return -ENOMEM;
    }
    int why = 0;
    CC_NURSERY(n) {
        cc_spawn(n, numbers, a, last, breaks_at);
        cc_spawn(n, squares, a, b);
        CC_EACH(int, v, b, why) *sum += v;
    }
    cc_chan_destroy(a);
    cc_chan_destroy(b);
    return why == -EPIPE ? 0 : why;
}

CC_MAIN(argc, argv) {
    long sum = 0;
    int rc = sum_of_squares(100, 0, &sum);
    printf("%ld, %s\n", sum, cc_strerror(rc));
    sum = 0;
    rc = sum_of_squares(100, 4, &sum);
    printf("%ld, then: %s\n", sum, cc_strerror(rc));
    return 0;
}
