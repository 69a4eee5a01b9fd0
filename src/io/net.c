/* SPDX-License-Identifier: MIT */
/* Sockets: listening, accepting, connecting; datagrams; options.
 *
 * Prev: io/resolve.c  Next: io/file.c */
#include <ccrt/io.h>
#include <ccrt/net.h>
#include <ccrt/select.h>
#include <ccrt/time.h>

#include "../plat/fdio.h"
#include "../plat/thread.h"
#include "../sched/leave.h"
#include "io.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>

enum { BACKOFF_MS = 5, BACKOFF_MAX_MS = 1000, NEXT_ADDRESS_MS = 250, LOCAL_BACKOFF_MS = 1 };

static bool is_ip(int family) {
    return family == AF_INET || family == AF_INET6;
}

/* What a socket of ours is. A short read of a local one may be the end of a message that has descriptors with it. */
static uint32_t nature_of(int family, int type) {
    return CC__FD_SOCKET | (is_ip(family) && type == SOCK_STREAM ? CC__FD_STREAM : 0u);
}

static int open_socket(int family, int type) {
    int fd = cc__sock_open(family, type);
    if (fd >= 0 && is_ip(family) && type == SOCK_STREAM) (void)cc__sock_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    return cc__io_adopt(fd, nature_of(family, type));
}

/* ---- listening ---- */

/* A socket that has this address of its own. */
static int open_at(const struct cc__sockaddr *at, int type, bool for_four_too) {
    int fd = open_socket(at->any.sa_family, type);
    if (fd < 0) return fd;
    int rc = is_ip(at->any.sa_family) && type == SOCK_STREAM ? cc__sock_set(fd, SOL_SOCKET, SO_REUSEADDR, 1) : 0;
    if (rc == 0 && for_four_too) rc = cc__sock_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (rc == 0) rc = cc__sock_bind(fd, at);
    if (rc == 0 && type == SOCK_STREAM) rc = cc__sock_listen(fd);
    if (rc == 0) return fd;
    (void)cc_close(fd);
    return rc;
}

/* Any address, of IPv6 and of IPv4; or of IPv4 alone, where there is no other. */
static int open_any(const struct cc__sockaddr *six, const struct cc__sockaddr *four, int type) {
    int fd = open_at(six, type, true);
    return fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL ? open_at(four, type, false) : fd;
}

/* The first address of a name that can be had. */
static int open_named(const char *addr, int type) {
    struct cc__address a;
    struct cc__sockaddr at[CC__ADDRESSES_MAX];
    int n = cc__address_parse(&a, addr);
    if (n == 0 && cc__address_any(&a, &at[0], &at[1])) return open_any(&at[0], &at[1], type);
    if (n == 0) n = cc__address_resolve(&a, true, at);
    int fd = n;
    for (int i = 0; i < n && (i == 0 || fd < 0); i++) fd = open_at(&at[i], type, false);
    return fd;
}

int cc_listen(const char *addr) {
    return open_named(addr, SOCK_STREAM);
}

int cc_udp(const char *addr) {
    return addr != NULL && strncmp(addr, "unix:", 5) == 0 ? -EINVAL : open_named(addr, SOCK_DGRAM);
}

/* ---- accepting ---- */

/* A listener that was made elsewhere may block: it is asked before, by one at a time, so that what one found another
 * does not take. */
static int accept_foreign(int listener) {
    static cc__lock lock = CC__LOCK_INIT;
    cc__lock_take(&lock);
    int got = cc__poll_one(listener, POLLIN, 0);
    int fd = got > 0 ? cc__sock_accept(listener) : got == 0 ? -EAGAIN : got;
    cc__lock_drop(&lock);
    return fd;
}

static int accept_now(const struct cc__io_try *t) {
    bool ours = (cc__fd_nature(t->e) & CC__FD_OURS) != 0;
    int fd;
    do fd = ours ? cc__sock_accept(t->fd) : accept_foreign(t->fd);
    while (fd == -ECONNABORTED); /* one that came and went; others may be behind it */
    return fd;
}

static bool is_shortage(int rc) {
    return rc == -EMFILE || rc == -ENFILE || rc == -ENOBUFS || rc == -ENOMEM;
}

/* What was accepted is as its listener; where that was made elsewhere, as ours are. */
static uint32_t accepted_nature(const struct cc__fd *listener, int fd) {
    int domain = AF_UNSPEC, type = SOCK_STREAM;
    uint32_t known = cc__fd_nature(listener);
    if ((known & CC__FD_OURS) != 0) return known & (CC__FD_SOCKET | CC__FD_STREAM);
    (void)cc__sock_get(fd, SOL_SOCKET, SO_DOMAIN, &domain);
    (void)cc__sock_get(fd, SOL_SOCKET, SO_TYPE, &type);
    if (is_ip(domain)) (void)cc__sock_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    return nature_of(domain, type);
}

/* There is nothing to accept with, as yet: wait a little, twice as long the next time. */
static int back_off(struct cc__io_try *t, int *ms) {
    int64_t ns = *ms * INT64_C(1000000);
    *ms = *ms * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : *ms * 2;
    return cc__fd_nap(t->e, t->fd, t->way, t->generation, ns);
}

