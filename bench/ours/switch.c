/* SPDX-License-Identifier: MIT */
/* switch: from a thread's root to one fiber and back, with the switch that the scheduler uses.
 *
 * The two handles are globals, as in the minimal peer: kept in registers they would pass through both
 * stacks at every switch, and the figure would be the latency of that (1.3 ns more). */
#include "fiber/fiber.h"

#include "common.h"

enum { TIMES = 10, ROUND_TRIPS = 1000000 };

static struct cc__fiber *home, *partner;

static void partner_main(void *arg) {
    (void)arg;
    for (;;) cc__fiber_switch(partner, home);
}

static void visit(long times) {
    for (long i = 0; i < times; i++) cc__fiber_switch(home, partner);
}

int main(void) {
    struct cc__stack_cache cache = {0};
    bench_check(cc__fiber_attach(&home) == 0, "cannot attach the thread");
    bench_check(cc__fiber_create(&partner, &cache, CC__STACK_BYTES_MIN, false, false) == 0, "no fiber");
    cc__fiber_start(partner, partner_main, NULL);

    bench_report("switch", bench_quickest_ns(visit, ROUND_TRIPS, TIMES) / (2.0 * ROUND_TRIPS), "ns");

    cc__fiber_destroy(partner, &cache);
    cc__stack_cache_shrink(&cache, 0);
    return 0;
}
