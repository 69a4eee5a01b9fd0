/* SPDX-License-Identifier: MIT */
/* Goal: sockets (ccrt/net.h): listening, accepting and connecting by all kinds of addresses; half-closed and reset
 * connections; cancellation, deadlines and closing in the middle; running out of descriptors; datagrams; options; bad
 * input.
 * Method: client and server in one process over loopback and local sockets, on runtimes of several sizes; from a plain
 * thread, too.
 */
#include "runtimes.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* ---- connections ---- */

CC_TASK(echoes, (int, ls)) {
    cc_autoclose int fd = cc_accept(ls);
    if (fd < 0) return fd;
    char buf[100];
    ssize_t k;
    while ((k = cc_read(fd, buf, sizeof buf)) > 0) test_must(cc_write(fd, buf, (size_t)k) == k);
    return (int)k;
}

/* Talk to an echo at what `ls` listens at; to: another way to say the address, or NULL. */
static void talk(int ls, const char *to) {
    char addr[128], peer[128], buf[100];
    test_must(ls >= 0 && cc_local_addr(ls, addr, sizeof addr) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, echoes, ls) == 0);
        cc_autoclose int fd = cc_connect(to != NULL ? to : addr);
        test_must(fd >= 0 && cc_peer_addr(fd, peer, sizeof peer) == 0);
        if (to == NULL) test_must(strcmp(peer, addr) == 0);
        for (int i = 0; i < 3; i++) {
            test_must(cc_write(fd, "ping", 4) == 4);
            test_must(cc_read_full(fd, buf, 4) == 4 && memcmp(buf, "ping", 4) == 0);
        }
        test_must(cc_shutdown(fd, SHUT_WR) == 0); /* half of it: the echo ends, and its end comes back */
        test_must(cc_read(fd, buf, sizeof buf) == 0);
        test_must(cc_write(fd, "x", 1) == -EPIPE);
    }
    test_must(cc_close(ls) == 0);
}

static void *all_kinds(void *arg) {
    char path[64], name[64];
    snprintf(path, sizeof path, "unix:/tmp/ccrt_test_net_%d", (int)getpid());
    snprintf(name, sizeof name, "unix:@ccrt_test_net_%d", (int)getpid());
    talk(cc_listen("127.0.0.1:0"), NULL);
    talk(cc_listen(path), NULL);
    test_must(unlink(path + 5) == 0);
    talk(cc_listen(name), NULL);
    int v6 = cc_listen("[::1]:0");
    if (v6 >= 0) talk(v6, NULL);
    int ls = cc_listen(":0"); /* any address, and a name, which may have several */
    char addr[128], to[64];
    test_must(ls >= 0 && cc_local_addr(ls, addr, sizeof addr) == 0);
    snprintf(to, sizeof to, "localhost%s", strrchr(addr, ':'));
    talk(ls, to);
    return arg;
}
static void by_all_kinds_of_addresses(void **state) {
    (void)state;
    test_on_all(all_kinds);
    all_kinds(NULL);
}

