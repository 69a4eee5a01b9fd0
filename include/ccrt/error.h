/* SPDX-License-Identifier: MIT */
/* Errors: every call returns 0 or a count, or a negative errno; none sets errno. */
#ifndef CCRT_ERROR_H
#define CCRT_ERROR_H

#include "defs.h"

CC_BEGIN_DECLS

/* One line of text for a return code.
 *   rc         a return value as it came: negative errno, 0 or a count (then "success"); a positive
 *              errno is a count like any other
 *   Returns    a constant string, never NULL; "unknown error" for a code that no call of this library returns
 *   Call from  anywhere, also a signal handler */
CC_API const char *cc_strerror(int rc);

CC_END_DECLS

#endif /* CCRT_ERROR_H */
