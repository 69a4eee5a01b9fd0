/* SPDX-License-Identifier: MIT */
/* Goal: unwinders walk a fiber's stack to its end and stop there: profilers, sanitizers and crash reporters
 * do it at any time.
 * Method: the compiler's own unwinder, from inside a fiber, at depth and after switches.
 */
#include "test.h"

#include <ccrt.h>
#include <unwind.h>

enum { DEPTH = 10 };
static int frames;
static bool ended;

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *arg) {
    (void)arg;
    if (_Unwind_GetIP(context) != 0) frames++;
    return frames > 200 ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

static __attribute__((noinline)) int descend(int n) {
    volatile int kept = n;
    if (n > 0) return descend(n - 1) + kept;
    cc_resched();
    frames = 0;
    _Unwind_Reason_Code rc = _Unwind_Backtrace(count_frame, NULL);
    ended = rc == _URC_END_OF_STACK;
    return kept;
}

static void *unwinds(void *arg) {
    volatile int sum = descend(DEPTH);
    (void)sum;
    return arg;
}

static void backtrace_ends_at_the_entry(void **state) {
    (void)state;
    cc_sched *s;
    assert_int_equal(cc_sched_create(&s, NULL), 0);
    cc_sched_push(s, unwinds, NULL);
    cc_sched_push(s, unwinds, NULL);
    assert_int_equal(cc_sched_run(s), 0);
    cc_sched_destroy(s);
    assert_true(ended);
    assert_in_range(frames, DEPTH + 3, DEPTH + 12); /* the recursion, and the few functions above it */
}

TEST_MAIN(cmocka_unit_test(backtrace_ends_at_the_entry))
