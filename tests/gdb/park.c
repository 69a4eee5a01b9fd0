/* SPDX-License-Identifier: MIT */
/* Two fibers that reschedule three functions deep, for gdb to look at. */
#include <ccrt.h>

static volatile int turns;

static __attribute__((noinline)) void level3(void) {
    turns++;
    cc_resched();
    turns++;
}
static __attribute__((noinline)) void level2(void) {
    level3();
    turns++;
}
static __attribute__((noinline)) void level1(void) {
    level2();
    turns++;
}
static void *body(void *arg) {
    for (int i = 0; i < 3; i++) level1();
    return arg;
}

int main(void) {
    cc_sched *s;
    if (cc_sched_create(&s, NULL) != 0) return 1;
    cc_sched_push(s, body, NULL);
    cc_sched_push(s, body, NULL);
    int rc = cc_sched_run(s);
    cc_sched_destroy(s);
    return rc != 0 || turns != 24;
}
