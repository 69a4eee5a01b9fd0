/* SPDX-License-Identifier: MIT */
/* Guide, chapter 5: deadlines, and hand-offs that are decided once. */
#include <ccrt.h>
#include <stdio.h>

typedef CC_CHAN(int) int_chan;

static int ask(int_chan answers, int *v) {
    int rc = 0;
    CC_DEADLINE_MS(20) {
        rc = cc_recv(answers, v); /* any blocking call: no _timeout variants */
    }
    return rc;
}

static void nested(int_chan never) {
    int inner = 0, late = 0;
    CC_DEADLINE_MS(20) {
        CC_DEADLINE_MS(60000) {
            inner = cc_recv(never, &(int){0}); /* the nearest counts: 20 ms */
        }
        late = cc_sleep_ms(1); /* still too late */
    }
    printf("%s, %s\n", cc_strerror(inner), cc_strerror(late));
}

CC_TASK(wait_for, (int_chan, c)) {
    return cc_recv(c, &(int){0});
}

static int together(int_chan never) {
    int rc = 0;
    CC_DEADLINE_MS(20) {
        CC_NURSERY(n) { /* its children are cancelled when the time is up */
            cc_spawn(n, wait_for, never);
            cc_spawn(n, wait_for, never);
            rc = cc_nursery_wait(n);
        }
    }
    return rc;
}

CC_TASK(offer, (int_chan, out), (int *, sent)) {
    for (int rc = 0; rc == 0;) {
        CC_DEADLINE_MS(1) {
            rc = cc_send(out, *sent);
        }
        if (rc == 0)
            ++*sent;
        else if (rc == -ETIMEDOUT)
            rc = 0; /* nobody took it: offer it again */
    }
    return 0;
}

/* Senders that give up all the time, receivers that do: nothing is lost, nothing comes twice. */
static const char *meet(int_chan c) {
    int sent = 0, expected = 0;
    CC_NURSERY(n) {
        cc_spawn(n, offer, c, &sent);
        while (expected < 100) {
            int v = -1, rc = 0;
            CC_DEADLINE_MS(3) {
                rc = cc_recv(c, &v);
            }
            if (rc == 0 && v != expected++) return "out of step";
        }
        cc_nursery_cancel(n);
    }
    return sent == expected ? "sent as many as received" : "out of step";
}

CC_MAIN(argc, argv) {
    int_chan c;
    int v = 0;
    if (cc_chan_create(c, 0) != 0) return 1;
    printf("ask: %s\n", cc_strerror(ask(c, &v)));
    nested(c);
    printf("together: %s\n", cc_strerror(together(c)));
    printf("%s\n", meet(c));
    cc_chan_destroy(c);
    return 0;
}
