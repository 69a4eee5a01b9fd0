/* SPDX-License-Identifier: MIT */
/* Goal: names (src/io/resolve.c): a slow resolver keeps nobody but who asks (lesson 87), and not even that one past its
 * deadline or cancellation; many lookups at a time; each error of it has a code; all addresses of a name are tried, and
 * the first that answers is taken.
 * Method: a resolver of our own instead of the C library's: what a name says is what comes of it.
 * Link: -Wl,--wrap=getaddrinfo,--wrap=freeaddrinfo
 */
#include "runtimes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *list);

static _Atomic int asked, answered;

static struct addrinfo *add_address(struct addrinfo *before, const char *number, const char *port) {
    struct addrinfo *a = calloc(1, sizeof *a);
    struct sockaddr_in *at = calloc(1, sizeof *at);
    test_must(a != NULL && at != NULL && inet_pton(AF_INET, number, &at->sin_addr) == 1);
    at->sin_family = AF_INET;
    at->sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    *a = (struct addrinfo){.ai_family = AF_INET, .ai_addr = (struct sockaddr *)at, .ai_addrlen = sizeof *at};
    a->ai_next = before;
    return a;
}
static struct addrinfo *add_loopback_of_six(struct addrinfo *before, const char *port) {
    struct addrinfo *a = calloc(1, sizeof *a);
    struct sockaddr_in6 *at = calloc(1, sizeof *at);
    test_must(a != NULL && at != NULL);
    at->sin6_family = AF_INET6;
    at->sin6_addr = in6addr_loopback;
    at->sin6_port = htons((uint16_t)strtoul(port, NULL, 10));
    *a = (struct addrinfo){.ai_family = AF_INET6, .ai_addr = (struct sockaddr *)at, .ai_addrlen = sizeof *at};
    a->ai_next = before;
    return a;
}

/* slow: 300 ms. several: two where nobody listens, then one where somebody may. many: more than there is room for.
 * both, other: of IPv6 and IPv4, the one or the other first; sixes: two of IPv6. */
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **out) {
    (void)hints;
    cc__add_relaxed(&asked, 1);
    test_must(host != NULL);
    if (strncmp(host, "slow", 4) == 0) nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    if (strcmp(host, "none") == 0) return EAI_NONAME;
    if (strcmp(host, "again") == 0) return EAI_AGAIN;
    if (strcmp(host, "memory") == 0) return EAI_MEMORY;
    if (strcmp(host, "fails") == 0) return EAI_FAIL;
    if (strcmp(host, "system") == 0) return errno = ENETDOWN, EAI_SYSTEM;
    bool sixes = strcmp(host, "sixes") == 0, other = strcmp(host, "other") == 0;
    struct addrinfo *list = sixes || other ? add_loopback_of_six(NULL, port) : add_address(NULL, "127.0.0.1", port);
    if (sixes || strcmp(host, "both") == 0) list = add_loopback_of_six(list, port);
    if (other) list = add_address(list, "127.0.0.1", port);
    int more = strcmp(host, "several") == 0 ? 2 : strcmp(host, "many") == 0 ? 40 : 0;
    for (int i = 0; i < more; i++) list = add_address(list, "127.0.0.2", port);
    *out = list;
    cc__add_relaxed(&answered, 1);
    return 0;
}
void __wrap_freeaddrinfo(struct addrinfo *list) {
    while (list != NULL) {
        struct addrinfo *next = list->ai_next;
        free(list->ai_addr);
        free(list);
        list = next;
    }
}

/* Where nobody else listens: at one address of this machine. */
static int listen_for(const char *host, char *to, size_t size) {
    char addr[128];
    int ls = cc_listen("127.0.0.1:0");
    test_must(ls >= 0 && cc_local_addr(ls, addr, sizeof addr) == 0);
    snprintf(to, size, "%s%s", host, strrchr(addr, ':'));
    return ls;
}

/* ---- slow ---- */

