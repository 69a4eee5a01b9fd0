/* SPDX-License-Identifier: MIT */
/* Goal: who parks, or flushes wake-ups, while it holds one of the library's own locks is told so, with the locks, in
 * dev builds; who has dropped them, in any order, is not.
 * Method: tasks in child processes that take locks of wait lists and yield, or wake a list.
 */
#include "runtimes.h"

#include "sched/sched.h"

#if CCRT_ASSERT >= 1
static struct cc__waitlist first, second, third;

static void *yields_with_one(void *unused) {
    cc__waitlist_lock(&first);
    cc_yield();
    return unused;
}
static void *yields_with_two(void *unused) {
    cc__waitlist_lock(&first);
    cc__waitlist_lock(&second);
    cc__waitlist_lock(&third);
    cc__waitlist_unlock(&second);
    cc_yield();
    return unused;
}
static void *flushes_with_one(void *unused) {
    cc__waitlist_lock(&second);
    cc__ready_list(NULL);
    return unused;
}
static void *drops_all(void *unused) {
    cc__waitlist_lock(&first);
    cc__waitlist_lock(&second);
    cc__waitlist_lock(&third);
    cc__waitlist_unlock(&first);
    cc__waitlist_unlock(&third);
    cc__waitlist_unlock(&second);
    cc_yield();
    cc__ready_list(NULL);
    return unused;
}
static void run(void *fn) {
    void *(*task)(void *);
    memcpy(&task, fn, sizeof task);
    test_must(cc_task_join(cc_fiber_spawn_task(task, NULL), NULL) == 0);
}
static void aborts(void *(*fn)(void *), const char *text, const struct cc__waitlist *a, const struct cc__waitlist *b) {
    char err[4096], address[40];
    int status = test_in_child(run, &fn, err, sizeof err);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(err, text));
    for (int i = 0; i < 2; i++) {
        snprintf(address, sizeof address, "%p", (const void *)(i == 0 ? a : b));
        assert_non_null(strstr(err, address));
    }
}

static void locks_that_are_held_are_told(void **state) {
    (void)state;
    char err[4096];
    void *(*fn)(void *) = drops_all;
    aborts(yields_with_one, "PARK-UNDER-LOCK: ", &first, &first);
    aborts(yields_with_two, "2 locks are held", &first, &third);
    aborts(flushes_with_one, "WAKE-FLUSH-UNDER-LOCK: ", &second, &second);
    assert_int_equal(test_in_child(run, &fn, err, sizeof err), 0);
}
#else
static void locks_that_are_held_are_told(void **state) {
    (void)state;
    skip();
}
#endif

TEST_MAIN(cmocka_unit_test(locks_that_are_held_are_told))
