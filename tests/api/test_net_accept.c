/* SPDX-License-Identifier: MIT */
/* Goal: cc_accept(): one that was aborted hides none behind it; listeners that were made elsewhere, which may block,
 * and of which several accept at a time; while there are no descriptors it waits where cc_close() finds it.
 * Method: accept4() is wrapped, so that it can fail. Who waits is seen on the list of waiters of the descriptor.
 * Link: -Wl,--wrap=accept4
 */
#include "driver/fd.h"
#include "runtimes.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static _Atomic int failures, fails_with; /* so many calls fail, with that */
static _Atomic int inside;               /* so many are being made, */
static _Atomic bool slow;                /* where they take long enough to meet */

int __real_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);

int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags) {
    int left = cc__load_relaxed(&failures);
    if (left > 0) {
        cc__store_relaxed(&failures, left - 1);
        errno = cc__load_relaxed(&fails_with);
        return -1;
    }
    if (!cc__load_relaxed(&slow)) return __real_accept4(fd, addr, len, flags);
    test_must(cc__add_acq_rel(&inside, 1) == 0); /* else what one was told of, another may take */
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    int got = __real_accept4(fd, addr, len, flags);
    cc__sub_acq_rel(&inside, 1);
    return got;
}

/* A listener, by plain calls: it blocks. */
static int listen_elsewhere(int family) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    test_must(fd >= 0);
    if (family == AF_INET) test_must(bind(fd, (struct sockaddr *)&in, sizeof in) == 0);
    if (family == AF_UNIX) test_must(bind(fd, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)) == 0);
    test_must(listen(fd, 100) == 0);
    return fd;
}

/* ---- aborted ---- */

static void *aborted(void *arg) {
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        char addr[128], c;
        int ls = elsewhere ? listen_elsewhere(AF_INET) : cc_listen("127.0.0.1:0"), got = 0;
        test_must(cc_local_addr(ls, addr, sizeof addr) == 0);
        CC_DEADLINE_MS(0) test_must(cc_accept(ls) == -ETIMEDOUT); /* so that it is watched */
        int client = cc_connect(addr);
        cc__store_relaxed(&fails_with, ECONNABORTED);
        cc__store_relaxed(&failures, 2);
        CC_DEADLINE_MS(20000) got = cc_accept(ls);
        test_must(client >= 0 && got >= 0 && cc__load_relaxed(&failures) == 0);
        test_must(cc_write(client, "x", 1) == 1 && cc_read(got, &c, 1) == 1);
        test_must(cc_close(client) == 0 && cc_close(got) == 0 && cc_close(ls) == 0);
    }
    return arg;
}
static void one_that_was_aborted(void **state) {
    (void)state;
    test_on_workers(2, aborted, NULL);
    aborted(NULL);
}

/* ---- made elsewhere ---- */

enum { ACCEPT = 8, CONNECT = 200 };
static _Atomic int accepted;

