/* SPDX-License-Identifier: MIT */
/* pipeline: one task sends blocks, as many as there are workers compute, one takes the results; between them channels
 * with room for one block a worker, or with BENCH_ROOM=2 for two. Who has no work takes the next block from the one
 * queue, so more room is of no use. */
#include "inside.h"

enum { BLOCKS = 1000, STEPS = 50000, TIMES = 3 };

typedef CC_CHAN(unsigned) blocks;

static unsigned compute(unsigned block) {
    volatile unsigned x = block;
    for (int i = 0; i < STEPS; i++) x = x * 1664525 + 1013904223;
    return x;
}

CC_TASK(computes, (blocks, in), (blocks, out)) {
    CC_EACH(unsigned, block, in) bench_check(cc_send(out, compute(block)) == 0, "cannot send");
    return 0;
}
CC_TASK(feeds, (blocks, out), (long, count)) {
    for (unsigned i = 0; i < (unsigned)count; i++) bench_check(cc_send(out, i) == 0, "cannot send");
    cc_chan_close(out);
    return 0;
}
CC_TASK(takes, (blocks, in), (long *, taken)) {
    CC_EACH(unsigned, result, in) {
        (void)result;
        ++*taken;
    }
    return 0;
}

static void run(long count) {
    blocks in, out;
    unsigned workers = bench_workers() > 0 ? bench_workers() : 1;
    size_t room = workers * (getenv("BENCH_ROOM") != NULL ? 2 : 1);
    long taken = 0;
    bench_check(cc_chan_create(in, room) == 0 && cc_chan_create(out, room) == 0, "cannot create a channel");
    CC_NURSERY(last) {
        bench_check(cc_spawn(last, takes, out, &taken) == 0, "cannot spawn");
        CC_NURSERY(n) {
            bench_check(cc_spawn(n, feeds, in, count) == 0, "cannot spawn");
            for (unsigned i = 0; i < workers; i++) bench_check(cc_spawn(n, computes, in, out) == 0, "cannot spawn");
        }
        cc_chan_close(out);
    }
    bench_check(taken == count, "a block is missing");
    cc_chan_destroy(in);
    cc_chan_destroy(out);
}

int main(void) {
    bench_report("block", bench_quickest_inside_ns(run, BLOCKS, TIMES) / BLOCKS / 1e3, "us");
    return 0;
}
