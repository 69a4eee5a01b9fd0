/* SPDX-License-Identifier: MIT */
/* herd: a thousand tasks that wait for one condition, of which one is woken, or all: herd.h. */
#include <ccrt.h>

typedef cc_mutex herd_mutex;
typedef cc_cond herd_cond;
#define LOCK cc_mutex_lock
#define UNLOCK cc_mutex_unlock
#define WAIT cc_cond_wait
#define SIGNAL cc_cond_signal
#define BROADCAST cc_cond_broadcast
#include "herd.h"

#include "inside.h"

CC_TASK(graze) {
    herd_graze();
    return 0;
}

static void *measure(void *arg) {
    CC_NURSERY(n) {
        for (int i = 0; i < HERD; i++) bench_check(cc_spawn(n, graze) == 0, "cannot spawn");
        herd_measure();
    }
    return arg;
}

int main(void) {
    bench_inside(measure, NULL);
    return 0;
}
