/* SPDX-License-Identifier: MIT */
/* Goal: where there is no fence that all threads pass (an old kernel, a filter of system calls), forks keep the same
 * rules: each is for thieves at once.
 * Method: the tests of test_fork.c, with the question whether there is one answered by no.
 * Link: -Wl,--wrap=cc__barrier_possible
 * Timeout: 240
 */
#include "plat/barrier.h"

bool __wrap_cc__barrier_possible(void);
bool __wrap_cc__barrier_possible(void) {
    return false;
}

#include "test_fork.c"
