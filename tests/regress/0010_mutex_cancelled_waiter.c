/* SPDX-License-Identifier: MIT */
/* Goal: who waits for a mutex is woken though the one before it in the list was cancelled. An owner that saw that
 * somebody waits, and then found nobody on the list, freed the mutex and left the rest as it was; who had come to wait
 * in between waited for ever.
 * Method: the owner unlocks, with one on the list. As it is about to take the list's lock, that one is cancelled, and
 * as it has given it up again, another comes to wait. In release builds, where the list's lock is inline, they meet as
 * they like.
 * Link: -Wl,--wrap=cc__waitlist_lock,--wrap=cc__waitlist_unlock
 */
#include "runtimes.h"

#include "sync/sync.h"

enum step { BEFORE, UNLOCKS, HAS_THE_LIST, LATE_MAY_COME };

static cc_mutex m;
static _Atomic long step, left;
static pthread_t owner; /* W: the owner, before it unlocks */
static cc_nursery *of_the_first;

/* Hold this worker until one is on the list. */
static void await_a_waiter(void) {
    while ((cc__load_relaxed((_Atomic uintptr_t *)(void *)&m.priv_word) & 1) == 0) sched_yield();
}
#if !CC__INLINE_HOT
__typeof__(cc__waitlist_lock) __real_cc__waitlist_lock, __wrap_cc__waitlist_lock;
__typeof__(cc__waitlist_unlock) __real_cc__waitlist_unlock, __wrap_cc__waitlist_unlock;

static bool owner_is_in(enum step s, const struct cc__waitlist *l) {
    return l == CC__SYNC_LIST(&m) && cc__load_acquire(&step) == s && pthread_equal(owner, test_thread());
}
void __wrap_cc__waitlist_lock(struct cc__waitlist *l) {
    if (owner_is_in(UNLOCKS, l)) {
        cc__store_release(&step, HAS_THE_LIST);
        cc_nursery_cancel(of_the_first);
        test_must(test_hold_worker_until(&left, 1));
    }
    __real_cc__waitlist_lock(l);
}
void __wrap_cc__waitlist_unlock(struct cc__waitlist *l) {
    __real_cc__waitlist_unlock(l);
    if (owner_is_in(HAS_THE_LIST, l)) {
        cc__store_release(&step, LATE_MAY_COME);
        await_a_waiter();
    }
}
#endif

CC_TASK(waits_and_is_cancelled, (int, unused)) {
    int rc = cc_mutex_lock_cancellable(&m);
    test_must(rc == -ECANCELED || (CC__INLINE_HOT && rc == 0));
    if (rc == 0) cc_mutex_unlock(&m);
    cc__store_release(&left, 1);
    return unused;
}
CC_TASK(comes_late, (int, unused)) {
    test_must(test_hold_worker_until(&step, LATE_MAY_COME));
    cc_mutex_lock(&m);
    cc_mutex_unlock(&m);
    return unused;
}
static void *owns(void *arg) {
    cc_mutex_lock(&m);
    CC_NURSERY(late) {
        test_must(cc_spawn(late, comes_late, 0) == 0);
        CC_NURSERY(first) {
            of_the_first = first;
            test_must(cc_spawn(first, waits_and_is_cancelled, 0) == 0);
            await_a_waiter();
            owner = test_thread();
            cc__store_release(&step, UNLOCKS);
            cc_mutex_unlock(&m);
            cc_nursery_cancel(first);
            cc__store_release(&step, LATE_MAY_COME);
        }
    }
    return arg;
}
static void who_comes_late_is_woken(void **state) {
    (void)state;
    test_on_workers(3, owns, NULL);
}

TEST_MAIN(cmocka_unit_test(who_comes_late_is_woken))