/* At any address: by IPv4 and, where there is that, IPv6; each has the address that it would have elsewhere. */
static void *at_any(void *arg) {
    char addr[128], to[128], peer[128], c;
    int six = cc_udp("[::1]:0"), ls = cc_listen(":0"), udp = cc_udp(":0"), four = cc_udp("127.0.0.1:0");
    test_must(ls >= 0 && udp >= 0 && four >= 0);
    const char *const hosts[] = {"127.0.0.1", "[::1]"};
    for (int i = 0; i < (six >= 0 ? 2 : 1); i++) {
        test_must(cc_local_addr(ls, addr, sizeof addr) == 0);
        snprintf(to, sizeof to, "%s%s", hosts[i], strrchr(addr, ':'));
        int client = cc_connect(to), server = cc_accept(ls);
        test_must(client >= 0 && server >= 0 && cc_local_addr(server, addr, sizeof addr) == 0 && strcmp(addr, to) == 0);
        test_must(cc_local_addr(client, addr, sizeof addr) == 0 && cc_peer_addr(server, peer, sizeof peer) == 0);
        test_must(strcmp(addr, peer) == 0 && cc_close(client) == 0 && cc_close(server) == 0);
        /* A datagram there and back. */
        int other = i == 0 ? four : six;
        test_must(cc_local_addr(udp, addr, sizeof addr) == 0 && cc_local_addr(other, peer, sizeof peer) == 0);
        snprintf(to, sizeof to, "%s%s", hosts[i], strrchr(addr, ':'));
        test_must(cc_send_to(other, "x", 1, to) == 1 && cc_recv_from(udp, &c, 1, addr, sizeof addr) == 1);
        test_must(strcmp(addr, peer) == 0 && cc_send_to(udp, "y", 1, addr) == 1);
        test_must(cc_recv_from(other, &c, 1, addr, sizeof addr) == 1 && c == 'y' && strcmp(addr, to) == 0);
    }
    if (six >= 0) talk(cc_listen("[::1%lo]:0"), NULL);
    test_must(cc_listen("[::1%no-such-zone]:0") == -ENODEV && cc_connect("[fe80::1%no-such-zone]:1") == -ENODEV);
    test_must(cc_close(ls) == 0 && cc_close(udp) == 0 && cc_close(four) == 0 && (six < 0 || cc_close(six) == 0));
    return arg;
}
static void at_any_address(void **state) {
    (void)state;
    test_on_workers(2, at_any, NULL);
    at_any(NULL);
}

static void bad_input(void **state) {
    (void)state;
    char addr[128], c;
    int fd[2];
    assert_int_equal(cc_connect("not an address"), -EINVAL);
    assert_int_equal(cc_connect(NULL), -EINVAL);
    assert_int_equal(cc_listen("127.0.0.1"), -EINVAL);
    assert_int_equal(cc_listen("unix:/no/such/folder/x"), -ENOENT);
    assert_int_equal(cc_connect("unix:/no/such/file"), -ENOENT);
    assert_int_equal(cc_connect("127.0.0.1:1"), -ECONNREFUSED);
    assert_true(cc_connect("no-such-name.invalid:1") < 0);
    assert_int_equal(cc_accept(-1), -EBADF);
    assert_int_equal(cc_local_addr(-1, addr, sizeof addr), -EBADF);
    assert_int_equal(cc_shutdown(-1, SHUT_RD), -EBADF);
    assert_int_equal(cc_set_option(-1, CC_OPT_NODELAY, 1), -EBADF);
    assert_int_equal(cc_get_option(-1, CC_OPT_NODELAY), -EBADF);
    assert_int_equal(cc_pipe(fd), 0);
    assert_int_equal(cc_accept(fd[0]), -ENOTSOCK);
    assert_int_equal(cc_peer_addr(fd[0], addr, sizeof addr), -ENOTSOCK);
    assert_int_equal(cc_set_option(fd[0], CC_OPT_TTL, 1), -ENOTSOCK);
    assert_int_equal(cc_get_option(fd[0], 99), -EINVAL);
    assert_int_equal(cc_set_option(fd[0], 0, 1), -EINVAL);
    assert_int_equal(cc_send_to(fd[0], &c, 1, "127.0.0.1:1"), -ENOTSOCK);
    assert_int_equal(cc_recv_from(fd[0], &c, 1, NULL, 0), -ENOTSOCK);
    assert_int_equal(cc_close(fd[0]) | cc_close(fd[1]), 0);
    int ls = cc_listen("127.0.0.1:0");
    assert_true(ls >= 0 && cc_local_addr(ls, addr, sizeof addr) == 0);
    assert_int_equal(cc_listen(addr), -EADDRINUSE);
    assert_int_equal(cc_local_addr(ls, addr, 5), -ENOBUFS);
    assert_int_equal(cc_peer_addr(ls, addr, sizeof addr), -ENOTCONN);
    assert_int_equal(cc_get_option(ls, CC_OPT_NODELAY), 1);
    assert_int_equal(cc_set_option(ls, CC_OPT_KEEPALIVE, 1), 0);
    assert_int_equal(cc_get_option(ls, CC_OPT_KEEPALIVE), 1);
    assert_int_equal(cc_read(ls, &c, 1), -ENOTCONN);
    assert_int_equal(cc_write(ls, &c, 1), -EPIPE);
    assert_int_equal(cc_shutdown(ls, 99), -EINVAL);
    assert_int_equal(cc_close(ls), 0);
    assert_int_equal(cc_listen("192.0.2.1:0"), -EADDRNOTAVAIL);
    assert_int_equal(cc_udp("192.0.2.1:0"), -EADDRNOTAVAIL);
    char path[200] = "unix:/";
    memset(path + 6, 'x', 150);
    assert_int_equal(cc_listen(path), -ENAMETOOLONG);
    static char large[70000];
    int udp = cc_udp("127.0.0.1:0");
    assert_true(udp >= 0);
    assert_int_equal(cc_send_to(udp, large, sizeof large, "127.0.0.1:9"), -EMSGSIZE);
    assert_int_equal(cc_send_to(udp, "x", 1, NULL), -EINVAL);
    assert_int_equal(cc_send_to(udp, "x", 1, "255.255.255.255:9"), -EACCES);
    assert_int_equal(cc_accept(udp), -EOPNOTSUPP);
    assert_int_equal(cc_close(udp), 0);
}