int cc_accept(int fd) {
    struct cc__io_try t;
    int rc = cc__io_begin(&t, fd, CC__FD_IN), backoff = BACKOFF_MS;
    while (rc == 0) {
        if ((rc = cc__io_may_try(&t)) > 0) {
            int got = accept_now(&t);
            cc__io_tried(&t, got, false);
            if (got >= 0) return cc__io_adopt(got, accepted_nature(t.e, got));
            if (is_shortage(got)) {
                rc = back_off(&t, &backoff);
                continue;
            }
            if (got != -EAGAIN) return got;
        }
        if (rc >= 0) rc = cc__io_wait(&t);
    }
    return rc;
}

/* ---- connecting ---- */

/* Begin: a descriptor, and *rc, 0 connected or -EINPROGRESS; or a negative errno. */
static int connect_begin(const struct cc__sockaddr *to, int *rc) {
    int fd = open_socket(to->any.sa_family, SOCK_STREAM);
    if (fd < 0) return fd;
    struct cc__fd *e = cc__fd_get(fd);
    cc__fd_take(e, CC__FD_OUT);                           /* that it is connected is an event that comes later */
    while ((*rc = cc__sock_connect(fd, to)) == -EAGAIN) { /* a local one whose listener is behind; no event tells */
        int late = cc_sleep_ms(LOCAL_BACKOFF_MS);
        if (late == 0) continue;
        *rc = late;
        break;
    }
    if (*rc == 0 || *rc == -EINPROGRESS) return fd;
    (void)cc_close(fd);
    return *rc;
}

static int connect_one(const struct cc__sockaddr *to) {
    struct cc__io_try t;
    int rc, fd = connect_begin(to, &rc);
    if (fd < 0 || rc == 0) return fd;
    rc = cc__io_begin(&t, fd, CC__FD_OUT);
    if (rc == 0) rc = cc__io_await(&t, POLLOUT);
    if (rc >= 0) rc = cc__sock_error(fd);
    if (rc == 0) return fd;
    (void)cc_close(fd);
    return rc;
}

/* Several at once: what is under way, each a case of a select, with one more for the time. */
struct race {
    cc_case cases[CC__ADDRESSES_MAX + 1];
    int count;
    int error; /* of the last that failed */
};

static int race_end(struct race *r, int winner) {
    for (int i = 0; i < r->count; i++)
        if (i != winner) (void)cc_close((int)r->cases[i].ns);
    return winner >= 0 ? (int)r->cases[winner].ns : r->error;
}

/* Start the next; true: it is connected, and the last of the cases. */
static bool race_start(struct race *r, const struct cc__sockaddr *to) {
    int rc, fd = connect_begin(to, &rc);
    if (fd < 0) {
        r->error = fd;
        return false;
    }
    r->cases[r->count++] = (cc_case){.op = CC_OP_WRITABLE, .ns = fd};
    return rc == 0;
}

/* Wait for one of those under way, a quarter of a second if there are more. 1: *winner is connected; 0: go on. */
static int race_wait(struct race *r, bool more, int *winner) {
    r->cases[r->count] = (cc_case){.op = more ? CC_OP_AFTER : CC_OP_NONE, .ns = NEXT_ADDRESS_MS * INT64_C(1000000)};
    int i = cc_select_cases(r->cases, (size_t)r->count + 1, CC_SELECT_IN_ORDER);
    if (i < 0) return i;
    if (i == r->count) return 0; /* time for the next */
    int rc = cc__sock_error((int)r->cases[i].ns);
    *winner = i;
    if (rc == 0) return 1;
    r->error = rc;
    (void)cc_close((int)r->cases[i].ns);
    r->cases[i] = r->cases[--r->count];
    return 0;
}

static int connect_any(const struct cc__sockaddr *to, int n) {
    struct race r = {.error = -EHOSTUNREACH};
    for (int next = 0, winner = -1; next < n || r.count > 0;) {
        if (next < n && race_start(&r, &to[next++])) return race_end(&r, r.count - 1);
        if (r.count == 0) continue;
        int rc = race_wait(&r, next < n, &winner);
        if (rc == 1) return race_end(&r, winner);
        if (rc == 0) continue;
        r.error = rc;
        break;
    }
    return race_end(&r, -1);
}

int cc_connect(const char *addr) {
    struct cc__address a;
    struct cc__sockaddr to[CC__ADDRESSES_MAX];
    int n = cc__address_parse(&a, addr);
    if (n == 0) n = cc__address_resolve(&a, false, to);
    if (n < 0) return n;
    cc__address_interleave(to, n);
    return n == 1 ? connect_one(&to[0]) : connect_any(to, n);
}

int cc_shutdown(int fd, int how) {
    struct cc__io_try t;
    int rc = cc__io_use(&t, fd);
    if (rc != 0) return rc;
    rc = cc__sock_shutdown(fd, how);
    cc__io_drop(&t);
    return rc;
}

