/* SPDX-License-Identifier: MIT */
/* For tests that let the Nth call of anything fail: a scenario is run for N = 1, 2, ... until no call failed. */
#ifndef CCRT_TESTS_NTH_H
#define CCRT_TESTS_NTH_H

#include "test.h"

/* What a scenario exits with if no call failed; a status that no sanitizer has. 0: one did, and all went well. */
enum { TEST_NTH_NOT_REACHED = 3 };

/* As the C library's own refuse memory: where a program is linked statically, its callers are in the C library, too. */
static inline TEST_UNUSED void *test_no_memory(void) {
    errno = ENOMEM;
    return NULL;
}

/* Run a scenario, a process each, with a pointer to N as its argument. Where every step is slow, each fifth N is taken,
 * from another one on in each run: odd and even ones still take turns. Returns the first N that was not reached. */
static inline TEST_UNUSED long test_nth(void (*scenario)(void *)) {
    const bool slow = test_scaled(1000) < 1000;
    const long step = slow ? 5 : 1;
    for (long n = 1 + (slow ? (long)(test_seed() % 5) : 0);; n += step) {
        char err[4096];
        int status = test_in_child(scenario, &n, err, sizeof err);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != TEST_NTH_NOT_REACHED)) {
            print_message("call %ld: status %#x\n%s\n", n, (unsigned)status, err);
            fail_msg("the failure of call %ld was not survived", n);
        }
        if (WEXITSTATUS(status) == TEST_NTH_NOT_REACHED) return n;
    }
}

#endif /* CCRT_TESTS_NTH_H */