/* ---- what ends a wait ---- */

static void *resets(void *arg) {
    char addr[128], buf[16];
    int ls = cc_listen("127.0.0.1:0");
    test_must(cc_local_addr(ls, addr, sizeof addr) == 0);
    int client = cc_connect(addr), server = cc_accept(ls);
    test_must(client >= 0 && server >= 0);
    test_must(cc_get_option(server, CC_OPT_NODELAY) == 1); /* as its listener */
    struct linger now = {.l_onoff = 1};
    test_must(setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
    test_must(cc_write(client, "x", 1) == 1 && cc_read(server, buf, sizeof buf) == 1);
    test_must(cc_close(client) == 0); /* a reset */
    test_must(cc_read(server, buf, sizeof buf) == -ECONNRESET);
    test_must(cc_write(server, "x", 1) == -EPIPE);
    test_must(cc_close(server) == 0 && cc_close(ls) == 0);
    return arg;
}
/* The end comes together with the data: a short read is not all there is. */
static void *ends_at_once(void *arg) {
    char addr[128], buf[16];
    int ls = cc_listen("127.0.0.1:0");
    test_must(cc_local_addr(ls, addr, sizeof addr) == 0);
    for (size_t i = 0; i < test_rounds(300); i++) {
        int client = cc_connect(addr), server = cc_accept(ls);
        CC_DEADLINE_MS(0) test_must(cc_read(server, buf, 1) == -ETIMEDOUT); /* so that it is watched */
        test_must(cc_write(client, "xy", 2) == 2 && cc_close(client) == 0);
        if (i % 2 == 0) cc_yield();
        CC_DEADLINE_MS(10000) {
            test_must(cc_read(server, buf, sizeof buf) == 2);
            test_must(cc_read(server, buf, sizeof buf) == 0);
        }
        test_must(cc_close(server) == 0);
    }
    test_must(cc_close(ls) == 0);
    return arg;
}
/* Two ends of a connection. */
static void connect_pair(int *client, int *server) {
    char addr[128];
    int ls = cc_listen("127.0.0.1:0");
    test_must(ls >= 0 && cc_local_addr(ls, addr, sizeof addr) == 0);
    *client = cc_connect(addr);
    *server = cc_accept(ls);
    test_must(*client >= 0 && *server >= 0 && cc_close(ls) == 0);
}
enum { MUCH = 8000000 };
static int moved[2];
CC_TASK(moves, (int, fd), (bool, out)) {
    char *buf = calloc(1, MUCH);
    moved[out] = (int)(out ? cc_write(fd, buf, MUCH) : cc_read_full(fd, buf, MUCH));
    free(buf);
    return 0;
}
static void reset(int fd) {
    struct linger now = {.l_onoff = 1};
    test_must(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0 && cc_close(fd) == 0);
}
/* While one waits to read and another is in the middle of writing more than the connection holds. */
static void *resets_in_the_middle(void *arg) {
    int client, server;
    connect_pair(&client, &server);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, moves, server, true) == 0 && cc_spawn(n, moves, server, false) == 0);
        test_must(cc_sleep_ms(5) == 0);
        reset(client);
    }
    test_must(moved[0] == -ECONNRESET || moved[0] == 0); /* the error is told once, to one of them */
    test_must(moved[1] == -ECONNRESET || moved[1] == -EPIPE);
    test_must(cc_close(server) == 0);
    return arg;
}
/* One way is ended while it is waited for; the other still carries all it is given. */
static void *half_closes(void *arg) {
    int client, server;
    char c;
    connect_pair(&client, &server);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, moves, server, true) == 0);
        test_must(cc_shutdown(client, SHUT_WR) == 0);
        test_must(cc_read(server, &c, 1) == 0); /* its end; what is on its way back comes all the same */
        test_must(cc_spawn(n, moves, client, false) == 0);
    }
    test_must(moved[0] == MUCH && moved[1] == MUCH);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, moves, client, false) == 0);
        test_must(cc_sleep_ms(5) == 0);
        test_must(cc_shutdown(client, SHUT_RD) == 0);
    }
    test_must(moved[0] == 0); /* nothing more is wanted */
    test_must(cc_close(client) == 0 && cc_close(server) == 0);
    return arg;
}
static void reset_or_ended(void **state) {
    (void)state;
    test_on_all(resets);
    test_on_all(ends_at_once);
    test_on_all(resets_in_the_middle);
    test_on_all(half_closes);
}

