/* SPDX-License-Identifier: MIT */
/* Several functions at once: all of them, the first to finish, the first success. */
#include <ccrt.h>
#include <stdio.h>

CC_TASK(ask, (const char *, server), (int, ms), (int, answer)) {
    int rc = cc_sleep_ms(ms); /* as if it took so long */
    if (rc != 0) printf("  %s: %s\n", server, cc_strerror(rc));
    return rc != 0 ? rc : answer;
}

CC_MAIN(argc, argv) {
    cc_branch every[] = {CC_BRANCH(ask, "one", 5, 1), CC_BRANCH(ask, "two", 1, 2), CC_BRANCH(ask, "three", 3, 3)};
    int rc = cc_all(every, 3);
    printf("all: %s, %d %d %d\n", cc_strerror(rc), every[0].result, every[1].result, every[2].result);

    cc_branch fast[] = {CC_BRANCH(ask, "slow", 10000, 1), CC_BRANCH(ask, "quick", 1, -EIO)};
    int first = cc_race(fast, 2);
    printf("race: %d, %s\n", first, cc_strerror(fast[first].result));

    cc_branch good[] = {CC_BRANCH(ask, "slow", 10000, 1), CC_BRANCH(ask, "broken", 1, -EIO),
                        CC_BRANCH(ask, "works", 100, 42)};
    first = cc_any(good, 3);
    printf("any: %d, %d\n", first, good[first].result);

    CC_DEADLINE_MS(20) {
        cc_branch late[] = {CC_BRANCH(ask, "slow", 10000, 1)};
        first = cc_race(late, 1);
    }
    printf("in time: %s\n", cc_strerror(first));
    return 0;
}
