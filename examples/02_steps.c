/* SPDX-License-Identifier: MIT */
/* A game loop: its owner steps the scheduler by hand, a slice of each character's script a frame, and
 * does its own work in between. A script may run a scheduler of its own. */
#include <ccrt.h>
#include <stdio.h>

static int frame;

static void *knock(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        printf("frame %d: knock\n", frame);
        cc_resched();
    }
    return NULL;
}

static void *step(void *arg) {
    printf("frame %d: %s\n", frame, (const char *)arg);
    return NULL;
}

static void *door(void *arg) {
    cc_resched(); /* wait a frame */
    cc_sched *inner;
    if (cc_sched_create(&inner, NULL) != 0) return NULL;
    cc_sched_push(inner, step, "the latch lifts");
    cc_sched_push(inner, step, "the door opens");
    cc_sched_run(inner); /* both in this one step of ours */
    cc_sched_destroy(inner);
    return arg;
}

int main(void) {
    cc_sched *s;
    if (cc_sched_create(&s, NULL) != 0) return 1;
    cc_sched_push(s, knock, NULL);
    cc_sched_push(s, door, NULL);
    while (cc_sched_count(s) > 0) {
        frame++;
        for (int n = cc_sched_count(s); n > 0; n--) cc_sched_next(s);
    }
    printf("over after %d frames\n", frame);
    cc_sched_destroy(s);
    return 0;
}
