/* SPDX-License-Identifier: MIT */
/* Sleeping: a wait that nobody matches, only its own deadline, a scope's, or cancellation.
 *
 * Prev: scope/combine.c  Next: chan/chan.h */
#include <ccrt/time.h>

#include "../plat/clock.h"
#include "../sched/sched.h"

#include <ccrt/task.h>
#include <errno.h>

int64_t cc_now_ns(void) {
    return cc__now_ns();
}

int cc_sleep_until_ns(int64_t when_ns) {
    if (when_ns <= cc__now_ns()) {
        cc_yield();
        return 0;
    }
    struct cc__task *self = cc__self();
    if (self == NULL) return -ENOMEM;
    int rc;
    do {
        struct cc__wait w;
        cc__wait_begin(&w, self, CC__BY_CANCEL, NULL, "sleep");
        rc = cc__wait_cancellable(&w, when_ns);
    } while (rc == CC__WAIT_AGAIN);
    return rc == CC__OWN_DEADLINE ? 0 : rc;
}

int cc_sleep_ms(int64_t ms) {
    if (ms < 0) ms = 0;
    int64_t now = cc__now_ns(), most = (CC__NEVER - 1 - now) / 1000000;
    return cc_sleep_until_ns(now + (ms > most ? most : ms) * 1000000);
}
