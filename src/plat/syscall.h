/* SPDX-License-Identifier: MIT */
/* A system call, asked of the kernel itself: its result, or a negative errno; errno is not touched.
 *
 * For those few that are made for each small message or file: the C library's functions are each a place where a thread
 * may be cancelled, say so in an atomic word before and take it back after, and put the error where nobody wants it.
 *
 * Prev: plat/poll.c  Next: plat/sock.c */
#ifndef CC__PLAT_SYSCALL_H
#define CC__PLAT_SYSCALL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

extern __attribute__((weak)) void __sanitizer_print_stack_trace(void); /* all of them have it */

/* Whether the kernel itself may be asked: no sanitizer is to see the call. */
static inline bool cc__syscall_straight(void) {
    return &__sanitizer_print_stack_trace == NULL;
}

static inline long cc__syscall6(long nr, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__) && !defined(__ILP32__)
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long rc;
    __asm__ volatile("syscall"
                     : "=a"(rc)
                     : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return rc;
#elif defined(__aarch64__) && !defined(__ILP32__)
    register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
    int saved = errno;
    long rc = syscall(nr, a, b, c, d, e, f);
    if (rc < 0) rc = -errno;
    errno = saved;
    return rc;
#endif
}

#endif /* CC__PLAT_SYSCALL_H */
