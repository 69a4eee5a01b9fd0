/* SPDX-License-Identifier: MIT */
/* Small files of /proc and /sys, read whole; and a file that is written from its beginning. */
#ifndef CC__PLAT_FILE_H
#define CC__PLAT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read a file into buf, cut at size-1, and end it with a 0.
 *   Returns    its length, or a negative errno */
int cc__file_read(const char *path, char *buf, size_t size);

/* Make a file, or empty the one there is; a program that is exec'd does not have it.
 *   Returns    a descriptor, or a negative errno */
int cc__file_create(const char *path);
void cc__file_close(int fd);

/* Write all of it, past EINTR and short writes.
 *   Returns    0, or a negative errno */
int cc__file_write(int fd, const char *buf, size_t size);

/* Whether there are places in it to go to; and go to one.
 *   Returns    0, or a negative errno */
bool cc__file_can_seek(int fd);
int cc__file_seek(int fd, int64_t to);

#endif /* CC__PLAT_FILE_H */