CC_TASK(accepts_on, (int, ls)) {
    int fd;
    while ((fd = cc_accept(ls)) >= 0) {
        cc__add_relaxed(&accepted, 1);
        test_must(cc_get_option(fd, CC_OPT_NODELAY) == 1 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
        test_must(cc_close(fd) == 0);
    }
    return fd == -EBADF ? 0 : fd;
}
/* Each connection wakes all of them; one gets it, and none of the others may wait in the kernel for the next. */
static void *several(void *arg) {
    char addr[128];
    int ls = listen_elsewhere(AF_INET);
    test_must(cc_local_addr(ls, addr, sizeof addr) == 0);
    cc__store_relaxed(&accepted, 0);
    cc__store_relaxed(&slow, true);
    CC_NURSERY(n) {
        for (int i = 0; i < ACCEPT; i++) test_must(cc_spawn(n, accepts_on, ls) == 0);
        for (int i = 0; i < (int)test_rounds(CONNECT); i++) {
            int fd = cc_connect(addr);
            test_must(fd >= 0);
            while (cc__load_relaxed(&accepted) <= i) test_must(cc_sleep_ms(0) == 0);
            test_must(cc_close(fd) == 0);
        }
        test_must((fcntl(ls, F_GETFL) & O_NONBLOCK) == 0 && cc_close(ls) == 0);
        test_must(cc_nursery_wait(n) == 0);
    }
    cc__store_relaxed(&slow, false);
    return arg;
}
static void of_listeners_made_elsewhere(void **state) {
    (void)state;
    test_on_all(several);
    char addr[128];
    int ls = listen_elsewhere(AF_UNIX);
    assert_int_equal(cc_local_addr(ls, addr, sizeof addr), 0);
    int client = cc_connect(addr), fd = cc_accept(ls);
    assert_true(client >= 0 && fd >= 0);
    assert_int_equal(cc_close(client) | cc_close(fd) | cc_close(ls), 0);
}

/* ---- nothing to accept with ---- */

static bool is_waited_for(int fd) {
    struct cc__fd *e = cc__fd_known(fd);
    if (e == NULL) return false;
    cc__waitlist_lock(&e->in);
    bool any = e->in.first != NULL;
    cc__waitlist_unlock(&e->in);
    return any;
}
CC_TASK(accepts, (int, ls), (int *, rc)) {
    *rc = cc_accept(ls);
    return 0;
}
static void *backs_off(void *arg) {
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        char addr[128];
        int ls = elsewhere ? listen_elsewhere(AF_INET) : cc_listen("127.0.0.1:0"), rc[2] = {1, 1};
        test_must(cc_local_addr(ls, addr, sizeof addr) == 0);
        int client = cc_connect(addr);
        cc__store_relaxed(&fails_with, EMFILE);
        cc__store_relaxed(&failures, INT32_MAX);
        CC_DEADLINE_MS(20) rc[0] = cc_accept(ls);
        test_must(rc[0] == -ETIMEDOUT);
        CC_NURSERY(n) {
            test_must(cc_spawn(n, accepts, ls, &rc[0]) == 0 && cc_spawn(n, accepts, ls, &rc[1]) == 0);
            for (int seen = 0; seen < 3; seen += is_waited_for(ls)) test_must(cc_sleep_ms(5) == 0);
            cc_nursery_cancel(n);
        }
        test_must(rc[0] == -ECANCELED && rc[1] == -ECANCELED && !is_waited_for(ls));
        CC_NURSERY(n) {
            test_must(cc_spawn(n, accepts, ls, &rc[0]) == 0 && cc_spawn(n, accepts, ls, &rc[1]) == 0);
            for (int seen = 0; seen < 3; seen += is_waited_for(ls)) test_must(cc_sleep_ms(5) == 0);
            test_must(cc_close(ls) == 0 && !is_waited_for(ls));
        }
        test_must(rc[0] == -EBADF && rc[1] == -EBADF && cc_close(client) == 0);
        cc__store_relaxed(&failures, 0);
    }
    return arg;
}
/* And goes on by itself. */
static void *comes_back(void *arg) {
    char addr[128];
    int ls = cc_listen("127.0.0.1:0");
    test_must(cc_local_addr(ls, addr, sizeof addr) == 0);
    int client = cc_connect(addr);
    cc__store_relaxed(&fails_with, ENOBUFS);
    cc__store_relaxed(&failures, 3);
    int fd = cc_accept(ls);
    test_must(fd >= 0 && cc__load_relaxed(&failures) == 0);
    test_must(cc_close(client) == 0 && cc_close(fd) == 0 && cc_close(ls) == 0);
    return arg;
}
static void without_descriptors(void **state) {
    (void)state;
    test_on_all(backs_off);
    test_on_all(comes_back);
    comes_back(NULL);
}

TEST_MAIN(cmocka_unit_test(one_that_was_aborted), cmocka_unit_test(of_listeners_made_elsewhere),
          cmocka_unit_test(without_descriptors))