static _Atomic int ticks, ticking;
CC_TASK(ticks_on, (int, ms)) {
    while (cc__load_relaxed(&ticking) != 0) {
        test_must(cc_sleep_ms(ms) == 0);
        cc__add_relaxed(&ticks, 1);
    }
    return 0;
}
CC_TASK(connects_to, (const char *, addr), (int *, rc)) {
    *rc = cc_connect(addr);
    return 0;
}
static void *slow(void *arg) {
    enum { MANY = 8 };
    char to[128];
    int ls = listen_for("slow", to, sizeof to), rc[MANY], late = 0;
    cc__store_relaxed(&ticks, 0);
    cc__store_relaxed(&ticking, 1);
    CC_NURSERY(all) {
        test_must(cc_spawn(all, ticks_on, 1) == 0);
        CC_NURSERY(n) {
            for (int i = 0; i < MANY; i++) test_must(cc_spawn(n, connects_to, to, &rc[i]) == 0);
            test_must(cc_nursery_wait(n) == 0);
        }
        test_must(cc__load_relaxed(&ticks) > 10); /* while all of them were looked up */
        CC_DEADLINE_MS(10) late = cc_connect(to);
        test_must(late == -ETIMEDOUT);
        CC_NURSERY(n) {
            test_must(cc_spawn(n, connects_to, to, &late) == 0);
            test_must(cc_sleep_ms(5) == 0);
            cc_nursery_cancel(n);
        }
        test_must(late == -ECANCELED);
        CC_DEADLINE_MS(10) late = cc_listen(to);
        test_must(late == -ETIMEDOUT);
        cc__store_relaxed(&ticking, 0);
    }
    for (int i = 0; i < MANY; i++) test_must(rc[i] >= 0 && cc_close(rc[i]) == 0);
    test_must(cc_close(ls) == 0);
    return arg; /* what nobody waits for any more ends with the runtime */
}
static void a_slow_resolver_keeps_nobody(void **state) {
    (void)state;
    cc__store_relaxed(&asked, 0);
    cc__store_relaxed(&answered, 0);
    test_on_workers(1, slow, NULL);
    test_on_workers(2, slow, NULL);
    assert_int_equal(cc__load_relaxed(&asked), 22);
    assert_int_equal(cc__load_relaxed(&answered), 22);
}

/* ---- what it says ---- */

static void *errors(void *arg) {
    test_must(cc_connect("none:1") == -ENOENT && cc_listen("none:1") == -ENOENT && cc_udp("none:0") == -ENOENT);
    test_must(cc_connect("again:1") == -EAGAIN);
    test_must(cc_connect("memory:1") == -ENOMEM);
    test_must(cc_connect("fails:1") == -EIO);
    test_must(cc_connect("system:1") == -ENETDOWN);
    test_must(cc_connect("several:1") == -ECONNREFUSED);
    test_must(cc_connect("many:1") == -ECONNREFUSED);
    int fd = cc_udp("127.0.0.1:0");
    test_must(fd >= 0 && cc_send_to(fd, "x", 1, "none:1") == -ENOENT && cc_close(fd) == 0);
    return arg;
}
static void each_error_has_a_code(void **state) {
    (void)state;
    test_on_all(errors);
    errors(NULL);
}

static void *several(void *arg) {
    char to[128], peer[128];
    int ls = listen_for("several", to, sizeof to), fd = cc_connect(to);
    test_must(fd >= 0 && cc_peer_addr(fd, peer, sizeof peer) == 0 && strncmp(peer, "127.0.0.1:", 10) == 0);
    test_must(cc_close(fd) == 0 && cc_close(ls) == 0);
    return arg;
}
static void all_addresses_are_tried(void **state) {
    (void)state;
    test_on_all(several);
    several(NULL);
}

/* ---- addresses that do not answer ---- */

