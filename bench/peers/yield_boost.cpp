/* SPDX-License-Identifier: MIT */
/* yield: Boost.Fiber with its default scheduler, two fibers, a million yields each. */
#include <boost/fiber/all.hpp>

#include "common.h"

enum { TIMES = 3, YIELDS = 1000000 };

static void run(long yields) {
    auto yield_many = [yields] {
        for (long n = yields; n > 0; n--) boost::this_fiber::yield();
    };
    boost::fibers::fiber a(yield_many), b(yield_many);
    a.join();
    b.join();
}

int main() {
    bench_report("yield", bench_quickest_ns(run, YIELDS, TIMES) / (2.0 * YIELDS), "ns");
    return 0;
}