/* ---- names and options ---- */

static int name_of(int fd, int peer, char *out, size_t size) {
    struct cc__io_try t;
    struct cc__sockaddr a;
    int rc = cc__io_use(&t, fd);
    if (rc != 0) return rc;
    rc = cc__sock_name(fd, &a, peer);
    cc__io_drop(&t);
    if (rc == 0) cc__address_plain(&a);
    return rc != 0 ? rc : cc__address_print(&a, out, size);
}

int cc_local_addr(int fd, char *out, size_t size) {
    return name_of(fd, 0, out, size);
}

int cc_peer_addr(int fd, char *out, size_t size) {
    return name_of(fd, 1, out, size);
}

static const struct {
    int level, name;
} options[] = {
    [CC_OPT_NODELAY] = {IPPROTO_TCP, TCP_NODELAY},   [CC_OPT_KEEPALIVE] = {SOL_SOCKET, SO_KEEPALIVE},
    [CC_OPT_SEND_BYTES] = {SOL_SOCKET, SO_SNDBUF},   [CC_OPT_RECV_BYTES] = {SOL_SOCKET, SO_RCVBUF},
    [CC_OPT_BROADCAST] = {SOL_SOCKET, SO_BROADCAST}, [CC_OPT_TTL] = {IPPROTO_IP, IP_TTL},
};

static bool is_option(int option) {
    return option >= CC_OPT_NODELAY && option <= CC_OPT_TTL;
}

/* Hops are counted by another name in IPv6. */
static bool has_own_name(int fd, int option) {
    int domain = AF_UNSPEC;
    return option == CC_OPT_TTL && cc__sock_get(fd, SOL_SOCKET, SO_DOMAIN, &domain) == 0 && domain == AF_INET6;
}

int cc_set_option(int fd, int option, int value) {
    struct cc__io_try t;
    int rc = is_option(option) ? cc__io_use(&t, fd) : -EINVAL;
    if (rc != 0) return rc;
    bool own = has_own_name(fd, option);
    rc = cc__sock_set(fd, options[option].level, options[option].name, value); /* of IPv6: for IPv4 through it */
    if (own) rc = cc__sock_set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, value);
    cc__io_drop(&t);
    return rc;
}

int cc_get_option(int fd, int option) {
    struct cc__io_try t;
    int value = 0, rc = is_option(option) ? cc__io_use(&t, fd) : -EINVAL;
    if (rc != 0) return rc;
    bool own = has_own_name(fd, option);
    rc = own ? cc__sock_get(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &value)
             : cc__sock_get(fd, options[option].level, options[option].name, &value);
    cc__io_drop(&t);
    return rc != 0 ? rc : value;
}

/* ---- datagrams ---- */

/* Which of several addresses a socket sends to: the first of its own family; or of any, for a socket of IPv6 may be one
 * of both. */
static int choose_address(struct cc__io_try *t, const struct cc__sockaddr *to, int n) {
    int domain = AF_UNSPEC, rc = cc__io_hold(t);
    if (rc != 0) return rc;
    rc = cc__sock_get(t->fd, SOL_SOCKET, SO_DOMAIN, &domain);
    cc__io_drop(t);
    for (int i = 0; i < n && rc == 0; i++)
        if (to[i].any.sa_family == domain) return i;
    return rc != 0 ? rc : domain == AF_INET6 ? 0 : -EAFNOSUPPORT;
}

ssize_t cc_send_to(int fd, const void *buf, size_t n, const char *addr) {
    struct cc__io_try t;
    struct cc__address a;
    struct cc__sockaddr to[CC__ADDRESSES_MAX];
    int rc = cc__io_begin(&t, fd, CC__FD_OUT);
    if (rc == 0) rc = cc__address_parse(&a, addr);
    if (rc == 0) rc = cc__address_resolve(&a, false, to);
    int which = rc > 1 ? choose_address(&t, to, rc) : 0; /* of one the kernel says whether it can be sent to */
    if (which < 0) return which;
    if (rc > 0) rc = 0;
    while (rc == 0) {
        if ((rc = cc__io_try(&t)) < 0) return rc;
        ssize_t k = cc__sock_send(fd, buf, n, &to[which]);
        cc__io_tried(&t, k, false);
        if (k != -EAGAIN) return k;
        rc = cc__io_wait(&t);
    }
    return rc;
}

ssize_t cc_recv_from(int fd, void *buf, size_t n, char *from, size_t size) {
    struct cc__io_try t;
    struct cc__sockaddr a;
    int rc = cc__io_begin(&t, fd, CC__FD_IN);
    while (rc == 0) {
        if ((rc = cc__io_may_try(&t)) > 0) {
            ssize_t k = cc__sock_recv(fd, buf, n, &a);
            cc__io_tried(&t, k, false);
            if (k >= 0) cc__address_plain(&a);
            if (k >= 0 && from != NULL && (rc = cc__address_print(&a, from, size)) != 0) return rc;
            if (k != -EAGAIN) return k;
        }
        if (rc >= 0) rc = cc__io_wait(&t);
    }
    return rc;
}
