/* SPDX-License-Identifier: MIT */
/* Goal: a select says that a channel is closed only if none of its cases can happen. It said so as soon as it came to
 * the closed one, so that a loop of selects over two channels ended, at random, before the other was drained.
 * Method: one channel closed, one with values: all of them are got before the code of the close.
 */
#include "runtimes.h"

typedef CC_CHAN(int) int_chan;

static void values_come_first(void **state) {
    (void)state;
    for (size_t round = test_scaled(100); round > 0; round--) {
        int_chan over, has;
        int v, got = 0, rc;
        assert_int_equal(cc_chan_create(over, 1), 0);
        assert_int_equal(cc_chan_create(has, 8), 0);
        cc_chan_close_error(over, -EIO);
        for (int i = 0; i < 8; i++) assert_int_equal(cc_send(has, i), 0);
        while ((rc = cc_select(CC_RECV(over, &v), CC_SEND(over, 1), CC_RECV(has, &v))) == 2) got++;
        assert_int_equal(got, 8);
        assert_true(rc == -EIO || rc == -EPIPE);
        assert_int_equal(cc_select_ordered(CC_RECV(over, &v), CC_SEND(has, 1)), 1);
        assert_int_equal(cc_select_ordered(CC_RECV(over, &v), CC_DEFAULT), -EIO);
        assert_int_equal(cc_select_ordered(CC_RECV(over, &v), CC_AFTER_MS(0)), -EIO);
        cc_chan_destroy(over);
        cc_chan_destroy(has);
    }
}

TEST_MAIN(cmocka_unit_test(values_come_first))
