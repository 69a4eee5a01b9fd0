/* SPDX-License-Identifier: MIT */
/* What is on by itself.
 *
 * Prev: base/env.h  Next: base/error.c */
#include "env.h"

struct cc__env cc__env = {.sysmon = 1, .debug_stall = 1, .deadlock_abort = 1};
