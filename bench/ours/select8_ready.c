/* SPDX-License-Identifier: MIT */
/* select8_ready: one task sends to one of eight buffered channels, then selects over all of them: one is ready. */
#include "inside.h"

enum { TIMES = 5, TURNS = 500000 };

typedef CC_CHAN(int64_t) numbers;

static void run(long turns) {
    numbers c[8];
    int64_t x = 0, sum = 0;
    for (int i = 0; i < 8; i++) bench_check(cc_chan_create(c[i], 16) == 0, "cannot create a channel");
    for (long i = 0; i < turns; i++) {
        bench_check(cc_send(c[i % 8], i) == 0, "cannot send");
        int which = cc_select(CC_RECV(c[0], &x), CC_RECV(c[1], &x), CC_RECV(c[2], &x), CC_RECV(c[3], &x),
                              CC_RECV(c[4], &x), CC_RECV(c[5], &x), CC_RECV(c[6], &x), CC_RECV(c[7], &x));
        bench_check(which == i % 8, "not the case that was ready");
        sum += x;
    }
    bench_check(sum == (int64_t)turns * (turns - 1) / 2, "not the sum of what was sent");
    for (int i = 0; i < 8; i++) cc_chan_destroy(c[i]);
}

int main(void) {
    bench_report("select8_ready", bench_quickest_inside_ns(run, TURNS, TIMES) / TURNS, "ns");
    return 0;
}
