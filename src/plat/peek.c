/* SPDX-License-Identifier: MIT */
/* Reading what may be gone, by asking the kernel to copy it: no fault, whatever the address is, and nothing that a
 * sanitizer would have to be kept from seeing. Where the call is forbidden, the same through /proc.
 *
 * Rejected: a handler for SIGSEGV and a jump out of it. It would be one more user of the signal, and thread-local.
 *
 * Prev: plat/file.c  Next: plat/module.c */
#include "peek.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool peek_file(void *to, const void *from, size_t n) {
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t got = pread(fd, to, n, (off_t)(uintptr_t)from);
    close(fd);
    return got == (ssize_t)n;
}

bool cc__peek(void *to, const void *from, size_t n) {
    int saved = errno;
    struct iovec here = {to, n}, there = {(void *)(uintptr_t)from, n};
    long got = syscall(SYS_process_vm_readv, getpid(), &here, 1UL, &there, 1UL, 0UL);
    bool done = got == (long)n;
    if (got < 0 && errno != EFAULT) done = peek_file(to, from, n);
    errno = saved;
    return done;
}

bool cc__peek_text(char *to, size_t size, const char *from) {
    enum { STEP = 16 }; /* aligned ones never reach into a page that the string does not */
    size_t n = 0;
    bool more = true;
    while (more && n < size - 1) {
        char part[STEP];
        size_t bytes = STEP - ((uintptr_t)from + n) % STEP;
        if (!cc__peek(part, from + n, bytes)) {
            to[0] = 0;
            return false;
        }
        for (size_t i = 0; more && i < bytes && n < size - 1; i++) {
            more = part[i] != 0;
            if (more) to[n++] = (char)(part[i] >= ' ' && part[i] != 127 ? part[i] : '?');
        }
    }
    to[n] = 0;
    return true;
}
