/* SPDX-License-Identifier: MIT */
/* Sockets; errno stays as the caller had it.
 *
 * What is read and written again and again is asked of the kernel itself: what the C library does besides is a
 * hundredth of what a small message costs. Where a sanitizer is in the program, it is to see the call: it checks the
 * memory, and learns what comes before what.
 *
 * Prev: plat/syscall.h  Next: plat/seen.c */
#include "sock.h"

#include "../base/text.h"
#include "syscall.h"

#include <netdb.h>
#include <string.h>

/* rc, or the negative errno in its place. */
static ssize_t settle(ssize_t rc, int saved) {
    if (rc < 0) rc = -errno;
    errno = saved;
    return rc;
}

int cc__sock_open(int family, int type) {
    int saved = errno;
    return (int)settle(socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), saved);
}

int cc__sock_bind(int fd, const struct cc__sockaddr *to) {
    int saved = errno;
    return (int)settle(bind(fd, &to->any, to->len), saved);
}

int cc__sock_listen(int fd) {
    int saved = errno;
    return (int)settle(listen(fd, SOMAXCONN), saved);
}

int cc__sock_connect(int fd, const struct cc__sockaddr *to) {
    int saved = errno, rc;
    do rc = connect(fd, &to->any, to->len);
    while (rc < 0 && errno == EINTR);
    return (int)settle(rc, saved);
}

int cc__sock_error(int fd) {
    int value = 0, rc = cc__sock_get(fd, SOL_SOCKET, SO_ERROR, &value);
    return rc < 0 ? rc : -value;
}

int cc__sock_accept(int fd) {
    int saved = errno, rc;
    do rc = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (rc < 0 && errno == EINTR);
    return (int)settle(rc, saved);
}

int cc__sock_name(int fd, struct cc__sockaddr *out, int peer) {
    int saved = errno;
    out->len = sizeof out->storage;
    return (int)settle(peer ? getpeername(fd, &out->any, &out->len) : getsockname(fd, &out->any, &out->len), saved);
}

int cc__sock_shutdown(int fd, int how) {
    int saved = errno;
    return (int)settle(shutdown(fd, how), saved);
}

int cc__sock_set(int fd, int level, int name, int value) {
    int saved = errno;
    return (int)settle(setsockopt(fd, level, name, &value, sizeof value), saved);
}

int cc__sock_get(int fd, int level, int name, int *value) {
    int saved = errno;
    socklen_t len = sizeof *value;
    return (int)settle(getsockopt(fd, level, name, value, &len), saved);
}

ssize_t cc__sock_recv(int fd, void *buf, size_t n, struct cc__sockaddr *from) {
    struct sockaddr *at = from == NULL ? NULL : &from->any;
    socklen_t *len = from == NULL ? NULL : &from->len;
    ssize_t rc;
    if (from != NULL) from->len = sizeof from->storage;
    if (cc__syscall_straight()) {
        do rc = cc__syscall6(SYS_recvfrom, fd, (long)buf, (long)n, MSG_DONTWAIT, (long)at, (long)len);
        while (rc == -EINTR);
        return rc;
    }
    int saved = errno;
    do rc = recvfrom(fd, buf, n, MSG_DONTWAIT, at, len);
    while (rc < 0 && errno == EINTR);
    return settle(rc, saved);
}

ssize_t cc__sock_send(int fd, const void *buf, size_t n, const struct cc__sockaddr *to) {
    const struct sockaddr *at = to == NULL ? NULL : &to->any;
    socklen_t len = to == NULL ? 0 : to->len;
    int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    ssize_t rc;
    if (cc__syscall_straight()) {
        do rc = cc__syscall6(SYS_sendto, fd, (long)buf, (long)n, flags, (long)at, (long)len);
        while (rc == -EINTR);
        return rc;
    }
    int saved = errno;
    do rc = sendto(fd, buf, n, flags, at, len);
    while (rc < 0 && errno == EINTR);
    return settle(rc, saved);
}

ssize_t cc__sock_recv_iov(int fd, struct iovec *iov, int count) {
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = (size_t)count};
    int saved = errno;
    ssize_t rc;
    do rc = recvmsg(fd, &m, MSG_DONTWAIT);
    while (rc < 0 && errno == EINTR);
    return settle(rc, saved);
}

ssize_t cc__sock_send_iov(int fd, struct iovec *iov, int count) {
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = (size_t)count};
    int saved = errno;
    ssize_t rc;
    do rc = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (rc < 0 && errno == EINTR);
    return settle(rc, saved);
}

/* ---- names ---- */

static int code_of(int error) {
    switch (error) {
    case EAI_NONAME:
    case EAI_NODATA: return -ENOENT;
    case EAI_AGAIN: return -EAGAIN;
    case EAI_MEMORY: return -ENOMEM;
    case EAI_SYSTEM: return errno != 0 ? -errno : -EIO;
    default: return -EIO;
    }
}

int cc__sock_look_up(const char *host, const char *port, bool passive, struct cc__sockaddr *out, int most) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0)};
    struct addrinfo *all = NULL;
    int saved = errno, n = 0, rc = getaddrinfo(host[0] == 0 ? NULL : host, port, &hints, &all);
    if (rc != 0) rc = code_of(rc);
    for (const struct addrinfo *a = all; rc == 0 && a != NULL && n < most; a = a->ai_next) {
        if (a->ai_addrlen > sizeof out[n].storage) continue;
        out[n].len = a->ai_addrlen;
        memcpy(&out[n].storage, a->ai_addr, a->ai_addrlen);
        n++;
    }
    if (rc == 0) freeaddrinfo(all);
    errno = saved;
    return rc != 0 ? rc : n > 0 ? n : -ENOENT;
}

unsigned cc__sock_zone(const char *name) {
    int saved = errno;
    unsigned zone = 0;
    const char *at = name;
    for (; *at >= '0' && *at <= '9' && zone < UINT32_MAX / 16; at++) zone = zone * 10 + (unsigned)(*at - '0');
    if (at == name || *at != 0) zone = if_nametoindex(name);
    errno = saved;
    return zone;
}

void cc__sock_zone_name(unsigned zone, char out[IF_NAMESIZE]) {
    int saved = errno;
    if (if_indextoname(zone, out) == NULL) {
        struct cc__text t = cc__text_on(out, IF_NAMESIZE - 1);
        cc__text_dec(&t, zone);
        out[t.len] = 0;
    }
    errno = saved;
}
