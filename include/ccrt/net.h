/* SPDX-License-Identifier: MIT */
/* Sockets: plain descriptors, for the calls of io.h.
 *
 * Addresses are text:
 *     "127.0.0.1:80"  "[::1]:80"    numbers; "[fe80::1%eth0]:80" has a zone: an interface, by name or number
 *     "example.org:80"              a name, looked up on a thread of its own. To connect, all its addresses are tried;
 *                                   to listen, the first is taken that can be had
 *     ":80"                         to listen: any address of this machine, of IPv6 and IPv4; to connect: this machine
 *     "unix:/path"  "unix:@name"    a local socket, by a path or an abstract name
 * A port of 0, to listen, is any that is free: cc_local_addr() tells which. */
#ifndef CCRT_NET_H
#define CCRT_NET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "defs.h"

CC_BEGIN_DECLS

/* Listen for connections. The address may be used again at once; TCP sends small writes at once (TCP_NODELAY), on all
 * that are accepted, too. The file of a local socket is not removed.
 *   Returns    a descriptor; -EINVAL no address; -ENODEV no such zone; -ENOENT no such name; -EADDRINUSE, -EACCES,
 *              ...; -EMFILE
 *   Call from  fiber or thread           Blocks: the caller only, if a name is to be looked up */
CC_API int cc_listen(const char *addr);

/* Wait for a connection. While there are no descriptors or no memory for one it waits a little, and tries again.
 *   Returns    its descriptor; -ECANCELED, -ETIMEDOUT; -EBADF, also closed meanwhile; -EINVAL it does not listen
 *   Call from  fiber or thread           Blocks: the caller only */
CC_API int cc_accept(int fd);

/* Connect. If a name has several addresses they are tried in turn, IPv6 and IPv4 by turns, the next one a quarter of a
 * second after the last or as soon as that has failed; the first that answers is taken.
 *   Returns    a descriptor; -EINVAL no address; -ENOENT no such name; -ECONNREFUSED, -ENETUNREACH, ...;
 *              -ECANCELED, -ETIMEDOUT by a scope, or nobody answered; -EMFILE
 *   Call from  fiber or thread           Blocks: the caller only */
CC_API int cc_connect(const char *addr);

/* End one way of a connection, or both: SHUT_RD, SHUT_WR, SHUT_RDWR.
 *   Returns    0; -ENOTCONN, -ENOTSOCK, -EBADF, -EINVAL */
CC_API int cc_shutdown(int fd, int how);

/* The address of this end, or of the other, as text for these calls. 128 bytes are enough for all.
 *   Returns    0; -ENOBUFS it does not fit; -ENOTCONN, -ENOTSOCK, -EBADF */
CC_API int cc_local_addr(int fd, char *out, size_t size);
CC_API int cc_peer_addr(int fd, char *out, size_t size);

/* Options, of any socket. */
enum {
    CC_OPT_NODELAY = 1, /* TCP: small writes are sent at once; on by default */
    CC_OPT_KEEPALIVE,   /* TCP: ask now and then whether the other is still there */
    CC_OPT_SEND_BYTES,  /* room for what is not sent yet; the kernel gives twice as much */
    CC_OPT_RECV_BYTES,  /* and for what is not read yet */
    CC_OPT_BROADCAST,   /* UDP: may send to all of a network */
    CC_OPT_TTL          /* hops */
};
/*   Returns    0, or the value; -EINVAL no such option; -ENOTSOCK, -EBADF, -EOPNOTSUPP */
CC_API int cc_set_option(int fd, int option, int value);
CC_API int cc_get_option(int fd, int option);

/* A UDP socket at that address; ":0" for one that only sends first.
 *   Returns    as cc_listen(); -EINVAL a local address, too */
CC_API int cc_udp(const char *addr);

/* Send one datagram. An address with a name is looked up each time, and the first of the socket's family is used.
 *   Returns    n; -EMSGSIZE; -ECONNREFUSED of one that was sent before; -EAFNOSUPPORT an address of another family;
 *              errors as cc_write() */
CC_API ssize_t cc_send_to(int fd, const void *buf, size_t n, const char *addr);

/* Wait for a datagram; what does not fit into n bytes is lost. from: NULL, or where its sender's address goes; "" if it
 * has none.
 *   Returns    its length, cut to n; -ENOBUFS the address does not fit, and the datagram is lost; errors as
 *              cc_read() */
CC_API ssize_t cc_recv_from(int fd, void *buf, size_t n, char *from, size_t size);

CC_END_DECLS

#endif /* CCRT_NET_H */
