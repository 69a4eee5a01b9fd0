/* SPDX-License-Identifier: MIT */
/* Must be reported: memory that a fiber asked for and nobody leads to any more, as told from the memory
 * that a suspended fiber still holds. */
#include <ccrt.h>

#include <stdlib.h>

static cc_sched *kept;
static void *volatile sink;

static __attribute__((noinline)) void lost_allocation(void) {
    for (int i = 0; i < 20; i++) { /* many: a stale copy in some register may still lead to one */
        sink = malloc(1000);
        sink = NULL;
    }
}

static void *lose(void *arg) {
    lost_allocation();
    cc_resched();
    return arg;
}

static void *hold(void *arg) {
    char *held = malloc(77);
    if (held == NULL) return arg;
    for (;;) {
        cc_resched();
        held[0] = 1;
    }
}

int main(void) {
    if (cc_sched_create(&kept, NULL) != 0) return 2;
    cc_sched_push(kept, lose, NULL);
    cc_sched_push(kept, hold, NULL);
    for (int i = 0; i < 10; i++) cc_sched_next(kept);
    return 0;
}
