/* SPDX-License-Identifier: MIT */
/* Goal: who has received the last value may destroy the channel, whatever way that value came. A sender that found the
 * channel frozen, because a receiver had just waited and left, put its value into the ring under the lock, opened the
 * ring and gave up the lock, in that order: a receiver that took the value in between destroyed the channel under it.
 * Method: a thread sends one value to each channel it is shown; the receiver comes and goes with a deadline that has
 * passed, so that the channel is frozen now and then, takes the value, and destroys the channel and others enough that
 * its memory is freed at once. ThreadSanitizer sees the unlock that nothing orders before that.
 */
#include "runtimes.h"

typedef CC_CHAN(long) long_chan;

enum { GRAVES = 64 }; /* dev builds keep so many that were destroyed */

static cc_chan *_Atomic shown;

static void *sends_to_each(void *unused) {
    for (;;) {
        long_chan c = {cc__xchg_acq_rel(&shown, NULL)};
        if (c.ch == NULL) {
            sched_yield();
            continue;
        }
        if ((uintptr_t)c.ch == 1) return unused;
        test_jitter();
        test_must(cc_send(c, 7) == 0);
    }
}

static void one_channel(void) {
    long_chan c, other;
    long v = 0;
    int rc;
    test_must(cc_chan_create(c, 1) == 0);
    cc__store_release(&shown, c.ch);
    for (int turn = 1;; turn++) {
        CC_DEADLINE_MS(0) rc = cc_recv(c, &v);
        if (rc != -ETIMEDOUT) break;
        if (turn % 64 == 0) sched_yield(); /* both may have to share a cpu */
    }
    test_must(rc == 0 && v == 7);
    cc_chan_destroy(c);
    for (int i = 0; i < GRAVES; i++) {
        test_must(cc_chan_create(other, 0) == 0);
        cc_chan_destroy(other);
    }
}

static void receiver_destroys(void **state) {
    pthread_t sender;
    (void)state;
    test_seed();
    assert_int_equal(pthread_create(&sender, NULL, sends_to_each, NULL), 0);
    for (size_t i = test_rounds(4000); i > 0; i--) one_channel();
    cc__store_release(&shown, (cc_chan *)(uintptr_t)1);
    pthread_join(sender, NULL);
}

TEST_MAIN(cmocka_unit_test(receiver_destroys))
