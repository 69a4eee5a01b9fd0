/* SPDX-License-Identifier: MIT */
/* Goal: without -p there are as many workers as processors that may be used, on machines of any size; never none, and
 * never more than may be asked for.
 * Method: sched_getaffinity() is ours here, and is that of a machine with so many processors, some of them usable.
 */
#include "options.h"
#include "test.h"

#include <errno.h>
#include <sched.h>

static int possible, first, usable, error;

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set) {
    (void)pid;
    errno = error != 0 ? error : EINVAL; /* as if there were not room enough for all of them */
    if (error != 0 || bytes * 8 < (size_t)possible) return -1;
    memset(set, 0, bytes);
    for (int i = first; i < first + usable; i++) CPU_SET_S((size_t)i, bytes, set);
    return 0;
}

static unsigned workers(int possible_now, int first_now, int usable_now) {
    char name[] = "ccgz", *argv[] = {name, NULL};
    struct gz_options o;
    possible = possible_now;
    first = first_now;
    usable = usable_now;
    assert_int_equal(gz_options_parse(&o, 1, argv), -1);
    assert_int_equal(o.way.at_once, o.way.workers);
    return o.way.workers;
}

static void as_many_as_may_be_used(void **state) {
    (void)state;
    assert_int_equal(workers(2, 0, 2), 2);
    assert_int_equal(workers(1024, 1000, 24), 24);
    assert_int_equal(workers(1025, 0, 8), 8);
    assert_int_equal(workers(4096, 3000, 300), 300);
    assert_int_equal(workers(8192, 0, 1023), 1023);
    assert_int_equal(workers(8192, 0, 5000), 1024);
}

static void one_where_that_is_not_known(void **state) {
    (void)state;
    error = ENOSYS;
    assert_int_equal(workers(8, 0, 8), 1);
    error = EINVAL; /* however much room there is */
    assert_int_equal(workers(8, 0, 8), 1);
    error = 0;
    assert_int_equal(workers(8, 0, 0), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_may_be_used),
        cmocka_unit_test(one_where_that_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
