/* SPDX-License-Identifier: MIT */
/* fib_jobs: two jobs and a counter for each call but the leaves; so long a job. */
#include "inside.h"

enum { N = 22, TIMES = 5 };

struct call {
    int n;
    long value;
};

static void fib(void *arg) {
    struct call *c = arg, left = {c->n - 1, 0}, right = {c->n - 2, 0};
    if (c->n < 2) {
        c->value = c->n;
        return;
    }
    cc_counter both = CC_COUNTER_INIT(0);
    bench_check(cc_job_spawn(fib, &left, CC_PRIORITY_NORMAL, &both) == 0, "cannot spawn");
    bench_check(cc_job_spawn(fib, &right, CC_PRIORITY_NORMAL, &both) == 0, "cannot spawn");
    cc_counter_wait(&both);
    c->value = left.value + right.value;
}

static void run(long jobs) {
    (void)jobs;
    struct call c = {N, 0};
    fib(&c);
    bench_check(c.value == 17711, "wrong");
}

int main(void) {
    long jobs = 57312;
    bench_report("fib_jobs", bench_quickest_inside_ns(run, jobs, TIMES) / (double)jobs, "ns");
    return 0;
}
