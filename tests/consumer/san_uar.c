/* SPDX-License-Identifier: MIT */
/* Must be reported, with fake stacks: a fiber uses a variable of a function that has returned, after it
 * was away. */
#include <ccrt.h>

#include <stddef.h>

static int *volatile escaped;

static __attribute__((noinline)) void let_escape(void) {
    int local[4] = {1, 2, 3, 4};
    escaped = local;
    cc_resched();
    escaped[0]++;
}

static void *late_use(void *arg) {
    let_escape();
    cc_resched();
    escaped[1]++;
    return arg;
}

static void *other(void *arg) {
    cc_resched();
    return arg;
}

int main(void) {
    cc_sched *s;
    if (cc_sched_create(&s, NULL) != 0) return 2;
    cc_sched_push(s, other, NULL);
    cc_sched_push(s, late_use, NULL);
    cc_sched_run(s);
    cc_sched_destroy(s);
    return 0;
}
