/* SPDX-License-Identifier: MIT */
/* Values for all who have subscribed; who is too slow is told what it missed. */
#include <ccrt.h>
#include <stdio.h>

typedef CC_BROADCAST(int) ticker;

static void print_all(ticker t, cc_subscriber *s, const char *who) {
    int v, rc;
    while ((rc = cc_broadcast_try_recv(t, s, &v)) == 0) {
        if (s->lagged > 0) printf("%s missed %d\n", who, (int)s->lagged);
        printf("%s %d\n", who, v);
    }
    if (rc == -EPIPE) printf("%s: the end\n", who);
}

CC_MAIN(argc, argv) {
    ticker t;
    cc_subscriber early, late;
    if (cc_broadcast_create(t, 3) != 0) return 1; /* the newest 3 are kept */
    cc_broadcast_subscribe(t, &early);
    for (int i = 1; i <= 2; i++) cc_broadcast_send(t, i);
    cc_broadcast_subscribe(t, &late);
    print_all(t, &early, "early");
    for (int i = 3; i <= 7; i++) cc_broadcast_send(t, i);
    print_all(t, &late, "late");
    cc_broadcast_send(t, 8);
    cc_broadcast_close(t);
    print_all(t, &early, "early");
    print_all(t, &late, "late");
    cc_broadcast_destroy(t);
    return 0;
}
