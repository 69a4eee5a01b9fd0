/* SPDX-License-Identifier: MIT */
/* pingpong: two tasks and two channels without capacity; one sends a number, the other sends the next one back. */
#include "inside.h"

enum { TIMES = 15, TURNS = 200000 };

typedef CC_CHAN(int64_t) numbers;

CC_TASK(pong, (numbers, there), (numbers, back)) {
    CC_EACH(int64_t, x, there) bench_check(cc_send(back, x + 1) == 0, "cannot send");
    return 0;
}

CC_TASK(ping, (numbers, there), (numbers, back), (long, turns)) {
    int64_t x = 0;
    for (long i = 0; i < turns; i++) {
        bench_check(cc_send(there, x) == 0, "cannot send");
        bench_check(cc_recv(back, &x) == 0, "cannot receive");
    }
    bench_check(x == turns, "not the number of turns");
    cc_chan_close(there);
    return 0;
}

static void run(long turns) {
    numbers there, back;
    bench_check(cc_chan_create(there, 0) == 0 && cc_chan_create(back, 0) == 0, "cannot create a channel");
    CC_NURSERY(n) {
        bench_check(cc_spawn(n, pong, there, back) == 0, "cannot spawn");
        bench_check(cc_spawn(n, ping, there, back, turns) == 0, "cannot spawn");
    }
    cc_chan_destroy(there);
    cc_chan_destroy(back);
}

int main(void) {
    bench_report("pingpong", bench_quickest_inside_ns(run, TURNS, TIMES) / TURNS, "ns");
    return 0;
}
