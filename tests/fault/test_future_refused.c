/* SPDX-License-Identifier: MIT */
/* Goal: a future that could not be spawned is over, for those, too, who began to await it meanwhile.
 * Method: the linker gives us the call that admits it, which fails as soon as somebody awaits the future, or at once;
 * a plain thread awaits it. The same future is spawned again then.
 * Link: -Wl,--wrap=cc__spawn_admit
 */
#include "runtimes.h"

#include "sched/polls.h"

#include <ccrt.h>

static cc_future *_Atomic refused; /* this one is, once it is awaited */

int __real_cc__spawn_admit(struct cc__runtime *rt, uint64_t n);
int __wrap_cc__spawn_admit(struct cc__runtime *rt, uint64_t n);
int __wrap_cc__spawn_admit(struct cc__runtime *rt, uint64_t n) {
    cc_future *f = cc__load_acquire(&refused);
    if (f == NULL) return __real_cc__spawn_admit(rt, n);
    cc__store_relaxed(&refused, NULL);
    struct cc__task *t = (struct cc__task *)(void *)f;
    while ((cc__load_relaxed(&t->control) & CC__CONTROL_AWAITED) == 0) sched_yield();
    return -ESHUTDOWN;
}

static void *awaits(void *f) {
    struct cc__task *t = f;
    while (cc__state_of(cc__load_relaxed(&t->control)) == CC__IDLE) sched_yield();
    cc_future_await(f);
    return NULL;
}
static cc_poll_state ready(cc_future *f, cc_waker *w) {
    (void)f, (void)w;
    return CC_READY;
}

static void who_awaits_it_is_told(void **state) {
    (void)state;
    for (size_t i = 0; i < test_rounds(200); i++) {
        cc_future *f = malloc(sizeof *f);
        pthread_t thread;
        cc_counter c = CC_COUNTER_INIT(0);
        cc_future_init(f, ready);
        assert_int_equal(pthread_create(&thread, NULL, awaits, f), 0);
        cc__store_release(&refused, f);
        assert_int_equal(cc_future_spawn(f, &c), -ESHUTDOWN);
        assert_int_equal(pthread_join(thread, NULL), 0);
        cc_counter_wait(&c); /* nothing was counted */
        assert_int_equal(cc_future_spawn(f, &c), 0);
        cc_counter_wait(&c);
        free(f);
    }
}

TEST_MAIN(cmocka_unit_test(who_awaits_it_is_told))
