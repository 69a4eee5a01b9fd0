/* SPDX-License-Identifier: MIT */
/* futures_1m: a million futures that are all there at once. Each is polled four times, waking itself three times: time
 * for a poll, from the first spawn until the last is over, with spawns and ends; and its memory. Then a million that
 * each sleep once, for 1 to 1,000 ms, from the first spawn until all are over. */
#include "inside.h"

enum { FUTURES = 1000000, POLLS = 4, LONGEST_MS = 1000, TIMES = 3 };

struct ticker {
    cc_future fut;
    int step;
};
static cc_poll_state tick(cc_future *f, cc_waker *w) {
    struct ticker *t = CC_CONTAINER_OF(f, struct ticker, fut);
    if (++t->step == POLLS) return CC_READY;
    cc_waker_wake(w);
    return CC_PENDING;
}

struct sleeper {
    cc_future fut;
    int ms;
};
static cc_poll_state sleep_once(cc_future *f, cc_waker *w) {
    struct sleeper *s = CC_CONTAINER_OF(f, struct sleeper, fut);
    (void)w;
    int rc = cc_poll_sleep_ms(f, s->ms);
    if (rc == -EAGAIN) return CC_PENDING;
    s->ms = rc;
    return CC_READY;
}

static double polls_ns(void) {
    double start = bench_now_ns();
    struct ticker *all = calloc(FUTURES, sizeof *all);
    cc_counter c = CC_COUNTER_INIT(0);
    bench_check(all != NULL, "no memory");
    for (int i = 0; i < FUTURES; i++) {
        cc_future_init(&all[i].fut, tick);
        bench_check(cc_future_spawn(&all[i].fut, &c) == 0, "cannot spawn");
    }
    cc_counter_wait(&c);
    double taken = bench_now_ns() - start;
    for (int i = 0; i < FUTURES; i++) bench_check(all[i].step == POLLS, "a future was not polled so often");
    free(all);
    return taken;
}

static void *run(void *arg) {
    (void)arg;
    double quickest = polls_ns();
    for (int i = 1; i < TIMES; i++) {
        double taken = polls_ns();
        if (taken < quickest) quickest = taken;
    }
    bench_report("poll", quickest / ((double)FUTURES * POLLS), "ns");
    bench_report("memory", (double)sizeof(cc_future), "bytes");

    double start = bench_now_ns(), start_cpu = bench_cpu_ns();
    struct sleeper *all = calloc(FUTURES, sizeof *all);
    cc_counter c = CC_COUNTER_INIT(0);
    bench_check(all != NULL, "no memory");
    for (int i = 0; i < FUTURES; i++) {
        cc_future_init(&all[i].fut, sleep_once);
        all[i].ms = 1 + i % LONGEST_MS;
        bench_check(cc_future_spawn(&all[i].fut, &c) == 0, "cannot spawn");
    }
    cc_counter_wait(&c);
    double wall = bench_now_ns() - start, cpu = bench_cpu_ns() - start_cpu;
    bench_check(wall >= LONGEST_MS * 1e6, "some slept too short");
    for (int i = 0; i < FUTURES; i++) bench_check(all[i].ms == 0, "a future did not sleep");
    free(all);
    bench_report("sleeping", wall / 1e6, "ms");
    bench_report("sleeping_cpu", cpu / 1e6, "ms");
    return NULL;
}

int main(void) {
    bench_inside(run, NULL);
    return 0;
}
