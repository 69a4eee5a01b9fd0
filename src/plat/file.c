/* SPDX-License-Identifier: MIT */
/* Small files, read whole; errno stays as the caller had it.
 *
 * Prev: plat/thread.c  Next: plat/cpu.c */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int file_fill(int fd, char *buf, size_t size) {
    size_t at = 0;
    while (at < size - 1) {
        ssize_t n = read(fd, buf + at, size - 1 - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -errno;
        if (n == 0) break;
        at += (size_t)n;
    }
    buf[at] = 0;
    return (int)at;
}

int cc__file_read(const char *path, char *buf, size_t size) {
    int saved = errno;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? -errno : file_fill(fd, buf, size);
    if (fd >= 0) close(fd);
    errno = saved;
    return rc;
}
