/* SPDX-License-Identifier: MIT */
/* Typed tasks in a nursery: results in the order asked for, the first error cancels the rest, a deadline. */
#include <ccrt.h>
#include <stdio.h>

CC_ASYNC(long, square, (int, x)) {
    cc_sleep_ms(10 - x); /* the last is the first to be done */
    return (long)x * x;
}

CC_TASK(fetch, (int, ms)) {
    return cc_sleep_ms(ms); /* -ECANCELED when somebody else failed */
}
CC_TASK(breaks) {
    return -EIO;
}

CC_MAIN(argc, argv) {
    CC_RESULT(long) f[8];
    CC_NURSERY(n) {
        for (int i = 0; i < 8; i++) cc_async(n, f[i], square, i);
        for (int i = 0; i < 8; i++) printf("%ld ", cc_await(f[i]));
        printf("\n");
    }

    int rc = 0;
    CC_NURSERY(n) {
        cc_spawn(n, fetch, 60000);
        cc_spawn(n, breaks);
        rc = cc_nursery_wait(n);
    }
    printf("together: %s\n", cc_strerror(rc));

    CC_DEADLINE_MS(20) {
        rc = cc_sleep_ms(60000);
    }
    printf("alone: %s\n", cc_strerror(rc));
    return 0;
}
