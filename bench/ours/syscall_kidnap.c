/* SPDX-License-Identifier: MIT */
/* syscall_kidnap: a hundred tasks sleep in the kernel, by plain system calls, ten times 100 ms each, and a heart beats
 * beside them. */
#include "heart.h"

enum { SLEEPERS = 100, TIMES = 10, EACH_NS = 100000000 };

static struct heart heart;

static void *sleeps(void *arg) {
    for (int i = 0; i < TIMES; i++) nanosleep(&(struct timespec){.tv_nsec = EACH_NS}, NULL);
    return arg;
}

static void *while_they_sleep(void *arg) {
    cc_task t[SLEEPERS], beating = cc_fiber_spawn_task(heart_beats, &heart);
    cc_sleep_ms(BEAT_MS);
    for (int i = 0; i < SLEEPERS; i++) t[i] = cc_fiber_spawn_task(sleeps, NULL);
    for (int i = 0; i < SLEEPERS; i++) bench_check(cc_task_join(t[i], NULL) == 0, "cannot join");
    atomic_store(&heart.stop, 1);
    bench_check(cc_task_join(beating, NULL) == 0, "cannot join");
    return arg;
}

int main(void) {
    bench_inside(while_they_sleep, NULL);
    heart_report(&heart);
    bench_report("total", heart.took_ns / 1e6, "ms");
    return 0;
}