static int accept_rc[3];
CC_TASK(accepts, (int, ls), (int, i)) {
    return accept_rc[i] = cc_accept(ls), 0;
}
static void *ends_accept(void *arg) {
    int ls = cc_listen("127.0.0.1:0");
    CC_NURSERY(n) {
        test_must(cc_spawn(n, accepts, ls, 0) == 0 && cc_spawn(n, accepts, ls, 1) == 0);
        test_must(cc_sleep_ms(5) == 0);
        cc_nursery_cancel(n);
    }
    test_must(accept_rc[0] == -ECANCELED && accept_rc[1] == -ECANCELED);
    CC_DEADLINE_MS(5) test_must(cc_accept(ls) == -ETIMEDOUT);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, accepts, ls, 0) == 0 && cc_spawn(n, accepts, ls, 1) == 0);
        test_must(cc_sleep_ms(5) == 0);
        test_must(cc_close(ls) == 0);
    }
    test_must(accept_rc[0] == -EBADF && accept_rc[1] == -EBADF);
    return arg;
}
static void *ends_connect(void *arg) {
    /* A local listener whose queue is full: who comes next waits. */
    char name[64];
    snprintf(name, sizeof name, "unix:@ccrt_test_full_%d", (int)getpid());
    int ls = cc_listen(name), rc = 0, fds[64], n = 0;
    test_must(ls >= 0 && listen(ls, 1) == 0);
    CC_DEADLINE_MS(50)
    while (n < 64 && (rc = cc_connect(name)) >= 0) fds[n++] = rc;
    test_must(rc == -ETIMEDOUT && n > 0);
    for (int i = 0; i < n; i++) test_must(cc_close(fds[i]) == 0);
    test_must(cc_close(ls) == 0);
    return arg;
}
static void cancelled_late_or_closed(void **state) {
    (void)state;
    test_on_all(ends_accept);
    test_on_workers(2, ends_connect, NULL);
}

