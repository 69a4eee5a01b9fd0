/* SPDX-License-Identifier: MIT */
/* What the calls on descriptors share.
 *
 * A call tries first: what is ready needs no more than the system call. If it would wait, it waits by driver/fd.c and
 * tries again. Sockets are read and written by recvmsg() and the like, which take "do not wait" for one call; what
 * turns out not to be one by preadv2(), which does for pipes and files; what epoll does not watch is a file, and goes
 * to the threads for blocking calls.
 *
 * Prev: sync/notify.c  Next: io/stream.c */
#ifndef CC__IO_IO_H
#define CC__IO_IO_H

#include "../plat/sock.h"
#include "../sched/fdwait_hot.h"

#include <errno.h>

/* A descriptor just made: ours from now on. Returns fd; on lack of memory it is closed, -ENOMEM. A negative fd is
 * returned as it is. */
int cc__io_adopt(int fd, uint32_t nature);

/* One way of a descriptor, tried until it does not say -EAGAIN. */
struct cc__io_try {
    struct cc__fd *e;
    int fd;
    enum cc__fd_way way;
    uint32_t generation, was;
    bool tried;
};
/* Begin; a negative errno, or 0. */
static inline int cc__io_begin(struct cc__io_try *t, int fd, enum cc__fd_way way) {
    struct cc__fd *e = fd < 0 ? NULL : cc__fd_get(fd);
    if (CC__UNLIKELY(e == NULL)) return cc__fd_possible(fd) ? -ENOMEM : -EBADF;
    *t = (struct cc__io_try){.e = e, .fd = fd, .way = way};
    return cc__fd_which(e, &t->generation);
}
/* Hold the descriptor, so that its number stays its own: 0, or -EBADF it was closed; and let go. */
static inline int cc__io_hold(struct cc__io_try *t) {
    return CC__LIKELY(cc__fd_hold(t->e, t->generation)) ? 0 : -EBADF;
}
static inline void cc__io_drop(struct cc__io_try *t) {
    cc__fd_release(t->e, t->fd);
}
/* Begin and hold, for one call that does not wait. */
static inline int cc__io_use(struct cc__io_try *t, int fd) {
    int rc = cc__io_begin(t, fd, CC__FD_IN);
    return rc != 0 ? rc : cc__io_hold(t);
}
/* Whether to try now, as who reads does (R1 of driver/fd.c): 1 it is held; 0 there is nothing; -EBADF it was closed.
 * The first tries in any case. Then what came of it is to be told, which also lets go. */
static inline int cc__io_try(struct cc__io_try *t) {
    if (CC__UNLIKELY(cc__io_hold(t) != 0)) return -EBADF;
    t->was = cc__fd_take(t->e, t->way);
    return 1;
}
static inline int cc__io_may_try(struct cc__io_try *t) {
    return cc__fd_may_try(t->e, t->way) ? cc__io_try(t) : 0;
}
static inline void cc__io_tried(struct cc__io_try *t, ssize_t rc, bool drained) {
    t->tried = true;
    if (rc != -EAGAIN && (!drained || (t->was & CC__FD_DOUBT) != 0))
        cc__fd_may_be_more(t->e, t->way, t->was | CC__FD_READY);
    cc__io_drop(t);
    if (rc != -EAGAIN) cc__run_completed();
}
/* It would wait: 0 try again; a negative errno. If that is -ECANCELED or -ETIMEDOUT and nothing was tried yet: 0,
 * once. The second is inline. */
int cc__io_wait(struct cc__io_try *t);
CC__COLD int cc__io_not_ready(struct cc__fd *e, enum cc__fd_way way, int rc, bool tried);
static inline int cc__io_waited(struct cc__io_try *t, int rc) {
    bool tried = t->tried;
    if (CC__LIKELY(rc == 0)) return 0;
    t->tried = true;
    return cc__io_not_ready(t->e, t->way, rc, tried);
}
static inline __attribute__((always_inline)) int cc__io_wait_here(struct cc__io_try *t) {
    return cc__io_waited(t, cc__fd_wait_here(t->e, t->fd, t->way, t->generation));
}
/* The entry of a descriptor that is a connection, made here, and which one; NULL: it may be anything. */
static inline struct cc__fd *cc__io_connection(int fd, uint32_t *generation) {
    enum { CONNECTION = CC__FD_OURS | CC__FD_STREAM | CC__FD_SOCKET };
    struct cc__fd *e = fd < 0 ? NULL : cc__fd_known(fd);
    if (CC__UNLIKELY(e == NULL)) return NULL;
    bool is = cc__fd_which_now(e, generation) && (cc__fd_nature(e) & CONNECTION) == CONNECTION;
    return CC__LIKELY(is) ? e : NULL;
}

/* Wait until poll() says one of these events of it, as cc_wait_fd(). */
int cc__io_await(struct cc__io_try *t, int events);

/* Call fn(arg) on a thread for blocking calls, unless the caller is cancelled, or its deadline has passed. */
int cc__io_block(int (*fn)(void *), void *arg);

/* cc_pread() of a descriptor that is held. */
ssize_t cc__io_read_at(int fd, void *buf, size_t n, int64_t at);

/* Addresses. "host:port" and so on; *name: what is to be looked up, or NULL. */
struct cc__address {
    int family;     /* AF_INET, AF_INET6, AF_UNIX; AF_UNSPEC: a name to be looked up */
    uint16_t port;  /* of a name */
    char host[256]; /* the name; empty: any address */
    struct cc__sockaddr at;
};
/* Returns    0, -EINVAL, -ENAMETOOLONG of a path, -ENODEV no such zone */
int cc__address_parse(struct cc__address *out, const char *text);
/* One of length 0 is no text.
 *   Returns    0, -ENOBUFS it does not fit, -EAFNOSUPPORT */
int cc__address_print(const struct cc__sockaddr *a, char *out, size_t size);

/* Whether it is that of any host, to listen at: of IPv6, which may be for IPv4, too, and of IPv4 alone. */
bool cc__address_any(const struct cc__address *a, struct cc__sockaddr *six, struct cc__sockaddr *four);
/* One of IPv4 that a socket of IPv6 has told of becomes one. */
void cc__address_plain(struct cc__sockaddr *a);
/* All of them in an order in which families take turns, from that of the first on (RFC 8305); up to
 * CC__ADDRESSES_MAX. */
void cc__address_interleave(struct cc__sockaddr *all, int n);

/* All addresses of a parsed one, by DNS if need be.
 *   Returns    how many, at least 1; -ENOENT no such name; -EAGAIN, -EIO the resolver failed; -ECANCELED, -ETIMEDOUT */
enum { CC__ADDRESSES_MAX = 16 };
int cc__address_resolve(const struct cc__address *a, bool passive, struct cc__sockaddr out[CC__ADDRESSES_MAX]);

#endif /* CC__IO_IO_H */
