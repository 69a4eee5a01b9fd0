/* SPDX-License-Identifier: MIT */
/* Must be reported: a fiber writes past an array of its own frame, after it was away. */
#include <ccrt.h>

#include <stddef.h>

static volatile size_t past = 10;

static void *overflowing_write(void *arg) {
    volatile char array[10];
    for (size_t i = 0; i < sizeof array; i++) array[i] = 1;
    cc_resched();
    array[past] = 1;
    return arg;
}

static void *other(void *arg) {
    volatile char array[100];
    for (size_t i = 0; i < sizeof array; i++) array[i] = 1;
    cc_resched();
    return arg;
}

int main(void) {
    cc_sched *s;
    if (cc_sched_create(&s, NULL) != 0) return 2;
    cc_sched_push(s, other, NULL);
    cc_sched_push(s, overflowing_write, NULL);
    cc_sched_push(s, other, NULL);
    cc_sched_run(s);
    cc_sched_destroy(s);
    return 0;
}
