/* SPDX-License-Identifier: MIT */
/* The environment, read into cc__env (base/env.h).
 *
 * Prev: time/sleep.c  Next: runtime/env.c */
#ifndef CC__RUNTIME_ENV_H
#define CC__RUNTIME_ENV_H

#include "../base/env.h"

/* Read it, once a process; what is not understood is told on stderr, a line each, and ignored. */
void cc__env_read(void);

#endif /* CC__RUNTIME_ENV_H */
