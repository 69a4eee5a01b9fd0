/* SPDX-License-Identifier: MIT */
/* Goal: a joiner that is cancelled just as the task ends leaves the handle as it was. A decided wait forgot that others
 * than its list may decide it, so the end of the task took a cancelled joiner for a plain one and gave it the handle:
 * later joins returned -ESRCH, and the result was lost.
 * Method: a task that ends, a joiner that can be cancelled, and its canceller, started together, again and again; if
 * the joiner was cancelled, a second join must get the result.
 */
#include "test.h"

#include "base/atomic.h"

#include <ccrt.h>

static _Atomic int go;

static void *ends_soon(void *arg) {
    while (cc__load_acquire(&go) == 0) cc_yield();
    return arg;
}

CC_TASK(joins, (cc_task, t), (int *, rc), (void **, result)) {
    *rc = cc_task_join_cancellable(t, result);
    return 0;
}

static int one_round(void) {
    int rc = 1;
    void *result = NULL;
    cc__store_release(&go, 0);
    cc_task t = cc_fiber_spawn_task(ends_soon, &go);
    CC_NURSERY(n) {
        if (cc_spawn(n, joins, t, &rc, &result) != 0) return 1;
        cc_yield();
        cc__store_release(&go, 1);
        cc_nursery_cancel(n);
    }
    if (rc == -ECANCELED) rc = cc_task_join(t, &result);
    return rc == 0 && result == &go ? 0 : 2;
}

static void *rounds(void *arg) {
    for (size_t i = 0; i < test_scaled(20000); i++) {
        int rc = one_round();
        if (rc != 0) return (void *)(intptr_t)rc;
    }
    (void)arg;
    return NULL;
}

static void the_handle_is_kept(void **state) {
    (void)state;
    void *result;
    assert_int_equal(cc_run(&(cc_runtime_attr){.workers = 2}, rounds, NULL, &result), 0);
    assert_null(result);
}

TEST_MAIN(cmocka_unit_test(the_handle_is_kept))
