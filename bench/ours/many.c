/* SPDX-License-Identifier: MIT */
/* many: a million fibers of one cc_sched that all exist at once; each is resumed twice.
 *
 * There is no warm-up: fresh memory is what is measured. */
#include <ccrt.h>

#include "common.h"

enum { FIBERS = 1000000 };

static long ended;

static void *wait_once(void *arg) {
    (void)arg;
    cc_resched();
    ended++;
    return NULL;
}

int main(void) {
    cc_sched *s;
    bench_check(cc_sched_create(&s, NULL) == 0, "cannot create a scheduler");

    double start = bench_now_ns();
    for (long i = 0; i < FIBERS; i++) bench_check(cc_sched_push(s, wait_once, NULL) == 0, "cannot push");
    for (long i = 0; i < FIBERS; i++) bench_check(cc_sched_next(s) == FIBERS, "a fiber did not begin");
    bench_report("create", (bench_now_ns() - start) / FIBERS, "ns");
    bench_report_memory(FIBERS);

    bench_check(cc_sched_run(s) == 0 && ended == FIBERS, "not all fibers ended");
    cc_sched_destroy(s);
    return 0;
}
