/* SPDX-License-Identifier: MIT */
/* Two fibers take turns on one scheduler, and hand back a result each. */
#include <ccrt.h>
#include <stdio.h>

static void *count(void *arg) {
    const char *who = arg;
    for (int i = 1; i <= 3; i++) {
        printf("%s %d\n", who, i);
        cc_resched(); /* let the other one go on */
    }
    return arg;
}

int main(void) {
    cc_sched *s;
    cc_sched_fiber tick, tock;
    if (cc_sched_create(&s, NULL) != 0) return 1;
    cc_sched_spawn(s, NULL, count, "tick", &tick);
    cc_sched_spawn(s, NULL, count, "tock", &tock);
    int rc = cc_sched_run(s);
    if (rc != 0) {
        printf("stopped: %s\n", cc_strerror(rc));
        return 1;
    }
    void *result;
    cc_sched_take(s, tock, &result);
    printf("%s ended\n", (const char *)result);
    cc_sched_destroy(s);
    return 0;
}
