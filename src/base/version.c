/* SPDX-License-Identifier: MIT */
/* The version the library was built as.
 *
 * Prev: base/error.c */
#include <ccrt/version.h>

int cc_version(void) {
    return CC_VERSION;
}
