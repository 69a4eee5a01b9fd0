/* SPDX-License-Identifier: MIT */
/* many: a million Boost fibers with its default stacks (unguarded: with guards it stops at the limit
 * of maps); each yields once, so that all exist at once. The program leaves them there: their ends are
 * not compared, and take ten seconds. */
#include <boost/fiber/all.hpp>

#include "common.h"

enum { FIBERS = 1000000 };

int main() {
    long begun = 0, ended = 0;
    double start = bench_now_ns();
    for (long i = 0; i < FIBERS; i++)
        boost::fibers::fiber([&] {
            begun++;
            boost::this_fiber::yield();
            ended++;
        }).detach();
    while (begun < FIBERS) boost::this_fiber::yield();
    bench_report("create", (bench_now_ns() - start) / FIBERS, "ns");
    bench_check(ended == 0, "some fibers ended before all had begun");
    bench_report_memory(FIBERS);
    fflush(stdout);
    _Exit(0);
}
