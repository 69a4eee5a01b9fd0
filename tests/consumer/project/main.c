/* SPDX-License-Identifier: MIT */
/* A user's C program: three fibers take turns; run.sh compares what it prints. */
#include <ccrt.h>
#include <stdio.h>

enum { FIBERS = 3, TURNS = 2 };

static void *take_turns(void *arg) {
    int *count = arg;
    for (int i = 0; i < TURNS; i++) {
        ++*count;
        cc_resched();
    }
    return count;
}

int main(void) {
    cc_sched *s;
    cc_sched_fiber fiber[FIBERS];
    int count[FIBERS] = {0}, sum = 0;
    int rc = cc_sched_create(&s, NULL);
    for (int i = 0; rc == 0 && i < FIBERS; i++) rc = cc_sched_spawn(s, NULL, take_turns, &count[i], &fiber[i]);
    if (rc == 0) rc = cc_sched_run(s);
    for (int i = 0; rc == 0 && i < FIBERS; i++) {
        void *result;
        rc = cc_sched_take(s, fiber[i], &result);
        if (rc == 0) sum += *(int *)result;
    }
    cc_sched_destroy(s);
    printf("%d turns, %s, version %s\n", sum, cc_strerror(rc), cc_version() == CC_VERSION ? "as built" : "differs");
    return rc != 0;
}
