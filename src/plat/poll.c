/* SPDX-License-Identifier: MIT */
/* epoll, edge-triggered: a descriptor is told of once each time something arrives, so it is watched once and never
 * asked for again. Not so a bell, an eventfd: it goes on until it is hushed by the one it rings for, since others who
 * look at the same set would take its edge away.
 *
 * epoll_pwait2() takes nanoseconds; where the kernel has none (before 5.11) waits are rounded up to milliseconds.
 *
 * Prev: plat/signal.c  Next: plat/syscall.h */
#include "poll.h"

#include "../base/atomic.h"
#include "../base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h> /* NOLINT(readability-duplicate-include): the system's */
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<sys/single_threaded.h>) /* since glibc 2.32 */
#include <sys/single_threaded.h>
#define IS_ALONE (__libc_single_threaded != 0)
#else
#define IS_ALONE 0
#endif

_Static_assert(sizeof(struct cc__poll_event) == sizeof(struct epoll_event), "the kernel's layout");
_Static_assert(offsetof(struct cc__poll_event, data) == offsetof(struct epoll_event, data), "the kernel's layout");

int cc__bell_out_of_the_way(int fd) {
    enum { FIRST = 512 };
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST);
    if (high < 0) return fd; /* there are not so many, or they are taken: it stays */
    close(fd);
    return high;
}

void cc__bell_make_room(void) {
    int bell = IS_ALONE ? cc__bell_open() : -1;
    if (bell >= 0) close(bell);
}

int cc__epoll_create(void) {
    int saved = errno, set = epoll_create1(EPOLL_CLOEXEC);
    set = set < 0 ? -errno : cc__bell_out_of_the_way(set);
    errno = saved;
    return set;
}

int cc__epoll_watch(int set, int fd, uint64_t data, int known) {
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET, .data.u64 = data};
    int saved = errno, rc = epoll_ctl(set, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e);
    if (rc != 0 && errno == (known ? ENOENT : EEXIST))
        rc = epoll_ctl(set, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &e);
    if (rc != 0) rc = -errno;
    errno = saved;
    return rc;
}

int cc__epoll_watch_bell(int set, int bell, uint64_t data) {
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = data};
    int saved = errno, rc = epoll_ctl(set, EPOLL_CTL_ADD, bell, &e) == 0 ? 0 : -errno;
    errno = saved;
    return rc;
}

/* Whether epoll_pwait2() is missing.  W, R: any thread, all the same. */
static _Atomic int coarse;

int cc__epoll_wait(int set, struct cc__poll_event *events, int most, int64_t ns) {
    struct epoll_event *into = (struct epoll_event *)(void *)events;
    int saved = errno, n = -1;
    if (ns > 0 && cc__load_relaxed(&coarse) == 0) {
        struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
        n = epoll_pwait2(set, into, most, &ts, NULL);
        if (n < 0 && (errno == ENOSYS || errno == EPERM)) cc__store_relaxed(&coarse, 1);
    }
    if (ns <= 0 || cc__load_relaxed(&coarse) != 0) {
        int64_t ms = ns <= 0 ? ns : (ns - 1) / 1000000 + 1;
        n = epoll_wait(set, into, most, ms < 0 ? -1 : ms > INT_MAX ? INT_MAX : (int)ms);
    }
    errno = saved;
    return n < 0 ? 0 : n;
}

int cc__bell_open(void) {
    int saved = errno, bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bell = bell < 0 ? -errno : cc__bell_out_of_the_way(bell);
    errno = saved;
    return bell;
}

void cc__bell_ring(int bell) {
    uint64_t one = 1;
    int saved = errno;
    ssize_t n = write(bell, &one, sizeof one);
    (void)n; /* it cannot overflow within a lifetime */
    errno = saved;
}

void cc__bell_hush(int bell) {
    uint64_t rings;
    int saved = errno;
    ssize_t n = read(bell, &rings, sizeof rings);
    (void)n; /* it was not ringing */
    errno = saved;
}

int cc__poll_one(int fd, int events, int ms) {
    struct pollfd p = {.fd = fd, .events = (short)events};
    int saved = errno, rc;
    do rc = poll(&p, 1, ms);
    while (rc < 0 && errno == EINTR);
    if (rc < 0)
        rc = -errno;
    else if (rc > 0)
        rc = (p.revents & POLLNVAL) != 0 ? -EBADF : p.revents;
    errno = saved;
    return rc;
}
