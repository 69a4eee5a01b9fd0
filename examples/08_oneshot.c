/* SPDX-License-Identifier: MIT */
/* A question and its answer: whoever waits no longer leaves, and who answers is told. */
#include <ccrt.h>
#include <stdio.h>

typedef CC_ONESHOT(int) answer;

CC_TASK(answers, (answer, a), (int, ms), (int, value)) {
    cc_sleep_ms(ms);
    if (value < 0)
        cc_oneshot_drop(a); /* there is none */
    else if (cc_oneshot_send(a, value) == -EPIPE)
        printf("nobody waits for %d any more\n", value);
    return 0;
}

static void ask(cc_nursery *n, int patience_ms, int ms, int value) {
    answer a;
    int v = 0, rc = cc_oneshot_create(a);
    if (rc != 0) return;
    cc_spawn(n, answers, a, ms, value); /* the sender's end is the task's, the receiver's ours */
    CC_DEADLINE_MS(patience_ms) {
        rc = cc_oneshot_recv(a, &v);
    }
    cc_oneshot_destroy(a);
    if (rc == 0)
        printf("%d\n", v);
    else
        printf("%s\n", rc == -EPIPE ? "no answer" : "too late");
}

CC_MAIN(argc, argv) {
    CC_NURSERY(n) {
        ask(n, 10000, 1, 42);
        ask(n, 10000, 1, -1);
        ask(n, 10, 1000, 43);
    }
    return 0;
}