/* No descriptors are left: accept waits, and goes on when there are some. */
static void *runs_out(void *arg) {
    char addr[128];
    struct rlimit was = {0}, low;
    int ls = cc_listen("127.0.0.1:0"), taken[64], count = 0, probe;
    test_must(cc_local_addr(ls, addr, sizeof addr) == 0);
    int client = cc_connect(addr);
    CC_DEADLINE_MS(0)(void) cc_read(client, addr, 1); /* the reactor has its descriptors */
    test_must(client >= 0 && getrlimit(RLIMIT_NOFILE, &was) == 0);
    test_must((probe = dup(ls)) >= 0);
    low = was;
    low.rlim_cur = (rlim_t)probe + 3;
    test_must(setrlimit(RLIMIT_NOFILE, &low) == 0);
    while (count < 64 && (taken[count] = dup(ls)) >= 0) count++;
    test_must(count < 64);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, accepts, ls, 2) == 0);
        accept_rc[2] = 0;
        test_must(cc_sleep_ms(30) == 0 && accept_rc[2] == 0);
        test_must(setrlimit(RLIMIT_NOFILE, &was) == 0);
    }
    test_must(accept_rc[2] >= 0);
    for (int i = 0; i < count; i++) close(taken[i]);
    close(probe);
    test_must(cc_close(accept_rc[2]) == 0 && cc_close(client) == 0 && cc_close(ls) == 0);
    return arg;
}
/* Whatever makes one says so; who waits for one to accept with can be cancelled, be late, and have its listener
 * closed. */
static void *has_none(void *arg) {
    char addr[128];
    struct rlimit was = {0}, none;
    int ls = cc_listen("127.0.0.1:0"), fd[2], rc = 0;
    cc_process p;
    const char *cat[] = {"cat", NULL};
    test_must(ls >= 0 && cc_local_addr(ls, addr, sizeof addr) == 0);
    int client = cc_connect(addr), probe = dup(ls);
    CC_DEADLINE_MS(0)(void) cc_read(client, fd, 1);
    test_must(client >= 0 && probe >= 0 && close(probe) == 0 && getrlimit(RLIMIT_NOFILE, &was) == 0);
    none = was;
    none.rlim_cur = (rlim_t)probe; /* the smallest number that is free, and none below */
    test_must(setrlimit(RLIMIT_NOFILE, &none) == 0);
    test_must(cc_pipe(fd) == -EMFILE && cc_open("/dev/null", O_RDONLY, 0) == -EMFILE);
    test_must(cc_listen("127.0.0.1:0") == -EMFILE && cc_udp("127.0.0.1:0") == -EMFILE);
    test_must(cc_connect(addr) == -EMFILE && cc_connect("localhost:1") < 0);
    test_must(cc_process_spawn(&p, cat, &(cc_process_attr){.out = CC_STDIO_PIPE}) == -EMFILE);
    CC_DEADLINE_MS(20) rc = cc_accept(ls);
    test_must(rc == -ETIMEDOUT);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, accepts, ls, 0) == 0);
        test_must(cc_sleep_ms(2) == 0);
        cc_nursery_cancel(n);
    }
    test_must(accept_rc[0] == -ECANCELED);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, accepts, ls, 1) == 0);
        test_must(cc_sleep_ms(2) == 0);
        test_must(cc_close(ls) == 0);
    }
    test_must(accept_rc[1] == -EBADF);
    test_must(setrlimit(RLIMIT_NOFILE, &was) == 0 && cc_close(client) == 0);
    return arg;
}
static void without_descriptors(void **state) {
    (void)state;
    test_on_workers(2, runs_out, NULL);
    test_on_workers(1, has_none, NULL);
}

/* ---- many ---- */

CC_TASK(client_of, (const char *, addr)) {
    cc_autoclose int fd = cc_connect(addr);
    if (fd < 0) return fd;
    char buf[64];
    for (int i = 0; i < 20; i++) {
        if (cc_write(fd, "0123456789", 10) != 10) return -EIO;
        if (cc_read_full(fd, buf, 10) != 10) return -EIO;
    }
    return 0;
}
CC_TASK(serves, (cc_nursery *, conns), (int, ls), (int, count)) {
    for (int i = 0; i < count; i++) test_must(cc_spawn(conns, echoes, ls) == 0);
    return 0;
}
static void *many(void *arg) {
    enum { CLIENTS = 100 };
    char addr[128];
    int ls = cc_listen("127.0.0.1:0");
    test_must(cc_local_addr(ls, addr, sizeof addr) == 0);
    CC_NURSERY(conns) {
        test_must(cc_spawn(conns, serves, conns, ls, CLIENTS) == 0);
        CC_NURSERY(clients) {
            for (int i = 0; i < CLIENTS; i++) test_must(cc_spawn(clients, client_of, addr) == 0);
            test_must(cc_nursery_wait(clients) == 0);
        }
        test_must(cc_nursery_wait(conns) == 0);
    }
    test_must(cc_close(ls) == 0);
    return arg;
}
static void many_at_a_time(void **state) {
    (void)state;
    test_on_all(many);
}