static int open_descriptors(void) {
    int n = 0;
    for (int fd = 0; fd < 4096; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* A listener at an address that takes nobody any more: the kernel leaves who comes next without an answer. */
struct full {
    int ls, fds[64], count;
};
static void make_full(struct full *f, int ls, const char *addr) {
    int rc = 0;
    f->ls = ls;
    f->count = 0;
    test_must(listen(f->ls, 0) == 0);
    while (f->count < 64 && rc >= 0) {
        CC_DEADLINE_MS(100) rc = cc_connect(addr);
        if (rc >= 0) f->fds[f->count++] = rc;
    }
    test_must(rc == -ETIMEDOUT);
}
static void end_full(struct full *f) {
    for (int i = 0; i < f->count; i++) test_must(cc_close(f->fds[i]) == 0);
    test_must(cc_close(f->ls) == 0);
}

/* "several" is 127.0.0.2 twice, which does not answer, and then 127.0.0.1. */
static void *delayed(void *arg) {
    char to[128], addr[128], peer[128];
    struct full second, first;
    int ls, rc = -EADDRINUSE;
    while (rc == -EADDRINUSE) { /* by another program, there */
        ls = listen_for("several", to, sizeof to);
        snprintf(addr, sizeof addr, "127.0.0.2%s", strrchr(to, ':'));
        if ((rc = cc_listen(addr)) < 0) test_must(cc_close(ls) == 0);
    }
    test_must(rc >= 0);
    make_full(&second, rc, addr);
    int before = open_descriptors();
    int64_t begun = cc_now_ns();
    int fd = cc_connect(to);
    test_must(fd >= 0 && cc_now_ns() - begun >= 2 * INT64_C(250000000)); /* two of them were waited for */
    test_must(cc_peer_addr(fd, peer, sizeof peer) == 0 && strncmp(peer, "127.0.0.1:", 10) == 0);
    test_must(cc_close(fd) == 0 && open_descriptors() == before); /* and are closed */
    CC_DEADLINE_MS(300) rc = cc_connect(to);                      /* with two under way */
    test_must(rc == -ETIMEDOUT && open_descriptors() == before);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, connects_to, to, &rc) == 0);
        test_must(cc_sleep_ms(300) == 0);
        cc_nursery_cancel(n);
    }
    test_must(rc == -ECANCELED && open_descriptors() == before);
    int accepted = cc_accept(ls); /* that of the first time */
    test_must(accepted >= 0 && cc_close(accepted) == 0);
    snprintf(addr, sizeof addr, "127.0.0.1%s", strrchr(to, ':'));
    make_full(&first, ls, addr); /* nobody answers at all */
    before = open_descriptors();
    CC_DEADLINE_MS(600) rc = cc_connect(to);
    test_must(rc == -ETIMEDOUT && open_descriptors() == before);
    end_full(&first);
    end_full(&second);
    return arg;
}
static void one_that_does_not_answer_is_not_waited_for(void **state) {
    (void)state;
    test_on_workers(1, delayed, NULL);
    test_on_workers(7, delayed, NULL);
}

/* ---- datagrams ---- */

/* Of the addresses of a name, one of the socket's family. */
static void *send_to_both(void *arg) {
    const char *const at[] = {"127.0.0.1:0", "[::1]:0"}, *const names[] = {"both", "other"};
    for (int i = 0; i < 2; i++) {
        char addr[128], to[128], c = 0;
        int a = cc_udp(at[i]), b = cc_udp(at[i]);
        if (a < 0 && i == 1) break; /* without IPv6 */
        test_must(a >= 0 && b >= 0 && cc_local_addr(a, addr, sizeof addr) == 0);
        for (int k = 0; k < 2; k++) {
            snprintf(to, sizeof to, "%s%s", names[k], strrchr(addr, ':'));
            test_must(cc_send_to(b, "x", 1, to) == 1);
            CC_DEADLINE_MS(20000) test_must(cc_recv_from(a, &c, 1, NULL, 0) == 1 && c == 'x');
        }
        if (i == 0) test_must(cc_send_to(b, "x", 1, "sixes:9") == -EAFNOSUPPORT);
        test_must(cc_close(a) == 0 && cc_send_to(a, "x", 1, "both:9") == -EBADF && cc_close(b) == 0);
    }
    return arg;
}
static void the_family_of_the_socket(void **state) {
    (void)state;
    test_on_workers(2, send_to_both, NULL);
    send_to_both(NULL);
}

TEST_MAIN(cmocka_unit_test(a_slow_resolver_keeps_nobody), cmocka_unit_test(each_error_has_a_code),
          cmocka_unit_test(all_addresses_are_tried), cmocka_unit_test(one_that_does_not_answer_is_not_waited_for),
          cmocka_unit_test(the_family_of_the_socket))
