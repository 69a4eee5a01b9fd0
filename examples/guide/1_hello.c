/* SPDX-License-Identifier: MIT */
/* Guide, chapter 1: a task, its join, and many of them. */
#include <ccrt.h>
#include <stdio.h>

static void *greet(void *who) {
    printf("hello, %s\n", (const char *)who);
    return "greeted";
}

static void *nap(void *unused) {
    cc_sleep_ms(50); /* this task sleeps; its worker runs others meanwhile */
    return unused;
}

static int many(void) {
    enum { COUNT = 1000 };
    static cc_task naps[COUNT];
    int ended = 0;
    for (int i = 0; i < COUNT; i++) naps[i] = cc_fiber_spawn_task(nap, NULL);
    for (int i = 0; i < COUNT; i++) ended += cc_task_join(naps[i], NULL) == 0;
    return ended;
}

int main(void) {
    cc_task t = cc_fiber_spawn_task(greet, "world");
    void *result = NULL;
    int rc = cc_task_join(t, &result);
    if (rc != 0) {
        fprintf(stderr, "join: %s\n", cc_strerror(rc));
        return 1;
    }
    printf("%s\n", (const char *)result);

    rc = cc_task_join(t, NULL);
    printf("again: %s\n", rc == -ESRCH ? "-ESRCH" : "?");

    printf("%d naps\n", many());
    return 0;
}