/* ---- datagrams ---- */

CC_TASK(replies, (int, fd)) {
    char buf[64], from[128];
    ssize_t n = cc_recv_from(fd, buf, sizeof buf, from, sizeof from);
    return n < 0 ? (int)n : (int)(cc_send_to(fd, buf, (size_t)n, from) != n);
}
static void *datagrams(void *arg) {
    char addr[128], from[128], buf[64];
    int a = cc_udp("127.0.0.1:0"), b = cc_udp("127.0.0.1:0");
    test_must(a >= 0 && b >= 0 && cc_local_addr(a, addr, sizeof addr) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, replies, a) == 0);
        test_must(cc_send_to(b, "hello", 5, addr) == 5);
        test_must(cc_recv_from(b, buf, sizeof buf, from, sizeof from) == 5 && memcmp(buf, "hello", 5) == 0);
        test_must(strcmp(from, addr) == 0);
    }
    test_must(cc_send_to(b, "", 0, addr) == 0 && cc_recv_from(a, buf, sizeof buf, NULL, 0) == 0);
    test_must(cc_send_to(b, "long", 4, addr) == 4 && cc_recv_from(a, buf, 2, NULL, 0) == 2); /* cut */
    test_must(cc_send_to(b, "x", 1, addr) == 1 && cc_recv_from(a, buf, 2, from, 3) == -ENOBUFS);
    test_must(cc_send_to(b, "two", 3, addr) == 3 && cc_send_to(b, "three", 5, addr) == 5);
    test_must(cc_recv_from(a, buf, sizeof buf, NULL, 0) == 3 && cc_recv_from(a, buf, sizeof buf, NULL, 0) == 5);
    test_must(cc_send_to(b, "x", 1, "nowhere") == -EINVAL);
    CC_DEADLINE_MS(5) test_must(cc_recv_from(a, buf, sizeof buf, NULL, 0) == -ETIMEDOUT);
    test_must(cc_close(a) == 0 && cc_close(b) == 0);
    return arg;
}
/* A sender that has no address of its own; a stream, where nobody is told who sent. */
static void *nameless(void *arg) {
    int fd[2];
    char c, from[128];
    for (int i = 0; i < 2; i++) {
        test_must(socketpair(AF_UNIX, i == 0 ? SOCK_DGRAM : SOCK_STREAM, 0, fd) == 0);
        memset(from, 'x', sizeof from);
        test_must(cc_write(fd[1], "a", 1) == 1 && cc_recv_from(fd[0], &c, 1, from, sizeof from) == 1);
        test_must(c == 'a' && strcmp(from, "") == 0);
        test_must(cc_write(fd[1], "b", 1) == 1 && cc_recv_from(fd[0], &c, 1, from, 0) == -ENOBUFS);
        test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
    }
    return arg;
}
/* The same over IPv6. */
static void *datagrams_of_six(void *arg) {
    char addr[128], from[128], buf[8];
    int a = cc_udp("[::1]:0"), b = cc_udp("[::1]:0"), four = cc_udp("127.0.0.1:0");
    if (a >= 0) {
        test_must(b >= 0 && cc_local_addr(a, addr, sizeof addr) == 0 && strncmp(addr, "[::1]:", 6) == 0);
        test_must(cc_send_to(b, "hello", 5, addr) == 5);
        test_must(cc_recv_from(a, buf, sizeof buf, from, sizeof from) == 5 && memcmp(buf, "hello", 5) == 0);
        test_must(cc_local_addr(b, addr, sizeof addr) == 0 && strcmp(from, addr) == 0);
        test_must(cc_send_to(four, "x", 1, addr) == -EAFNOSUPPORT);
        test_must(cc_close(a) == 0 && cc_close(b) == 0);
    }
    test_must(cc_udp("unix:@ccrt_test_udp") == -EINVAL && cc_udp(NULL) == -EINVAL && cc_close(four) == 0);
    return arg;
}
static void of_datagrams(void **state) {
    (void)state;
    test_on_all(datagrams);
    datagrams(NULL);
    test_on_workers(2, nameless, NULL);
    nameless(NULL);
    test_on_workers(2, datagrams_of_six, NULL);
}

