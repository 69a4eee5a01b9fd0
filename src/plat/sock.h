/* SPDX-License-Identifier: MIT */
/* Sockets: the system's calls with a negative errno as their result. None of them waits, whatever the descriptor's
 * flags are, unless it says so. */
#ifndef CC__PLAT_SOCK_H
#define CC__PLAT_SOCK_H

#include "../base/base.h"
#include "syscall.h"

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* An address of any family. */
struct cc__sockaddr {
    socklen_t len;
    union {
        struct sockaddr any;
        struct sockaddr_storage storage;
    };
};

/* A socket that does not block and is not inherited. type: SOCK_STREAM, SOCK_DGRAM.
 *   Returns    a descriptor, or a negative errno */
int cc__sock_open(int family, int type);
int cc__sock_bind(int fd, const struct cc__sockaddr *to);
int cc__sock_listen(int fd);
int cc__sock_connect(int fd, const struct cc__sockaddr *to); /* -EINPROGRESS: wait until it may be written */
int cc__sock_error(int fd);                                  /* of a connect that is over: 0, or a negative errno */
int cc__sock_accept(int fd);                                 /* a socket as cc__sock_open() makes them */
int cc__sock_name(int fd, struct cc__sockaddr *out, int peer);
int cc__sock_shutdown(int fd, int how);
int cc__sock_set(int fd, int level, int name, int value);
int cc__sock_get(int fd, int level, int name, int *value);

/* The addresses of a name, or, if that is empty, of this machine; passive: to listen at. Takes as long as it takes.
 *   Returns    how many, at least 1; -ENOENT no such name; -EAGAIN, -ENOMEM, -EIO; what the system says */
int cc__sock_look_up(const char *host, const char *port, bool passive, struct cc__sockaddr *out, int most);

/* The number of a zone, an interface by its name, or its number; 0: there is none. And its name, or its number. */
unsigned cc__sock_zone(const char *name);
void cc__sock_zone_name(unsigned zone, char out[IF_NAMESIZE]);

/* A message, MSG_DONTWAIT and MSG_NOSIGNAL. from, to: NULL, or an address.
 *   Returns    a count, or a negative errno */
ssize_t cc__sock_recv(int fd, void *buf, size_t n, struct cc__sockaddr *from);
ssize_t cc__sock_send(int fd, const void *buf, size_t n, const struct cc__sockaddr *to);
/* The same of a connection, inline. */
static inline ssize_t cc__sock_recv_here(int fd, void *buf, size_t n) {
    ssize_t rc = -EINTR;
    if (CC__LIKELY(cc__syscall_straight())) rc = cc__syscall6(SYS_recvfrom, fd, (long)buf, (long)n, MSG_DONTWAIT, 0, 0);
    return CC__LIKELY(rc != -EINTR) ? rc : cc__sock_recv(fd, buf, n, NULL);
}
static inline ssize_t cc__sock_send_here(int fd, const void *buf, size_t n) {
    ssize_t rc = -EINTR;
    if (CC__LIKELY(cc__syscall_straight()))
        rc = cc__syscall6(SYS_sendto, fd, (long)buf, (long)n, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
    return CC__LIKELY(rc != -EINTR) ? rc : cc__sock_send(fd, buf, n, NULL);
}
ssize_t cc__sock_recv_iov(int fd, struct iovec *iov, int count);
ssize_t cc__sock_send_iov(int fd, struct iovec *iov, int count);

#endif /* CC__PLAT_SOCK_H */
