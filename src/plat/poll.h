/* SPDX-License-Identifier: MIT */
/* Readiness of many descriptors at once (epoll), of one now (poll), and a bell that wakes who waits for it. */
#ifndef CC__PLAT_POLL_H
#define CC__PLAT_POLL_H

#include <stdint.h>
#include <sys/epoll.h>

/* The kernel's own layout: see poll.c. */
struct cc__poll_event {
    uint32_t events;
    uint64_t data;
}
#if defined(__x86_64__)
__attribute__((packed))
#endif
;

/* What an event says: may be read; may be written; and reads may end sooner than the data does (its end, an error). */
enum { CC__POLL_IN = 1, CC__POLL_OUT = 2, CC__POLL_DOUBT = 4 };
static inline unsigned cc__epoll_bits(const struct cc__poll_event *e) {
    uint32_t got = e->events, bad = EPOLLHUP | EPOLLERR, doubt = bad | EPOLLRDHUP | EPOLLPRI;
    return ((got & (EPOLLIN | doubt)) != 0 ? CC__POLL_IN : 0u) | ((got & (EPOLLOUT | bad)) != 0 ? CC__POLL_OUT : 0u) |
           ((got & doubt) != 0 ? CC__POLL_DOUBT : 0u);
}

/* A set of descriptors to watch.
 *   Returns    its own descriptor, or a negative errno */
int cc__epoll_create(void);

/* Watch a descriptor for reading and writing, edge by edge: an event comes at once if it is ready now. Harmless if it
 * is watched already: then that begins anew. known: it is likely to be.
 *   Returns    0; -EPERM it is always ready, as files are; -EBADF; -ENOMEM, -ENOSPC */
int cc__epoll_watch(int set, int fd, uint64_t data, int known);

/* Events, up to `most`; wait for them so long, 0: not at all, negative: for ever.
 *   Returns    how many; 0: none came, or for no reason */
int cc__epoll_wait(int set, struct cc__poll_event *events, int most, int64_t ns);

/* A bell: a descriptor to watch, that is ready from the first ring until it is hushed. cc__bell_ring() is
 * async-signal-safe.
 *   Returns    a descriptor, or a negative errno */
int cc__bell_open(void);
void cc__bell_ring(int bell);
void cc__bell_hush(int bell);
int cc__epoll_watch_bell(int set, int bell, uint64_t data);

/* The same descriptor with a number out of the way of the program's: a call on one that it has closed is not to hit
 * ours. Or as it was, if there are not so many. */
int cc__bell_out_of_the_way(int fd);

/* Before there are threads: have the kernel make its table of descriptors as large as those take. Once a process has
 * several threads it waits for all processors then, for milliseconds, the first one that opens a file too many. */
void cc__bell_make_room(void);

/* What of these events of poll() a descriptor has now, or within so many milliseconds.
 *   Returns    revents, or a negative errno */
int cc__poll_one(int fd, int events, int ms);

#endif /* CC__PLAT_POLL_H */
