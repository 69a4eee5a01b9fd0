/* SPDX-License-Identifier: MIT */
/* Goal: who parks or wakes in the middle of a channel's lock is told so in dev builds (lesson 62), and channels
 * themselves never do.
 * Method: tasks in child processes take a channel's lock and wait on another channel, or wake somebody there; beside
 * it, every way through a channel and a select, each of which parks or wakes, under the same checks.
 */
#include "runtimes.h"

#include "chan/chan.h"

typedef CC_CHAN(int) int_chan;

#if CCRT_ASSERT >= 1
static int_chan held, other;

CC_TASK(receives, (int_chan, c)) {
    int v;
    return cc_recv(c, &v);
}
static void *parks_inside(void *unused) {
    int v;
    cc__chan_lock(held.ch);
    cc_recv(other, &v);
    return unused;
}
static void *wakes_inside(void *unused) {
    CC_NURSERY(n) {
        cc_spawn(n, receives, other);
        while (other.ch->rx.first == NULL) cc_yield();
        cc__chan_lock(held.ch);
        cc_send(other, 1);
    }
    return unused;
}
static void *flushes_inside(void *unused) {
    cc__chan_lock(held.ch);
    cc_chan_close(other);
    cc_yield();
    return unused;
}
static void run(void *fn) {
    void *(*task)(void *);
    memcpy(&task, fn, sizeof task);
    test_must(cc_chan_create(held, 1) == 0 && cc_chan_create(other, 0) == 0);
    test_must(cc_run(&(cc_runtime_attr){.workers = 1}, task, NULL, NULL) == 0);
}
static void lesson_62_locks_of_channels(void **state) {
    (void)state;
    void *(*fn[])(void *) = {parks_inside, wakes_inside, flushes_inside};
    for (size_t i = 0; i < TEST_COUNT_OF(fn); i++) test_aborts(run, &fn[i], "-UNDER-LOCK: ");
}
#else
static void lesson_62_locks_of_channels(void **state) {
    (void)state;
    skip();
}
#endif

/* No way through leaves a lock taken, in any order: each of these calls waits or wakes next, and would tell. */
CC_TASK(goes_all_ways, (int_chan, a), (int_chan, b), (int, turn)) {
    for (int i = 0; i < 200; i++) {
        int v = i, rc = 0;
        switch ((i + turn) % 6) {
        case 0: CC_DEADLINE_MS(1) rc = cc_send(a, v); break;
        case 1: CC_DEADLINE_MS(1) rc = cc_recv(a, &v); break;
        case 2: rc = cc_select(CC_RECV(a, &v), CC_SEND(b, v), CC_CLOSED(a), CC_AFTER_MS(0)); break;
        case 3: rc = cc_select(CC_RECV(b, &v), CC_SEND(a, v), CC_RECV(b, &v), CC_DEFAULT); break;
        case 4: rc = cc_try_send(b, v); break;
        default: rc = cc_try_recv(b, &v); break;
        }
        test_must(rc >= 0 || rc == -ETIMEDOUT || rc == -EAGAIN || rc == -EPIPE);
        cc_yield();
    }
    return 0;
}
static void *all_ways(void *arg) {
    for (size_t capacity = 0; capacity < 4; capacity++) {
        int_chan a, b;
        test_must(cc_chan_create(a, capacity) == 0 && cc_chan_create(b, 3 - capacity) == 0);
        CC_NURSERY(n) {
            for (int i = 0; i < 6; i++) test_must(cc_spawn(n, goes_all_ways, a, b, i) == 0);
            test_must(cc_sleep_ms(2) == 0);
            cc_chan_close(a);
        }
        cc_chan_destroy(a);
        cc_chan_destroy(b);
    }
    return arg;
}
static void no_lock_is_kept(void **state) {
    (void)state;
    test_on_all(all_ways);
}

TEST_MAIN(cmocka_unit_test(lesson_62_locks_of_channels), cmocka_unit_test(no_lock_is_kept))
