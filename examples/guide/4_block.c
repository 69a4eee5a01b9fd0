/* SPDX-License-Identifier: MIT */
/* Guide, chapter 4: select as a block. */
#include <ccrt.h>
#include <stdio.h>

typedef CC_CHAN(int) int_chan;

/* Hand on what comes in until somebody closes stop. */
CC_TASK(relay, (int_chan, in), (int_chan, out), (int_chan, stop)) {
    int v = 0, rc = 0, ended = 0;
    while (!ended && rc == 0) {
        CC_SELECT {
            CC_ON_RECV(in, &v) {
                rc = cc_send(out, v);
            }
            CC_ON_CLOSED(stop) {
                ended = 1;
            }
            CC_ON_AFTER_MS(30000) {
                rc = -ETIMEDOUT;
            }
            CC_ON_ERROR(rc) {
                fprintf(stderr, "relay: %s\n", cc_strerror(rc));
            }
        }
    }
    cc_chan_close(out);
    return rc;
}

CC_MAIN(argc, argv) {
    int_chan in, out, stop;
    if (cc_chan_create(in, 4) != 0 || cc_chan_create(out, 4) != 0 || cc_chan_create(stop, 0) != 0) return 1;
    CC_NURSERY(n) {
        cc_spawn(n, relay, in, out, stop);
        for (int i = 1; i <= 3; i++) {
            int v = 0;
            cc_send(in, 10 * i);
            if (cc_recv(out, &v) == 0) printf("%d ", v);
        }
        cc_chan_close(stop);
        CC_EACH(int, v, out) printf("%d ", v); /* none: the relay closes it */
        printf("and stopped\n");
    }
    cc_chan_destroy(in);
    cc_chan_destroy(out);
    cc_chan_destroy(stop);
    return 0;
}
