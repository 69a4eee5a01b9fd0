/* SPDX-License-Identifier: MIT */
/* select8_block: one task selects over eight channels without capacity and replies; another sends to them in turn, and
 * waits for each reply: so each select has to wait. There is room for the reply, or who replies would wait, and then
 * find the next sender waiting. */
#include "inside.h"

enum { TIMES = 15, TURNS = 200000 };

typedef CC_CHAN(int64_t) numbers;

struct eight {
    numbers c[8], reply;
};

CC_TASK(selector, (struct eight *, e), (long, turns)) {
    numbers *c = e->c;
    int64_t x = 0, sum = 0;
    for (long i = 0; i < turns; i++) {
        int which = cc_select(CC_RECV(c[0], &x), CC_RECV(c[1], &x), CC_RECV(c[2], &x), CC_RECV(c[3], &x),
                              CC_RECV(c[4], &x), CC_RECV(c[5], &x), CC_RECV(c[6], &x), CC_RECV(c[7], &x));
        bench_check(which == i % 8, "not the case whose channel was sent to");
        sum += x;
        bench_check(cc_send(e->reply, sum) == 0, "cannot send");
    }
    return 0;
}

CC_TASK(sender, (struct eight *, e), (long, turns)) {
    int64_t sum = 0;
    for (long i = 0; i < turns; i++) {
        bench_check(cc_send(e->c[i % 8], i) == 0, "cannot send");
        bench_check(cc_recv(e->reply, &sum) == 0, "cannot receive");
    }
    bench_check(sum == (int64_t)turns * (turns - 1) / 2, "not the sum of what was sent");
    return 0;
}

static void run(long turns) {
    struct eight e;
    bench_check(cc_chan_create(e.reply, 1) == 0, "cannot create a channel");
    for (int i = 0; i < 8; i++) bench_check(cc_chan_create(e.c[i], 0) == 0, "cannot create a channel");
    CC_NURSERY(n) {
        bench_check(cc_spawn(n, selector, &e, turns) == 0, "cannot spawn");
        bench_check(cc_spawn(n, sender, &e, turns) == 0, "cannot spawn");
    }
    cc_chan_destroy(e.reply);
    for (int i = 0; i < 8; i++) cc_chan_destroy(e.c[i]);
}

int main(void) {
    bench_report("select8_block", bench_quickest_inside_ns(run, TURNS, TIMES) / TURNS, "ns");
    return 0;
}
