/* SPDX-License-Identifier: MIT */
/* Small files of /proc and /sys, read whole. */
#ifndef CC__PLAT_FILE_H
#define CC__PLAT_FILE_H

#include <stddef.h>

/* Read a file into buf, cut at size-1, and end it with a 0.
 *   Returns    its length, or a negative errno */
int cc__file_read(const char *path, char *buf, size_t size);

#endif /* CC__PLAT_FILE_H */
