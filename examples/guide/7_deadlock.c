/* SPDX-License-Identifier: MIT */
/* Guide, chapter 7: a program that can never go on, and says so. */
#include <ccrt.h>

typedef CC_CHAN(int) int_chan;

CC_TASK(cook, (int_chan, orders)) {
    int order = 0;
    return cc_recv(orders, &order);
}

CC_MAIN(argc, argv) {
    int_chan orders;
    if (cc_chan_create(orders, 4) != 0) return 1;
    CC_NURSERY(n) {
        cc_spawn(n, cook, orders);
    } /* waits for the cook, who waits for an order, which nobody sends */
    cc_chan_destroy(orders);
    return 0;
}
