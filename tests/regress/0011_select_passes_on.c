/* SPDX-License-Identifier: MIT */
/* Goal: what is left of a descriptor when a call has read its share is not lost with a select that is the first to wait
 * and does not read: the next who waits is woken. A select kept that to itself, and a cc_read() behind it waited for
 * ever, though there was something to read.
 * Method: the descriptor is taken for drained and watched, as it is while a call is in the middle of an attempt. A
 * select, or a wait for both ways, comes to wait, then a read; then there is a byte, and the call in the middle says
 * that there may be more. The read has to get it.
 */
#include "runtimes.h"

#include "driver/fd.h"
#include "sched/sched.h"

#include <poll.h>
#include <sys/socket.h>

static _Atomic int chosen, was_read;

CC_TASK(selects, (int, fd)) {
    test_must(cc_select(CC_READABLE(fd), CC_AFTER_MS(600000)) == 0);
    cc__store_release(&chosen, 1);
    return 0;
}
CC_TASK(waits_for_both, (int, fd)) {
    test_must(cc_wait_fd(fd, POLLIN | POLLOUT) == POLLIN);
    cc__store_release(&chosen, 1);
    return 0;
}
CC_TASK(reads, (int, fd)) {
    char c;
    test_must(cc_read(fd, &c, 1) == 1 && c == 'x');
    cc__store_release(&was_read, 1);
    return 0;
}

static int waiters_of(struct cc__fd *e) {
    int n = 0;
    cc__waitlist_lock(&e->in);
    for (struct cc__node *at = e->in.first == NULL ? NULL : &e->in.first->node; at != NULL; at = at->next) n++;
    cc__waitlist_unlock(&e->in);
    return n;
}
static void await_waiters(struct cc__fd *e, int n) {
    while (waiters_of(e) < n) test_must(cc_sleep_ms(1) == 0);
}

/* Two ends, both ours: the first cannot be written. It counts as watched, by the reactor there is. */
static struct cc__fd *make_pair(int fd[2]) {
    char addr[64], c;
    snprintf(addr, sizeof addr, "unix:@ccrt_test_0011_%d_%llu", (int)getpid(), (unsigned long long)test_random());
    int ls = cc_listen(addr), other[2];
    test_must(ls >= 0 && (fd[0] = cc_connect(addr)) >= 0 && (fd[1] = cc_accept(ls)) >= 0 && cc_close(ls) == 0);
    test_must(cc_pipe(other) == 0);
    CC_DEADLINE_MS(0) test_must(cc_read(other[0], &c, 1) == -ETIMEDOUT);
    struct cc__fd *e = cc__fd_known(fd[0]);
    while (send(fd[0], &c, 1, MSG_DONTWAIT) == 1) {
    }
    (void)cc__fd_take(e, CC__FD_OUT);
    cc__fd_watched(e, cc__fd_generation(e), cc__fd_home(cc__fd_known(other[0])));
    test_must(cc_close(other[0]) == 0 && cc_close(other[1]) == 0);
    return e;
}

static void *one_behind_the_other(void *arg) {
    for (int both = 0; both < 2; both++) {
        int fd[2];
        struct cc__fd *e = make_pair(fd);
        cc__store_relaxed(&chosen, 0);
        cc__store_relaxed(&was_read, 0);
        CC_NURSERY(n) {
            uint32_t was = cc__fd_take(e, CC__FD_IN);
            test_must((both ? cc_spawn(n, waits_for_both, fd[0]) : cc_spawn(n, selects, fd[0])) == 0);
            await_waiters(e, 1);
            test_must(cc_spawn(n, reads, fd[0]) == 0);
            await_waiters(e, 2);
            test_must(send(fd[1], "x", 1, 0) == 1);
            cc__fd_may_be_more(e, CC__FD_IN, was | CC__FD_READY);
            for (int ms = 0; ms < 20000 && cc__load_acquire(&was_read) == 0; ms++) test_must(cc_sleep_ms(1) == 0);
            test_must(cc__load_acquire(&was_read) == 1);
            test_must(send(fd[1], "x", 1, 0) == 1); /* for one that looks again */
            cc__fd_may_be_more(e, CC__FD_IN, CC__FD_READY);
        }
        test_must(cc__load_acquire(&chosen) == 1 && cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
    }
    return arg;
}
static void a_select_passes_on_what_it_does_not_read(void **state) {
    (void)state;
    test_on_workers(1, one_behind_the_other, NULL);
}

TEST_MAIN(cmocka_unit_test(a_select_passes_on_what_it_does_not_read))
