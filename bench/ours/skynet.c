/* SPDX-License-Identifier: MIT */
/* skynet: a tree of tasks, each with ten children, down to a million leaves. Each sends a number to its parent by a
 * channel: a leaf its own, another the sum of what it receives. */
#include "inside.h"

enum { TIMES = 3, LEAVES = 1000000, FAN_OUT = 10 };

typedef CC_CHAN(int64_t) numbers;

static int64_t sum_of_children(int64_t first, int64_t leaves);

CC_TASK(node, (numbers, parent), (int64_t, first), (int64_t, leaves)) {
    bench_check(cc_send(parent, leaves == 1 ? first : sum_of_children(first, leaves)) == 0, "cannot send");
    return 0;
}

static int64_t sum_of_children(int64_t first, int64_t leaves) {
    numbers c;
    int64_t sum = 0;
    bench_check(cc_chan_create(c, FAN_OUT) == 0, "cannot create a channel");
    CC_NURSERY(n) {
        for (int64_t part = leaves / FAN_OUT, i = 0; i < FAN_OUT; i++)
            bench_check(cc_spawn(n, node, c, first + i * part, part) == 0, "cannot spawn");
        for (int64_t x, i = 0; i < FAN_OUT; i++) {
            bench_check(cc_recv(c, &x) == 0, "cannot receive");
            sum += x;
        }
    }
    cc_chan_destroy(c);
    return sum;
}

static void run(long leaves) {
    bench_check(sum_of_children(0, leaves) == (int64_t)leaves * (leaves - 1) / 2, "not the sum of all leaves");
}

int main(void) {
    bench_report("skynet", bench_quickest_inside_ns(run, LEAVES, TIMES) / 1e6, "ms");
    return 0;
}
