/* SPDX-License-Identifier: MIT */
/* noisy_neighbor: eight tasks compute for a second, without a word to the scheduler, and a heart beats beside them. */
#include "heart.h"

enum { HOGS = 8, FOR_MS = 1000 };

static struct heart heart;
static atomic_int stop;

static void *computes(void *arg) {
    volatile unsigned long x = 1;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) x = x * 6364136223846793005UL + 1;
    return arg;
}

static void *second(void *arg) {
    cc_task t[HOGS], beating = cc_fiber_spawn_task(heart_beats, &heart);
    cc_sleep_ms(BEAT_MS);
    for (int i = 0; i < HOGS; i++) t[i] = cc_fiber_spawn_task(computes, NULL);
    cc_sleep_ms(FOR_MS);
    atomic_store(&heart.stop, 1);
    bench_check(cc_task_join(beating, NULL) == 0, "cannot join");
    atomic_store(&stop, 1);
    for (int i = 0; i < HOGS; i++) bench_check(cc_task_join(t[i], NULL) == 0, "cannot join");
    return arg;
}

int main(void) {
    bench_inside(second, NULL);
    heart_report(&heart);
    return 0;
}
