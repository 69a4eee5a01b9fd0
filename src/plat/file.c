/* SPDX-License-Identifier: MIT */
/* Small files, read whole, and one that is written; errno stays as the caller had it.
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

int cc__file_create(const char *path) {
    int saved = errno;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int rc = fd < 0 ? -errno : fd;
    errno = saved;
    return rc;
}

void cc__file_close(int fd) {
    int saved = errno;
    close(fd);
    errno = saved;
}

int cc__file_write(int fd, const char *buf, size_t size) {
    int saved = errno, rc = 0;
    for (size_t at = 0; at < size && rc == 0;) {
        ssize_t n = write(fd, buf + at, size - at);
        if (n > 0) at += (size_t)n;
        if (n == 0) rc = -EIO; /* no progress, and no reason given */
        if (n < 0 && errno != EINTR) rc = -errno;
    }
    errno = saved;
    return rc;
}

bool cc__file_can_seek(int fd) {
    int saved = errno;
    bool can = lseek(fd, 0, SEEK_CUR) >= 0;
    errno = saved;
    return can;
}

int cc__file_seek(int fd, int64_t to) {
    int saved = errno;
    int rc = lseek(fd, (off_t)to, SEEK_SET) < 0 ? -errno : 0;
    errno = saved;
    return rc;
}
