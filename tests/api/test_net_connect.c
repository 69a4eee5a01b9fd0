/* SPDX-License-Identifier: MIT */
/* Goal: cc_connect() does not miss that it is connected, whenever that is: also between the look that does not find it
 * so and the wait for it.
 * Method: a listener that takes nobody, so that connecting has to wait. It is woken for nothing; when poll() has said
 * that there is nothing, and before that is heard, the listener takes it, and the event of that has been told.
 * Link: -Wl,--wrap=poll,--wrap=connect
 */
#include "driver/fd.h"
#include "runtimes.h"
#include "sched/sched.h"

#include <poll.h>
#include <sys/socket.h>

static _Atomic int connecting = -1, armed; /* the descriptor; whether what is to happen meanwhile is to happen */
static int listener = -1;

int __real_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);
int __real_connect(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len);

static bool is_ready(int fd) {
    return cc__load_acquire(&cc__fd_known(fd)->ready[CC__FD_OUT]) != 0;
}
/* Make room in the listener's queue, and wait until the kernel, and whoever looks at the reactor, has told of it. */
static void is_connected_meanwhile(int fd) {
    int64_t until = cc_now_ns() + INT64_C(30000000000);
    while (!is_ready(fd) && cc_now_ns() < until) {
        int got = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (got >= 0) close(got);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int ms) {
    int rc = __real_poll(fds, n, ms);
    if (n == 1 && rc == 0 && fds->fd == cc__load_relaxed(&connecting) && cc__xchg_acq_rel(&armed, 0) != 0)
        is_connected_meanwhile(fds->fd);
    return rc;
}
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len) {
    cc__store_relaxed(&connecting, fd);
    return __real_connect(fd, to, len);
}

static bool is_waited_for(int fd) {
    struct cc__fd *e = cc__fd_known(fd);
    cc__waitlist_lock(&e->in);
    bool any = e->out.first != NULL;
    cc__waitlist_unlock(&e->in);
    return any;
}

CC_TASK(connects, (const char *, addr), (int *, rc)) {
    CC_DEADLINE_MS(20000) *rc = cc_connect(addr);
    return 0;
}
static void *connect_late(void *arg) {
    char addr[128];
    int fds[64], n = 0, rc = 0;
    listener = cc_listen("127.0.0.1:0");
    test_must(listener >= 0 && listen(listener, 0) == 0 && cc_local_addr(listener, addr, sizeof addr) == 0);
    while (n < 64 && rc >= 0) {
        CC_DEADLINE_MS(100) rc = cc_connect(addr);
        if (rc >= 0) fds[n++] = rc;
    }
    test_must(rc == -ETIMEDOUT && n > 0);
    cc__store_relaxed(&connecting, -1);
    CC_NURSERY(all) {
        test_must(cc_spawn(all, connects, addr, &rc) == 0);
        while (cc__load_relaxed(&connecting) < 0 || !is_waited_for(cc__load_relaxed(&connecting)))
            test_must(cc_sleep_ms(1) == 0);
        cc__store_release(&armed, 1);
        cc__fd_may_be_more(cc__fd_known(cc__load_relaxed(&connecting)), CC__FD_OUT, CC__FD_READY);
    }
    test_must(rc >= 0 && cc__load_relaxed(&armed) == 0 && cc_close(rc) == 0);
    for (int i = 0; i < n; i++) test_must(cc_close(fds[i]) == 0);
    test_must(cc_close(listener) == 0);
    return arg;
}
static void connected_between_look_and_wait(void **state) {
    (void)state;
    if (!test_monitored()) skip(); /* it looks for the worker that is kept */
    test_on_workers(2, connect_late, NULL);
}

TEST_MAIN(cmocka_unit_test(connected_between_look_and_wait))
