/* SPDX-License-Identifier: MIT */
/* Goal: announcing a wait for something outside changes nothing but what the library says of a deadlock; it nests, from
 * tasks and threads.
 * Method: waits that end, inside it. tests/stress/test_deadlock.c has those that do not.
 */
#include "runtimes.h"

static void *waits_inside(void *arg) {
    CC_EXTERNAL_WAIT {
        CC_EXTERNAL_WAIT {
            cc_sleep_ms(1);
        }
        cc_yield();
        if (arg != NULL) continue; /* leaves the braces */
        test_must(arg != NULL);
    }
    return arg;
}
static void waits_go_on_inside(void **state) {
    (void)state;
    test_on_all(waits_inside);
    cc_external_wait(2);
    (void)waits_inside(&state);
    cc_external_wait(-2);
}

TEST_MAIN(cmocka_unit_test(waits_go_on_inside))
