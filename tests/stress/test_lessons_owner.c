/* SPDX-License-Identifier: MIT */
/* Goal: cancelling a task cancels the nurseries it has open, whatever the task itself does just then (lesson 74).
 * Method: a child of a cancelled nursery has a nursery of its own with a sleeper in it, and meanwhile parks on its
 * own flag, or yields, or computes, until that sleeper says how its sleep ended. The sleep ends by itself after a
 * while, which only a cancellation that did not arrive takes.
 * Timeout: 200
 */
#include "runtimes.h"

enum { LONG_MS = 8000 };
enum owner { PARKS, YIELDS, COMPUTES };

struct family {
    enum owner owner;
    _Atomic int asleep, woke; /* woke: 1 cancelled, 2 it slept to the end */
    cc_parker parent;
};
CC_TASK(grandchild, (struct family *, f)) {
    cc__store_release(&f->asleep, 1);
    int rc = cc_sleep_ms(LONG_MS);
    cc_parker parent = f->parent;
    cc__store_release(&f->woke, rc == -ECANCELED ? 1 : 2);
    cc_unpark(parent);
    return rc;
}
CC_TASK(child, (struct family *, f)) {
    f->parent = cc_parker_self();
    CC_NURSERY(n) {
        test_must(cc_spawn(n, grandchild, f) == 0);
        while (cc__load_acquire(&f->woke) == 0) {
            if (f->owner == PARKS) cc_park_if(&f->woke, 0);
            if (f->owner == YIELDS) cc_yield();
            if (f->owner == COMPUTES) sched_yield();
        }
    }
    return 0;
}
static void *cancels_the_family(void *arg) {
    struct family f = {.owner = (enum owner)(uintptr_t)arg};
    CC_NURSERY(n) {
        test_must(cc_spawn(n, child, &f) == 0);
        while (cc__load_acquire(&f.asleep) == 0) cc_yield();
        for (int i = 0; i < 100; i++) cc_yield(); /* it sleeps by now, most often */
        cc_nursery_cancel(n);
    }
    return (void *)(intptr_t)cc__load_relaxed(&f.woke);
}
static void on_several(enum owner owner) {
    for (size_t w = 0; w < TEST_COUNT_OF(test_workers); w++) {
        if (owner == COMPUTES && test_workers[w] < 4) continue; /* it holds one, and another is needed for certain */
        assert_int_equal((intptr_t)test_on_workers(test_workers[w], cancels_the_family, (void *)(uintptr_t)owner), 1);
    }
}

static void lesson_74_the_owner_parks(void **state) {
    (void)state;
    on_several(PARKS);
}
static void lesson_74_the_owner_yields(void **state) {
    (void)state;
    on_several(YIELDS);
}
static void lesson_74_the_owner_computes(void **state) {
    (void)state;
    on_several(COMPUTES);
}

TEST_MAIN(cmocka_unit_test(lesson_74_the_owner_parks), cmocka_unit_test(lesson_74_the_owner_yields),
          cmocka_unit_test(lesson_74_the_owner_computes))
