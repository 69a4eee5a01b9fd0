/* SPDX-License-Identifier: MIT */
/* Goal: tasks that have not begun get their turns beside others that wake each other without end. One look into the
 * rings in eight was to begin at the new tasks, told by the worker's ticks; but a worker whose slot is always full
 * looks there every fourth tick only, and if those were never the eighth, new tasks never began.
 * Method: one worker, a sender and four receivers on channels of several sizes; all four must begin long before the
 * end.
 */
#include "runtimes.h"

typedef CC_CHAN(long) long_chan;

enum { RECEIVERS = 4 };
static long sent, began[RECEIVERS];

CC_TASK(receives, (long_chan, c), (long *, when)) {
    *when = sent;
    CC_EACH(long, v, c) test_must(v >= 0);
    return 0;
}
CC_TASK(sends, (long_chan, c), (long, count)) {
    for (sent = 0; sent < count; sent++) test_must(cc_send(c, sent) == 0);
    cc_chan_close(c);
    return 0;
}

static void *all_begin(void *unused) {
    for (size_t capacity = 0; capacity < 20; capacity++) {
        long_chan c;
        long count = 10000;
        test_must(cc_chan_create(c, capacity) == 0);
        CC_NURSERY(n) {
            for (int i = 0; i < RECEIVERS; i++) test_must(cc_spawn(n, receives, c, &began[i]) == 0);
            test_must(cc_spawn(n, sends, c, count) == 0);
        }
        for (int i = 0; i < RECEIVERS; i++) test_must(began[i] < count / 2);
        cc_chan_destroy(c);
    }
    return unused;
}

static void new_tasks_begin(void **state) {
    (void)state;
    test_on_workers(1, all_begin, NULL);
}

TEST_MAIN(cmocka_unit_test(new_tasks_begin))
