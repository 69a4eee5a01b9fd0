/* SPDX-License-Identifier: MIT */
/* Three tiers of assertions, for the three classes of failure that are not operating errors.
 *
 *   CC_CHECK        misuse by the caller: always on; says which fiber, why, where, and aborts
 *   CC_ASSERT       a broken invariant of ours: dev builds (CCRT_ASSERT >= 1)
 *   CC_ASSERT_SLOW  an invariant that takes a walk to see: CCRT_ASSERT >= 2
 *
 * Prev: base/atomic.h  Next: base/error.c */
#ifndef CC__BASE_ASSERT_H
#define CC__BASE_ASSERT_H

#include "base.h"

#include <stdbool.h>

#ifndef CCRT_ASSERT
#define CCRT_ASSERT 0
#endif

/* Print "ccrt: KIND: fiber 7 "parse": reason (file:line)" and abort. */
CC__COLD CC__NORETURN void cc__fail(const char *kind, const char *reason, const char *file, int line);

/* Who is running, for cc__fail(): writes at most size bytes, returns how many. A higher layer that
 * knows of fibers sets it once, at start. */
typedef size_t cc__fail_context_fn(char *buf, size_t size);
void cc__fail_set_context(cc__fail_context_fn *fn);

#define CC_CHECK(cond, reason) ((void)(CC__LIKELY(cond) || (cc__fail("misuse", (reason), __FILE__, __LINE__), 0)))

#if CCRT_ASSERT >= 1
#define CC_ASSERT(cond) ((void)(CC__LIKELY(cond) || (cc__fail("assertion", #cond, __FILE__, __LINE__), 0)))
#else
#define CC_ASSERT(cond) ((void)sizeof(!(cond)))
#endif

#if CCRT_ASSERT >= 2
#define CC_ASSERT_SLOW(cond) CC_ASSERT(cond)
#else
#define CC_ASSERT_SLOW(cond) ((void)sizeof(!(cond)))
#endif

#endif /* CC__BASE_ASSERT_H */
