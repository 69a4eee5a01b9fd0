/* SPDX-License-Identifier: MIT */
/* The version of these headers, and of the library they run with. The build reads it from here. */
#ifndef CCRT_VERSION_H
#define CCRT_VERSION_H

#include "defs.h"

#define CC_VERSION_MAJOR 0
#define CC_VERSION_MINOR 1
#define CC_VERSION_PATCH 0

/* Comparable: CC_VERSION >= CC_VERSION_NUMBER(0, 2, 0). */
#define CC_VERSION_NUMBER(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define CC_VERSION CC_VERSION_NUMBER(CC_VERSION_MAJOR, CC_VERSION_MINOR, CC_VERSION_PATCH)

CC_BEGIN_DECLS

/* The version of the library the program runs with, as CC_VERSION.
 *   Call from  anywhere */
CC_API int cc_version(void);

CC_END_DECLS

#endif /* CCRT_VERSION_H */