/* ---- names and options ---- */

/* The longest there is of each kind, in as much room as the header says is enough. */
static void the_longest_address(void **state) {
    (void)state;
    char addr[200], name[128];
    int n = snprintf(addr, sizeof addr, "unix:/tmp/ccrt_test_net_%d_", (int)getpid());
    memset(addr + n, 'x', sizeof addr - (size_t)n);
    addr[5 + 107] = 0;
    int ls = cc_listen(addr);
    assert_true(ls >= 0);
    assert_int_equal(cc_local_addr(ls, name, sizeof name), 0);
    assert_string_equal(name, addr);
    assert_int_equal(cc_local_addr(ls, name, 5 + 107), -ENOBUFS);
    assert_int_equal(cc_close(ls) | unlink(addr + 5), 0);
    addr[5] = '@';
    ls = cc_listen(addr);
    assert_int_equal(cc_local_addr(ls, name, sizeof name), 0);
    assert_string_equal(name, addr);
    assert_int_equal(cc_close(ls), 0);
}

static void set_and_get(int fd, int option, int value, int least) {
    assert_int_equal(cc_set_option(fd, option, value), 0);
    assert_true(cc_get_option(fd, option) == value || (least > 0 && cc_get_option(fd, option) >= least));
}
static void options(void **state) {
    (void)state;
    const char *const addrs[] = {"127.0.0.1:0", "[::1]:0"};
    for (size_t i = 0; i < TEST_COUNT_OF(addrs); i++) {
        int ls = cc_listen(addrs[i]), udp = cc_udp(addrs[i]), hops = 0;
        socklen_t len = sizeof hops;
        if (ls < 0 && i == 1) break; /* without IPv6 */
        assert_true(ls >= 0 && udp >= 0);
        for (int on = 0; on < 2; on++) {
            set_and_get(ls, CC_OPT_NODELAY, on, 0);
            set_and_get(ls, CC_OPT_KEEPALIVE, on, 0);
            set_and_get(udp, CC_OPT_BROADCAST, on, 0);
        }
        set_and_get(ls, CC_OPT_SEND_BYTES, 10000, 10000);
        set_and_get(ls, CC_OPT_RECV_BYTES, 10000, 10000);
        set_and_get(ls, CC_OPT_TTL, 7, 0);
        set_and_get(udp, CC_OPT_TTL, 9, 0);
        int level = i == 0 ? IPPROTO_IP : IPPROTO_IPV6, hop_option = i == 0 ? IP_TTL : IPV6_UNICAST_HOPS;
        assert_int_equal(getsockopt(udp, level, hop_option, &hops, &len), 0);
        assert_int_equal(hops, 9);
        assert_int_equal(cc_set_option(udp, CC_OPT_TTL, 1000), -EINVAL);
        assert_int_equal(cc_close(ls) | cc_close(udp), 0);
    }
}

TEST_MAIN(cmocka_unit_test(by_all_kinds_of_addresses), cmocka_unit_test(at_any_address), cmocka_unit_test(bad_input),
          cmocka_unit_test(reset_or_ended), cmocka_unit_test(cancelled_late_or_closed),
          cmocka_unit_test(without_descriptors), cmocka_unit_test(many_at_a_time), cmocka_unit_test(of_datagrams),
          cmocka_unit_test(the_longest_address), cmocka_unit_test(options))
