/* SPDX-License-Identifier: MIT */
/* Tasks that wait, one that runs and one that is ready, for gdb to look at. */
#include <ccrt.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic int never;
static volatile int after_calls, running;

static __attribute__((noinline)) void waits_here(void) {
    while (atomic_load_explicit(&never, memory_order_acquire) == 0) cc_park_if(&never, 0);
    after_calls++;
}
static void *parker(void *arg) {
    void *volatile kept = arg; /* for gdb to find, in its frame */
    waits_here();
    return kept;
}
static void *joiner(void *arg) {
    cc_task_join(*(cc_task *)arg, NULL);
    return arg;
}
static __attribute__((noinline)) void all_are_there(void) {
    after_calls++;
}
static void *looks(void *arg) {
    cc_sleep_ms(200); /* time for the others to wait */
    all_are_there();
    if (*(int *)arg > 1) abort(); /* for a core file */
    running = 1;
    return arg;
}

int main(int argc, char **argv) {
    (void)argv;
    cc_task parked, other;
    if (cc_task_spawn(&parked, &(cc_task_attr){.name = "the parker"}, parker, (void *)0x1267) != 0) return 1;
    if (cc_task_spawn(&other, &(cc_task_attr){.name = "the joiner"}, joiner, &parked) != 0) return 1;
    if (cc_task_spawn(&other, &(cc_task_attr){.name = "the looker"}, looks, &argc) != 0) return 1;
    cc_task_join(other, NULL);
    return running != 1;
}
